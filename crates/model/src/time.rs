//! Time as an argument.

use chrono::{DateTime, SubsecRound, Utc};

/// A moment in UTC, with microseconds: what both databases keep.
pub type Timestamp = DateTime<Utc>;

/// Tells the time. Passed to whatever needs it, so that a test can move it.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock, cut to microseconds.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the wall clock is read")]
    fn now(&self) -> Timestamp {
        Utc::now().trunc_subsecs(6)
    }
}

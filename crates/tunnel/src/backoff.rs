//! How long an edge waits before it dials again.

use std::time::Duration;

/// Longest possible first wait.
pub const RECONNECT_MIN: Duration = Duration::from_secs(1);
/// Longest wait of all.
pub const RECONNECT_MAX: Duration = Duration::from_secs(60);

/// Returns how long to wait before reconnect number `attempt`, counted from 0: anything from nothing to
/// `min` × 2^`attempt`, at most `max` (full jitter). `random` is uniform in 0..1.
pub fn reconnect_wait(attempt: u32, min: Duration, max: Duration, random: f64) -> Duration {
    let ceiling = min.saturating_mul(2_u32.saturating_pow(attempt.min(31))).min(max);
    ceiling.mul_f64(random.clamp(0.0, 1.0))
}

/// Counts failed attempts and turns them into waits.
#[derive(Clone, Debug)]
pub struct Backoff {
    attempt: u32,
    min: Duration,
    max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(RECONNECT_MIN, RECONNECT_MAX)
    }
}

impl Backoff {
    /// Waits between 0 and `min` first, and never longer than `max`.
    pub fn new(min: Duration, max: Duration) -> Self {
        Self { attempt: 0, min, max }
    }

    /// The wait before the next attempt.
    pub fn next(&mut self, random: f64) -> Duration {
        let wait = reconnect_wait(self.attempt, self.min, self.max, random);
        self.attempt = self.attempt.saturating_add(1);
        wait
    }

    /// The wait after the manager refused and said when to come back: that long and some more, so that all that were
    /// refused together don't come back together. `None` or zero is the longest wait.
    pub fn refused(&mut self, retry_after: Option<Duration>, random: f64) -> Duration {
        self.attempt = self.attempt.saturating_add(1);
        match retry_after.filter(|wait| !wait.is_zero()) {
            Some(wait) => wait + wait.mul_f64(random.clamp(0.0, 1.0) / 2.0),
            None => self.max.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0),
        }
    }

    /// Tells that a connection ended after `lasted`. Only one that lasted makes the next wait short again: a manager
    /// that takes connections and drops them at once isn't hammered.
    pub fn connection_ended(&mut self, lasted: Duration) {
        if lasted >= self.max.min(Duration::from_secs(10)) {
            self.attempt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ceiling_doubles_from_one_second_to_one_minute() {
        let ceilings: Vec<u64> = (0..8)
            .map(|attempt| reconnect_wait(attempt, RECONNECT_MIN, RECONNECT_MAX, 1.0).as_secs())
            .collect();
        assert_eq!(ceilings, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_connection_that_did_not_last_does_not_shorten_the_wait() {
        let mut backoff = Backoff::default();
        for _ in 0..4 {
            backoff.next(1.0);
        }
        backoff.connection_ended(Duration::from_millis(50));
        assert_eq!(backoff.next(1.0), Duration::from_secs(16));
        backoff.connection_ended(Duration::from_secs(3600));
        assert_eq!(backoff.next(1.0), Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn no_wait_is_ever_longer_than_the_cap(attempt in any::<u32>(), random in 0.0..1.0_f64) {
            prop_assert!(reconnect_wait(attempt, RECONNECT_MIN, RECONNECT_MAX, random) <= RECONNECT_MAX);
        }

        #[test]
        fn who_was_told_when_to_come_back_never_comes_earlier(secs in 1_u64..4000, random in 0.0..1.0_f64) {
            let told = Duration::from_secs(secs);
            prop_assert!(Backoff::default().refused(Some(told), random) >= told);
        }
    }
}

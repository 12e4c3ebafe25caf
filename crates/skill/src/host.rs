//! The machine, as skills see it.

use std::fmt;

/// The machine, as skills see it. Tests give a fake.
pub trait Host: Send + Sync + fmt::Debug {
    /// Directory that stands for `/`: `/` on a real host, a fixture tree in tests.
    fn root(&self) -> &std::path::Path;
}

//! The writer, the audit chain, calls and stored results, on a real database file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod core {
    pub mod audit;
    pub mod calls;
    pub mod support;
    pub mod writer;
}

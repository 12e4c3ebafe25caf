//! The one door, from the request to the row: a real database, the real gate and tools, hosts that the tests script.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod door {
    pub mod admission;
    pub mod approvals;
    pub mod ends;
    pub mod explain;
    pub mod freeze;
    pub mod grants;
    pub mod own_packs;
    pub mod packs;
    pub mod reach;
    pub mod signed;
    pub mod support;
    pub mod tools;
}

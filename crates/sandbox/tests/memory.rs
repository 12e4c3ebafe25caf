//! What a child's output costs the agent. A suite of its own, as the tests of one share their memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{config, run, shell};
use sandbox::{Backend, Children};
use skill::sandbox::{ChildCommand, ChildLimits, Exit, Profile};
use std::fs;
use std::time::Duration;

/// Resident KiB of this process.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn endless_output_is_read_dropped_and_counted_without_filling_the_agent() {
    let children = Children::new(config(Backend::Landlock)).unwrap();
    let before = resident_kib();
    let limits = ChildLimits { wall: Duration::from_secs(2), stdout_bytes: 1000, ..ChildLimits::default() };
    let ended = run(&children, ChildCommand { limits, ..shell(Profile::ReadOnly, "yes") });
    assert_eq!((ended.exit, ended.stdout.bytes.len()), (Exit::WallClock, 1000));
    assert!(ended.stdout.total > 10_000_000, "{}", ended.stdout.total);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} KiB");
}

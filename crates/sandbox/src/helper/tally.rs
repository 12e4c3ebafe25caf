//! Counts what a child and all that it started use, where no cgroup does.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// What a tree of processes uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Processes and threads.
    pub(crate) tasks: u64,
    /// Seconds of CPU time, of those that ended too.
    pub(crate) cpu_seconds: f64,
    /// Bytes that are resident. Shared ones count for each process.
    pub(crate) resident: u64,
}

/// Those that descend from a process of this machine, without itself, up to about a number.
pub(crate) fn descendants(of: i32, most: usize) -> Vec<i32> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([of]);
    let mut next = vec![of];
    while let Some(pid) = next.pop()
        && found.len() < most
    {
        for child in children(pid) {
            if seen.insert(child) {
                found.push(child);
                next.push(child);
            }
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The process group of a process.
pub(crate) fn group_of(pid: i32) -> Option<i32> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.get(line.rfind(')')? + 1..)?.split_whitespace().nth(2)?.parse().ok()
}

/// Counts these processes.
pub(crate) fn tally(pids: &[i32]) -> Tally {
    let page = rustix::param::page_size() as u64;
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let mut tally = Tally::default();
    for pid in pids {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some(fields) = Stat::read(&stat) else { continue };
        tally.tasks += fields.threads;
        tally.cpu_seconds += fields.ticks as f64 / ticks;
        tally.resident += fields.resident_pages * page;
    }
    tally
}

/// The bytes that these processes alone account for: shared pages are divided by their users. Dearer than [`tally`].
pub(crate) fn proportional(pids: &[i32]) -> u64 {
    let kib = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    pids.iter().filter_map(kib).sum::<u64>() * 1024
}

/// Bytes in use in a file system.
pub(crate) fn used_bytes(mount_point: &Path) -> u64 {
    rustix::fs::statvfs(mount_point)
        .map_or(0, |status| status.f_blocks.saturating_sub(status.f_bfree) * status.f_frsize)
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    ticks: u64,
    threads: u64,
    resident_pages: u64,
}

impl Stat {
    /// Reads a line of `/proc/<pid>/stat`. The name in it may hold anything, so fields count from its end.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.get(line.rfind(')')? + 1..)?.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        // utime, stime, cutime, cstime; then the number of threads and the resident set.
        let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
        Some(Self { ticks, threads: number(17)?, resident_pages: number(21)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 200 0 0 10 20 3 4 20 0 5 0 8000 1000000 300 18446744073709551615";
        assert_eq!(Stat::read(line), Some(Stat { ticks: 37, threads: 5, resident_pages: 300 }));
        assert_eq!(Stat::read("7 (x) S"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let own = std::process::id() as i32;
        let tally = tally(&[own]);
        assert!(tally.tasks >= 1 && tally.resident > 0, "{tally:?}");
        assert!(proportional(&[own]) > 0);
    }
}

//! `/proc/PID`. Processes vanish while they are looked at; whatever can't be read any more is simply not there.

use super::read;
use skill::Host;
use std::os::unix::fs::MetadataExt;

/// One process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) parent: u32,
    /// Clock ticks of CPU time used so far.
    pub(crate) cpu_ticks: u64,
    pub(crate) threads: u32,
    /// Clock ticks after boot. Together with the pid it names a process for good.
    pub(crate) start_time: u64,
    /// Resident pages.
    pub(crate) resident_pages: u64,
    pub(crate) user: u32,
    /// Whether it is a thread of the kernel.
    pub(crate) of_kernel: bool,
}

/// Every process that there is.
pub(crate) fn all(host: &dyn Host) -> Vec<Process> {
    pids(host).into_iter().filter_map(|pid| one(host, pid)).collect()
}

/// The ids of every process that there is, in order.
pub(crate) fn pids(host: &dyn Host) -> Vec<u32> {
    let entries = std::fs::read_dir(host.path("/proc")).into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// One process; `None` if it is gone.
pub(crate) fn one(host: &dyn Host, pid: u32) -> Option<Process> {
    let user = std::fs::metadata(host.path(&format!("/proc/{pid}"))).ok()?.uid();
    parse(&read(host, &format!("/proc/{pid}/stat"))?, user)
}

/// Marks the kernel's threads in the flags of `/proc/PID/stat`.
const KERNEL_FLAG: u64 = 0x0020_0000;

fn parse(stat: &str, user: u32) -> Option<Process> {
    // The name may hold blanks and brackets: it ends at the last bracket.
    let (front, rest) = stat.rsplit_once(')')?;
    let (pid, name) = front.split_once('(')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| words.get(index)?.parse::<u64>().ok();
    Some(Process {
        pid: pid.trim().parse().ok()?,
        name: name.to_owned(),
        state: words.first()?.chars().next()?,
        parent: u32::try_from(number(1)?).ok()?,
        cpu_ticks: number(11)?.saturating_add(number(12)?),
        threads: u32::try_from(number(17)?).ok()?,
        start_time: number(19)?,
        resident_pages: number(21)?,
        user,
        of_kernel: number(6)? & KERNEL_FLAG != 0,
    })
}

/// The start time in a text of `/proc/PID/stat`.
pub(crate) fn start_time(stat: &str) -> Option<u64> {
    parse(stat, 0).map(|process| process.start_time)
}

/// The command with its arguments; the name in brackets for kernel threads and zombies, which have none.
pub(crate) fn command(host: &dyn Host, process: &Process) -> String {
    /// Longest command that is told.
    const MAX_CHARS: usize = 1000;
    let bytes = std::fs::read(host.path(&format!("/proc/{}/cmdline", process.pid))).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<String> =
        text.trim_end_matches('\0').split('\0').map(|word| word.replace(char::is_control, " ")).collect();
    let command = words.join(" ");
    if command.trim().is_empty() {
        return format!("[{}]", process.name);
    }
    match command.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command,
    }
}

/// The control group's path of a process.
pub(crate) fn cgroup(host: &dyn Host, pid: u32) -> Option<String> {
    let text = read(host, &format!("/proc/{pid}/cgroup"))?;
    // `0::` is cgroup v2; with v1 systemd keeps a hierarchy of its own. The root group says nothing.
    ["0::", "name=systemd:"].into_iter().find_map(|mark| {
        text.lines()
            .find_map(|line| Some(line.split_once(mark)?.1).filter(|path| *path != "/").map(str::to_owned))
    })
}

/// The systemd unit in a control group's path.
pub(crate) fn unit_of(cgroup: &str) -> Option<String> {
    const KINDS: &[&str] = &[".service", ".scope", ".socket", ".mount", ".slice"];
    let is_unit = |part: &&str, kinds: &[&str]| kinds.iter().any(|kind| part.ends_with(kind));
    let parts: Vec<&str> = cgroup.split('/').collect();
    let unit = parts
        .iter()
        .rev()
        .find(|part| is_unit(part, &KINDS[..4]))
        .or_else(|| parts.iter().rev().find(|part| is_unit(part, KINDS)))?;
    Some((*unit).to_owned())
}

/// Bytes read from and written to disks so far. Only root may ask of processes of others.
pub(crate) fn disk_bytes(host: &dyn Host, pid: u32) -> Option<(u64, u64)> {
    let text = read(host, &format!("/proc/{pid}/io"))?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some((value("read_bytes:")?, value("write_bytes:")?))
}

/// How many files a process has open. Only root may ask of processes of others.
pub(crate) fn open_files(host: &dyn Host, pid: u32) -> Option<u64> {
    let entries = std::fs::read_dir(host.path(&format!("/proc/{pid}/fd"))).ok()?;
    Some(entries.flatten().count() as u64)
}

/// The state's letter in words.
pub(crate) fn state_word(letter: char) -> &'static str {
    match letter {
        'R' => "running",
        'S' => "sleeping",
        'D' => "waiting for disk",
        'Z' => "zombie",
        'T' => "stopped",
        't' => "traced",
        'I' => "idle",
        'X' | 'x' => "dead",
        'P' => "parked",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use proptest::prelude::*;

    const STAT: &str = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 9000 1000000 256 18446744073709551615";

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let process = parse(STAT, 33).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.state), (42, "a (b) c", 'S'));
        assert_eq!((process.cpu_ticks, process.threads, process.start_time), (300, 7, 9000));
        assert_eq!((process.resident_pages, process.parent, process.user), (256, 1, 33));
        assert!(!process.of_kernel && parse(&STAT.replace("4194560", "69238880"), 0).unwrap().of_kernel);
    }

    #[test]
    fn commands_show_their_arguments_and_kernel_threads_their_name() {
        let host = FakeHost::empty()
            .with("/proc/42/cmdline", b"/usr/bin/app\0--port\080\0")
            .with("/proc/7/cmdline", "");
        let process = parse(STAT, 0).unwrap();
        assert_eq!(command(&host, &process), "/usr/bin/app --port 80");
        assert_eq!(command(&host, &Process { pid: 7, ..process }), "[a (b) c]");
    }

    #[test]
    fn units_are_found_in_control_groups() {
        assert_eq!(unit_of("/system.slice/nginx.service").as_deref(), Some("nginx.service"));
        assert_eq!(unit_of("/system.slice/nginx.service/workers").as_deref(), Some("nginx.service"));
        assert_eq!(unit_of("/user.slice/user-0.slice/session-3.scope").as_deref(), Some("session-3.scope"));
        assert_eq!(unit_of("/machine.slice").as_deref(), Some("machine.slice"));
        assert_eq!(unit_of("/"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = (parse(&text, 0), unit_of(&text));
        }
    }
}

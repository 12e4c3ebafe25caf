//! Lists the processes that use most.

use crate::support::errors::{blocking, not_found};
use crate::support::files::facts::Names;
use crate::support::machine::process::{self, Process};
use crate::support::machine::{memory, percent, tenth};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long is measured.
const WINDOW: Duration = Duration::from_millis(500);

pub(crate) struct HostProcesses;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How many processes to list.
    #[serde(default = "default_top_n")]
    #[schemars(range(min = 1, max = 200))]
    top_n: u32,
    /// What to sort by: `cpu` (percent of one core), `mem` (resident memory), `io` (bytes read and written per second) or `fds` (open file descriptors).
    #[serde(default)]
    sort_by: SortBy,
    /// Only processes whose name or command line contains this text (case ignored).
    #[schemars(length(min = 1, max = 256))]
    name: Option<String>,
    /// Only processes of this user: a name or a numeric id.
    #[schemars(length(min = 1, max = 64))]
    user: Option<String>,
}

fn default_top_n() -> u32 {
    20
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    #[default]
    Cpu,
    Mem,
    Io,
    Fds,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How many processes the host has.
    total: u32,
    /// How many fit the filters.
    matched: u32,
    /// How many threads all processes have together.
    threads: u64,
    /// The processes, the largest user first.
    processes: Vec<Listed>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Process id.
    pid: u32,
    /// Process id of the parent.
    parent_pid: u32,
    /// Short name.
    name: String,
    /// Command with its arguments; a name in brackets is a kernel thread or a zombie.
    command: String,
    /// The user that it runs as.
    user: String,
    /// What it is doing.
    state: String,
    /// CPU over half a second, in percent of one core: 200 is two full cores.
    cpu_percent: f64,
    /// Resident memory in bytes. Memory that processes share counts for each.
    memory_bytes: u64,
    /// Resident memory in percent of the host's.
    memory_percent: f64,
    /// How many threads it has.
    threads: u32,
    /// Open file descriptors. Left out where the agent may not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files: Option<u64>,
    /// Bytes read from disks per second. Left out where the agent may not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_bytes_per_second: Option<u64>,
    /// Bytes written to disks per second. Left out where the agent may not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_bytes_per_second: Option<u64>,
    /// The systemd unit that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    /// Its control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    /// When it began, in clock ticks after boot. With the pid it names the process for good.
    start_time: u64,
    /// For how many seconds it has been running.
    age_seconds: u64,
}

/// All processes at one moment.
struct Moment {
    at: Instant,
    processes: Vec<Process>,
    /// Bytes read and written, by pid; only if they are to be sorted by.
    disk: HashMap<u32, (u64, u64)>,
}

impl Skill for HostProcesses {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_processes",
        name: "Processes",
        description: "List the processes that use most CPU, memory, disk I/O or file descriptors, measured over half a second, with command, user, threads, state and systemd unit. Can be filtered by name and user.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "processes",
        result_preview: "postgres (pid 812) 23 % CPU, 410 MiB; 19 more of 212",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = Arc::clone(&cx.host);
        let before = blocking(move || Ok(Moment::of(host.as_ref()))).await?;
        tokio::time::sleep(WINDOW).await;
        let host = Arc::clone(&cx.host);
        blocking(move || compare(host.as_ref(), &params, &before)).await
    }
}

impl Moment {
    fn of(host: &dyn Host) -> Self {
        let processes = process::all(host);
        let disk =
            processes.iter().filter_map(|one| Some((one.pid, process::disk_bytes(host, one.pid)?))).collect();
        Self { at: Instant::now(), processes, disk }
    }
}

/// A process with what it did between the two moments.
struct Measured<'a> {
    process: &'a Process,
    cpu_percent: f64,
    disk: Option<(u64, u64)>,
    open_files: Option<u64>,
}

fn compare(host: &dyn Host, params: &Params, before: &Moment) -> Result<Output, SkillError> {
    let after = Moment::of(host);
    let seconds = (after.at - before.at).as_secs_f64().max(0.001);
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let users = Names::users(host);
    let wanted_user = params.user.as_deref().map(|user| user_id(&users, user)).transpose()?;
    let known: HashMap<(u32, u64), &Process> =
        before.processes.iter().map(|process| ((process.pid, process.start_time), process)).collect();
    let mut notes = Vec::new();

    let mut measured: Vec<Measured<'_>> = after
        .processes
        .iter()
        .filter(|process| wanted_user.is_none_or(|user| process.user == user))
        .filter(|process| params.name.as_deref().is_none_or(|name| is_called(host, process, name)))
        .map(|process| {
            // A process that began meanwhile used all of its time in the window.
            let earlier = known.get(&(process.pid, process.start_time));
            let ticks = process.cpu_ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.cpu_ticks));
            let rate = |now: u64, then: u64| (now.saturating_sub(then) as f64 / seconds) as u64;
            Measured {
                process,
                cpu_percent: tenth(ticks as f64 / ticks_per_second / seconds * 100.0),
                disk: after.disk.get(&process.pid).map(|(read, written)| {
                    let then = earlier
                        .and_then(|_| before.disk.get(&process.pid).copied())
                        .unwrap_or((*read, *written));
                    (rate(*read, then.0), rate(*written, then.1))
                }),
                open_files: (params.sort_by == SortBy::Fds)
                    .then(|| process::open_files(host, process.pid))
                    .flatten(),
            }
        })
        .collect();
    let hidden = match params.sort_by {
        SortBy::Io => measured.iter().filter(|one| one.disk.is_none()).count(),
        SortBy::Fds => measured.iter().filter(|one| one.open_files.is_none()).count(),
        SortBy::Cpu | SortBy::Mem => 0,
    };
    if hidden > 0 {
        notes.push(format!(
            "{hidden} processes of other users don't show this to the agent, which doesn't run as root"
        ));
    }
    model::order::sort_by(&mut measured, |one, other| {
        let by_memory = one.process.resident_pages.cmp(&other.process.resident_pages);
        let order = match params.sort_by {
            SortBy::Cpu => one.cpu_percent.total_cmp(&other.cpu_percent).then(by_memory),
            SortBy::Mem => by_memory,
            SortBy::Io => {
                let sum = |one: &Measured<'_>| one.disk.map_or(0, |(read, written)| read + written);
                sum(one).cmp(&sum(other)).then(by_memory)
            }
            SortBy::Fds => one.open_files.cmp(&other.open_files).then(by_memory),
        };
        order.reverse().then(one.process.pid.cmp(&other.process.pid))
    });
    let total_memory = memory::of(host).map_or(0, |(memory, _)| memory.total);
    let uptime = crate::support::machine::cpu::uptime(host).unwrap_or(0.0);
    let listed = |one: &Measured<'_>| {
        let process = one.process;
        let memory_bytes = process.resident_pages.saturating_mul(rustix::param::page_size() as u64);
        let cgroup = process::cgroup(host, process.pid);
        Listed {
            pid: process.pid,
            parent_pid: process.parent,
            name: process.name.clone(),
            command: process::command(host, process),
            user: users.of(process.user),
            state: process::state_word(process.state).to_owned(),
            cpu_percent: one.cpu_percent,
            memory_bytes,
            memory_percent: percent(memory_bytes as f64, total_memory as f64),
            threads: process.threads,
            open_files: one.open_files.or_else(|| process::open_files(host, process.pid)),
            read_bytes_per_second: one.disk.map(|(read, _)| read),
            written_bytes_per_second: one.disk.map(|(_, written)| written),
            unit: cgroup.as_deref().and_then(process::unit_of),
            cgroup,
            start_time: process.start_time,
            age_seconds: (uptime - process.start_time as f64 / ticks_per_second).max(0.0) as u64,
        }
    };
    Ok(Output {
        total: after.processes.len() as u32,
        matched: measured.len() as u32,
        threads: after.processes.iter().map(|process| u64::from(process.threads)).sum(),
        processes: measured.iter().take(params.top_n as usize).map(listed).collect(),
        notes,
    })
}

/// The id of a user given by name or number.
fn user_id(users: &Names, user: &str) -> Result<u32, SkillError> {
    users
        .id(user)
        .or_else(|| user.parse().ok())
        .ok_or_else(|| not_found(format!("this host has no user `{user}`")))
}

fn is_called(host: &dyn Host, process: &Process, name: &str) -> bool {
    let name = name.to_lowercase();
    process.name.to_lowercase().contains(&name)
        || process::command(host, process).to_lowercase().contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use crate::{RealHost, RealHostConfig};
    use skill::SkillErrorKind;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    fn params() -> Params {
        Params { top_n: 20, sort_by: SortBy::Cpu, name: None, user: None }
    }

    fn real() -> SkillContext {
        let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
        SkillContext::new(Arc::new(host))
    }

    fn fixture() -> FakeHost {
        let stat = |pid: u32, name: &str, pages: u32| {
            format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 10 0 0 0 20 0 3 0 500 1 {pages} 0")
        };
        FakeHost::empty()
            .with("/proc/10/stat", stat(10, "small", 1))
            .with("/proc/20/stat", stat(20, "big", 100))
            .with("/proc/20/cmdline", "/opt/big\0--verbose\0")
            .with("/proc/20/cgroup", "0::/system.slice/big.service\n")
            .with("/proc/20/io", "rchar: 1\nread_bytes: 5\nwrite_bytes: 6\n")
            .with("/proc/20/fd/0", "")
            .with("/proc/30/stat", "broken")
            .with("/proc/uptime", "100.0 1.0\n")
            .with("/proc/self/stat", "1")
    }

    #[tokio::test]
    async fn a_fixture_host_is_listed_by_memory() {
        let cx = fixture().context();
        let output =
            Skill::run(&HostProcesses, &cx, Params { sort_by: SortBy::Mem, ..params() }).await.unwrap();
        assert_eq!((output.total, output.matched, output.threads), (2, 2, 6));
        let first = &output.processes[0];
        assert_eq!((first.pid, first.command.as_str()), (20, "/opt/big --verbose"));
        assert_eq!(first.unit.as_deref(), Some("big.service"));
        assert_eq!((first.open_files, first.start_time), (Some(1), 500));
        assert_eq!(output.processes[1].command, "[small]");
    }

    #[tokio::test]
    async fn filters_narrow_and_an_unknown_user_is_told() {
        let named = Params { name: Some("VERBOSE".to_owned()), ..params() };
        let output = Skill::run(&HostProcesses, &fixture().context(), named).await.unwrap();
        assert_eq!((output.matched, output.processes[0].pid), (1, 20));
        let user = Params { user: Some("nobody-at-all".to_owned()), ..params() };
        let error = Skill::run(&HostProcesses, &fixture().context(), user).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::NotFound);
        let none = Params { user: Some("4000000".to_owned()), ..params() };
        assert_eq!(Skill::run(&HostProcesses, &fixture().context(), none).await.unwrap().matched, 0);
    }

    #[tokio::test]
    async fn the_values_agree_with_ps() {
        let mut child = Command::new("cat")
            .args(["-u", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Once it has answered, it is loaded whole and its memory stays as it is.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let name = Params { name: Some("cat -u -".to_owned()), top_n: 200, ..params() };
        let output = Skill::run(&HostProcesses, &real(), name).await.unwrap();
        let ps = Command::new("ps")
            .args(["-o", "ppid=,rss=,nlwp=,user:32=,args=", "-p", &child.id().to_string()])
            .output();
        child.kill().unwrap();
        child.wait().unwrap();
        let ps = String::from_utf8(ps.unwrap().stdout).unwrap();
        let words: Vec<&str> = ps.split_whitespace().collect();
        let ours = output.processes.iter().find(|listed| listed.pid == child.id()).unwrap();
        assert_eq!(ours.parent_pid.to_string(), words[0]);
        // The kernel counts resident pages for each CPU and sums them up lazily: two readings differ by some pages.
        assert!((ours.memory_bytes / 1024).abs_diff(words[1].parse().unwrap()) <= 512, "{ps}");
        assert_eq!(ours.threads.to_string(), words[2]);
        assert_eq!(ours.user, words[3]);
        assert_eq!(ours.command, words[4..].join(" "));
        assert!(ours.cpu_percent < 50.0 && ours.open_files.is_some());
    }

    #[tokio::test]
    async fn a_busy_process_shows_its_cpu() {
        let mut child =
            Command::new("sh").args(["-c", "while :; do :; done # busy-for-test"]).spawn().unwrap();
        let name = Params { name: Some("busy-for-test".to_owned()), ..params() };
        let output = Skill::run(&HostProcesses, &real(), name).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let busy = output.unwrap();
        // Other work shares the cores, so only some part of one is certain.
        assert!(busy.processes[0].cpu_percent > 0.0, "{:?}", busy.processes[0]);
    }
}

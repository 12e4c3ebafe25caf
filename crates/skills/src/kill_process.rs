//! Sends a signal to one process. Mutating.
//!
//! The process is held by a descriptor before anything about it is read, and the signal goes through the descriptor:
//! whatever takes over its id meanwhile is never hit.

use crate::support::errors::{blocking, denied, not_found, of_io, refused, unsupported};
use crate::support::files::facts::Names;
use crate::support::machine::process::{self, Process};
use crate::support::machine::read;
use model::{Class, Scope};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long the end of a process is waited for, after a signal that is meant to end it.
const END_WITHIN: Duration = Duration::from_secs(5);

/// How long after a signal that most programs take as a message.
const NOTICE_WITHIN: Duration = Duration::from_secs(1);

pub(crate) struct KillProcess;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Process id. Never 1, a kernel thread or the agent.
    #[schemars(range(min = 2, max = 4_194_304))]
    pid: u32,
    /// `start_time` of the process as `host_processes` reports it (clock ticks after boot), so that a process that took over the id is never hit.
    start_time: u64,
    /// The signal.
    #[serde(default)]
    signal: Signal,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    #[expect(dead_code, reason = "read by the audit, which holds the arguments")]
    reason: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    #[default]
    Term,
    Kill,
    Hup,
    Int,
    Usr1,
    Usr2,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Process id.
    pid: u32,
    /// The command that got the signal.
    command: String,
    /// The user that it ran as.
    user: String,
    /// The systemd unit that it belonged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    /// The signal that it got.
    signal: Signal,
    /// Whether it ended.
    ended: bool,
    /// How long its end was waited for, in milliseconds.
    waited_ms: u64,
    /// What it is doing, if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for KillProcess {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "kill_process",
        name: "Kill a process",
        description: "Send a signal to one process, named by its id and start time, and tell whether it ended. \
                      Changes the host: needs an approval. Process 1, kernel threads and the agent are refused.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "processes",
        result_preview: "sent TERM to 4242 (python3 worker.py), it ended",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let (pid, signal) = (params.pid, params.signal);
        let host = Arc::clone(&cx.host);
        let mut target = blocking(move || Target::hold(host.as_ref(), &params)).await?;
        pidfd_send_signal(&target.held, signal.number()).map_err(|error| match error {
            Errno::SRCH => gone(pid),
            Errno::PERM => denied(format!(
                "the agent may not signal process {pid} of {}: permission denied for the user that it runs as",
                target.user
            )),
            other => of_io(format!("signal process {pid}"), &other.into()),
        })?;
        let sent = Instant::now();
        let mut until = sent + if signal.ends() { END_WITHIN } else { NOTICE_WITHIN };
        if let Some(deadline) = cx.deadline {
            until = until.min(deadline - Duration::from_millis(500).min(deadline - sent));
        }
        let ended = ends_by(target.held, until).await?;
        let waited_ms = sent.elapsed().as_millis() as u64;
        let host = cx.host.as_ref();
        let still = process::one(host, pid).filter(|one| one.start_time == target.process.start_time);
        if !ended && signal.ends() {
            target.notes.push(match signal {
                Signal::Kill => "it was killed, but the kernel has not ended it yet: it waits for a device or a file system".to_owned(),
                _ => "it may still be finishing its work; KILL ends it without asking".to_owned(),
            });
        }
        Ok(Output {
            pid,
            command: target.command,
            user: target.user,
            unit: target.unit,
            signal,
            ended,
            waited_ms,
            state: still.filter(|_| !ended).map(|one| process::state_word(one.state).to_owned()),
            notes: target.notes,
        })
    }
}

/// A process that may be signalled, held by a descriptor.
struct Target {
    held: OwnedFd,
    process: Process,
    command: String,
    user: String,
    unit: Option<String>,
    notes: Vec<String>,
}

impl Target {
    fn hold(host: &dyn Host, params: &Params) -> Result<Self, SkillError> {
        let pid = params.pid;
        if pid == 1 {
            return Err(refused("process 1 runs the host; it is never signalled"));
        }
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| gone(pid))?;
        // Held before it is looked at: the descriptor stays with this process whatever happens to its id.
        let held = pidfd_open(id, PidfdFlags::NONBLOCK).map_err(|error| match error {
            Errno::SRCH => gone(pid),
            Errno::INVAL => not_found(format!("{pid} is not a process but a thread of one; name the process")),
            Errno::NOSYS => unsupported(
                "this kernel is older than Linux 5.3: it can't hold on to a process, so another one might be hit",
            ),
            other => of_io(format!("hold process {pid}"), &other.into()),
        })?;
        let process = process::one(host, pid).ok_or_else(|| gone(pid))?;
        let command = process::command(host, &process);
        if process.start_time != params.start_time {
            return Err(not_found(format!(
                "process {pid} is another one than was meant: `{command}` began at {}, not at {}; look again with `host_processes`",
                process.start_time, params.start_time
            )));
        }
        same_namespace(host, &process)?;
        if process.state == 'Z' {
            return Err(not_found(format!(
                "process {pid} has ended already; its parent, process {}, has not taken note of it (a zombie)",
                process.parent
            )));
        }
        if process.of_kernel {
            return Err(refused(format!(
                "{pid} is the kernel's thread `{}`; signals can't end it",
                process.name
            )));
        }
        refuse_own(host, pid)?;
        let cgroup = process::cgroup(host, pid);
        let unit = cgroup.as_deref().and_then(process::unit_of);
        if unit.is_some() && unit == host.change_rules().own_unit {
            return Err(refused(format!("process {pid} (`{command}`) belongs to the agent itself")));
        }
        let notes = ignored(host, pid, params.signal).into_iter().collect();
        let user = Names::users(host).of(process.user);
        Ok(Self { held, process, command, user, unit, notes })
    }
}

impl Signal {
    fn number(self) -> rustix::process::Signal {
        match self {
            Self::Term => rustix::process::Signal::TERM,
            Self::Kill => rustix::process::Signal::KILL,
            Self::Hup => rustix::process::Signal::HUP,
            Self::Int => rustix::process::Signal::INT,
            Self::Usr1 => rustix::process::Signal::USR1,
            Self::Usr2 => rustix::process::Signal::USR2,
        }
    }

    /// Whether it is sent to end a process.
    fn ends(self) -> bool {
        matches!(self, Self::Term | Self::Kill | Self::Int)
    }
}

fn gone(pid: u32) -> SkillError {
    not_found(format!("there is no process {pid}"))
}

/// The agent's own `/proc` must show the same process: else the host's ids mean others here.
fn same_namespace(host: &dyn Host, process: &Process) -> Result<(), SkillError> {
    if host.root() == std::path::Path::new("/") {
        return Ok(());
    }
    let own = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    if process::start_time(&own) == Some(process.start_time) {
        return Ok(());
    }
    Err(unsupported("the agent runs in a process namespace of its own and can't signal the host's processes"))
}

/// Refuses the agent and everything that it was started by.
fn refuse_own(host: &dyn Host, pid: u32) -> Result<(), SkillError> {
    let mut one = std::process::id();
    if one == pid {
        return Err(refused("this is the agent itself"));
    }
    // A limit, because parents may change while they are walked.
    for _ in 0..64 {
        let Some(parent) = process::one(host, one).map(|process| process.parent).filter(|parent| *parent > 1)
        else {
            return Ok(());
        };
        if parent == pid {
            return Err(refused(format!("the agent was started by process {pid}")));
        }
        one = parent;
    }
    Ok(())
}

/// A remark if the process doesn't listen to this signal.
fn ignored(host: &dyn Host, pid: u32, signal: Signal) -> Option<String> {
    let status = read(host, &format!("/proc/{pid}/status"))?;
    let set = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(mask & (1 << (signal.number().as_raw() - 1)) != 0)
    };
    let what = if set("SigIgn")? {
        "ignores"
    } else if set("SigBlk")? {
        "blocks"
    } else {
        return None;
    };
    let name = serde_json::to_value(signal).ok()?;
    Some(format!("the process {what} {}", name.as_str()?))
}

/// Whether the process ends by then. The kernel wakes us; nothing is asked again and again.
async fn ends_by(held: OwnedFd, until: Instant) -> Result<bool, SkillError> {
    blocking(move || {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&left)) {
                Ok(events) => return Ok(events > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(of_io("wait for the end of the process", &error.into())),
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::SkillErrorKind;
    use std::process::{Child, Command};

    #[derive(Debug)]
    struct ThisMachine;

    impl Host for ThisMachine {
        fn root(&self) -> &std::path::Path {
            std::path::Path::new("/")
        }
    }

    fn start_time(child: &Child) -> u64 {
        process::one(&ThisMachine, child.id()).unwrap().start_time
    }

    fn sleeper() -> (Child, u64) {
        // `spawn` returns when the program runs: no shell's name is seen by chance.
        let child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let start = start_time(&child);
        (child, start)
    }

    fn sleeper_that_ignores_hup() -> (Child, u64) {
        use std::io::{BufRead, BufReader};
        let mut child = Command::new("/bin/sh")
            .args(["-c", "trap '' HUP; echo ready; exec sleep 1000"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let start = start_time(&child);
        (child, start)
    }

    fn params(pid: u32, start_time: u64, signal: Signal) -> Params {
        Params { pid, start_time, signal, reason: "a test".to_owned() }
    }

    async fn run(params: Params) -> Result<Output, SkillError> {
        Skill::run(&KillProcess, &SkillContext::new(Arc::new(ThisMachine)), params).await
    }

    #[tokio::test]
    async fn a_process_ends_and_is_told() {
        let (mut child, start) = sleeper();
        let output = run(params(child.id(), start, Signal::Term)).await.unwrap();
        assert!(output.ended && output.command.ends_with("sleep 1000"), "{output:?}");
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }

    #[tokio::test]
    async fn a_process_that_took_over_the_id_is_never_hit() {
        let (mut child, start) = sleeper();
        let error = run(params(child.id(), start - 1, Signal::Kill)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::NotFound);
        assert!(error.message.contains("another one"), "{error}");
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let error = run(params(child.id(), start, Signal::Kill)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_process_that_ignores_the_signal_is_told_alive() {
        let (mut child, start) = sleeper_that_ignores_hup();
        let output = run(params(child.id(), start, Signal::Hup)).await.unwrap();
        assert!(!output.ended && output.state.is_some(), "{output:?}");
        assert_eq!(output.notes, ["the process ignores HUP"]);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn a_zombie_has_ended_already() {
        let (child, start) = sleeper();
        assert!(run(params(child.id(), start, Signal::Kill)).await.unwrap().ended);
        let error = run(params(child.id(), start, Signal::Kill)).await.unwrap_err();
        assert!(error.kind == SkillErrorKind::NotFound && error.message.contains("zombie"), "{error}");
    }

    #[tokio::test]
    async fn the_agent_what_started_it_and_process_one_are_refused() {
        let own = process::one(&ThisMachine, std::process::id()).unwrap();
        let parent = process::one(&ThisMachine, own.parent).unwrap();
        for one in [&own, &parent] {
            let error = run(params(one.pid, one.start_time, Signal::Usr1)).await.unwrap_err();
            assert_eq!(error.kind, SkillErrorKind::Refused, "{error}");
        }
        assert_eq!(run(params(1, 0, Signal::Kill)).await.unwrap_err().kind, SkillErrorKind::Refused);
    }

    #[tokio::test]
    async fn processes_of_another_namespace_are_not_confused_with_ours() {
        let (mut child, start) = sleeper();
        let id = child.id();
        let stat = format!("{id} (db) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0 0", start + 5);
        let cx = FakeHost::empty().with(&format!("/proc/{id}/stat"), stat).context();
        let error = Skill::run(&KillProcess, &cx, params(id, start + 5, Signal::Kill)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

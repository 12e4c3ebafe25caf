//! The helper's two stages: the outer one on the host, and the inner one inside of another program's sandbox.

use super::tally::{descendants, group_of, proportional, tally, used_bytes};
use super::{FAILED, child, mounts, read_spec, sys};
use crate::SandboxError;
use crate::spec::{By, Hold, Message, Spec, Stopped};
use rustix::fs::Mode;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// How often the child is counted, in milliseconds.
const TICK_MS: i32 = 20;

/// Descriptors of the helper itself are kept above those that a child may have.
const OWN_DESCRIPTORS: i32 = 20;

/// Runs a child to its end.
pub(crate) fn run(control: &str, progress: &str) -> u8 {
    let opened = (|| {
        let take = |number: &str| -> io::Result<OwnedFd> {
            let number = number.parse().map_err(io::Error::other)?;
            let fd = sys::inherited(number)?;
            sys::duplicate_above(fd.as_fd(), OWN_DESCRIPTORS)
        };
        let control = take(control)?;
        let progress = if progress == "-" { None } else { Some(take(progress)?) };
        Ok::<_, io::Error>((UnixStream::from(control), progress))
    })();
    let Ok((control, progress)) = opened else { return FAILED };
    match supervise(&control, progress) {
        Ok(()) => 0,
        Err(error) => {
            tell(&control, &Message::Failed(error.to_string()));
            FAILED
        }
    }
}

/// Runs as the inner stage: reads what to become from standard input, whose rest is the child's.
pub(crate) fn inner() -> u8 {
    let failed = |token: &str, error: SandboxError| {
        eprintln!("{token}{error}");
        FAILED
    };
    let mut spec = match unbuffered_stdin().map_err(SandboxError::step("standard input")).and_then(read_spec)
    {
        Ok(spec) => spec,
        Err(error) => return failed("", error),
    };
    // The other program set up the file systems; what it could not is this process's part.
    spec.by = By::Nothing;
    sys::reset_signals();
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let become_it = || {
        if spec.empty_stdin {
            let null = File::open("/dev/null").map_err(SandboxError::step("/dev/null"))?;
            sys::duplicate_onto(null.as_fd(), 0).map_err(SandboxError::step("standard input"))?;
        }
        let first_closed = if spec.progress { 4 } else { 3 };
        sys::close_on_exec_from(first_closed).map_err(SandboxError::step("descriptors"))?;
        if let Some(identity) = &spec.identity {
            std::os::unix::fs::chown(&spec.private_tmp, Some(identity.uid), Some(identity.gid))
                .map_err(SandboxError::step(spec.private_tmp.display()))?;
        }
        child::become_program(&spec)
    };
    match become_it() {
        Ok(never) => match never {},
        Err(error) => failed(&spec.token, error),
    }
}

/// Standard input without the standard library's buffer, which would swallow the child's part.
fn unbuffered_stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn tell(mut control: &UnixStream, message: &Message) {
    // An agent that is gone can't be told; the closed socket ends everything anyway.
    if let Ok(mut text) = serde_json::to_vec(message) {
        text.push(b'\n');
        let _gone = control.write_all(&text);
    }
}

fn supervise(control: &UnixStream, progress: Option<OwnedFd>) -> Result<(), SandboxError> {
    sys::reset_signals();
    sys::close_range(3, OWN_DESCRIPTORS as u32 - 1);
    sys::close_on_exec_from(3).map_err(SandboxError::step("descriptors"))?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    rustix::process::setsid().map_err(|error| SandboxError::step("a session")(error.into()))?;
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(SandboxError::step("to be reaper"))?;
    // Whoever watches must not wait for those who are watched. Not everybody may be less nice.
    let _may_not = sys::be_nice(-10);
    let spec = read_spec(control)?;
    let weaker = join_cgroup(&spec)?;
    if spec.by == By::Landlock {
        enter_namespaces(&spec)?;
    } else if spec.by == By::Nothing {
        fs::create_dir_all(&spec.private_tmp).map_err(SandboxError::step(spec.private_tmp.display()))?;
    }
    let (problems, problem_end) = pipe()?;
    let (status, status_end) = pipe()?;
    let first = match sys::fork().map_err(SandboxError::step("a process"))? {
        sys::Fork::Parent(pid) => pid,
        sys::Fork::Child => first(&spec, progress, problem_end, status_end),
    };
    drop((problem_end, status_end, progress));
    let_go_of_streams()?;
    let outcome = watch(control, &spec, first, problems, status, weaker);
    end_all(first);
    if let By::Program { cleanup: Some(cleanup), .. } = &spec.by {
        run_quietly(cleanup);
    }
    outcome.map(|(status, stopped)| tell(control, &Message::Ended { status, stopped }))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    let pipe = || {
        let (reader, writer) = io::pipe()?;
        let above = |fd: OwnedFd| sys::duplicate_above(fd.as_fd(), OWN_DESCRIPTORS);
        Ok((above(reader.into())?, above(writer.into())?))
    };
    pipe().map_err(SandboxError::step("a pipe"))
}

fn let_go_of_streams() -> Result<(), SandboxError> {
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(SandboxError::step("/dev/null"))?;
    (0..3)
        .try_for_each(|number| sys::duplicate_onto(null.as_fd(), number))
        .map_err(SandboxError::step("standard streams"))
}

/// Counts this process and all that come from it in the child's cgroup. Says what is weaker without one.
fn join_cgroup(spec: &Spec) -> Result<Vec<String>, SandboxError> {
    if let Some(cgroup) = &spec.cgroup {
        let path = cgroup.join("cgroup.procs");
        fs::write(&path, "0").map_err(SandboxError::step(path.display()))?;
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "no cgroup could be made: memory, processes and CPU time are counted every {TICK_MS} ms, and the share of the CPU is held by priority and CPU time only"
    )])
}

fn enter_namespaces(spec: &Spec) -> Result<(), SandboxError> {
    let sockets = if spec.unix_sockets { mounts::bound_sockets(&spec.opened) } else { Vec::new() };
    if spec.hold == Hold::Full {
        match DirBuilder::new().mode(0o700).create(&spec.private_tmp) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(SandboxError::step(spec.private_tmp.display())(error));
            }
            _ => {}
        }
    }
    if spec.user_namespace {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        sys::unshare(libc::CLONE_NEWUSER).map_err(SandboxError::step("a user namespace"))?;
        for (file, text) in [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("{user} {user} 1")),
            ("gid_map", format!("{group} {group} 1")),
        ] {
            fs::write(format!("/proc/self/{file}"), text)
                .map_err(SandboxError::step(format!("the user namespace's {file}")))?;
        }
    }
    let mut flags = libc::CLONE_NEWNS;
    if spec.hold != Hold::Full {
        flags |= libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        if spec.unix_sockets && !spec.network {
            // Abstract sockets belong to the network namespace.
            flags |= libc::CLONE_NEWNET;
        }
    }
    sys::unshare(flags).map_err(SandboxError::step("namespaces"))?;
    mounts::prepare(spec, &sockets)
}

/// The first process: starts the child, takes in what is orphaned, and says how the child ended.
fn first(spec: &Spec, progress: Option<OwnedFd>, problems: OwnedFd, status: OwnedFd) -> ! {
    let started = (|| {
        sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as _)
            .map_err(SandboxError::step("the end with the helper"))?;
        // A cgroup shares the CPU out; without one, a child gives way to everything else.
        let nice = if spec.cgroup.is_some() { 0 } else { 10 };
        sys::be_nicer(nice).map_err(SandboxError::step("its priority"))?;
        // A session of its own, so that its process groups hold nothing else. Orphans come here, to be counted.
        rustix::process::setsid().map_err(|error| SandboxError::step("a session")(error.into()))?;
        sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(SandboxError::step("to be reaper"))?;
        match sys::fork().map_err(SandboxError::step("a process"))? {
            sys::Fork::Parent(pid) => Ok(pid),
            sys::Fork::Child => {
                let Err(error) = start(spec, progress.as_ref());
                Err(error)
            }
        }
    })();
    let pid = match started {
        Ok(pid) => pid,
        Err(error) => {
            let _gone = File::from(problems).write_all(error.to_string().as_bytes());
            sys::exit_now(1);
        }
    };
    drop((problems, progress));
    if let_go_of_streams().is_err() {
        sys::exit_now(1);
    }
    // Nothing of the helper's is left open here but the way to tell the status.
    let mut status = PipeWriter::from(status);
    loop {
        match sys::wait(-1, 0) {
            Ok(Some(ended)) if ended.pid == pid => {
                let _gone = status.write_all(&ended.status.to_le_bytes());
                sys::exit_now(0);
            }
            Ok(_) => {}
            Err(_) => sys::exit_now(1),
        }
    }
}

fn start(spec: &Spec, progress: Option<&OwnedFd>) -> Result<std::convert::Infallible, SandboxError> {
    let first_closed = match progress {
        Some(progress) => {
            sys::duplicate_onto(progress.as_fd(), 3).map_err(SandboxError::step("descriptor 3"))?;
            4
        }
        None => 3,
    };
    sys::close_on_exec_from(first_closed).map_err(SandboxError::step("descriptors"))?;
    match &spec.by {
        By::Landlock | By::Nothing => child::become_program(spec),
        By::Program { argv, .. } => {
            let Some((program, args)) = argv.split_first() else {
                return Err(SandboxError::Invalid("no program holds the child".to_owned()));
            };
            let path = ("PATH", skill::host::PROGRAM_PATH);
            let error = Command::new(program).args(args).env_clear().envs([path]).exec();
            Err(SandboxError::step(program)(error))
        }
    }
}

type Outcome = (Option<i32>, Option<Stopped>);

/// Watches the child until it ends by itself, the agent asks, or it used up what it may.
fn watch(
    control: &UnixStream,
    spec: &Spec,
    first: i32,
    problems: OwnedFd,
    status: OwnedFd,
    weaker: Vec<String>,
) -> Result<Outcome, SandboxError> {
    let mut problem = String::new();
    // Ends when the program is executed, which closes the other end, or with what went wrong.
    let waiting = SandboxError::step("how the child starts");
    match sys::poll([control.as_fd(), problems.as_fd()], -1) {
        Ok([true, false]) => return Ok((None, Some(Stopped::Asked))),
        Ok(_) => PipeReader::from(problems).read_to_string(&mut problem).map_err(waiting)?,
        Err(error) => return Err(waiting(error)),
    };
    if !problem.is_empty() {
        return Err(SandboxError::Helper(problem));
    }
    tell(control, &Message::Started(weaker));
    loop {
        let ready = sys::poll([control.as_fd(), status.as_fd()], TICK_MS)
            .map_err(SandboxError::step("waiting for the child"))?;
        match ready {
            [_, true] => {
                let mut bytes = [0; 4];
                let read = File::from(status).read_exact(&mut bytes);
                return Ok((read.ok().map(|()| i32::from_le_bytes(bytes)), None));
            }
            // The agent sends nothing more: what can be read is the end.
            [true, _] => return Ok((None, Some(Stopped::Asked))),
            [false, false] => {}
        }
        if let Some(stopped) = used_up(spec, first) {
            return Ok((None, Some(stopped)));
        }
    }
}

fn used_up(spec: &Spec, first: i32) -> Option<Stopped> {
    let limits = &spec.limits;
    let most = limits.pids as usize + 1;
    // The first process is ours, but holds the CPU time of what it took in and what has ended.
    let own = tally(&[first]);
    let pids = descendants(first, most);
    let used = tally(&pids);
    if used.cpu_seconds + own.cpu_seconds > limits.cpu_seconds as f64 + 0.5 {
        return Some(Stopped::Cpu);
    }
    if spec.cgroup.is_some() {
        return None;
    }
    if used.tasks > limits.pids {
        return Some(Stopped::Processes);
    }
    let files = if spec.by == By::Landlock { used_bytes(&spec.private_tmp) } else { 0 };
    if used.resident + files > limits.memory_bytes {
        // Pages that are shared, as after a fork, count once only.
        if proportional(&pids) + files > limits.memory_bytes {
            return Some(Stopped::Memory);
        }
    }
    None
}

/// Ends everything that came of the child. Returns when nothing of it is left.
fn end_all(first: i32) {
    let own = std::process::id() as i32;
    sys::kill(first, libc::SIGKILL);
    loop {
        // A whole group ends at once, however fast it forks. Groups of what came of the child hold nothing else, as the
        // first process began a session. Its own group is among them after it has gone, too.
        sys::kill(-first, libc::SIGKILL);
        let pids = descendants(own, usize::MAX);
        let mut groups = BTreeSet::new();
        groups.extend(pids.iter().filter_map(|pid| group_of(*pid)));
        // Stopped before the rest is, so that none forks between the list and its end.
        for signal in [libc::SIGSTOP, libc::SIGKILL] {
            groups
                .iter()
                .filter(|group| **group > 1 && **group != own)
                .for_each(|group| sys::kill(-group, signal));
            pids.iter().for_each(|pid| sys::kill(*pid, signal));
        }
        loop {
            match sys::wait(-1, libc::WNOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No children are left.
                Err(_) => return,
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn run_quietly(argv: &[String]) {
    if let Some((program, args)) = argv.split_first() {
        let path = ("PATH", skill::host::PROGRAM_PATH);
        let mut command = Command::new(program);
        command.args(args).env_clear().envs([path]);
        let _best_effort = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

//! The agent's end of one child: starts the helper, feeds it, reads what comes, and ends it in time.

use crate::SandboxError;
use crate::capture::{drain, lines};
use crate::cgroup::Group;
use crate::spawn::{Ends, helper};
use crate::spec::{By, Message, Spec, Stopped};
use skill::sandbox::{Captured, Exit};
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// How long the helper may take to end everything once it was told to.
const END: Duration = Duration::from_secs(5);

/// How long streams may stay open after everything has ended.
const STREAMS: Duration = Duration::from_secs(1);

/// What is run, with all decisions made.
pub(crate) struct Job {
    pub(crate) spec: Spec,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) progress: Option<mpsc::Sender<String>>,
    pub(crate) wall: Duration,
    pub(crate) stdout_bytes: usize,
    pub(crate) stderr_bytes: usize,
    pub(crate) group: Option<Group>,
}

/// What came of it.
pub(crate) struct Done {
    pub(crate) exit: Exit,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) duration: Duration,
    pub(crate) weaker: Vec<String>,
}

/// Runs a job to its end. Cancel safety: dropped, it closes the control socket, upon which the helper ends everything.
pub(crate) async fn run(helper_words: &[String], job: Job) -> Result<Done, SandboxError> {
    let Job { mut spec, stdin, progress, wall, stdout_bytes, stderr_bytes, group } = job;
    let began = Instant::now();
    let step = |what: &str| SandboxError::step(what.to_owned());
    let (ours, theirs) = StdUnixStream::pair().map_err(step("the control socket"))?;
    ours.set_nonblocking(true).map_err(step("the control socket"))?;
    let control = UnixStream::from_std(ours).map_err(step("the control socket"))?;
    let (progress_reader, progress_writer) = match progress {
        None => (None, None),
        Some(to) => {
            let (reader, writer) = tokio::net::unix::pipe::pipe()
                .and_then(|(writer, reader)| Ok((reader, writer.into_blocking_fd()?)))
                .map_err(step("the progress pipe"))?;
            (Some((reader, to)), Some(writer))
        }
    };
    let inner = inner_description(&mut spec, stdin.is_none())?;
    let ends = Ends { control: theirs.into(), progress: progress_writer };
    let mut child = helper(helper_words, stdin.is_some() || inner.is_some(), ends).map_err(
        SandboxError::step(format!("the helper {}", helper_words.first().map_or("", String::as_str))),
    )?;

    let (mut stdout, mut stderr) = (Captured::default(), Captured::default());
    let streams = {
        let (out, err, input) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
        let (stdout, stderr) = (&mut stdout, &mut stderr);
        async move {
            let feed = async {
                if let Some(mut input) = input {
                    // A child that doesn't read all of it is its own affair.
                    for part in [inner, stdin].into_iter().flatten() {
                        let _closed = input.write_all(&part).await;
                    }
                }
            };
            let read_out = async {
                if let Some(out) = out {
                    drain(out, stdout_bytes, stdout).await;
                }
            };
            let read_err = async {
                if let Some(err) = err {
                    drain(err, stderr_bytes, stderr).await;
                }
            };
            let progress = async {
                if let Some((reader, to)) = progress_reader {
                    lines(reader, to).await;
                }
            };
            // An input that nobody reads must not keep the rest waiting.
            tokio::select! {
                () = async { tokio::join!(read_out, read_err, progress); } => {}
                () = async { feed.await; std::future::pending().await } => {}
            }
        }
    };
    let conversation = converse(control, &spec, wall);
    let mut streams = Box::pin(streams);
    tokio::pin!(conversation);
    let mut streams_ended = false;
    let told = loop {
        tokio::select! {
            told = &mut conversation => break told,
            () = &mut streams, if !streams_ended => streams_ended = true,
        }
    };
    if !streams_ended {
        let _closed = timeout(STREAMS, &mut streams).await;
    }
    drop(streams);
    if timeout(END, child.wait()).await.is_err() {
        let _gone = child.start_kill();
    }
    let told = told?;
    let out_of_memory = group.as_ref().is_some_and(Group::ran_out_of_memory);
    if let Some(problem) = inner_problem(&spec, &stderr) {
        return Err(SandboxError::Helper(problem));
    }
    Ok(Done {
        exit: exit(&told, out_of_memory, spec.by != By::Landlock),
        stdout,
        stderr,
        duration: began.elapsed(),
        weaker: told.weaker,
    })
}

/// What the helper told.
struct Told {
    weaker: Vec<String>,
    status: Option<i32>,
    stopped: Option<Stopped>,
    wall_clock: bool,
}

async fn converse(control: UnixStream, spec: &Spec, wall: Duration) -> Result<Told, SandboxError> {
    let description = framed(spec)?;
    let (reader, mut writer) = control.into_split();
    let mut reader = BufReader::new(reader);
    let deadline = Instant::now() + wall;
    let sent = async { writer.write_all(&description).await };
    // A helper that could not start says why on the same socket.
    let _refused = tokio::time::timeout_at(deadline, sent).await;
    let mut told = Told { weaker: Vec::new(), status: None, stopped: None, wall_clock: false };
    let mut patience = deadline;
    loop {
        let mut line = String::new();
        match tokio::time::timeout_at(patience, reader.read_line(&mut line)).await {
            Err(_) if told.wall_clock => return Ok(told),
            Err(_) => {
                told.wall_clock = true;
                patience = Instant::now() + END;
                // The helper sees the end of what we send, and ends everything.
                let _gone = writer.shutdown().await;
            }
            Ok(Ok(0) | Err(_)) => {
                return Err(SandboxError::HelperEnded { helper: PathBuf::from("of the agent") });
            }
            Ok(Ok(_)) => match serde_json::from_str(&line) {
                Ok(Message::Failed(problem)) => return Err(SandboxError::Helper(problem)),
                Ok(Message::Started(weaker)) => told.weaker = weaker,
                Ok(Message::Ended { status, stopped }) => {
                    (told.status, told.stopped) = (status, stopped);
                    return Ok(told);
                }
                Err(error) => {
                    return Err(SandboxError::Helper(format!(
                        "the helper said what makes no sense: {error}"
                    )));
                }
            },
        }
    }
}

fn framed(spec: &Spec) -> Result<Vec<u8>, SandboxError> {
    let text = serde_json::to_vec(spec)
        .map_err(|error| SandboxError::step("the description of the child")(io::Error::other(error)))?;
    if text.len() > crate::helper::MAX_SPEC_BYTES {
        return Err(SandboxError::Invalid("the command is too long".to_owned()));
    }
    let mut framed = (text.len() as u32).to_le_bytes().to_vec();
    framed.extend(text);
    Ok(framed)
}

/// The description that an inner stage reads in front of the child's standard input. The outer one then gets none of
/// what is the child's own.
fn inner_description(spec: &mut Spec, empty_stdin: bool) -> Result<Option<Vec<u8>>, SandboxError> {
    if !matches!(spec.by, By::Program { .. }) {
        return Ok(None);
    }
    spec.empty_stdin = empty_stdin;
    framed(spec).map(Some)
}

/// What an inner stage said of why it failed.
fn inner_problem(spec: &Spec, stderr: &Captured) -> Option<String> {
    let text = String::from_utf8_lossy(&stderr.bytes);
    let line = text.lines().find_map(|line| line.strip_prefix(spec.token.as_str()))?;
    matches!(spec.by, By::Program { .. }).then(|| line.to_owned())
}

fn exit(told: &Told, out_of_memory: bool, shell_codes: bool) -> Exit {
    match told.stopped {
        _ if told.wall_clock => Exit::WallClock,
        Some(Stopped::Cpu) => Exit::CpuTime,
        Some(Stopped::Memory) => Exit::Memory,
        Some(Stopped::Processes) => Exit::Processes,
        Some(Stopped::Asked) | None => {
            let status = ExitStatus::from_raw(told.status.unwrap_or(libc::SIGKILL));
            let signal = status.signal().or_else(|| {
                // Other programs put a signal into the code, as shells do.
                status
                    .code()
                    .filter(|_| shell_codes)
                    .and_then(|code| [152].contains(&code).then_some(code - 128))
            });
            match (status.code(), signal) {
                (_, Some(libc::SIGXCPU)) => Exit::CpuTime,
                (_, Some(libc::SIGKILL)) if out_of_memory => Exit::Memory,
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Signal(libc::SIGKILL),
            }
        }
    }
}

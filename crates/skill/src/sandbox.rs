//! What a skill or pack says of a child process that it wants run, and what comes back. The backends are in the crate
//! `sandbox`; this is the seam, so that skills need no kernel in their tests.

pub use crate::noted::Noted;

use crate::SkillError;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// How much of the machine a child may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Nothing but a private temporary directory; secrets unreadable; no sockets but those in
    /// [`ChildCommand::openings`].
    ReadOnly,
    /// As `ReadOnly`, but files below these may be written.
    Workspace {
        /// Absolute directories.
        write: Vec<PathBuf>,
    },
    /// Everything that the agent itself may, within limits; never the agent's own files.
    Full,
}

/// One thing that a profile is opened by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "path")]
pub enum Opening {
    /// Sockets of the internet families.
    Network,
    /// One Unix socket, by its absolute path, and nothing else of its directory.
    Socket(PathBuf),
    /// A file or directory that is readable although the profile hides it.
    Read(PathBuf),
}

/// What a child may use. A zero means: as much as the agent's configuration allows, which also caps what is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildLimits {
    /// Wall clock, from the start. The whole process group ends then.
    pub wall: Duration,
    /// Seconds of CPU time, of all of its processes together where the kernel can count so.
    pub cpu_seconds: u32,
    /// MiB of memory.
    pub memory_mib: u32,
    /// Processes and threads.
    pub pids: u32,
    /// Open files of each process.
    pub open_files: u32,
    /// Largest file that it may write, in MiB.
    pub file_mib: u32,
    /// Bytes of standard output that are kept. More is read and dropped.
    pub stdout_bytes: usize,
    /// Bytes of standard error that are kept. More is read and dropped.
    pub stderr_bytes: usize,
}

/// A child process that is asked for.
#[derive(Debug)]
pub struct ChildCommand {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where it starts; `None`: its private temporary directory.
    pub cwd: Option<PathBuf>,
    /// What it reads from standard input, then end of file. `None`: `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// Where lines go that it writes to descriptor 3. `None`: it has no descriptor 3.
    pub progress: Option<mpsc::Sender<String>>,
    /// How much it may change.
    pub profile: Profile,
    /// What the profile is opened by.
    pub openings: BTreeSet<Opening>,
    /// What it may use.
    pub limits: ChildLimits,
}

/// What was kept of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// How many there were.
    pub total: u64,
}

impl Captured {
    /// Whether more was written than kept.
    pub fn truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// Killed by this signal, not by us.
    Signal(i32),
    /// We killed it: its time was up.
    WallClock,
    /// It used up its CPU time.
    CpuTime,
    /// It asked for more memory than it may have, and was killed for it.
    Memory,
    /// It started more processes and threads than it may have, and was killed for it.
    Processes,
}

/// What held the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildReport {
    /// The backend's name: `landlock`, `firejail`, `bubblewrap`, `docker` or `none`.
    pub backend: String,
    /// `read_only`, `workspace` or `full`.
    pub profile: String,
    /// What the profile was opened by.
    pub openings: BTreeSet<Opening>,
    /// Sentences about limits that are weaker than asked for, for example because cgroups can't be written.
    pub weaker: Vec<String>,
}

impl fmt::Display for ChildReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.backend, self.profile)?;
        for opening in &self.openings {
            match opening {
                Opening::Network => f.write_str(" +network")?,
                Opening::Socket(path) | Opening::Read(path) => write!(f, " +{}", path.display())?,
            }
        }
        for weaker in &self.weaker {
            write!(f, "; {weaker}")?;
        }
        Ok(())
    }
}

/// A child that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildEnded {
    /// How.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// From start to the end of its last process.
    pub duration: Duration,
    /// What held it.
    pub report: ChildReport,
}

/// Runs child processes under limits.
pub trait Sandbox: Send + Sync + fmt::Debug {
    /// Whether the kernel keeps a [`Profile::ReadOnly`] child from changing anything. Where not, a subprocess of
    /// class safe counts as mutating.
    fn holds_read_only(&self) -> bool;

    /// Whether a profile can be opened by this. Where not, a command that needs it isn't safe.
    fn can_open(&self, opening: &Opening) -> bool;

    /// Runs a child to its end. Dropping the future ends the child and everything that it started.
    ///
    /// # Errors
    ///
    /// Fails if it could not be started as asked for; then nothing of it ran. Never runs it under less.
    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>>;
}

/// The sandbox of a host that may run no children.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChildren;

impl Sandbox for NoChildren {
    fn holds_read_only(&self) -> bool {
        false
    }

    fn can_open(&self, _opening: &Opening) -> bool {
        false
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        let message =
            format!("this edge runs no child processes: `{}` was not started", command.program.display());
        Box::pin(std::future::ready(Err(SkillError::new(crate::SkillErrorKind::Unsupported, message))))
    }
}

//! What the agent tells the helper, and what the helper answers. Both ends are the same binary.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the private temporary directory is mounted for children that hold a profile.
pub(crate) const PRIVATE_TMP: &str = "/run/steadyhand-sandbox";

/// How much the child may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hold {
    ReadOnly,
    Workspace,
    Full,
}

/// Who holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The helper itself: namespaces, Landlock, seccomp.
    Landlock,
    /// Nobody: limits only.
    Nothing,
    /// Another program, in which the helper runs again as its inner stage.
    Program {
        /// The program and its arguments.
        argv: Vec<String>,
        /// What is run afterwards, to leave nothing behind.
        cleanup: Option<Vec<String>>,
    },
}

/// Whom the child runs as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
}

/// What the child may use. All of it is set; there is no "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldLimits {
    pub(crate) cpu_seconds: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) pids: u64,
    pub(crate) open_files: u64,
    pub(crate) file_bytes: u64,
}

/// A child, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    /// Whether the child, once it is held, tries what it may not instead of becoming the program.
    pub(crate) probe: bool,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) hold: Hold,
    pub(crate) by: By,
    /// The version of Landlock to act as; 0: without.
    pub(crate) abi: u32,
    pub(crate) network: bool,
    pub(crate) unix_sockets: bool,
    /// Sockets that stay reachable, and files that stay readable.
    pub(crate) opened: Vec<PathBuf>,
    /// Roots that may be written.
    pub(crate) write: Vec<PathBuf>,
    /// Whom to become; `None`: as the agent.
    pub(crate) identity: Option<Identity>,
    /// Capabilities that are kept, as a mask; `None`: all.
    pub(crate) capabilities: Option<u64>,
    /// The agent's own files: never writable.
    pub(crate) own: Vec<PathBuf>,
    /// Paths, with `*` and `?` inside a name, that are not readable.
    pub(crate) hidden: Vec<String>,
    pub(crate) private_tmp: PathBuf,
    pub(crate) limits: HeldLimits,
    /// A cgroup that is there and has its limits.
    pub(crate) cgroup: Option<PathBuf>,
    /// Whether a user namespace lends what is needed to prepare.
    pub(crate) user_namespace: bool,
    /// Whether descriptor 3 is the child's.
    pub(crate) progress: bool,
    /// Whether standard input is to be `/dev/null`.
    pub(crate) empty_stdin: bool,
    /// Begins the line in which an inner stage says on standard error why it failed.
    pub(crate) token: String,
}

/// Why the helper ended the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stopped {
    /// The agent asked, or is gone.
    Asked,
    Cpu,
    Memory,
    Processes,
}

/// What the helper tells the agent, one JSON text per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// Nothing was run.
    Failed(String),
    /// The program was executed. Sentences about what is weaker.
    Started(Vec<String>),
    /// All of it ended.
    Ended {
        /// The child's status as `wait` puts it, if it ended by itself.
        status: Option<i32>,
        /// Why the helper ended it.
        stopped: Option<Stopped>,
    },
}

//! What the host's owner decides about children. The edge reads it from `[security.sandbox]` and
//! `[security.resources]`.

use crate::hidden;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What holds children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The first of the others that works here.
    #[default]
    Auto,
    /// Namespaces, Landlock and seccomp, set up by the agent itself. Needs nothing installed.
    Landlock,
    /// The program `firejail`.
    Firejail,
    /// The program `bwrap`.
    Bubblewrap,
    /// The program `docker` and its daemon.
    Docker,
    /// Nothing but limits. Commands that are safe elsewhere need an approval then.
    None,
}

impl Backend {
    /// Those that hold something, in the order in which they are tried.
    pub const HOLDING: [Self; 4] = [Self::Landlock, Self::Firejail, Self::Bubblewrap, Self::Docker];

    /// The word in the configuration and in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Landlock => "landlock",
            Self::Firejail => "firejail",
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The most that children may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// MiB of memory. Default: 512.
    pub max_memory_mb: u32,
    /// Percent of one CPU. Default: 80.
    pub max_cpu_percent: u32,
    /// Open files of each process. Default: 256.
    pub max_open_files: u32,
    /// Processes and threads of one child together. Default: 128.
    pub max_pids: u32,
    /// Largest file that a child may write, in MiB. Default: 1024.
    pub max_file_mb: u32,
    /// Longest time. Default: 1 h.
    pub max_wall: Duration,
    /// Most bytes that are kept of standard output or standard error, whatever is asked for. Default: 16 MiB.
    pub max_output_bytes: usize,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            max_memory_mb: 512,
            max_cpu_percent: 80,
            max_open_files: 256,
            max_pids: 128,
            max_file_mb: 1024,
            max_wall: Duration::from_secs(3600),
            max_output_bytes: 16 * 1024 * 1024,
        }
    }
}

/// How children are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// By what.
    pub backend: Backend,
    /// More arguments for firejail.
    pub firejail_args: Vec<String>,
    /// Groups of a child of class safe, where they are there. Default: `adm` and `systemd-journal`, for logs.
    pub safe_groups: Vec<String>,
    /// The user of a child of class safe, where the agent is root. Default: `nobody`.
    pub safe_user: String,
    /// The most that children may use.
    pub resources: Resources,
    /// The agent's own files and folders, which no child may write.
    pub own: Vec<PathBuf>,
    /// The agent's own files and folders, which no child may read or write, such as its keys.
    pub own_secrets: Vec<PathBuf>,
    /// What no child below `full` may read: paths, with `*` and `?` inside a name. Default: [`hidden::patterns`].
    pub hidden: Vec<String>,
    /// The program that is executed as helper, and its first arguments.
    pub helper: Vec<String>,
    /// Act as if the kernel had this version of Landlock only, which must not be more than it has.
    pub landlock_abi: Option<u32>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            backend: Backend::Auto,
            firejail_args: Vec::new(),
            safe_groups: vec!["adm".to_owned(), "systemd-journal".to_owned()],
            safe_user: "nobody".to_owned(),
            resources: Resources::default(),
            own: Vec::new(),
            own_secrets: Vec::new(),
            hidden: hidden::patterns(),
            helper: vec!["/proc/self/exe".to_owned(), crate::HELPER_ARGUMENT.to_owned()],
            landlock_abi: None,
        }
    }
}

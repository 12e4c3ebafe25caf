//! `skill.json`: what a pack says of itself. Reading it tells everything that is wrong with it at once.

mod fields;
mod read;

use model::{Class, Scope};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a pack says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// 1–64 of `[a-z0-9-]`, beginning with a letter; unique on a host.
    pub name: String,
    /// For people; it changes when the pack does.
    pub version: String,
    /// What the pack is for.
    pub description: String,
    /// The group under which its skills are listed. Default: `packs`.
    pub category: String,
    /// The program, relative to the pack.
    pub entry: PathBuf,
    /// At least one.
    pub skills: Vec<SkillManifest>,
    /// Variables that are handed on from the agent's own environment, where set.
    pub env_allow: Vec<String>,
    /// How long a call may take. Default: 60.
    pub timeout_seconds: u32,
    /// What a call may use.
    pub limits: LimitsManifest,
}

impl Manifest {
    /// What its skills may reach, in words, for whoever decides whether to let it run.
    pub fn reach(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for skill in &self.skills {
            let SandboxManifest { network, write_paths, read_paths, sockets } = &skill.sandbox;
            let places = |paths: &BTreeSet<PathBuf>| {
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            };
            let key = &skill.key;
            if skill.sandbox.is_full() {
                words.push(format!("{key}: everything that the agent may"));
                continue;
            }
            words.extend(network.then(|| format!("{key}: the network")));
            for (what, paths) in [("writes in", write_paths), ("reads", read_paths), ("talks to", sockets)] {
                words.extend((!paths.is_empty()).then(|| format!("{key}: {what} {}", places(paths))));
            }
        }
        if !self.env_allow.is_empty() {
            words.push(format!("from the agent's environment: {}", self.env_allow.join(", ")));
        }
        words
    }
}

/// One skill of a pack.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillManifest {
    /// 1–64 of `[a-z0-9_]`.
    pub key: String,
    /// For people.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// `None`: the manifest doesn't say, so [`crate::LoadRules::default_class`] holds.
    pub class: Option<Class>,
    /// Where it runs.
    pub scope: Scope,
    /// JSON Schema of its parameters.
    pub params: Value,
    /// What a result looks like.
    pub result_preview: String,
    /// What its calls may reach: its own, or else the pack's.
    pub sandbox: SandboxManifest,
    /// What the host must have: the pack's and its own.
    pub prerequisites: Vec<Need>,
}

/// What a call may use. A zero is: as much as the configuration allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsManifest {
    /// MiB of memory.
    pub memory_mb: u32,
    /// Seconds of CPU time.
    pub cpu_seconds: u32,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes of the answer; at most 16 MiB.
    pub stdout_bytes: u32,
}

/// What a call may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxManifest {
    /// Sockets of the internet families.
    pub network: bool,
    /// Directories in which it may write. `/` is everywhere: it then runs with all the rights of the agent.
    pub write_paths: BTreeSet<PathBuf>,
    /// Places that it may read although the sandbox hides them.
    pub read_paths: BTreeSet<PathBuf>,
    /// Unix sockets that it may talk to.
    pub sockets: BTreeSet<PathBuf>,
}

impl SandboxManifest {
    /// Whether it asks to run with all the rights of the agent.
    pub fn is_full(&self) -> bool {
        self.write_paths.contains(std::path::Path::new("/"))
    }
}

/// Something that the host must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// An executable on the fixed `PATH`, by its name.
    Program(String),
    /// A path, which begins with `/`.
    Path(PathBuf),
}

impl Need {
    /// The need in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Program(name) => format!("the program `{name}`"),
            Self::Path(path) => format!("the path `{}`", path.display()),
        }
    }

    /// Whether a host has it.
    pub fn is_met(&self, host: &dyn skill::Host) -> bool {
        match self {
            Self::Program(name) => host.program(name).is_some(),
            Self::Path(path) => path.to_str().is_some_and(|path| host.path(path).exists()),
        }
    }
}

//! What a skill says of itself.

use model::{Class, Scope};

/// What a skill says of itself. Everything else (LLM tool, endpoint, form, gate, audit row) is derived from it.
///
/// There is no default for `class`: code that leaves it out does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// Unique per scope; 1–64 of `[a-z0-9_]`. The id in audit rows and LLM tool names.
    pub key: &'static str,
    /// A short name for people.
    pub name: &'static str,
    /// What it does, in one or two sentences, for people and models.
    pub description: &'static str,
    /// The least class that any call of it has.
    pub class: Class,
    /// Where it runs.
    pub scope: Scope,
    /// The group under which the Skills page lists it.
    pub category: &'static str,
    /// What a result looks like, in one line.
    pub result_preview: &'static str,
    /// What the host must have. Where one isn't met, the skill isn't offered to the LLM.
    pub prerequisites: &'static [Prerequisite],
}

/// Something that a host must have for a skill to work there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prerequisite {
    /// An executable on the fixed `PATH`.
    Binary(&'static str),
    /// A path that must exist, for example `/proc/pressure`.
    Path(&'static str),
    /// A booted systemd (`/run/systemd/system` exists).
    Systemd,
    /// A systemd journal that can be read (`journalctl` and a journal directory).
    Journal,
}

impl Prerequisite {
    /// The need in words, for the Skills page and for models.
    pub fn describe(self) -> String {
        match self {
            Self::Binary(name) => format!("the program `{name}`"),
            Self::Path(path) => format!("the path `{path}`"),
            Self::Systemd => "a booted systemd".to_owned(),
            Self::Journal => "a systemd journal".to_owned(),
        }
    }
}

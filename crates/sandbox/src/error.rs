//! Why a child was not started.

use model::CallId;
use skill::{SkillError, SkillErrorKind};
use std::fmt::Display;
use std::io;
use std::path::PathBuf;

/// Why a child was not started, or no backend could be taken.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A step of the preparation failed.
    #[error("{step}: {source}")]
    Step {
        /// What was tried.
        step: String,
        /// What came of it.
        source: io::Error,
    },
    /// What was asked for can't be held.
    #[error("{0}")]
    Refused(String),
    /// The command makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A backend that the configuration names isn't usable.
    #[error(
        "security.sandbox.backend is `{backend}`, but it can't be used here: {problem}; mend that, or set `auto`"
    )]
    Missing {
        /// Its name.
        backend: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The helper ended without a word.
    #[error("the sandbox's helper {} ended before it could start the program", helper.display())]
    HelperEnded {
        /// Its program.
        helper: PathBuf,
    },
    /// The helper said what is wrong.
    #[error("{0}")]
    Helper(String),
}

impl SandboxError {
    /// Names the step that an error of the system belongs to.
    pub(crate) fn step(step: impl Display) -> impl FnOnce(io::Error) -> Self {
        let step = step.to_string();
        move |source| Self::Step { step, source }
    }
}

impl From<SandboxError> for SkillError {
    fn from(error: SandboxError) -> Self {
        let kind = match &error {
            SandboxError::Invalid(_) => SkillErrorKind::Invalid,
            SandboxError::Refused(_) | SandboxError::Missing { .. } => SkillErrorKind::Unsupported,
            SandboxError::Step { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                SkillErrorKind::NotFound
            }
            SandboxError::Step { .. } | SandboxError::HelperEnded { .. } | SandboxError::Helper(_) => {
                SkillErrorKind::Failed
            }
        };
        Self::new(kind, format!("not started: {error}"))
    }
}

/// A word that names this run in what it leaves on the machine for a moment.
pub(crate) fn run_name() -> String {
    format!("steadyhand-{}", CallId::generate())
}

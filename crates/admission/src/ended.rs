//! How calls end, and what is remembered of it.

use bytes::Bytes;
use model::CallState;
use skill::SkillErrorKind;
use std::time::Duration;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Succeeded, failed, timed out, cancelled or refused.
    pub state: CallState,
    /// Where it didn't succeed.
    pub error_kind: Option<SkillErrorKind>,
    /// Where it didn't succeed, a sentence.
    pub error: Option<String>,
    /// The JSON text of the result. Dropped from the memory before the outcome is, when it is large.
    pub result: Option<Bytes>,
    /// Bytes of that text, also when it was dropped.
    pub result_bytes: u64,
    /// From acceptance.
    pub duration: Duration,
    /// What held the programs that it ran, in words; `None` if it ran none.
    pub sandbox: Option<String>,
}

/// What the edge remembers about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recall {
    /// It runs.
    Running,
    /// It ended.
    Ended(Box<Ended>),
    /// It was never here, or so long ago that it is forgotten. It won't start any more.
    Absent,
}

impl Ended {
    /// A failure without a result.
    pub(crate) fn failed(error: impl Into<String>) -> Self {
        Self {
            state: CallState::Failed,
            error_kind: Some(SkillErrorKind::Failed),
            error: Some(error.into()),
            result: None,
            result_bytes: 0,
            duration: Duration::ZERO,
            sandbox: None,
        }
    }
}

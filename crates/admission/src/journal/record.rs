//! What the journal's lines say.

use super::What;
use crate::Ended;
use bytes::Bytes;
use model::{CallId, CallState, Class, Origin, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::SkillErrorKind;
use std::time::Duration;

/// Most bytes of a result that the journal keeps. A larger one reaches whoever waits for it, and is gone then.
pub const MAX_KEPT_RESULT_BYTES: usize = 64 * 1024;

/// Most bytes of an error that it keeps.
const MAX_KEPT_ERROR_BYTES: usize = 8 * 1024;

/// Most bytes of what it keeps of the sandbox.
const MAX_KEPT_SANDBOX_BYTES: usize = 2 * 1024;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Record {
    /// What was true of the numbers when the file was written anew.
    Marks { through: u64, highest: u64 },
    /// A call was let through; nothing of it has run yet.
    Accepted(Box<Accepted>),
    /// It ended.
    Ended { call_id: CallId, ended: Box<StoredEnd> },
    /// Somebody wants it stopped.
    Cancel { call_id: CallId },
    /// It must not start any more.
    Tombstone { call_id: CallId, seq: u64 },
    /// Every seq up to this one is final in the manager.
    Acknowledged { through: u64 },
}

impl Record {
    pub(crate) fn what(&self) -> What {
        match self {
            Self::Marks { .. } => What::Compaction,
            Self::Accepted(_) => What::Accepted,
            Self::Ended { .. } => What::Ended,
            Self::Cancel { .. } => What::Cancel,
            Self::Tombstone { .. } => What::Tombstone,
            Self::Acknowledged { .. } => What::Acknowledged,
        }
    }
}

/// A call that was let through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// The key under which it runs at most once.
    pub call_id: CallId,
    /// Its number among the manager's dispatches to this edge; 0 for calls of the host itself.
    pub seq: u64,
    /// Key of the skill.
    pub skill: String,
    /// The class that it was let through with.
    pub class: Class,
    /// SHA-256 over skill, arguments, definition and the sender's class.
    pub payload: String,
    /// Where it came from.
    pub origin: Origin,
    /// The boot of the host at that time.
    pub boot_id: String,
    /// When.
    pub at: Timestamp,
    /// How long it may run, in milliseconds.
    pub timeout_ms: u64,
    /// Whether another boot afterwards means that it succeeded.
    #[serde(default)]
    pub settles_by_boot: bool,
    /// For calls of the host itself: what it was asked, for the manager's audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// What a call of the host itself was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The arguments; `None` if they are too large to be kept.
    pub args: Option<Value>,
    /// Hash of the skill's definition.
    pub definition_hash: String,
}

/// How a call ended, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredEnd {
    state: CallState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_kind: Option<SkillErrorKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    result_bytes: u64,
    duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
}

impl StoredEnd {
    pub(crate) fn of(ended: &Ended) -> Self {
        let kept = ended.result.as_ref().filter(|text| text.len() <= MAX_KEPT_RESULT_BYTES);
        Self {
            state: ended.state,
            error_kind: ended.error_kind,
            error: ended.error.as_deref().map(|error| start(error, MAX_KEPT_ERROR_BYTES)),
            result: kept.and_then(|text| std::str::from_utf8(text).ok()).map(str::to_owned),
            result_bytes: ended.result_bytes,
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            sandbox: ended.sandbox.as_deref().map(|sandbox| start(sandbox, MAX_KEPT_SANDBOX_BYTES)),
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        Ended {
            state: self.state,
            error_kind: self.error_kind,
            error: self.error.clone(),
            result: self.result.clone().map(Bytes::from),
            result_bytes: self.result_bytes,
            duration: Duration::from_millis(self.duration_ms),
            sandbox: self.sandbox.clone(),
        }
    }
}

/// The start of a text, in whole characters.
fn start(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most.min(text.len()))].to_owned()
}

//! Why a skill or tool failed, in words for the operator and the model.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of failure that a caller may act differently on. They travel through the tunnel by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillErrorKind {
    /// The arguments make no sense, beyond what the schema can say.
    Invalid,
    /// A rule forbids it (path rules, address rules, class).
    Refused,
    /// What was named isn't there.
    NotFound,
    /// The operating system forbids it.
    PermissionDenied,
    /// This host can't do it (no systemd, no journal, a kernel without the feature).
    Unsupported,
    /// A deadline passed.
    Timeout,
    /// It was stopped.
    Cancelled,
    /// More than the limit allows.
    TooLarge,
    /// Too much at once; try again.
    Busy,
    /// Anything else.
    Failed,
}

impl SkillErrorKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Invalid,
        Self::Refused,
        Self::NotFound,
        Self::PermissionDenied,
        Self::Unsupported,
        Self::Timeout,
        Self::Cancelled,
        Self::TooLarge,
        Self::Busy,
        Self::Failed,
    ];

    /// The word used in the tunnel, the API and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::PermissionDenied => "permission_denied",
            Self::Unsupported => "unsupported",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::Failed => "failed",
        }
    }

    /// Reads the word; an unknown one is `Failed`.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word).unwrap_or(Self::Failed)
    }
}

/// Why a skill or tool failed. The message says what failed, on what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct SkillError {
    /// What a caller can do about it.
    pub kind: SkillErrorKind,
    /// A sentence for people and models. No secrets.
    pub message: String,
}

impl SkillError {
    /// Joins kind and message.
    pub fn new(kind: SkillErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string() }
    }
}

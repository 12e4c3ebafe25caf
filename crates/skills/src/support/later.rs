//! The answer of skills that change something, as long as nobody can approve them.

use skill::{SkillError, SkillErrorKind};

/// A refusal that says what the call would need.
pub(crate) fn needs_approval(key: &str) -> SkillError {
    SkillError::new(
        SkillErrorKind::Refused,
        format!("`{key}` changes this host: it needs an approval, and this edge can't check approvals yet"),
    )
}

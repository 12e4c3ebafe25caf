//! What comes to the door, and what leaves it.

use crate::Evidence;
use model::{CallId, Class, Origin, canonical};
use serde_json::{Value, json};
use skill::{Capability, SkillError, SkillErrorKind};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A call as it arrives, before anything about it is believed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The key under which it runs at most once.
    pub call_id: CallId,
    /// Its number among the manager's dispatches to this edge that aren't safe; 0 for safe calls and local ones.
    pub seq: u64,
    /// Key of the skill.
    pub skill: String,
    /// Its arguments.
    pub args: Value,
    /// What the sender takes the class to be. `None` where there is no sender but the host itself.
    pub class: Option<Class>,
    /// Hash of the definition that the sender decided on. `None` where the host itself asks.
    pub definition_hash: Option<String>,
    /// How long it may run, from now.
    pub timeout: Duration,
    /// Why the sender thinks that it may run.
    pub evidence: Evidence,
    /// Where it comes from.
    pub origin: Origin,
}

impl Request {
    /// A call that somebody on the host itself asks for.
    pub fn local(skill: impl Into<String>, args: Value, euid: u32, timeout: Duration) -> Self {
        Self {
            call_id: CallId::generate(),
            seq: 0,
            skill: skill.into(),
            args,
            class: None,
            definition_hash: None,
            timeout,
            evidence: Evidence::Local { euid },
            origin: Origin::Local,
        }
    }

    /// SHA-256 over what is asked. Another payload under the same id is another call, and refused.
    pub(crate) fn payload(&self) -> String {
        canonical::digest(&json!({
            "skill": self.skill, "args": self.args, "class": self.class, "definition_hash": self.definition_hash,
        }))
    }
}

/// A call that the edge's admission has let through. Only [`crate::Admission`] makes one, so a skill's body that takes
/// it can't be reached in any other way.
#[derive(Debug)]
pub struct AcceptedCall {
    pub(crate) call_id: CallId,
    pub(crate) capability: Arc<Capability>,
    pub(crate) args: Value,
    pub(crate) class: Class,
    pub(crate) origin: Origin,
    pub(crate) deadline: Instant,
}

impl AcceptedCall {
    /// The key under which it runs at most once.
    pub fn call_id(&self) -> CallId {
        self.call_id
    }

    /// Key of the skill.
    pub fn skill(&self) -> &str {
        &self.capability.definition().key
    }

    /// [`Capability::hash`] of what was accepted.
    pub fn definition_hash(&self) -> &str {
        self.capability.hash()
    }

    /// Sees to it that the call comes to the skill that it was accepted for.
    ///
    /// # Errors
    ///
    /// Fails if it was accepted for another one.
    pub fn check_skill(&self, key: &str) -> Result<(), SkillError> {
        if self.skill() == key {
            return Ok(());
        }
        let message = format!("the call was accepted for `{}`, not for `{key}`", self.skill());
        Err(SkillError::new(SkillErrorKind::Refused, message))
    }

    /// The arguments, which fit the skill's schema.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// The stricter of the sender's class and the edge's own.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// When it is stopped.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// Why a call was not let through. Nothing ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the sender can do about it.
    pub kind: RefusalKind,
    /// A sentence for people and models.
    pub reason: String,
    /// The class as the edge sees it, where it came so far.
    pub class: Option<Class>,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// This edge has no such skill.
    UnknownSkill,
    /// The host lacks something that the skill needs.
    Unmet,
    /// The arguments don't fit the schema.
    InvalidArguments,
    /// The definition is another one than the sender decided on.
    DefinitionChanged,
    /// The edge is frozen.
    Frozen,
    /// The class asks for more evidence than came with the call.
    Evidence,
    /// Too much at once; try again.
    Busy,
    /// This very call is running or has ended here.
    Duplicate,
    /// Another call was accepted under this id.
    Conflict,
    /// It must not start late: the sender was told that it isn't here, or that it is final, or has stopped it.
    Tombstone,
    /// It can't be journaled, so it must not run.
    Journal,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

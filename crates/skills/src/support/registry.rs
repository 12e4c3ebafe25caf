//! The skills that one edge has.

use crate::ALL;
use admission::{AcceptedCall, AnySkill};
use futures::future::BoxFuture;
use serde_json::Value;
use skill::{Capability, Catalogue, DuplicateKey, Host, Skill, SkillContext, SkillError};
use std::fmt;
use std::sync::Arc;

/// The skills that one edge has, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Registered>,
}

/// One skill of a registry, with its capability made once.
#[derive(Clone)]
pub struct Registered {
    capability: Arc<Capability>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Builtin(&'static dyn AnySkill),
    Added(Arc<dyn AnySkill>),
}

impl Registry {
    /// The built-in skills.
    pub fn builtin() -> Self {
        Self { entries: ALL.iter().map(|skill| Registered::new(Body::Builtin(*skill))).collect() }
    }

    /// Adds a skill. A key that is taken stays with the one that has it.
    #[must_use]
    pub fn with(self, skill: impl Skill) -> Self {
        self.with_dynamic(Arc::new(skill))
    }

    /// Adds a skill that isn't compiled in. A key that is taken stays with the one that has it.
    #[must_use]
    pub fn with_dynamic(mut self, skill: Arc<dyn AnySkill>) -> Self {
        let added = Registered::new(Body::Added(skill));
        if self.get(added.key()).is_some() {
            tracing::warn!(skill = added.key(), "skill not added, its key is taken");
        } else {
            self.entries.push(added);
        }
        self
    }

    /// Their catalogue, in their order.
    ///
    /// # Errors
    ///
    /// Fails on an illegal key; there are no duplicates.
    pub fn catalogue(&self) -> Result<Catalogue, DuplicateKey> {
        Catalogue::new(self.entries.iter().map(|entry| Arc::clone(&entry.capability)))
    }

    /// Keeps only these.
    #[must_use]
    pub fn only(mut self, keys: &[&str]) -> Self {
        self.entries.retain(|entry| keys.contains(&entry.key()));
        self
    }

    /// Looks one up.
    pub fn get(&self, key: &str) -> Option<&Registered> {
        self.entries.iter().find(|entry| entry.key() == key)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.entries.iter()
    }
}

impl Registered {
    fn new(body: Body) -> Self {
        Self { capability: body.skill().capability(), body }
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.capability.definition().key
    }

    /// Its definition, validator and class.
    pub fn capability(&self) -> &Arc<Capability> {
        &self.capability
    }

    /// What this host lacks for it, in words. Empty: it can run here.
    pub fn unmet(&self, host: &dyn Host) -> Vec<String> {
        self.body.skill().unmet(host)
    }

    /// Runs the body for a call that admission has accepted. Dropping the future stops it.
    pub fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>> {
        self.body.skill().run(call, cx)
    }
}

impl Body {
    fn skill(&self) -> &dyn AnySkill {
        match self {
            Self::Builtin(skill) => *skill,
            Self::Added(skill) => skill.as_ref(),
        }
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registered").field(&self.key()).finish()
    }
}

//! One shape for all skills, builtin or from a pack, and the only way to a body.

use crate::AcceptedCall;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use skill::{Capability, Host, Skill, SkillContext, SkillError, SkillErrorKind};
use std::sync::Arc;

/// A skill with its types taken away, so that many fit one list.
pub trait AnySkill: Send + Sync {
    /// Its key.
    fn key(&self) -> &str;

    /// Its entry for a catalogue.
    fn capability(&self) -> Arc<Capability>;

    /// What this host lacks for it, in words. Empty: it can run here.
    fn unmet(&self, host: &dyn Host) -> Vec<String>;

    /// Runs the body for a call that admission has accepted. Dropping the future stops it.
    fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>>;
}

impl<S: Skill> AnySkill for S {
    fn key(&self) -> &str {
        S::METADATA.key
    }

    fn capability(&self) -> Arc<Capability> {
        Arc::new(Capability::of_skill::<S>())
    }

    fn unmet(&self, host: &dyn Host) -> Vec<String> {
        let needs = S::METADATA.prerequisites.iter();
        needs.filter(|need| !host.meets(**need)).map(|need| need.describe()).collect()
    }

    fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>> {
        async move {
            let key = S::METADATA.key;
            call.check_skill(key)?;
            let params: S::Params = serde_json::from_value(call.args().clone()).map_err(|error| {
                SkillError::new(SkillErrorKind::Invalid, format!("arguments of `{key}`: {error}"))
            })?;
            let output = Skill::run(self, cx, params).await?;
            serde_json::to_value(output).map_err(|error| {
                SkillError::new(SkillErrorKind::Failed, format!("the result of `{key}` is no JSON: {error}"))
            })
        }
        .boxed()
    }
}

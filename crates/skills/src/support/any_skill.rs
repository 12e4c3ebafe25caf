//! One shape for all skills, and the only way to a body.

use admission::AcceptedCall;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use skill::{Capability, Host, Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

/// A skill with its types taken away, so that many fit one list.
pub trait AnySkill: Send + Sync {
    /// What it says of itself.
    fn metadata(&self) -> &'static Metadata;

    /// Its entry for a catalogue.
    fn capability(&self) -> Capability;

    /// What this host lacks for it, in words. Empty: it can run here.
    fn unmet(&self, host: &dyn Host) -> Vec<String> {
        let needs = self.metadata().prerequisites.iter();
        needs.filter(|need| !host.meets(**need)).map(|need| need.describe()).collect()
    }

    /// Runs the body for a call that admission has accepted. Dropping the future stops it.
    fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>>;
}

impl<S: Skill> AnySkill for S {
    fn metadata(&self) -> &'static Metadata {
        &S::METADATA
    }

    fn capability(&self) -> Capability {
        Capability::of_skill::<S>()
    }

    fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>> {
        async move {
            let key = S::METADATA.key;
            if call.skill() != key {
                let message = format!("the call was accepted for `{}`, not for `{key}`", call.skill());
                return Err(SkillError::new(SkillErrorKind::Refused, message));
            }
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

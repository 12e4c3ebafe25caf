//! What a capability is: its metadata, its parameters' schema, how its arguments are checked, and the one
//! catalogue that the LLM's tools, the REST API, the forms and the gate are derived from.
//!
//! Bodies of skills stay out: they run only behind the edge's admission, bodies of tools only behind the gate.

mod caller;
mod capability;
mod catalogue;
mod context;
mod definition;
mod error;
pub mod host;
mod metadata;
mod noted;
pub mod sandbox;
mod schema;
pub mod secrets;

pub use caller::{Caller, ChildCall, ChildOutcome};
pub use capability::{Capability, Source};
pub use catalogue::{Catalogue, DuplicateKey, LlmTool};
pub use context::SkillContext;
pub use definition::Definition;
pub use error::{SkillError, SkillErrorKind};
pub use host::{AddressRules, ChangeRules, FileRules, Host, Network};
pub use metadata::{Metadata, Prerequisite};
pub use schema::{InvalidArguments, Problem, SchemaError, Validator, schema_of};

use model::{Class, ClassReason};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;

/// A capability that runs on a host.
///
/// The parameters are a struct, so that the schema that everybody sees can't drift from the code that reads them.
pub trait Skill: Send + Sync + 'static {
    /// What it takes. Doc comments on the fields are what the LLM and the form show.
    type Params: DeserializeOwned + JsonSchema + Send;
    /// What it answers.
    type Output: Serialize + JsonSchema + Send;

    /// What it is.
    const METADATA: Metadata;

    /// Whether it starts programs that its arguments choose. Where the host's sandbox can't hold the read-only profile,
    /// its safe calls count as mutating.
    const SUBPROCESS: bool = false;

    /// Whether the boot of the host settles a call whose edge died before it ended: a new boot id afterwards means that
    /// it succeeded, the same one that it failed. Where not, such a call is failed: its outcome is lost.
    const SETTLES_BY_BOOT: bool = false;

    /// The parameter by which [`Skill::classify`] decides, where not every call has the class of the metadata.
    const CLASSED_BY: Option<&'static str> = None;

    /// The class of a call with these arguments, which have been validated. Pure. The manager and the edge both
    /// ask, and the stricter answer counts. Never less than what the arguments deserve.
    fn classify(_args: &Value) -> Class {
        Self::METADATA.class
    }

    /// Why [`Skill::classify`] says so, part by part, for who is to approve the call. Pure. Empty where the definition
    /// alone says it.
    fn class_reasons(_args: &Value) -> Vec<ClassReason> {
        Vec::new()
    }

    /// Does it. Cancel safety: the future may be dropped at any await point; a skill then leaves nothing behind.
    fn run(
        &self,
        cx: &SkillContext,
        params: Self::Params,
    ) -> impl Future<Output = Result<Self::Output, SkillError>> + Send;
}

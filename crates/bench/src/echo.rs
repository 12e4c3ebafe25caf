//! A skill that does nothing, so that what is measured is the way to it.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError};

/// Answers with what it got.
pub struct Echo;

/// The key of [`Echo`].
pub const KEY: &str = "echo";

/// What it takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// A word to say back.
    word: String,
}

/// What it answers.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    word: String,
}

impl Skill for Echo {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: KEY,
        name: "Echo",
        description: "Say a word back.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "bench",
        result_preview: "",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, Params { word }: Params) -> Result<Output, SkillError> {
        Ok(Output { word })
    }
}

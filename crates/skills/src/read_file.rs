//! Read a file.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {
    /// Absolute path.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Byte to start at.
    #[serde(default)]
    offset: u64,
    /// Most bytes to read; at most 1 MiB.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_048_576))]
    limit: u32,
}

fn default_limit() -> u32 {
    65_536
}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for ReadFile {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "read_file",
        name: "Read a file",
        description: "Read a piece of a regular file on the host: text, or base64 where it is not UTF-8, with size, mode, owner and modification time. Secrets such as private keys and password files are refused.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "/etc/hosts, 221 of 221 bytes, root:root 0644",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

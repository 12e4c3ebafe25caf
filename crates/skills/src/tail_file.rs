//! Tail a log file.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct TailFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {
    /// Absolute path, for example `/var/log/syslog`.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Most lines to return.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1, max = 10_000))]
    lines: u32,
    /// Only lines that match this regular expression.
    #[schemars(length(min = 1, max = 1000))]
    grep: Option<String>,
    /// Only lines from this time on: how long ago (`10m`, `2h`, `1d`) or a time (RFC 3339). Works where lines begin with a time.
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
}

fn default_lines() -> u32 {
    100
}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for TailFile {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "tail_file",
        name: "Tail a log file",
        description: "Read the last lines of a text file on the host, across log rotation (`path.1`), with filters by regular expression and time. Secrets such as private keys and password files are refused.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "100 lines of /var/log/syslog",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

//! Processes.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct HostProcesses;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {
    /// How many processes to list.
    #[serde(default = "default_top_n")]
    #[schemars(range(min = 1, max = 200))]
    top_n: u32,
    /// What to sort by: `cpu` (percent of one core), `mem` (resident memory), `io` (bytes read and written per second) or `fds` (open file descriptors).
    #[serde(default)]
    sort_by: SortBy,
    /// Only processes whose name or command line contains this text (case ignored).
    #[schemars(length(min = 1, max = 256))]
    name: Option<String>,
    /// Only processes of this user: a name or a numeric id.
    #[schemars(length(min = 1, max = 64))]
    user: Option<String>,
}

fn default_top_n() -> u32 {
    20
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    #[default]
    Cpu,
    Mem,
    Io,
    Fds,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for HostProcesses {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_processes",
        name: "Processes",
        description: "List the processes that use most CPU, memory, disk I/O or file descriptors, measured over half a second, with command, user, threads, state and systemd unit. Can be filtered by name and user.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "processes",
        result_preview: "postgres (pid 812) 23 % CPU, 410 MiB; 19 more of 212",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

//! Host load.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct HostLoad;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for HostLoad {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_load",
        name: "Host load",
        description: "Measure how loaded the host is: CPU in total and per core, load averages, memory and swap, pressure (PSI), disks, file systems, network, uptime and temperatures. Takes about half a second.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "system",
        result_preview: "load 0.42, CPU 7 % of 4 cores, memory 3.1 of 15.6 GiB, / 41 % full, up 12 d",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

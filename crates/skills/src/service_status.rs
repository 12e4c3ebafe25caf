//! Service status.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Prerequisite, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct ServiceStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {
    /// Unit to look at, for example `nginx` (taken as `nginx.service`) or `backup.timer`. Default: all services.
    #[schemars(length(min = 1, max = 256))]
    service: Option<String>,
    /// List only units that failed.
    #[serde(default)]
    failed_only: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for ServiceStatus {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "service_status",
        name: "Service status",
        description: "Tell how systemd units are doing: state, since when, result of the last run, restarts, memory and the last log lines. Names one service, or lists those that failed, or all.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "services",
        result_preview: "nginx.service failed 3 min ago (exit-code 1), 5 restarts",
        prerequisites: &[Prerequisite::Systemd],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

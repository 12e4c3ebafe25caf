//! Restarts, reloads, starts or stops a systemd unit. Mutating.

use crate::support::later::needs_approval;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Prerequisite, Skill, SkillContext, SkillError};

pub(crate) struct RestartService;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema; the body needs approvals, which the edge can't check yet")]
pub struct Params {
    /// Name of the unit, for example `nginx` or `nginx.service`.
    #[schemars(length(min = 1, max = 256))]
    service: String,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
    /// What to do with the unit.
    #[serde(default)]
    action: Action,
    /// How many seconds to watch whether the unit stays up afterwards.
    #[serde(default = "default_verify_seconds")]
    #[schemars(range(min = 0, max = 120))]
    verify_seconds: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[default]
    Restart,
    Reload,
    Start,
    Stop,
}

fn default_verify_seconds() -> u32 {
    10
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// State before.
    state_before: String,
    /// State after.
    state_after: String,
    /// Whether it stayed up while it was watched.
    stayed_up: bool,
    /// Journal lines since.
    log: Vec<String>,
}

impl Skill for RestartService {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "restart_service",
        name: "Restart a service",
        description: "Restart, reload, start or stop one systemd unit, then watch whether it stays up. Changes the \
                      host: needs an approval. Units outside the allowed list and the agent's own unit are refused.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "services",
        result_preview: "nginx.service: failed → active, up for 10 s",
        prerequisites: &[Prerequisite::Systemd],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(needs_approval(Self::METADATA.key))
    }
}

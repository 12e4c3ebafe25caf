//! Reboots the host. Dangerous.

use crate::support::later::needs_approval;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError};

pub(crate) struct RebootHost;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema; the body needs approvals, which the edge can't check yet")]
pub struct Params {
    /// How many seconds to wait before the reboot.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    delay_seconds: u32,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The boot id before the reboot; a new one afterwards proves that it happened.
    boot_id: String,
}

impl Skill for RebootHost {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "reboot_host",
        name: "Reboot the host",
        description: "Reboot the host after an optional delay. Dangerous: needs a signed procedure that covers the \
                      call, and approvals by two people. Done once the host is back with a new boot id.",
        class: Class::Dangerous,
        scope: Scope::Host,
        category: "system",
        result_preview: "rebooted, new boot id 3f0c…",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(needs_approval(Self::METADATA.key))
    }
}

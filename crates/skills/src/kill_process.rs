//! Sends a signal to one process. Mutating.

use crate::support::later::needs_approval;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError};

pub(crate) struct KillProcess;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema; the body needs approvals, which the edge can't check yet")]
pub struct Params {
    /// Process id. Never 1, a kernel thread or the agent.
    #[schemars(range(min = 2, max = 4_194_304))]
    pid: u32,
    /// `start_time` of the process as `host_processes` reports it (clock ticks after boot), so that a process that took over the id is never hit.
    start_time: u64,
    /// The signal.
    #[serde(default)]
    signal: Signal,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    #[default]
    Term,
    Kill,
    Hup,
    Int,
    Usr1,
    Usr2,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The command that got the signal.
    command: String,
    /// Whether it ended.
    ended: bool,
}

impl Skill for KillProcess {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "kill_process",
        name: "Kill a process",
        description: "Send a signal to one process, named by its id and start time, and tell whether it ended. \
                      Changes the host: needs an approval. Process 1, kernel threads and the agent are refused.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "processes",
        result_preview: "sent TERM to 4242 (python3 worker.py), it ended",
        prerequisites: &[],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(needs_approval(Self::METADATA.key))
    }
}

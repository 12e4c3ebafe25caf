//! Read the journal.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Prerequisite, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct ReadJournal;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "being written")]
pub struct Params {
    /// Only entries of this unit, for example `nginx` or `ssh.service`.
    #[schemars(length(min = 1, max = 256))]
    unit: Option<String>,
    /// Start: how long ago (`10m`, `2h`, `1d`) or a time (RFC 3339). Default: `10m`; with `boot` or `cursor`, no limit.
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
    /// End, written like `since`. Default: now.
    #[schemars(length(min = 1, max = 64))]
    until: Option<String>,
    /// Only entries of this priority or a more severe one.
    priority: Option<Priority>,
    /// Only entries whose message matches this regular expression. Case is ignored if it is all lower case.
    #[schemars(length(min = 1, max = 1000))]
    grep: Option<String>,
    /// Most entries to return; the latest ones count.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1, max = 5000))]
    lines: u32,
    /// Only entries of one boot: `0` is this one, `-1` the one before, or a boot id.
    #[schemars(length(min = 1, max = 36))]
    boot: Option<String>,
    /// Continue after this cursor, which an earlier answer gave.
    #[schemars(length(min = 1, max = 512))]
    cursor: Option<String>,
}

fn default_lines() -> u32 {
    200
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Emerg,
    Alert,
    Crit,
    Err,
    Warning,
    Notice,
    Info,
    Debug,
}

#[derive(Serialize, JsonSchema)]
pub struct Output {}

impl Skill for ReadJournal {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "read_journal",
        name: "Read the journal",
        description: "Read entries of the systemd journal, oldest first: time, unit, pid, priority and message. Filters by unit, time, priority, text and boot; a cursor continues where an earlier answer ended.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "logs",
        result_preview: "14 entries of nginx.service, the last: bind() to 0.0.0.0:80 failed",
        prerequisites: &[Prerequisite::Journal],
    };

    async fn run(&self, _cx: &SkillContext, _params: Params) -> Result<Output, SkillError> {
        Err(SkillError::new(SkillErrorKind::Unsupported, "being written"))
    }
}

//! A skill whose effects can be counted, also when the edge dies in the middle of it.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Where the edge dies in the middle of the skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    /// Nowhere.
    #[default]
    Never,
    /// Before the effect.
    Before,
    /// After the effect.
    After,
}

/// What [`CountEffects`] takes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountParams {
    /// Where effects are counted.
    pub folder: String,
    /// Where the edge dies.
    #[serde(default)]
    pub death: Death,
    /// Whether it goes on after the effect until it is stopped.
    #[serde(default)]
    pub stays: bool,
    /// How many bytes its answer is longer.
    #[serde(default)]
    pub padding: usize,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Counted {
    /// How often this call has had its effect.
    effects: usize,
    padding: String,
}

/// Adds a byte to a file that is named by the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountEffects;

impl Skill for CountEffects {
    type Params = CountParams;
    type Output = Counted;

    const METADATA: Metadata = Metadata {
        key: "test_count_effects",
        name: "Count effects",
        description: "For tests.",
        class: model::Class::Mutating,
        scope: model::Scope::Host,
        category: "test",
        result_preview: "",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: CountParams) -> Result<Counted, SkillError> {
        if params.death == Death::Before {
            die();
        }
        let folder = Path::new(&params.folder);
        let name = cx.call_id.to_string();
        add(&folder.join(&name))
            .map_err(|error| SkillError::new(SkillErrorKind::Failed, format!("{error:#}")))?;
        if params.death == Death::After {
            die();
        }
        if params.stays {
            std::future::pending::<()>().await;
        }
        Ok(Counted { effects: effects(folder, &name), padding: "x".repeat(params.padding) })
    }
}

/// What [`GoDown`] takes: nothing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// Ends the edge as a reboot of its host does, and is told by the boot id afterwards, as `reboot_host` is.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoDown;

impl Skill for GoDown {
    type Params = NoParams;
    type Output = Counted;

    const METADATA: Metadata = Metadata { key: "test_go_down", name: "Go down", ..CountEffects::METADATA };

    const SETTLES_BY_BOOT: bool = true;

    async fn run(&self, _cx: &SkillContext, _params: NoParams) -> Result<Counted, SkillError> {
        die()
    }
}

fn add(path: &Path) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path).context("open")?;
    file.write_all(b"x").and_then(|()| file.sync_all()).context("write")?;
    File::open(path.parent().context("no folder")?)?.sync_all().context("sync")
}

/// How often a call has had its effect.
pub fn effects(folder: &Path, call_id: &str) -> usize {
    std::fs::read(folder.join(call_id)).map_or(0, |bytes| bytes.len())
}

/// Ends this process as `kill -9` does.
pub fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}

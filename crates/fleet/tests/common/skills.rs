//! Skills that tests can hold, count and look into.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Capability, Metadata, Skill, SkillContext, SkillError};
use skills::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

const fn metadata(key: &'static str) -> Metadata {
    Metadata {
        key,
        name: key,
        description: "For tests.",
        class: model::Class::Safe,
        scope: model::Scope::Host,
        category: "test",
        result_preview: "",
        prerequisites: &[],
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

#[derive(Serialize, JsonSchema)]
pub struct Text {
    text: String,
}

/// What a held skill shows.
#[derive(Debug)]
pub struct Held {
    runs: AtomicUsize,
    started: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
    finished: watch::Sender<usize>,
    release: watch::Sender<bool>,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            runs: AtomicUsize::new(0),
            started: watch::Sender::new(0),
            dropped: watch::Sender::new(0),
            finished: watch::Sender::new(0),
            release: watch::Sender::new(false),
        }
    }
}

impl Held {
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub fn release(&self) {
        self.release.send_replace(true);
    }

    pub async fn wait_started(&self) {
        wait(&self.started).await;
    }

    pub async fn wait_dropped(&self) {
        wait(&self.dropped).await;
    }

    pub async fn wait_finished(&self) {
        wait(&self.finished).await;
    }
}

async fn wait(count: &watch::Sender<usize>) {
    let mut seen = count.subscribe();
    tokio::time::timeout(super::LIMIT, seen.wait_for(|count| *count > 0))
        .await
        .expect("it never happened")
        .unwrap();
}

/// Runs until it is released or dropped.
pub struct Hold(pub Arc<Held>);

struct Dropped<'a>(Option<&'a Held>);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.0 {
            held.dropped.send_modify(|count| *count += 1);
        }
    }
}

impl Skill for Hold {
    type Params = NoParams;
    type Output = Text;

    const METADATA: Metadata = metadata("test_hold");

    async fn run(&self, _cx: &SkillContext, _params: NoParams) -> Result<Text, SkillError> {
        self.0.hold().await
    }
}

/// As [`Hold`], but it counts as a change.
pub struct HoldChange(pub Arc<Held>);

impl Skill for HoldChange {
    type Params = NoParams;
    type Output = Text;

    const METADATA: Metadata = Metadata { class: model::Class::Mutating, ..metadata("test_hold_change") };

    async fn run(&self, _cx: &SkillContext, _params: NoParams) -> Result<Text, SkillError> {
        self.0.hold().await
    }
}

impl Held {
    async fn hold(&self) -> Result<Text, SkillError> {
        let held = self;
        held.runs.fetch_add(1, Ordering::SeqCst);
        let mut dropped = Dropped(Some(held));
        let mut release = held.release.subscribe();
        held.started.send_modify(|count| *count += 1);
        let _ = release.wait_for(|released| *released).await;
        dropped.0 = None;
        held.finished.send_modify(|count| *count += 1);
        Ok(Text { text: "released".to_owned() })
    }
}

/// Answers with as many bytes as asked for.
pub struct Big;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// How many.
    bytes: usize,
}

impl Skill for Big {
    type Params = Size;
    type Output = Text;

    const METADATA: Metadata = metadata("test_big");

    async fn run(&self, _cx: &SkillContext, Size { bytes }: Size) -> Result<Text, SkillError> {
        // Not all the same, so that a lost or doubled piece is seen.
        let text = (0..bytes).map(|index| char::from(b'a' + (index / 1000 % 26) as u8)).collect();
        Ok(Text { text })
    }
}

/// Breaks.
pub struct Panics;

impl Skill for Panics {
    type Params = NoParams;
    type Output = Text;

    const METADATA: Metadata = metadata("test_panics");

    async fn run(&self, _cx: &SkillContext, _params: NoParams) -> Result<Text, SkillError> {
        panic!("a defect")
    }
}

pub fn capabilities() -> Vec<Arc<Capability>> {
    vec![
        Arc::new(Capability::of_skill::<Hold>()),
        Arc::new(Capability::of_skill::<HoldChange>()),
        Arc::new(Capability::of_skill::<testkit::CountEffects>()),
        Arc::new(Capability::of_skill::<testkit::GoDown>()),
        Arc::new(Capability::of_skill::<Big>()),
        Arc::new(Capability::of_skill::<Panics>()),
    ]
}

/// The built-in skills and those for tests.
pub fn registry(held: &Arc<Held>) -> Registry {
    Registry::builtin()
        .with(Hold(Arc::clone(held)))
        .with(HoldChange(Arc::clone(held)))
        .with(testkit::CountEffects)
        .with(Big)
        .with(Panics)
}

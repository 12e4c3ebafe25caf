//! Manager and edge, the real processes, are killed at every stage of a change: one, the other, both. The effect happens
//! once at most, the audit counts what the host counts, the turn comes to its end, and the next change works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result, ensure};
use llm::scripted::{Answer, ScriptedServer, Seen};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{EdgeProcess, Product, Session};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// When they are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The model is asked what to do.
    Planning,
    /// A person is asked.
    Waiting,
    /// The person has just allowed it.
    Allowed,
    /// It has had its effect and still runs.
    Running,
    /// It has ended, and the model is asked what it makes of it.
    Telling,
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Manager,
    Edge,
    Both,
}

/// Nothing here takes so long.
const LIMIT: Duration = Duration::from_secs(120);

struct Scene {
    product: Product,
    edge: EdgeProcess,
    admin: Session,
    chat: String,
    model: Arc<ModelState>,
    _server: ScriptedServer,
    effects: PathBuf,
    may_end: PathBuf,
}

/// Whether the model thinks for long, and of what.
#[derive(Default)]
struct ModelState {
    holds: AtomicBool,
    asked: Notify,
    released: CancellationToken,
}

fn answer(state: &ModelState, command: &str, seen: &Seen) -> Answer {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let answer = match messages.last().map(|message| &message["role"]) {
        Some(role) if role == "tool" => Answer::text("It is done."),
        _ => Answer::call("bash", json!({"edge_id": 1, "command": command, "timeout_seconds": 60})),
    };
    if state.holds.load(Ordering::SeqCst) {
        state.asked.notify_one();
        return Answer::Held { until: state.released.clone(), then: Box::new(answer) };
    }
    answer
}

impl Scene {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?.keep();
        let (effects, may_end) = (folder.join("effects"), folder.join("may-end"));
        let command = format!(
            "printf x >> {}; while [ ! -e {} ]; do sleep 0.05; done",
            effects.display(),
            may_end.display()
        );
        let model = Arc::new(ModelState::default());
        let state = Arc::clone(&model);
        let server = ScriptedServer::start(move |seen| answer(&state, &command, seen)).await?;
        let mut product = Product::builder()
            .configuration(&format!(
                "[models.scripted]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key = \"sk-test\"\nmodel = \"scripted-1\"",
                server.url()
            ))
            .start()
            .await?;
        let admin = product.admin().await?;
        let edge = product.start_edge("alpha").await?;
        admin.wait_online("alpha").await?;
        let chat = admin.new_chat().await?;
        Ok(Self { product, edge, admin, chat, model, _server: server, effects, may_end })
    }

    async fn say(&self, text: &str) -> Result<Value> {
        let path = format!("/sessions/{}/turns", self.chat);
        Ok(self.admin.post(&path, json!({"text": text})).await?.ok()?["turn_id"].clone())
    }

    /// Waits for the question whether the turn's call may run, and tells the approval.
    async fn asked(&self, turn: &Value) -> Result<Value> {
        let mut events = self.admin.events(None).await?;
        loop {
            let pending = self.admin.get("/approvals?state=pending").await?.ok()?;
            let found = pending["items"].as_array().unwrap().iter().find(|item| &item["turn_id"] == turn);
            if let Some(approval) = found {
                return Ok(approval.clone());
            }
            events.next().await?;
        }
    }

    async fn allow(&self, approval: &Value) -> Result<()> {
        let path = format!("/approvals/{}/decision", approval["id"].as_str().context("no id")?);
        self.admin.post(&path, json!({"decision": "allow_once"})).await?.ok()?;
        Ok(())
    }

    /// Waits until the host has counted so many effects.
    async fn until_effects(&self, count: usize) {
        while self.count() < count {
            tokio::task::yield_now().await;
        }
    }

    fn count(&self) -> usize {
        std::fs::read(&self.effects).map_or(0, |bytes| bytes.len())
    }

    async fn kill(&mut self, who: Who) -> Result<()> {
        if who != Who::Edge {
            self.product.kill_manager().await?;
        }
        if who != Who::Manager {
            self.edge.kill().await?;
        }
        Ok(())
    }

    async fn start_again(&mut self, who: Who) -> Result<()> {
        if who != Who::Edge {
            self.product.start_manager().await?;
            self.admin = self.product.admin().await?;
        }
        if who != Who::Manager {
            self.edge.start()?;
        }
        Ok(())
    }

    /// Waits for the turn's end; tells how its call is on record then.
    async fn end_of(&self, turn: &Value) -> Result<Value> {
        let mut events = self.admin.events(Some(0)).await?;
        loop {
            let event = events.next_of("chat.turn-finished.v1").await?;
            if &event.data["turn_id"] == turn {
                ensure!(event.data["payload"]["outcome"] == "answered", "{}", event.data);
                break;
            }
        }
        let mut events = self.admin.events(None).await?;
        loop {
            let calls = self.admin.get("/calls?tool=bash").await?.ok()?;
            let of_turn: Vec<&Value> =
                calls["items"].as_array().unwrap().iter().filter(|call| &call["turn_id"] == turn).collect();
            ensure!(of_turn.len() == 1, "the turn has {} calls: {of_turn:?}", of_turn.len());
            // The host tells what became of it when it is back.
            if of_turn[0]["state"] != "unknown" {
                return Ok(of_turn[0].clone());
            }
            events.next_of("calls.changed.v1").await?;
        }
    }
}

/// Kills them at a stage of a turn; returns its call and how many effects the host counted.
async fn killed(scene: &mut Scene, stage: Stage, who: Who) -> Result<(Value, usize)> {
    if stage != Stage::Running {
        std::fs::write(&scene.may_end, "")?;
    }
    scene.model.holds.store(stage == Stage::Planning, Ordering::SeqCst);
    let turn = scene.say("change it").await?;
    if stage == Stage::Planning {
        scene.model.asked.notified().await;
        scene.kill(who).await?;
        scene.start_again(who).await?;
        scene.admin.wait_online("alpha").await?;
        scene.model.released.cancel();
    }
    let mut approval = scene.asked(&turn).await?;
    if stage == Stage::Waiting {
        scene.kill(who).await?;
        scene.start_again(who).await?;
        // The same question is there again.
        let again = scene.asked(&turn).await?;
        assert_eq!((&again["id"], &again["call_id"]), (&approval["id"], &approval["call_id"]));
        approval = again;
    }
    scene.model.holds.store(stage == Stage::Telling, Ordering::SeqCst);
    scene.allow(&approval).await?;
    match stage {
        Stage::Planning | Stage::Waiting => {}
        Stage::Allowed => {
            scene.kill(who).await?;
            scene.start_again(who).await?;
        }
        Stage::Running => {
            scene.until_effects(1).await;
            scene.kill(who).await?;
            std::fs::write(&scene.may_end, "")?;
            scene.start_again(who).await?;
        }
        Stage::Telling => {
            scene.model.asked.notified().await;
            scene.kill(who).await?;
            scene.start_again(who).await?;
            scene.model.released.cancel();
        }
    }
    let call = scene.end_of(&turn).await?;
    assert_eq!(call["id"], approval["call_id"], "another call was made");
    Ok((call, scene.count()))
}

async fn row_of_the_matrix(stage: Stage, who: Who) -> Result<()> {
    let at = format!("{who:?} killed, {stage:?}");
    let mut scene = Scene::new().await?;
    let (call, count) = killed(&mut scene, stage, who).await.with_context(|| at.clone())?;
    let (state, error) = (call["state"].as_str().unwrap(), call["error"].as_str().unwrap_or_default());
    let edge_was_at_it = who != Who::Manager && matches!(stage, Stage::Allowed | Stage::Running);
    match (state, count) {
        ("succeeded", 1) => {}
        // The host can't say more of a command that it lost.
        ("failed", 0 | 1) if edge_was_at_it => {
            // It died before the call was sent, before it came, or after it was accepted.
            let never_came = error.starts_with("the call never arrived at the host")
                || error.contains("nothing was sent to it");
            let is_told =
                if never_came { count == 0 } else { error.starts_with("outcome lost, effect possible") };
            assert!(is_told, "{at}: {count} effects; {call}");
        }
        _ => panic!("{at}: {count} effects; {call}"),
    }
    if stage == Stage::Running {
        assert_eq!(count, 1, "{at}: {call}");
    }

    // What comes next is a call of its own, and works.
    scene.admin.wait_online("alpha").await?;
    let turn = scene.say("change it again").await?;
    scene.allow(&scene.asked(&turn).await?).await?;
    let next = scene.end_of(&turn).await?;
    assert_eq!(next["state"], "succeeded", "{at}: {next}");
    assert_ne!(next["id"], call["id"], "{at}");
    assert_eq!(scene.count(), count + 1, "{at}");
    let verified = scene.product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{at}: {}", String::from_utf8_lossy(&verified.stdout));
    std::fs::remove_dir_all(scene.effects.parent().context("no folder")?)?;
    Ok(())
}

async fn stage(stage: Stage) -> Result<()> {
    for who in [Who::Manager, Who::Edge, Who::Both] {
        tokio::time::timeout(LIMIT, row_of_the_matrix(stage, who))
            .await
            .with_context(|| format!("{who:?} killed, {stage:?}: it did not come to its end"))??;
    }
    Ok(())
}

#[tokio::test]
async fn killed_while_the_model_plans() -> Result<()> {
    stage(Stage::Planning).await
}

#[tokio::test]
async fn killed_while_a_person_is_asked() -> Result<()> {
    stage(Stage::Waiting).await
}

#[tokio::test]
async fn killed_just_after_it_was_allowed() -> Result<()> {
    stage(Stage::Allowed).await
}

#[tokio::test]
async fn killed_while_it_runs_after_its_effect() -> Result<()> {
    stage(Stage::Running).await
}

#[tokio::test]
async fn killed_while_the_model_is_told() -> Result<()> {
    stage(Stage::Telling).await
}

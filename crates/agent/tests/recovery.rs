//! What becomes of a turn whose process died, in every phase.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use agent::Limits;
use common::{
    ADA, Act, ScriptedHosts, ScriptedModel, Step, World, call, kinds, outcome, payloads, results, states,
};
use llm::ModelEvent;
use model::{CallState, TurnId};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use storage::calls::CallFilter;

fn limits() -> Limits {
    Limits { resolve_wait: Duration::from_millis(50), ..Limits::default() }
}

fn quiet_hosts() -> Arc<ScriptedHosts> {
    ScriptedHosts::new(|_, _| Act::Result(json!({"load1": 0.5})))
}

fn calls_once() -> Arc<ScriptedModel> {
    ScriptedModel::new(|number, _| match number {
        0 => Step::Call(
            "Looking.",
            vec![call("host_load", json!({"edge_id": 1})), call("host_load", json!({"edge_id": 2}))],
        ),
        _ => Step::Say("Done."),
    })
}

fn answers() -> Arc<ScriptedModel> {
    ScriptedModel::new(|_, _| Step::Say("Back again."))
}

#[tokio::test]
async fn killed_while_the_model_speaks_it_is_asked_again() {
    let model = ScriptedModel::new(|_, _| Step::Hang(vec![ModelEvent::TextDelta("Half an ans".to_owned())]));
    let world = World::with_limits(model, quiet_hosts(), limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.until(session, turn, |events| events.iter().any(|event| event.kind == "chat.text-delta.v1")).await;

    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!(outcome(&events).0, "answered");
    assert_eq!(payloads(&events, "attempt.superseded.v1").len(), 1);
    assert!(payloads(&events, "chat.text-delta.v1").is_empty());
    assert_eq!(payloads(&events, "chat.message.v1")[0]["text"], "Back again.");
}

#[tokio::test]
async fn killed_before_the_model_said_anything_it_is_asked_again() {
    let model = ScriptedModel::new(|_, _| Step::Hang(Vec::new()));
    let world = World::with_limits(model, quiet_hosts(), limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.model.asked.notified().await;
    let world = world.crash(answers(), quiet_hosts()).await;
    assert_eq!(outcome(&world.finished(session, turn).await).0, "answered");
}

#[tokio::test]
async fn killed_while_calls_run_they_are_not_run_again() {
    let hosts = ScriptedHosts::new(|_, _| Act::Hang);
    let world = World::with_limits(calls_once(), hosts, limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.hosts.arrived.notified().await;
    while world.hosts.seen().len() < 2 {
        world.hosts.arrived.notified().await;
    }
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!((outcome(&events).0.as_str(), states(&events)), ("answered", vec!["unknown"; 2]));
    assert!(world.hosts.seen().is_empty(), "nothing runs twice");
    let told = results(&world.model.seen()[0]);
    assert!(told.iter().all(|(is_error, text)| *is_error && text.contains("not run again")), "{told:?}");
}

#[tokio::test]
async fn a_call_whose_end_is_on_record_is_taken_from_there() {
    let hosts = ScriptedHosts::new(|_, args| match args["n"].as_i64() {
        Some(1) => Act::Hang,
        _ => Act::Result(json!({"load1": 0.5})),
    });
    let model = ScriptedModel::new(|_, _| {
        Step::Call(
            "",
            vec![call("host_load", json!({"edge_id": 1})), call("host_load", json!({"edge_id": 1, "n": 1}))],
        )
    });
    let world = World::with_limits(model, hosts, limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.until(session, turn, |events| states(events) == ["succeeded"]).await;
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!(states(&events), ["succeeded", "unknown"]);
    let told = results(&world.model.seen()[0]);
    assert_eq!(told[0], (false, "{\"load1\":0.5}".to_owned()));
}

/// Begins a turn as a process does that dies right after keeping the model's message.
async fn killed_before_dispatch(world: &World) -> (model::SessionId, TurnId, model::CallId) {
    use storage::turns::{NewMessage, NewTurn, TurnWrite};
    let session = world.session().await;
    let (turn, call) = (TurnId::generate(), model::CallId::generate());
    let message = |body| NewMessage { id: uuid::Uuid::now_v7(), body, untrusted: false };
    let lease = world
        .storage
        .turns()
        .begin(NewTurn {
            id: turn,
            session,
            user: ADA,
            roles: model::Roles::new([model::Role::Operator]),
            token: None,
            worker: uuid::Uuid::new_v4(),
            lease: Duration::from_secs(15),
            message: message(json!({"role": "user", "text": "look"})),
            events: Vec::new(),
            title: "look".to_owned(),
        })
        .await
        .unwrap();
    let asked = json!({"role": "assistant", "text": "", "calls": [{"id": call, "tool": "host_load", "args": {"Ok": {"edge_id": 1}}}]});
    let write = TurnWrite { messages: vec![message(asked)], ..TurnWrite::default() };
    world.storage.turns().write(lease, write).await.unwrap();
    (session, turn, call)
}

#[tokio::test]
async fn killed_before_its_calls_were_made_they_are_made_under_their_ids() {
    let world = World::with_limits(answers(), quiet_hosts(), limits()).await;
    let (session, turn, call) = killed_before_dispatch(&world).await;
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!((outcome(&events).0.as_str(), states(&events)), ("answered", vec!["succeeded"]));
    let rows = world.storage.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [call]);
    assert_eq!(world.hosts.seen().len(), 1);
}

#[tokio::test]
async fn killed_after_it_was_told_to_stop_it_is_stopped() {
    let world = World::with_limits(answers(), quiet_hosts(), limits()).await;
    let (session, turn, _) = killed_before_dispatch(&world).await;
    assert!(world.agent.stop(turn, ADA).await.unwrap());
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!((outcome(&events).0.as_str(), states(&events)), ("stopped", vec!["cancelled"]));
    assert!(world.hosts.seen().is_empty() && world.model.seen().is_empty());
    assert_eq!(outcome(&world.ask(session, "go on").await).0, "answered");
}

#[tokio::test]
async fn killed_between_rounds_it_goes_on_with_the_results() {
    let model = ScriptedModel::new(|number, _| match number {
        0 => Step::Call("Looking.", vec![call("host_load", json!({"edge_id": 1}))]),
        _ => Step::Hang(Vec::new()),
    });
    let world = World::with_limits(model, quiet_hosts(), limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.until(session, turn, |events| payloads(events, "chat.phase.v1").len() == 3).await;
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!(outcome(&events).0, "answered");
    assert_eq!(results(&world.model.seen()[0]), [(false, "{\"load1\":0.5}".to_owned())]);
    assert!(world.hosts.seen().is_empty());
    assert_eq!(
        payloads(&events, "chat.phase.v1").last().unwrap()["round"],
        2,
        "the request is the second, asked again"
    );
}

#[tokio::test]
async fn killed_in_a_slash_command_it_shows_how_the_call_ended() {
    let world = World::with_limits(answers(), ScriptedHosts::new(|_, _| Act::Hang), limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "/host_load @web-1").await;
    world.hosts.arrived.notified().await;
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!(states(&events), ["unknown"]);
    assert!(world.hosts.seen().is_empty() && world.model.seen().is_empty());
    let said = payloads(&events, "chat.message.v1");
    assert!(said.last().unwrap()["text"].as_str().unwrap().contains("**unknown**"));
}

#[tokio::test]
async fn a_turn_that_keeps_killing_its_process_is_closed() {
    let hangs = || ScriptedModel::new(|_, _| Step::Hang(Vec::new()));
    let mut world = World::with_limits(hangs(), quiet_hosts(), limits()).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    for _ in 0..5 {
        world.model.asked.notified().await;
        world = world.crash(hangs(), quiet_hosts()).await;
    }
    let events = world.finished(session, turn).await;
    assert_eq!(outcome(&events).0, "interrupted");
}

#[tokio::test]
async fn a_worker_whose_turn_was_taken_over_writes_nothing_more() {
    let model = ScriptedModel::new(|_, _| Step::Hang(vec![ModelEvent::TextDelta("a ".to_owned())]));
    let short = Limits { lease: Duration::from_millis(150), ..limits() };
    let world = World::with_limits(model, quiet_hosts(), short).await;
    let session = world.session().await;
    let turn = world.submit(session, "look").await;
    world.until(session, turn, |events| events.iter().any(|event| event.kind == "chat.text-delta.v1")).await;
    let taken =
        world.storage.turns().take_over(uuid::Uuid::new_v4(), true, Duration::from_secs(60)).await.unwrap();
    assert_eq!(taken.len(), 1);
    // The first worker sees at its next renewal that the turn isn't its own any more, and lets go of it.
    world.agent.idle().await;
    assert!(!kinds(&world.events_of(session, turn).await).contains(&"chat.turn-finished.v1"));
    let row = world.storage.turns().find(turn).await.unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.epoch), ("running", 2));
    assert!(
        world
            .storage
            .calls()
            .list(&CallFilter { state: Some(CallState::Running), ..CallFilter::default() }, None, 1)
            .await
            .unwrap()
            .is_empty()
    );
}

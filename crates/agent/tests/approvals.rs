//! Turns whose calls wait for people: what the chat shows, what the model is told, and what a restart does to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use agent::Limits;
use common::{
    ADA, Act, ScriptedHosts, ScriptedModel, Step, World, call, kinds, outcome, payloads, results, states,
};
use gate::ApprovalRules;
use model::{ApprovalDecision, CallState};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use storage::calls::CallFilter;
use storage::chats::TurnEvent;

fn quiet_hosts() -> Arc<ScriptedHosts> {
    ScriptedHosts::new(|_, _| Act::Result(json!({"done": true})))
}

fn restarts_once() -> Arc<ScriptedModel> {
    ScriptedModel::new(|number, _| match number {
        0 => Step::Call("Restarting.", vec![call("restart_service", json!({"edge_id": 1, "n": 1}))]),
        _ => Step::Say("So be it."),
    })
}

fn answers() -> Arc<ScriptedModel> {
    ScriptedModel::new(|_, _| Step::Say("Back again."))
}

/// What the chat shows of approvals, in order.
fn shown(events: &[TurnEvent]) -> Vec<&str> {
    payloads(events, "chat.approval.v1").iter().map(|payload| payload["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_call_that_changes_something_waits_and_the_chat_shows_the_question_and_the_answer() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    let events = world.asked(session, turn).await;
    let order = kinds(&events);
    let place = |kind| order.iter().position(|known| *known == kind).unwrap();
    assert!(place("chat.tool-call.v1") < place("chat.approval.v1"), "{order:?}");
    let question = payloads(&events, "chat.approval.v1")[0];
    assert_eq!(question["call_id"], payloads(&events, "chat.tool-call.v1")[0]["call_id"]);
    assert!(question["decide_by"].is_string(), "{question}");
    assert!(world.hosts.seen().is_empty());

    world.decide(ApprovalDecision::AllowOnce, None).await;
    let events = world.finished(session, turn).await;
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "approved"], vec!["succeeded"]));
    let decided = payloads(&events, "chat.approval.v1")[1];
    assert_eq!((&decided["decision"], &decided["decided_by_name"]), (&json!("allow_once"), &json!("Bea")));
    assert_eq!(outcome(&events).0, "answered");
    assert_eq!(world.hosts.seen().len(), 1);
}

#[tokio::test]
async fn a_denial_reaches_the_model_with_its_note() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    world.asked(session, turn).await;
    world.decide(ApprovalDecision::Deny, Some("not during office hours")).await;
    let events = world.finished(session, turn).await;
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "denied"], vec!["denied"]));
    let told = results(&world.model.seen()[1]);
    assert!(told[0].0 && told[0].1.starts_with("denied"), "{told:?}");
    assert!(told[0].1.contains("Denied by Bea: not during office hours"), "{told:?}");
    assert!(world.hosts.seen().is_empty());
}

#[tokio::test]
async fn what_nobody_decides_is_told_to_the_model_and_uses_up_none_of_the_turns_time() {
    let limits = Limits { turn: Duration::from_millis(200), ..Limits::default() };
    let rules = ApprovalRules { decide_by: Duration::from_millis(800), ..ApprovalRules::default() };
    let world = World::with_rules(restarts_once(), quiet_hosts(), limits, rules).await;
    let session = world.session().await;
    let events = world.ask(session, "restart it").await;
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "expired"], vec!["expired"]));
    assert_eq!(outcome(&events).0, "answered", "{:?}", outcome(&events));
    let told = results(&world.model.seen()[1]);
    assert!(told[0].1.contains("Nobody decided"), "{told:?}");
}

#[tokio::test]
async fn a_stop_withdraws_what_the_turn_asks() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    world.asked(session, turn).await;
    assert!(world.agent.stop(turn, ADA).await.unwrap());
    let events = world.finished(session, turn).await;
    assert_eq!(outcome(&events).0, "stopped");
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "withdrawn"], vec!["cancelled"]));
    assert!(world.hosts.seen().is_empty());
}

#[tokio::test]
async fn killed_while_a_call_waits_the_turn_waits_again_and_the_call_runs_once_after_the_decision() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    world.asked(session, turn).await;

    let world = world.crash(answers(), quiet_hosts()).await;
    assert_eq!(shown(&world.events_of(session, turn).await), ["pending"], "the card is there again");
    assert!(world.hosts.seen().is_empty());
    world.decide(ApprovalDecision::AllowOnce, None).await;
    let events = world.finished(session, turn).await;
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "approved"], vec!["succeeded"]));
    assert_eq!(outcome(&events).0, "answered");
    let seen = world.hosts.seen();
    assert_eq!((seen.len(), &seen[0].args), (1, &json!({"n": 1})), "exactly what was approved, once");
    let rows = world.storage.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert!(world.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_turn_that_was_taken_up_again_can_be_stopped_while_its_call_waits() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    world.asked(session, turn).await;
    let world = world.crash(answers(), quiet_hosts()).await;
    assert!(world.agent.stop(turn, ADA).await.unwrap());
    let events = world.finished(session, turn).await;
    assert_eq!(outcome(&events).0, "stopped");
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "withdrawn"], vec!["cancelled"]));
    let rows = world.storage.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    assert_eq!(rows[0].state, CallState::Cancelled);
}

#[tokio::test]
async fn stopped_and_killed_at_once_the_question_is_withdrawn_at_the_next_start() {
    let world = World::new(restarts_once(), quiet_hosts()).await;
    let session = world.session().await;
    let turn = world.submit(session, "restart it").await;
    world.asked(session, turn).await;
    // The wish is in the database, and nobody lives to follow it.
    assert!(world.storage.turns().request_stop(turn, ADA).await.unwrap());
    let world = world.crash(answers(), quiet_hosts()).await;
    let events = world.finished(session, turn).await;
    assert_eq!((shown(&events), states(&events)), (vec!["pending", "withdrawn"], vec!["cancelled"]));
}

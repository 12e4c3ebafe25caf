//! Calls on real edges: run, stopped, repeated, lost and found again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::Manager;
use common::proxy::Proxy;
use common::skills::{Held, registry};
use gate::{Admission, HostDispatcher as _, HostState};
use model::CallState;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn result(ended: &gate::Dispatched) -> Value {
    serde_json::from_slice(ended.result.as_ref().unwrap_or_else(|| panic!("no result: {ended:?}"))).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_safe_call_runs_on_the_host_and_its_result_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;

    let call = manager.admit(edge.id, "host_load", json!({})).await;
    let ended = manager.run(&call, CancellationToken::new()).await;

    assert_eq!(ended.state, CallState::Succeeded, "{ended:?}");
    assert!(result(&ended)["cpu"].is_object() || result(&ended)["load"].is_object(), "{}", result(&ended));
    assert_eq!(ended.edge_class, Some(model::Class::Safe));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_cancelled_in_the_manager_stops_on_the_edge() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let edge = manager.add_edge(registry(&held)).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let cancel = CancellationToken::new();
    let (ended, ()) = tokio::join!(manager.run(&call, cancel.clone()), async {
        held.wait_started().await;
        cancel.cancel();
    });

    assert_eq!(ended.state, CallState::Cancelled);
    held.wait_dropped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_delivery_of_a_call_does_not_run_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    held.release();
    let edge = manager.add_edge(registry(&held)).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let first = manager.fleet.dispatch(&call, CancellationToken::new()).await;
    let second = manager.fleet.dispatch(&call, CancellationToken::new()).await;

    assert_eq!((first.state, second.state), (CallState::Succeeded, CallState::Succeeded));
    assert_eq!(first.result, second.result);
    assert_eq!(held.runs(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_mebibytes_arrive_whole_while_another_call_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;
    const BYTES: usize = 8 * 1024 * 1024;
    let big = manager.admit(edge.id, "test_big", json!({"bytes": BYTES})).await;
    let small = manager.admit(edge.id, "test_big", json!({"bytes": 1})).await;

    let (big, small) = tokio::join!(
        manager.fleet.dispatch(&big, CancellationToken::new()),
        manager.fleet.dispatch(&small, CancellationToken::new())
    );

    assert_eq!(small.state, CallState::Succeeded);
    let result = result(&big);
    let text = result["text"].as_str().unwrap();
    assert_eq!(text.len(), BYTES);
    assert!(text.bytes().enumerate().all(|(index, byte)| byte == b'a' + (index / 1000 % 26) as u8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_that_panics_fails_its_call_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;

    let call = manager.admit(edge.id, "test_panics", json!({})).await;
    let ended = manager.run(&call, CancellationToken::new()).await;
    assert_eq!(ended.state, CallState::Failed);

    let call = manager.admit(edge.id, "test_big", json!({"bytes": 1})).await;
    assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_went_away_is_told_precisely_and_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    let call = manager.admit(edge.id, "host_load", json!({})).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;

    let ended = manager.fleet.dispatch(&call, CancellationToken::new()).await;

    assert_eq!(ended.state, CallState::Failed);
    let error = ended.error.unwrap();
    assert!(
        error.starts_with("host `web-1` is offline since ") && error.ends_with("nothing was sent to it"),
        "{error}"
    );
    // The gate tells as much, before anything is dispatched.
    let Admission::Rejected(rejection) = manager.try_admit(edge.id, "host_load", json!({})).await else {
        panic!("a call to an offline host was admitted");
    };
    assert!(rejection.reason.contains("web-1"), "{}", rejection.reason);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_was_lost_on_the_way_is_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let proxy = Proxy::start(manager.address()).await;
    let held = Arc::new(Held::default());
    let edge = manager.enroll(registry(&held), proxy.address()).await;
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), async {
        held.wait_started().await;
        proxy.hold();
        held.release();
        held.wait_finished().await;
        proxy.cut();
    });

    // An edge that is back at once is asked at once.
    assert!(matches!(ended.state, CallState::Unknown | CallState::Succeeded), "{ended:?}");
    let row = manager.wait_for_call(call.call_id(), CallState::Succeeded).await;
    assert_eq!(row.error, None);
    let text = manager.storage.calls().result_text(call.call_id()).await.unwrap().unwrap();
    assert_eq!(text, "{\"text\":\"released\"}");
    assert_eq!(held.runs(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ran_when_its_connection_was_lost_is_found_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let proxy = Proxy::start(manager.address()).await;
    let held = Arc::new(Held::default());
    let edge = manager.enroll(registry(&held), proxy.address()).await;
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), async {
        held.wait_started().await;
        proxy.cut();
    });

    assert_eq!(ended.state, CallState::Unknown, "{ended:?}");
    held.wait_dropped().await;
    manager.wait_for_call(call.call_id(), CallState::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_edge_no_longer_knows_is_failed_as_lost() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let mut edge = manager.add_edge(registry(&held)).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), async {
        held.wait_started().await;
        edge.stop().await;
    });
    assert_eq!(ended.state, CallState::Unknown, "{ended:?}");
    edge.start();

    let row = manager.wait_for_call(call.call_id(), CallState::Failed).await;
    assert!(row.error.as_ref().unwrap().starts_with("outcome lost"), "{:?}", row.error);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_died_resolves_its_calls_when_the_edge_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let edge = manager.add_edge(registry(&held)).await;
    let call = manager.admit(edge.id, "test_hold", json!({})).await;
    let call_id = call.call_id();
    // Dispatched, but nobody is left to put its end on record.
    let ended = tokio::join!(manager.fleet.dispatch(&call, CancellationToken::new()), async {
        held.wait_started().await;
        manager.fleet.stop().await;
    });
    assert_eq!(ended.0.state, CallState::Unknown);
    drop(call);

    let manager = manager.restart().await;

    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    manager.wait_for_call(call_id, CallState::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutating_skills_are_shown_and_wait_for_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;
    let host = manager.fleet.host(edge.id).unwrap();
    assert!(
        host.skills.iter().any(|skill| skill.key == "kill_process" && skill.class == model::Class::Mutating)
    );

    let args = json!({"pid": 2, "start_time": 1, "reason": "test"});
    let Admission::Waiting(waiting) = manager.try_admit(edge.id, "kill_process", args).await else {
        panic!("nobody was asked")
    };
    let row = manager.storage.calls().find(waiting.call_id).await.unwrap().unwrap();
    assert_eq!((row.state, row.seq), (CallState::AwaitingApproval, None));
}

//! Changes stopped everywhere or on one host: real edges are told, keep it, and refuse by themselves.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::Manager;
use common::skills::{Held, registry};
use gate::{Admission, HostDispatcher as _, HostState};
use model::{CallState, UserId};
use serde_json::json;
use std::sync::Arc;
use storage::Actor;
use tokio_util::sync::CancellationToken;

const ANN: UserId = UserId(1);

impl Manager {
    async fn freeze(&self) {
        let reason = Some("a bad deploy".to_owned());
        self.storage.freezes().freeze(reason, ANN, Actor::User(ANN)).await.unwrap();
    }

    async fn unfreeze(&self) {
        self.storage.freezes().unfreeze(ANN, Actor::User(ANN)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_refuses_a_change_by_itself_that_the_manager_let_through_just_before() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    held.release();
    let edge = manager.add_edge(registry(&held)).await;
    let admitted = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
    let safe = manager.admit(edge.id, "test_hold", json!({})).await;

    manager.freeze().await;
    manager.wait_for(edge.id, |host| host.frozen).await;
    let refused = manager.fleet.dispatch(&admitted, CancellationToken::new()).await;

    assert_eq!(refused.state, CallState::Refused, "{refused:?}");
    assert!(refused.error.unwrap().contains("this edge is frozen"));
    assert_eq!(held.runs(), 0);
    assert_eq!(manager.run(&safe, CancellationToken::new()).await.state, CallState::Succeeded);

    // The gate lets none through either, approved or not.
    let request = manager.try_admit(edge.id, "test_hold_change", json!({})).await;
    let Admission::Rejected(rejection) = request else { panic!("a change was admitted") };
    assert!(rejection.reason.contains("Changes are frozen"), "{}", rejection.reason);

    manager.unfreeze().await;
    manager.wait_for(edge.id, |host| !host.frozen).await;
    let again = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
    assert_eq!(manager.run(&again, CancellationToken::new()).await.state, CallState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_freeze_survives_restarts_of_both_and_reaches_who_was_away() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;

    manager.freeze().await;
    assert!(!manager.fleet.host(edge.id).unwrap().frozen, "it can't have heard of it");
    let manager = manager.restart().await;
    edge.start();
    let host = manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    assert!(host.frozen, "it was told before it counted as connected");

    // Without any manager it stays frozen.
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;
    let local = edge::local::run(&edge.options, "test_hold_change", json!({}), common::LIMIT).await.unwrap();
    assert_eq!(local.state, CallState::Refused);
    assert!(local.report["error"].as_str().unwrap().contains("frozen"), "{}", local.report);

    manager.unfreeze().await;
    let manager = manager.restart().await;
    edge.start();
    let host = manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    assert!(!host.frozen);
    manager.verify_audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_host_stays_so_when_changes_are_allowed_again_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;
    manager.fleet.set_read_only(edge.id, true, ANN, Actor::User(ANN)).await.unwrap();
    manager.wait_for(edge.id, |host| host.frozen && host.read_only).await;
    manager.freeze().await;
    manager.unfreeze().await;

    let request = manager.try_admit(edge.id, "test_hold_change", json!({})).await;
    let Admission::Rejected(rejection) = request else { panic!("a change was admitted") };
    assert!(rejection.reason.contains("is read-only since"), "{}", rejection.reason);
    assert!(manager.fleet.host(edge.id).unwrap().frozen);

    manager.fleet.set_read_only(edge.id, false, ANN, Actor::User(ANN)).await.unwrap();
    manager.wait_for(edge.id, |host| !host.frozen && !host.read_only).await;
}

//! Calls that change something, approved, on real edges: numbered, detached, stopped, acknowledged, and never run twice.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::skills::registry;
use common::{LIMIT, Manager, Scene};
use gate::{Admission, HostState};
use model::{CallState, Class, Origin};
use serde_json::json;
use std::sync::Arc;
use storage::Actor;
use storage::calls::CallFilter;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_has_a_number_runs_once_and_is_forgotten_when_it_is_on_record() {
    let Scene { manager, edge, held, dir: _dir, proxy: _proxy } = Scene::start().await;
    held.release();

    let call = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
    let (first, second) = tokio::join!(manager.fleet_dispatch(&call), manager.fleet_dispatch(&call));
    assert_eq!((first.state, second.state), (CallState::Succeeded, CallState::Succeeded), "{second:?}");
    assert_eq!(first.result, second.result);
    assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
    assert_eq!(held.runs(), 1);

    let row = manager.wait_for_call(call.call_id(), CallState::Succeeded).await;
    assert_eq!((row.seq, call.seq()), (Some(1), Some(1)));
    manager.wait_until_acknowledged(edge.id, 1).await;
    let late = manager.fleet_dispatch(&call).await;
    assert_eq!(late.state, CallState::Refused);
    assert!(late.error.as_ref().unwrap().contains("final"), "{late:?}");
    assert_eq!(held.runs(), 1);
    manager.verify_audit().await;
    // A safe call has no number.
    assert_eq!(manager.admit(edge.id, "test_hold", json!({})).await.seq(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_asks_for_signatures_takes_no_change_where_nobody_can_sign_and_keeps_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;
    edge.options.config.security.approval_proof = Some(edge::ApprovalProof::Signed);
    edge.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    let file = dir.path().join("stays");
    std::fs::write(&file, "x").unwrap();

    let args = json!({"command": format!("rm {}", file.display())});
    let Admission::Rejected(rejection) = manager.try_admit(edge.id, "bash", args).await else {
        panic!("somebody was asked")
    };
    assert!(rejection.reason.contains("asks for a signature for every change"), "{}", rejection.reason);
    assert!(file.exists());
    assert_eq!(manager.storage.edges().find(edge.id).await.unwrap().unwrap().confirmed_seq, 0);
    manager.verify_audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_only_detaches_from_a_change() {
    let scene = Scene::start().await;
    let (call, ended) = scene
        .change(CancellationToken::new(), |scene| {
            scene.proxy.cut();
            // Only now, so that it runs while nobody listens.
            scene.held.release();
        })
        .await;
    let Scene { manager, edge, held, .. } = &scene;

    assert!(matches!(ended.state, CallState::Unknown | CallState::Succeeded), "{ended:?}");
    let row = manager.wait_for_final(call.call_id()).await;
    assert_eq!(row.state, CallState::Succeeded, "{row:?}");
    let text = manager.storage.calls().result_text(call.call_id()).await.unwrap().unwrap();
    assert_eq!(text, "{\"text\":\"released\"}");
    assert_eq!(held.runs(), 1);
    manager.wait_until_acknowledged(edge.id, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_stopped_by_an_explicit_word() {
    let scene = Scene::start().await;
    let cancel = CancellationToken::new();
    let (call, ended) = scene.change(cancel.clone(), |_| cancel.cancel()).await;
    let Scene { manager, held, .. } = &scene;

    assert_eq!(ended.state, CallState::Cancelled, "{ended:?}");
    held.wait_dropped().await;
    let row = manager.wait_for_final(call.call_id()).await;
    assert!(row.cancel_requested_at.is_some());
    let audit = manager.storage.audit().of_call(call.call_id()).await.unwrap();
    let kinds: Vec<&str> = audit.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "call.awaiting_approval",
            "approval.decided",
            "call.admitted",
            "call.cancel_requested",
            "call.finished"
        ]
    );
    manager.verify_audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_a_host_that_is_away_is_stopped_when_that_is_back_and_audited_with_who_wanted_it() {
    let scene = Scene::start().await;
    let (call, ended) = scene.change(CancellationToken::new(), |scene| scene.proxy.shut()).await;
    assert_eq!(ended.state, CallState::Unknown, "{ended:?}");
    let Scene { manager, edge, held, proxy, dir: _dir } = scene;
    manager.wait_for(edge.id, |host| host.state != HostState::Online).await;

    let wanted = Actor::User(model::UserId(1));
    assert!(manager.storage.calls().request_cancel(call.call_id(), wanted).await.unwrap());
    // The wish outlives the manager.
    let manager = manager.restart().await;
    proxy.open();

    let row = manager.wait_for_final(call.call_id()).await;
    assert_eq!(row.state, CallState::Cancelled, "{row:?}");
    held.wait_dropped().await;
    assert!(!manager.storage.calls().request_cancel(call.call_id(), wanted).await.unwrap());
    let audit = manager.storage.audit().of_call(call.call_id()).await.unwrap();
    let wishes: Vec<_> = audit.iter().filter(|entry| entry.kind == "call.cancel_requested").collect();
    assert_eq!(wishes.len(), 1);
    assert_eq!(wishes[0].actor, json!({"kind": "user", "id": 1}));
    manager.verify_audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_host_was_lost_and_is_back_is_stopped_at_once() {
    let scene = Scene::start().await;
    let (call, ended) = scene.change(CancellationToken::new(), |scene| scene.proxy.shut()).await;
    assert_eq!(ended.state, CallState::Unknown, "{ended:?}");
    let Scene { manager, edge, held, proxy, dir: _dir } = scene;
    proxy.open();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;

    assert!(manager.storage.calls().request_cancel(call.call_id(), Actor::System).await.unwrap());

    assert_eq!(manager.wait_for_final(call.call_id()).await.state, CallState::Cancelled);
    held.wait_dropped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_with_an_older_journal_is_shut_out_until_somebody_chooses_it() {
    let Scene { manager, mut edge, held, dir: _dir, proxy: _proxy } = Scene::start().await;
    held.release();
    let run = async || {
        let call = manager.admit_approved(edge_id(&manager), "test_hold_change", json!({})).await;
        assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
        manager.wait_until_acknowledged(edge_id(&manager), call.seq().unwrap()).await;
        call
    };
    run().await;
    let journal = edge.options.dir.path().join("calls.journal");
    let snapshot = std::fs::read(&journal).unwrap();
    let second = run().await;
    edge.stop().await;
    std::fs::write(&journal, snapshot).unwrap();
    edge.start();

    let host = manager.wait_for(edge.id, |host| host.state == HostState::Quarantined).await;
    let reason = host.state_reason.unwrap();
    assert!(reason.contains("snapshot"), "{reason}");
    let keep = manager.fleet.host(edge.id).unwrap().contestants.last().unwrap().instance_id.clone();
    manager.fleet.resolve_quarantine(edge.id, &keep, Actor::System).await.unwrap();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    // The edge has forgotten that it ever ran this; the mark keeps it from running it again.
    manager.wait_until_acknowledged(edge.id, second.seq().unwrap()).await;
    let again = loop {
        let again = manager.fleet_dispatch(&second).await;
        // The chosen edge comes once more, with a certificate that the others don't have; until then nothing is sent.
        if again.state != CallState::Failed {
            break again;
        }
        manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    };
    assert_eq!(again.state, CallState::Refused, "{again:?}");
    assert_eq!(run().await.seq(), Some(3));
    assert_eq!(held.runs(), 3);
}

fn edge_id(manager: &Manager) -> model::EdgeId {
    manager.fleet.hosts()[0].id
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        } else {
            copy(&file.path(), &to.join(file.file_name()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_was_restored_raises_its_counter_and_says_so() {
    let backup = tempfile::tempdir().unwrap();
    let Scene { manager, edge, held, dir: _dir, proxy: _proxy } = Scene::start().await;
    held.release();
    let manager = manager.restart_after(|dir| copy(dir, backup.path())).await;
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    for _ in 0..3 {
        let call = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
        assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
    }

    let manager = manager
        .restart_after(|dir| {
            std::fs::remove_dir_all(dir).unwrap();
            copy(backup.path(), dir);
        })
        .await;

    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    let call = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
    assert_eq!(call.seq(), Some(4));
    assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
    assert_eq!(held.runs(), 4);
    let entries = manager.storage.audit().list(&Default::default(), None, 100).await.unwrap();
    let raised = entries.iter().find(|entry| entry.kind == "edge.counter_raised").expect("it wasn't said");
    assert_eq!((&raised.payload["from"], &raised.payload["to"]), (&json!(0), &json!(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_root_does_on_the_host_itself_is_told_once_and_forgotten() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    let folder = tempfile::tempdir().unwrap();
    let args = json!({"folder": folder.path(), "death": "never"});

    // The edge runs at the same time.
    let run = edge::local::run(&edge.options, "test_count_effects", args, LIMIT);
    let outcome = tokio::time::timeout(LIMIT, run).await.unwrap().unwrap();
    assert_eq!(outcome.state, CallState::Succeeded, "{}", outcome.report);
    let call_id: model::CallId = outcome.report["call_id"].as_str().unwrap().parse().unwrap();
    assert_eq!(testkit::effects(folder.path(), &call_id.to_string()), 1);
    for _ in 0..2 {
        edge.stop().await;
        edge.start();
        let waiting = async {
            let mut changes = manager.storage.call_changes();
            while manager.storage.calls().find(call_id).await.unwrap().is_none() {
                let _ = changes.recv().await;
            }
            manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
        };
        tokio::time::timeout(LIMIT, waiting).await.unwrap();
    }

    let filter = CallFilter { origin: Some(Origin::Local), ..CallFilter::default() };
    let rows = manager.storage.calls().list(&filter, None, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.id, row.state, row.class), (call_id, CallState::Succeeded, Class::Mutating));
    assert_eq!((row.edge, row.seq, row.caller_role.as_str()), (Some(edge.id), None, "root"));
    let local = edge.options.dir.path().join("local");
    let forgotten = async {
        while std::fs::read_dir(&local).unwrap().next().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, forgotten).await.expect("the edge still holds it");
    let audit = manager.storage.audit().of_call(call_id).await.unwrap();
    let kinds: Vec<&str> = audit.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["call.admitted", "call.finished"]);
    manager.verify_audit().await;
}

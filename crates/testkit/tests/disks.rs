//! An edge whose disk takes nothing, because it is full or can't be written: it takes no change, says why, goes on with
//! what is safe, and takes changes again when the disk does. Only root can mount the disks; for others nothing is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "../../fleet/tests/common/mod.rs"]
mod common;

use common::proxy::Proxy;
use common::skills::{Held, registry};
use common::{Manager, TestEdge};
use edge::DataDir;
use gate::{Dispatched, HostState};
use model::CallState;
use serde_json::json;
use std::fs;
use std::sync::Arc;
use testkit::{Mounted, fill};
use tokio_util::sync::CancellationToken;

/// Asks for a change, which happens if and only if it is told as done.
async fn change(manager: &Manager, edge: &TestEdge) -> Dispatched {
    let folder = tempfile::tempdir().unwrap();
    let args = json!({"folder": folder.path()});
    let call = manager.admit_approved(edge.id, "test_count_effects", args).await;
    let ended = manager.run(&call, CancellationToken::new()).await;
    let done = testkit::effects(folder.path(), &call.call_id().to_string());
    assert_eq!(done, usize::from(ended.state == CallState::Succeeded), "{ended:?}");
    ended
}

async fn look(manager: &Manager, edge: &TestEdge) -> Dispatched {
    let call = manager.admit(edge.id, "test_hold", json!({})).await;
    manager.run(&call, CancellationToken::new()).await
}

fn refused_because(ended: &Dispatched, why: &str) {
    assert_eq!(ended.state, CallState::Refused, "{ended:?}");
    let error = ended.error.as_ref().unwrap();
    assert!(error.contains("takes no change") && error.contains(why), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_changes_and_nothing_else() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(_disk) = Mounted::of_size("512k", disk.path()) else { return };
    let manager = Manager::start(dir.path()).await;
    let proxy = Proxy::start(manager.address()).await;
    let held = Arc::new(Held::default());
    let mut edge = manager.enroll(registry(&held), proxy.address()).await;
    edge.stop().await;
    for file in fs::read_dir(edge.options.dir.path()).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), disk.path().join(file.file_name())).unwrap();
        }
    }
    edge.options.dir = DataDir::new(disk.path());
    edge.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;

    // One was let through before the disk was full; its end is told all the same.
    let running = manager.admit_approved(edge.id, "test_hold_change", json!({})).await;
    let (ended, filler) = tokio::join!(manager.run(&running, CancellationToken::new()), async {
        held.wait_started().await;
        let filler = fill(disk.path()).unwrap();
        // The last block of the journal has some room left.
        let mut told = change(&manager, &edge).await;
        for _ in 0..50 {
            if told.state != CallState::Succeeded {
                break;
            }
            told = change(&manager, &edge).await;
        }
        refused_because(&told, "No space left");
        held.release();
        filler
    });
    assert_eq!(ended.state, CallState::Succeeded, "{ended:?}");
    assert_eq!(look(&manager, &edge).await.state, CallState::Succeeded);
    assert_eq!(held.runs(), 2);

    // The same process comes back, although it can't keep the epoch that it is handed.
    let before = manager.fleet.host(edge.id).unwrap().connected_at;
    proxy.cut();
    manager.wait_for(edge.id, |host| host.state == HostState::Online && host.connected_at != before).await;
    assert_eq!(look(&manager, &edge).await.state, CallState::Succeeded);
    refused_because(&change(&manager, &edge).await, "No space left");

    fs::remove_file(filler).unwrap();
    assert_eq!(change(&manager, &edge).await.state, CallState::Succeeded);
    manager.wait_until_acknowledged(edge.id, running.seq().unwrap()).await;
    // What it knew while the disk was full is on the disk now.
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state != HostState::Online).await;
    edge.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    assert_eq!(manager.fleet_dispatch(&running).await.state, CallState::Refused);
    assert_eq!(held.runs(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_can_not_be_written_refuses_changes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let mut edge = manager.add_edge(registry(&held)).await;
    held.release();
    let data = edge.options.dir.path().to_owned();
    let Some(disk) = Mounted::read_only(&data) else { return };

    refused_because(&change(&manager, &edge).await, "Read-only file system");
    assert_eq!(look(&manager, &edge).await.state, CallState::Succeeded);

    // An edge that is started there is another process, which can't keep that it is.
    for _ in 0..2 {
        edge.stop().await;
        manager.wait_for(edge.id, |host| host.state != HostState::Online).await;
        edge.start();
        manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
        assert_eq!(look(&manager, &edge).await.state, CallState::Succeeded);
        refused_because(&change(&manager, &edge).await, "Read-only file system");
    }
    // It has the directory to itself there too.
    let second = edge::run(edge.options.clone(), CancellationToken::new()).await;
    assert!(matches!(second, Err(edge::EdgeError::AlreadyRunning { .. })), "{second:?}");

    drop(disk);
    assert_eq!(change(&manager, &edge).await.state, CallState::Succeeded);
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state != HostState::Online).await;
    edge.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    assert_eq!(change(&manager, &edge).await.state, CallState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_an_edge_on_a_disk_that_can_not_be_written_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let mut edge = manager.add_edge(registry(&held)).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state != HostState::Online).await;
    let mut copy = edge.copy();
    let data = copy.options.dir.path().to_owned();
    let Some(_disk) = Mounted::read_only(&data) else { return };
    copy.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    edge.start();
    let host = manager.wait_for(edge.id, |host| host.state == HostState::Quarantined).await;
    assert!(host.state_reason.unwrap().contains("two instances"));
    copy.stop().await;
}

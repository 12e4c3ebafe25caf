//! The edge is killed at every step of a changing call's life. Whatever happens, the effect happens once at most, and
//! what the manager puts on record is true.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "../../fleet/tests/common/mod.rs"]
mod common;

use common::Manager;
use edge::{DataDir, EdgeConfig};
use gate::{FinishedCall, HostState};
use model::{CallState, Clock, EdgeId};
use serde_json::json;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use storage::calls::CallRow;
use testkit::{Death, effects};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// An enrolled host whose edge is a process.
struct Killable {
    id: EdgeId,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Killable {
    async fn enroll(manager: &Manager) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edge.toml");
        std::fs::write(
            &path,
            format!(
                "[tunnel]\nmanager = \"{}\"\nreconnect_min = \"20ms\"\nreconnect_max = \"200ms\"\n",
                manager.address()
            ),
        )
        .unwrap();
        let config = EdgeConfig::load(&path).unwrap();
        let clock: Arc<dyn Clock> = manager.clock.clone();
        let token = manager.token().await.parse().unwrap();
        let dir = DataDir::new(folder.path().join("data"));
        let id = edge::enroll(&config, &path, &dir, &token, "web-1", &clock).await.unwrap();
        std::fs::create_dir(folder.path().join("effects")).unwrap();
        Self { id, folder, child: None }
    }

    fn start(&mut self, arguments: &[&str]) {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("edge.log"))
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_edge-under-test"))
            .arg("--dir")
            .arg(self.folder.path().join("data"))
            .arg("--config")
            .arg(self.folder.path().join("edge.toml"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    async fn died(&mut self) {
        let wait = self.child.as_mut().unwrap().wait();
        let status = tokio::time::timeout(common::LIMIT, wait).await.expect("it did not die").unwrap();
        self.child = None;
        let log = std::fs::read_to_string(self.folder.path().join("edge.log")).unwrap_or_default();
        assert!(status.code().is_none(), "it ended by itself: {log}");
    }

    fn effects_folder(&self) -> PathBuf {
        self.folder.path().join("effects")
    }
}

async fn online(manager: &Manager, edge: &Killable) {
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
}

/// Runs one call on an edge that dies at `die_at` or in the skill's body, starts the edge again, and tells how the
/// call is on record in the end, and how often it had its effect.
async fn killed_at(die_at: &[&str], death: Death) -> (CallRow, usize) {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = Killable::enroll(&manager).await;
    edge.start(die_at);
    online(&manager, &edge).await;
    let args = json!({"folder": edge.effects_folder(), "death": death});
    let call = manager.admit_approved(edge.id, "test_count_effects", args).await;
    let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), edge.died());
    assert!(ended.state == CallState::Unknown || ended.state.is_final(), "{ended:?}");
    manager.wait_for(edge.id, |host| host.state != HostState::Online).await;

    edge.start(&[]);
    online(&manager, &edge).await;
    let row = manager.wait_for_final(call.call_id()).await;
    manager.wait_until_acknowledged(edge.id, call.seq().unwrap()).await;
    // A late delivery finds it decided.
    let again = manager.fleet_dispatch(&call).await;
    assert_eq!(again.state, CallState::Refused, "{again:?}");
    let count = effects(&edge.effects_folder(), &call.call_id().to_string());
    assert!(count <= 1, "{count} effects");
    manager.verify_audit().await;
    (row, count)
}

fn lost(row: &CallRow) -> bool {
    row.state == CallState::Failed
        && row.error.as_ref().is_some_and(|error| error.starts_with("outcome lost, effect possible"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_it_is_on_the_disk_that_a_call_was_accepted_nothing_runs() {
    // The first write of an edge puts a whole file in place; the temporary one doesn't count.
    for step in ["accepted-write", "accepted-sync"] {
        let (row, count) = killed_at(&["--die-at", step], Death::Never).await;
        assert_eq!((row.state, count), (CallState::Failed, 0), "{step}: {row:?}");
        assert!(row.error.as_ref().unwrap().contains("never arrived"), "{step}: {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_a_call_is_accepted_its_loss_is_told_whether_it_had_its_effect_or_not() {
    for (die_at, death, effects) in [
        (vec!["--die-at", "accepted-done"], Death::Never, 0),
        (vec![], Death::Before, 0),
        (vec![], Death::After, 1),
        (vec!["--die-at", "ended-write"], Death::Never, 1),
    ] {
        let (row, count) = killed_at(&die_at, death).await;
        assert_eq!(count, effects, "{die_at:?} {death:?}");
        assert!(lost(&row), "{die_at:?} {death:?}: {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_the_end_is_written_it_is_told_after_the_death() {
    // Only the process dies here: what it has written reaches the disk, synced or not.
    for step in ["ended-sync", "ended-done"] {
        let (row, count) = killed_at(&["--die-at", step], Death::Never).await;
        assert_eq!((row.state, count), (CallState::Succeeded, 1), "{step}: {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_it_forgets_loses_nothing() {
    for step in ["acknowledged-write", "acknowledged-sync", "acknowledged-done"] {
        let (row, count) = killed_at(&["--die-at", step], Death::Never).await;
        assert_eq!((row.state, count), (CallState::Succeeded, 1), "{step}: {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_the_journal_is_written_anew_loses_nothing() {
    for step in ["compaction-write", "compaction-sync", "compaction-done"] {
        let dir = tempfile::tempdir().unwrap();
        let manager = Manager::start(dir.path()).await;
        let mut edge = Killable::enroll(&manager).await;
        edge.start(&["--die-at", step]);
        online(&manager, &edge).await;
        // Two large results are more than the journal drags along, and fewer bytes than it keeps of one.
        let args = json!({"folder": edge.effects_folder(), "padding": 60_000});
        let mut calls = Vec::new();
        for _ in 0..2 {
            let call = manager.admit_approved(edge.id, "test_count_effects", args.clone()).await;
            let ended = manager.run(&call, CancellationToken::new()).await;
            assert_eq!(ended.state, CallState::Succeeded, "{step}: {ended:?}");
            calls.push(call);
        }
        edge.died().await;
        manager.wait_for(edge.id, |host| host.state != HostState::Online).await;

        edge.start(&[]);
        online(&manager, &edge).await;
        manager.wait_until_acknowledged(edge.id, 2).await;
        for call in &calls {
            let again = manager.fleet_dispatch(call).await;
            assert_eq!(again.state, CallState::Refused, "{step}: {again:?}");
            assert_eq!(effects(&edge.effects_folder(), &call.call_id().to_string()), 1, "{step}");
        }
        let next = manager.admit_approved(edge.id, "test_count_effects", args).await;
        let ended = manager.run(&next, CancellationToken::new()).await;
        assert_eq!((ended.state, next.seq()), (CallState::Succeeded, Some(3)), "{step}: {ended:?}");
        manager.verify_audit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_a_call_is_being_stopped_is_told_as_the_loss_that_it_is() {
    for step in ["cancel-write", "cancel-sync", "cancel-done"] {
        let dir = tempfile::tempdir().unwrap();
        let manager = Manager::start(dir.path()).await;
        let mut edge = Killable::enroll(&manager).await;
        edge.start(&["--die-at", step]);
        online(&manager, &edge).await;
        let args = json!({"folder": edge.effects_folder(), "stays": true});
        let call = manager.admit_approved(edge.id, "test_count_effects", args).await;
        let id = call.call_id().to_string();
        let cancel = CancellationToken::new();
        let (ended, ()) = tokio::join!(manager.run(&call, cancel.clone()), async {
            let had = async {
                while effects(&edge.effects_folder(), &id) == 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(common::LIMIT, had).await.expect("it never ran");
            cancel.cancel();
            edge.died().await;
        });
        assert_eq!(ended.state, CallState::Unknown, "{step}: {ended:?}");

        edge.start(&[]);
        let row = manager.wait_for_final(call.call_id()).await;
        assert!(lost(&row) && row.cancel_requested_at.is_some(), "{step}: {row:?}");
        assert_eq!(effects(&edge.effects_folder(), &id), 1, "{step}");
        manager.wait_until_acknowledged(edge.id, 1).await;
        manager.verify_audit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_came_is_buried_whatever_dies_meanwhile() {
    for step in ["tombstone-write", "tombstone-sync", "tombstone-done"] {
        let dir = tempfile::tempdir().unwrap();
        let manager = Manager::start(dir.path()).await;
        let mut edge = Killable::enroll(&manager).await;
        edge.start(&["--die-at", step]);
        online(&manager, &edge).await;
        let args = json!({"folder": edge.effects_folder()});
        let call = manager.admit_approved(edge.id, "test_count_effects", args).await;
        // As if the manager had died before it sent the call: the host is asked.
        let unknown = FinishedCall::without_result(CallState::Unknown, "nobody knows");
        manager.gate.finish(&call, unknown).await.unwrap();
        edge.died().await;
        manager.wait_for(edge.id, |host| host.state != HostState::Online).await;
        let row = manager.storage.calls().find(call.call_id()).await.unwrap().unwrap();
        assert_eq!(row.state, CallState::Unknown, "{step}: it was told before it was on the disk");

        edge.start(&[]);
        let row = manager.wait_for_final(call.call_id()).await;
        assert_eq!(row.state, CallState::Failed, "{step}");
        assert!(row.error.as_ref().unwrap().contains("never arrived"), "{step}: {row:?}");
        let late = manager.fleet_dispatch(&call).await;
        assert_eq!(late.state, CallState::Refused, "{step}: {late:?}");
        assert_eq!(effects(&edge.effects_folder(), &call.call_id().to_string()), 0, "{step}");
        manager.verify_audit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_takes_the_host_down_is_told_by_the_boot_afterwards() {
    for (boot_id, state) in [("next", CallState::Succeeded), ("first", CallState::Failed)] {
        let dir = tempfile::tempdir().unwrap();
        let manager = Manager::start(dir.path()).await;
        let mut edge = Killable::enroll(&manager).await;
        edge.start(&["--boot-id", "first"]);
        online(&manager, &edge).await;
        let call = manager.admit_approved(edge.id, "test_go_down", json!({})).await;
        let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), edge.died());
        assert_eq!(ended.state, CallState::Unknown, "{ended:?}");

        edge.start(&["--boot-id", boot_id]);
        let row = manager.wait_for_final(call.call_id()).await;
        assert_eq!(row.state, state, "{row:?}");
        let result = manager.storage.calls().result_text(call.call_id()).await.unwrap();
        match state {
            CallState::Succeeded => assert!(result.unwrap().contains("\"new_boot_id\":\"next\"")),
            _ => assert!(row.error.unwrap().contains("has not been booted since")),
        }
        manager.wait_until_acknowledged(edge.id, 1).await;
        manager.verify_audit().await;
    }
}

//! `steadyhand-edge doctor` on a host whose certificate the manager won't take: it says which thing is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{Manager, TestEdge, skills::registry};
use gate::HostState;
use model::{Clock, SystemClock, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// A clock that is two days late.
#[derive(Debug)]
struct Late;

impl Clock for Late {
    fn now(&self) -> Timestamp {
        SystemClock.now() - Duration::from_secs(2 * 86_400)
    }
}

/// An enrolled edge that doesn't run.
async fn stopped(manager: &Manager) -> TestEdge {
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;
    edge
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_not_valid_yet_points_at_the_hosts_clock() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = stopped(&manager).await;
    edge.options.clock = Arc::new(Late);

    let told = edge.doctor().await;

    assert!(told.contains("WRONG certificate") && told.contains("valid from"), "{told}");
    assert!(told.contains("set the clock"), "{told}");
    assert!(told.contains("WRONG manager") && told.contains("this host's clock is late"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_authority_is_told_with_what_to_do() {
    let (dir, other_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let manager = Manager::start(dir.path()).await;
    let other = Manager::start(other_dir.path()).await;
    let edge = stopped(&manager).await;
    let path = &edge.options.config_path;
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&manager.address()), "{text}");
    std::fs::write(path, text.replace(&manager.address(), &other.address())).unwrap();

    let told = edge.doctor().await;

    assert!(told.contains("ok    certificate"), "{told}");
    assert!(told.contains("WRONG manager") && told.contains("another authority"), "{told}");
    assert!(told.contains("enrol"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_gone_or_damaged_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = stopped(&manager).await;
    let path = edge.options.dir.identity();
    std::fs::write(&path, "-----BEGIN CERTIFICATE-----\nnot one\n").unwrap();
    let told = edge.doctor().await;
    assert!(told.contains("WRONG certificate") && !told.contains("not enrolled"), "{told}");

    std::fs::remove_file(&path).unwrap();
    let told = edge.doctor().await;
    assert!(told.contains("WRONG certificate: this host is not enrolled"), "{told}");
    assert!(told.contains("steadyhand-edge enroll"), "{told}");
}

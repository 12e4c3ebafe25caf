//! Who is there: joining, leaving, renewal, copies, revocation, restarts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::Manager;
use common::skills::{Held, registry};
use gate::HostState;
use model::{CallState, Clock, UserId};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use storage::Actor;
use tokio_util::sync::CancellationToken;

const ADMIN: Actor = Actor::User(UserId(1));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_joins_with_a_token_that_works_once() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let made = manager
        .fleet
        .create_token(Default::default(), Duration::from_secs(600), UserId(1), ADMIN)
        .await
        .unwrap();
    let token: tunnel::JoinToken = made.token.parse().unwrap();
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let join = |name: &'static str| {
        let folder = tempfile::tempdir().unwrap();
        let (token, clock, address) = (token.clone(), clock.clone(), manager.address());
        async move {
            let mut config = edge::EdgeConfig::default();
            config.tunnel.manager = address;
            let data = edge::DataDir::new(folder.path().join("data"));
            edge::enroll(&config, &folder.path().join("edge.toml"), &data, &token, name, &clock).await
        }
    };

    // Of two that race for it, one joins.
    let (first, second) = tokio::join!(join("a"), join("b"));
    assert_eq!([&first, &second].iter().filter(|joined| joined.is_ok()).count(), 1, "{first:?} {second:?}");
    let refused = join("c").await.unwrap_err().to_string();

    assert!(refused.starts_with("the manager didn't accept this join token"), "{refused}");
    assert_eq!(manager.fleet.token(made.id).await.unwrap().state(clock.now()), fleet::TokenState::Used);
    assert_eq!(manager.fleet.hosts().len(), 1);
    assert_eq!(manager.fleet.hosts()[0].state, HostState::NeverSeen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_over_or_taken_back_is_refused_in_the_same_words() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let make = || manager.fleet.create_token(Default::default(), Duration::from_secs(60), UserId(1), ADMIN);
    let revoked = make().await.unwrap();
    assert!(manager.fleet.revoke_token(revoked.id, ADMIN).await.unwrap());
    let expired = make().await.unwrap();
    manager.clock.advance(Duration::from_secs(61));
    let unknown =
        tunnel::JoinToken::generate(revoked.token.parse::<tunnel::JoinToken>().unwrap().pin()).to_string();

    let mut answers = Vec::new();
    for token in [revoked.token, expired.token, unknown] {
        let folder = tempfile::tempdir().unwrap();
        let mut config = edge::EdgeConfig::default();
        config.tunnel.manager = manager.address();
        let data = edge::DataDir::new(folder.path().join("data"));
        let clock: Arc<dyn Clock> = manager.clock.clone();
        let path = folder.path().join("edge.toml");
        let refused = edge::enroll(&config, &path, &data, &token.parse().unwrap(), "a", &clock).await;
        answers.push(refused.unwrap_err().to_string());
    }

    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_drops_no_call_and_the_old_connections_end_marks_nobody_offline() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let held = Arc::new(Held::default());
    let edge = manager.add_edge(registry(&held)).await;
    let before = manager.fleet.host(edge.id).unwrap().certificate.unwrap();
    let call = manager.admit(edge.id, "test_hold", json!({})).await;

    let (ended, ()) = tokio::join!(manager.run(&call, CancellationToken::new()), async {
        held.wait_started().await;
        manager.fleet.renew(edge.id).await.unwrap();
        manager.wait_for(edge.id, |host| host.certificate.as_ref() != Some(&before)).await;
        assert_eq!(manager.fleet.open_connections(), 2, "the old connection still carries the call");
        held.release();
    });

    assert_eq!(ended.state, CallState::Succeeded, "{ended:?}");
    manager.wait_until(|fleet| fleet.open_connections() == 1).await;
    assert_eq!(manager.fleet.host(edge.id).unwrap().state, HostState::Online);
    let call = manager.admit(edge.id, "host_load", json!({})).await;
    assert_eq!(manager.run(&call, CancellationToken::new()).await.state, CallState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_manager_believes_nobody_to_be_there_until_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut gone = manager.add_edge(registry(&Arc::default())).await;
    let stays = manager.add_edge(registry(&Arc::default())).await;
    assert_ne!(gone.id, stays.id);
    gone.stop().await;

    let manager = manager.restart().await;

    manager.wait_for(stays.id, |host| host.state == HostState::Online).await;
    let host = manager.fleet.host(gone.id).unwrap();
    assert_eq!(host.state, HostState::Offline);
    assert!(host.last_seen_at.is_some());
    assert_eq!(host.labels["env"], "test");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_directory_beside_its_original_is_quarantined_and_shown_until_somebody_chooses() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;
    let original = manager.fleet.host(edge.id).unwrap().instance.unwrap();
    let mut copy = edge.copy();

    copy.start();
    let host = manager.wait_for(edge.id, |host| host.contestants.len() == 2).await;

    assert_eq!(host.state, HostState::Quarantined);
    assert!(host.state_reason.unwrap().contains("two instances"));
    assert!(host.contestants.iter().any(|contestant| contestant.instance_id == original));
    manager.wait_until(|fleet| fleet.open_connections() == 0).await;

    manager.fleet.resolve_quarantine(edge.id, &original, ADMIN).await.unwrap();
    let host = manager.wait_for(edge.id, |host| host.state == HostState::Online).await;

    assert_eq!(host.instance.unwrap(), original);
    copy.stop().await;
    let told = copy.doctor().await;
    assert!(
        told.contains("another copy of it was chosen") || told.contains("another instance of this edge"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_original_that_comes_back_after_its_copy_is_detected_by_its_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;
    let mut copy = edge.copy();
    copy.start();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
    copy.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;

    edge.start();

    let host = manager.wait_for(edge.id, |host| host.state == HostState::Quarantined).await;
    assert!(host.state_reason.as_ref().unwrap().contains("epoch"), "{host:?}");
    assert_eq!(host.contestants.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_edge_is_cut_off_at_once_and_told_why() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    let call = manager.admit(edge.id, "host_load", json!({})).await;

    manager.fleet.revoke(edge.id, ADMIN).await.unwrap();

    manager.wait_until(|fleet| fleet.open_connections() == 0).await;
    assert_eq!(manager.fleet.host(edge.id).unwrap().state, HostState::Revoked);
    let ended = manager.run(&call, CancellationToken::new()).await;
    assert!(ended.error.unwrap().contains("is revoked"));
    edge.stop().await;
    let told = edge.doctor().await;
    assert!(told.contains("WRONG manager") && told.contains("revoked"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edge_whose_certificate_ran_out_says_so_and_may_rejoin_if_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    edge.stop().await;
    manager.wait_for(edge.id, |host| host.state == HostState::Offline).await;
    manager.clock.advance(Duration::from_secs(25 * 3600));

    let told = edge.doctor().await;
    assert!(told.contains("WRONG certificate") && told.contains("ran out at"), "{told}");
    assert!(
        told.contains("WRONG manager") && told.contains("let an administrator allow it to rejoin"),
        "{told}"
    );
    edge.start();
    let host = manager.wait_for(edge.id, |host| host.state_reason.is_some()).await;
    assert!(host.state_reason.unwrap().contains("its certificate ran out at"));

    manager.fleet.allow_rejoin(edge.id, ADMIN).await.unwrap();
    manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_what_is_missing_before_and_after_enrolment() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let empty = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let data = edge::DataDir::new(empty.path().join("data"));
    let told = edge::doctor::examine(&empty.path().join("edge.toml"), &data, &clock).await;
    assert!(!told.is_well());
    assert!(told.to_string().contains("this host is not enrolled: run `steadyhand-edge enroll"), "{told}");

    let mut edge = manager.add_edge(registry(&Arc::default())).await;
    let told = edge.doctor().await;
    assert!(told.contains("ok    agent: it runs") && told.contains("connected to 127.0.0.1"), "{told}");

    edge.stop().await;
    let told = edge.doctor().await;
    assert!(told.contains("accepts this edge"), "{told}");

    let key = edge.options.dir.identity();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let told = edge.doctor().await;
    assert!(told.contains("others may read it (mode 644)"), "{told}");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();

    manager.fleet.stop().await;
    manager.wait_until(|fleet| fleet.open_connections() == 0).await;
    drop(manager);
    let told = edge.doctor().await;
    assert!(told.contains("WRONG manager"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_edges_do_not_run_on_one_directory() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;

    let error = edge::run(edge.options.clone(), CancellationToken::new()).await.unwrap_err();

    assert!(matches!(error, edge::EdgeError::AlreadyRunning { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_do_to_hosts_is_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(dir.path()).await;
    let edge = manager.add_edge(registry(&Arc::default())).await;
    manager.fleet.rename(edge.id, "db-1", ADMIN).await.unwrap();
    manager.fleet.set_labels(edge.id, [("role".to_owned(), "db".to_owned())].into(), ADMIN).await.unwrap();
    assert!(manager.fleet.rename(edge.id, "no spaces", ADMIN).await.is_err());
    manager.fleet.remove(edge.id, ADMIN).await.unwrap();

    let kinds: Vec<String> = manager
        .storage
        .audit()
        .list(&Default::default(), None, 100)
        .await
        .unwrap()
        .into_iter()
        .map(|row| row.kind)
        .collect();

    for kind in [
        "enrollment_token.created",
        "edge.enrolled",
        "edge.certificate_issued",
        "edge.renamed",
        "edge.labelled",
        "edge.removed",
    ] {
        assert!(kinds.iter().any(|on_record| on_record == kind), "{kind} is missing in {kinds:?}");
    }
    assert!(manager.fleet.hosts().is_empty());
}

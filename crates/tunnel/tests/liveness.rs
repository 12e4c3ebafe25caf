//! How connections end: half open, closed, drained, out of date.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::time::{Duration, Instant};
use support::{Connected, DAY, Direction, Manager, Relay, eventually, execute, quick, read_all, within};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tonic::Code;
use tunnel::{Ended, HandshakeReason, Settings};

const PATIENCE: Duration = Duration::from_secs(20);

async fn both_ends(edge: Connected) -> (Ended, Ended) {
    let (manager, served) = tokio::join!(edge.handle.ended(), edge.served);
    (manager, served.unwrap())
}

/// Connects through a relay, swallows bytes in one direction, and gives how both ends ended.
async fn half_open(settings: Settings, direction: Direction) -> ((Ended, Ended), Duration) {
    let mut manager = Manager::with(settings, 8).await;
    let relay = Relay::start(manager.address).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, Some(relay.address)).await;
    read_all(execute(&edge.client, "echo", "alive").await.unwrap()).await.unwrap();
    relay.swallow(direction);
    let start = Instant::now();
    let ended = within(Duration::from_secs(30), both_ends(edge)).await;
    (ended, start.elapsed())
}

#[tokio::test]
async fn silence_from_the_edge_is_noticed_at_both_ends() {
    let limit = quick().quiet_limit;
    let ((manager, edge), _) = half_open(quick(), Direction::ToManager).await;
    assert_eq!(manager, Ended::Quiet(limit));
    // Its pings stay unanswered, or the manager's end reaches it first.
    assert!(matches!(edge, Ended::Quiet(_) | Ended::ByPeer), "{edge:?}");
}

#[tokio::test]
async fn silence_from_the_manager_is_noticed_at_both_ends() {
    let limit = quick().quiet_limit;
    let ((manager, edge), _) = half_open(quick(), Direction::ToEdge).await;
    assert_eq!(edge, Ended::Quiet(limit));
    assert!(matches!(manager, Ended::ByPeer), "{manager:?}");
}

#[tokio::test]
async fn with_the_real_times_a_half_open_connection_is_noticed_within_15_seconds() {
    let (one, other) = tokio::join!(
        half_open(Settings::default(), Direction::ToManager),
        half_open(Settings::default(), Direction::ToEdge)
    );
    assert!(one.1 < Duration::from_secs(15), "{one:?}");
    assert!(other.1 < Duration::from_secs(15), "{other:?}");
}

#[tokio::test]
async fn an_idle_connection_lives_on() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let lived = tokio::time::timeout(quick().quiet_limit * 2, edge.handle.ended()).await;
    assert!(lived.is_err(), "{lived:?}");
    read_all(execute(&edge.client, "echo", "alive").await.unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_call_that_says_nothing_for_long_does_not_end_the_connection() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    // The manager speaks all the time, so the edge has no reason to ping, and the edge has nothing to say.
    let limit = quick().quiet_limit * 2;
    let chatter = async {
        let mut open = Vec::new();
        loop {
            let client = edge.client.clone();
            open.push(tokio::spawn(async move { execute(&client, "silent", "").await.map(|_| ()) }));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = tokio::time::timeout(limit, chatter).await;
    assert!(edge.handle.is_open(), "{:?}", edge.handle.ended().await);
}

#[tokio::test]
async fn a_connection_ends_with_its_certificate() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, Duration::from_secs(3));
    let not_after = identity.not_after();
    let edge = manager.connect(&identity, None).await;
    let (manager_end, edge_end) = within(PATIENCE, both_ends(edge)).await;
    let ends = [manager_end, edge_end];
    // Whichever looks first closes it.
    assert!(ends.contains(&Ended::CertificateOver(not_after)), "{ends:?}");
    assert!(ends.iter().all(|end| matches!(end, Ended::CertificateOver(_) | Ended::ByPeer)), "{ends:?}");
}

#[tokio::test]
async fn closing_a_connection_ends_its_calls_at_once() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let mut call = execute(&edge.client, "forever", "").await.unwrap();
    call.message().await.unwrap();

    edge.handle.close("edge 1 was revoked");
    let status = within(PATIENCE, call.message()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert_eq!(edge.handle.ended().await, Ended::Closed("edge 1 was revoked".to_owned()));
    assert_eq!(within(PATIENCE, edge.served).await.unwrap(), Ended::ByPeer);
    assert_eq!(execute(&edge.client, "echo", "").await.unwrap_err().code(), Code::Unavailable);
    eventually(PATIENCE, || edge.service.running() == 0).await;
}

#[tokio::test]
async fn a_drained_connection_lets_its_calls_finish() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let mut bulk = execute(&edge.client, "bulk", "4000000").await.unwrap();
    bulk.message().await.unwrap();

    edge.handle.drain();
    assert_eq!(execute(&edge.client, "echo", "new").await.unwrap_err().code(), Code::Unavailable);
    let (bytes, outcome) = within(PATIENCE, read_all(bulk)).await.unwrap();
    assert_eq!((bytes.len(), outcome.is_some()), (4_000_000, true));
    assert_eq!(within(PATIENCE, edge.handle.ended()).await, Ended::Drained);
    assert_eq!(within(PATIENCE, edge.served).await.unwrap(), Ended::ByPeer);
}

#[tokio::test]
async fn an_edge_that_shuts_down_lets_its_calls_finish() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let mut bulk = execute(&edge.client, "bulk", "4000000").await.unwrap();
    bulk.message().await.unwrap();

    edge.shutdown.cancel();
    let (bytes, outcome) = within(PATIENCE, read_all(bulk)).await.unwrap();
    assert_eq!((bytes.len(), outcome.is_some()), (4_000_000, true));
    assert_eq!(within(PATIENCE, edge.served).await.unwrap(), Ended::Drained);
    assert_eq!(within(PATIENCE, edge.handle.ended()).await, Ended::ByPeer);
}

#[tokio::test]
async fn an_edge_that_is_killed_is_gone_at_once() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let mut call = execute(&edge.client, "forever", "").await.unwrap();
    call.message().await.unwrap();
    edge.served.abort();
    assert_eq!(within(Duration::from_secs(5), edge.handle.ended()).await, Ended::ByPeer);
    assert_eq!(within(PATIENCE, call.message()).await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test]
async fn peers_that_say_nothing_do_not_keep_edges_out_for_long() {
    let settings = Settings { handshake_timeout: Duration::from_millis(500), ..quick() };
    let mut manager = Manager::with(settings, 4).await;
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(manager.address).await.unwrap());
    }
    let identity = manager.identity(1, DAY);
    let mut config = manager.dial_config();
    config.settings = Settings { handshake_timeout: PATIENCE, ..quick() };
    manager.connect_with(&identity, &config).await;
    let failure = manager.failure().await;
    assert!(failure.to_string().contains("didn't complete the handshake within 0.5 s"), "{failure}");
}

#[tokio::test]
async fn one_address_can_not_take_every_handshake() {
    let mut manager = Manager::with(Settings::default(), 256).await;
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(TcpStream::connect(manager.address).await.unwrap());
    }
    let mut more = TcpStream::connect(manager.address).await.unwrap();
    assert_eq!(more.read(&mut [0; 1]).await.unwrap_or(0), 0, "it was closed");
    assert_eq!(manager.failure().await.reason, HandshakeReason::TooMany(64));
}

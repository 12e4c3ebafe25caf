//! Calls over the tunnel: cancelling, bulk, readers that are stuck.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use futures::FutureExt as _;
use std::time::Duration;
use support::{DAY, Manager, eventually, execute, read_all, within};
use tonic::Code;
use tunnel::Settings;

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_cancelled_call_stops_on_the_edge() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;

    let mut streaming = execute(&edge.client, "forever", "").await.unwrap();
    assert!(streaming.message().await.unwrap().is_some());
    let client = edge.client.clone();
    let silent = tokio::spawn(async move { execute(&client, "silent", "").await.map(|_| ()) });
    eventually(PATIENCE, || edge.service.running() == 2).await;

    drop(streaming);
    silent.abort();
    eventually(PATIENCE, || edge.service.running() == 0).await;
    assert!(edge.handle.is_open());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_immediate_cancels_leave_the_connection_up() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;

    for _ in 0..1000 {
        // Polled once: the request is on its way, and nobody waits for it (the edge may have answered already).
        let begun = execute(&edge.client, "forever", "").now_or_never();
        assert!(!matches!(begun, Some(Err(_))), "{begun:?}");
    }
    let (answer, _) =
        within(PATIENCE, async { read_all(execute(&edge.client, "echo", "hi").await?).await }).await.unwrap();
    assert_eq!(answer, b"hi");
    eventually(PATIENCE, || edge.service.running() == 0).await;
    assert!(edge.handle.is_open());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cancels_of_calls_under_way_leave_the_connection_up() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;

    for _ in 0..10 {
        let calls = (0..100).map(|_| execute(&edge.client, "bulk", "8000000"));
        let streams = within(PATIENCE, futures::future::try_join_all(calls)).await.unwrap();
        drop(streams);
    }
    let (answer, _) =
        within(PATIENCE, async { read_all(execute(&edge.client, "echo", "hi").await?).await }).await.unwrap();
    assert_eq!(answer, b"hi");
    assert_eq!(edge.service.started(), 1001);
    eventually(PATIENCE, || edge.service.running() == 0).await;
    assert!(edge.handle.is_open());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_mebibytes_arrive_whole_while_another_call_answers() {
    const TOTAL: usize = 8 * 1024 * 1024;
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;

    let client = edge.client.clone();
    let bulk =
        tokio::spawn(async move { read_all(execute(&client, "bulk", &TOTAL.to_string()).await?).await });
    eventually(PATIENCE, || edge.service.started() == 1).await;
    let small = async { read_all(execute(&edge.client, "echo", "small").await?).await };
    let (small, _) = within(Duration::from_secs(5), small).await.unwrap();
    assert_eq!(small, b"small");

    let (bytes, outcome) = within(PATIENCE, bulk).await.unwrap().unwrap();
    assert_eq!(bytes.len(), TOTAL);
    assert!(
        bytes.iter().enumerate().all(|(place, byte)| *byte == support::byte_at(place)),
        "a byte changed on the way"
    );
    assert_eq!(outcome.unwrap().result_bytes, TOTAL as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_stuck_readers_do_not_block_a_small_call() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;

    let mut stuck = Vec::new();
    for _ in 0..32 {
        let mut stream = within(PATIENCE, execute(&edge.client, "bulk", "8000000")).await.unwrap();
        // The first event only; then nobody reads.
        assert!(within(PATIENCE, stream.message()).await.unwrap().is_some());
        stuck.push(stream);
    }
    for _ in 0..20 {
        let small = async { read_all(execute(&edge.client, "echo", "small").await?).await };
        let (small, _) = within(Duration::from_secs(5), small).await.unwrap();
        assert_eq!(small, b"small");
    }
    assert_eq!(edge.service.running(), 32);
    // Whoever begins to read again gets everything.
    let (bytes, outcome) = within(PATIENCE, read_all(stuck.pop().unwrap())).await.unwrap();
    assert_eq!((bytes.len(), outcome.unwrap().result_bytes), (8_000_000, 8_000_000));
}

#[tokio::test]
async fn an_edges_refusal_keeps_its_code_and_words() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let status = execute(&edge.client, "nonsense", "").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "no skill `nonsense`"));
}

#[tokio::test]
async fn a_message_over_the_limit_fails_alone() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let edge = manager.connect(&identity, None).await;
    let large = "x".repeat(proto::MAX_MESSAGE_BYTES + 1);
    let status = execute(&edge.client, "echo", &large).await.unwrap_err();
    assert_ne!(status.code(), Code::Ok);
    read_all(execute(&edge.client, "echo", "still here").await.unwrap()).await.unwrap();
}

#[tokio::test]
async fn the_trace_context_reaches_the_edge() {
    let mut manager = Manager::with(Settings::default(), 8).await;
    let identity = manager.identity(1, DAY);
    let mut edge = manager.connect(&identity, None).await;
    let parent: tunnel::trace::TraceParent =
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
    let mut request = tonic::Request::new(proto::v1::ExecuteRequest {
        skill: "trace".to_owned(),
        ..proto::v1::ExecuteRequest::default()
    });
    tunnel::trace::inject(request.metadata_mut(), &parent);
    let (seen, _) = read_all(edge.client.execute(request).await.unwrap().into_inner()).await.unwrap();
    assert_eq!(String::from_utf8(seen).unwrap(), parent.to_string());
}

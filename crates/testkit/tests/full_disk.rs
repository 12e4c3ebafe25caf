//! A manager whose disk is full in the middle of a turn: nothing runs that isn't on record, the turn says so, and all is well
//! when there is room again. Only root can mount the disk; for others nothing is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use llm::scripted::{Answer, ScriptedServer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::{Mounted, Product, Session, fill};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Makes calls until one can't be put on record any more: the database's own files have some room left in them.
async fn use_up(admin: &Session) -> Result<()> {
    for _ in 0..5000 {
        let reply = admin.post("/calls", json!({"tool": "query_edges", "args": {}})).await?;
        if reply.status.is_server_error() {
            return Ok(());
        }
    }
    anyhow::bail!("the disk is never full")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_that_can_not_be_put_on_record_and_the_chat_goes_on_when_it_can() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let Some(_mounted) = Mounted::of_size("24m", disk.path()) else { return Ok(()) };
    // Counts whoever is probed.
    let probed = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let count = Arc::clone(&probed);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (asked, full) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = {
        let (asked, full) = (Arc::clone(&asked), Arc::clone(&full));
        ScriptedServer::start(move |seen| {
            if seen.number > 0 {
                return Answer::text("Here again.");
            }
            asked.notify_one();
            // The answer comes when there is no room for it any more.
            let full = Arc::clone(&full);
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(full.notified()));
            Answer::call("probe_tcp", json!({"edge_id": 1, "target": format!("127.0.0.1:{port}")}))
        })
        .await?
    };
    let mut product = Product::builder()
        .data(&disk.path().join("manager"))
        .configuration(&format!(
            "[models.scripted]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key = \"sk-test\"\nmodel = \"scripted-1\"\n\
             [security.limits]\ncalls_per_hour_by_user = 0\ncalls_per_hour_by_tool = 0\ncalls_per_hour_by_edge = 0",
            server.url()
        ))
        .start()
        .await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("alpha").await?;
    admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    let mut events = admin.events(None).await?;
    let turn = admin.post(&format!("/sessions/{chat}/turns"), json!({"text": "is it open?"})).await?.ok()?;
    asked.notified().await;
    let filler = fill(disk.path())?;
    use_up(&admin).await?;
    full.notify_one();

    // Nothing can be told through the database now; that the turn can't be written is in the log.
    let noticed = async {
        while !product.manager_log().contains("a turn could not be written") {
            // What is still written uses up what was freed meanwhile.
            use_up(&admin).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), noticed)
        .await
        .context("it was never noticed")??;
    assert_eq!(probed.load(Ordering::SeqCst), 0, "a call ran that isn't on record");
    assert!(admin.get("/sessions").await?.status.is_success(), "what only reads goes on");

    std::fs::remove_file(filler)?;
    let finished = loop {
        let event = events.next_of("chat.turn-finished.v1").await?;
        if event.data["turn_id"] == turn["turn_id"] {
            break event;
        }
    };
    assert_eq!(finished.data["payload"]["outcome"], "failed", "{:?}", finished.data);
    let reason = finished.data["payload"]["reason"].as_str().context("no reason")?;
    assert!(reason.contains("could not be written"), "{reason}");
    let replay = admin.turn_events(&chat, &turn["turn_id"]).await?;
    assert!(!replay.iter().any(|event| event["kind"] == "chat.tool-result.v1"), "{replay:?}");

    let again = admin.say(&chat, "and now?").await?;
    let last =
        again.iter().rfind(|event| event["kind"] == "chat.turn-finished.v1").context("not finished")?;
    assert_eq!(last["payload"]["outcome"], "answered", "{last}");
    let made = admin.get("/calls?tool=probe_tcp").await?.ok()?;
    let final_or_none =
        made["items"].as_array().unwrap().iter().all(|call: &Value| call["state"] != "running");
    assert!(final_or_none, "{made}");
    assert_eq!(probed.load(Ordering::SeqCst), 0);
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    Ok(())
}

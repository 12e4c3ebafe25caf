//! kill -9 at the worst moments: nothing runs twice, and what is shown afterwards is true.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use llm::scripted::{Answer, End, Raw, ScriptedServer};
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::{Product, ProductBuilder};
use tokio::net::TcpListener;
use tokio::sync::Notify;

fn with_model(server: &ScriptedServer) -> ProductBuilder {
    Product::builder().configuration(&format!(
        "[models.scripted]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key = \"sk-test\"\nmodel = \"scripted-1\"",
        server.url()
    ))
}

/// A port that takes connections and never answers; tells of each one.
async fn silent_port(reached: Arc<Notify>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
            reached.notify_one();
        }
    });
    Ok(port)
}

/// Waits until the chat has no running turn.
async fn wait_idle(admin: &testkit::Session, chat: &str) -> Result<()> {
    let mut events = admin.events(Some(0)).await?;
    loop {
        let session = admin.get(&format!("/sessions/{chat}")).await?.ok()?;
        if session["running_turn_id"].is_null() {
            return Ok(());
        }
        events.next_of("chat.turn-finished.v1").await?;
    }
}

#[tokio::test]
async fn a_model_request_that_had_not_finished_is_asked_again_after_a_crash() -> Result<()> {
    let asked = Arc::new(Notify::new());
    let server = {
        let asked = Arc::clone(&asked);
        ScriptedServer::start(move |seen| {
            asked.notify_one();
            if seen.number == 0 {
                let half = b"data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Half a thou\"},\"finish_reason\":null}]}\n\n";
                Answer::Raw(Raw { pieces: vec![half.to_vec()], end: End::Hang, ..Raw::default() })
            } else {
                Answer::text("A whole thought.")
            }
        })
        .await?
    };
    let mut product = with_model(&server).start().await?;
    let admin = product.admin().await?;
    let chat = admin.new_chat().await?;
    let mut live = admin.events(None).await?;
    let turn =
        admin.post(&format!("/sessions/{chat}/turns"), json!({"text": "think"})).await?.ok()?["turn_id"]
            .clone();
    asked.notified().await;
    live.next_of("chat.text-delta.v1").await?;

    product.kill_manager().await?;
    product.start_manager().await?;

    let admin = product.admin().await?;
    wait_idle(&admin, &chat).await?;
    let events = admin.turn_events(&chat, &turn).await?;
    let text: String = events
        .iter()
        .filter(|event| event["kind"] == "chat.message.v1")
        .filter_map(|event| event["payload"]["text"].as_str())
        .collect();
    assert!(text.contains("A whole thought.") && !text.contains("Half"), "{text}");
    let events = admin.say(&chat, "and now?").await?;
    assert_eq!(events.last().context("no events")?["payload"]["outcome"], "answered");
    Ok(())
}

#[tokio::test]
async fn a_call_that_ran_when_the_manager_died_is_not_run_again_and_has_a_result_in_the_history() -> Result<()>
{
    let reached = Arc::new(Notify::new());
    let port = silent_port(Arc::clone(&reached)).await?;
    let server = ScriptedServer::start(move |seen| {
        if seen.number == 0 {
            Answer::call(
                "probe_http",
                json!({"edge_id": 1, "url": format!("http://127.0.0.1:{port}/"), "timeout_ms": 25000}),
            )
        } else {
            Answer::text("I have seen enough.")
        }
    })
    .await?;
    let mut product = with_model(&server).start().await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("alpha").await?;
    admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    let turn =
        admin.post(&format!("/sessions/{chat}/turns"), json!({"text": "look"})).await?.ok()?["turn_id"]
            .clone();
    reached.notified().await;

    product.kill_manager().await?;
    product.start_manager().await?;

    let admin = product.admin().await?;
    wait_idle(&admin, &chat).await?;
    let calls = admin.get("/calls?tool=probe_http").await?.ok()?;
    assert_eq!(calls["items"].as_array().context("no calls")?.len(), 1, "the call was run again: {calls}");
    let events = admin.turn_events(&chat, &turn).await?;
    let made: Vec<&Value> = events.iter().filter(|event| event["kind"] == "chat.tool-call.v1").collect();
    let ended: Vec<&Value> = events.iter().filter(|event| event["kind"] == "chat.tool-result.v1").collect();
    assert_eq!((made.len(), ended.len()), (1, 1), "{events:#?}");
    assert_ne!(ended[0]["payload"]["state"], "succeeded");
    let events = admin.say(&chat, "go on").await?;
    assert_eq!(events.last().context("no events")?["payload"]["outcome"], "answered");
    // Every call in the history that the model saw has its result.
    let last = server.seen().pop().context("the model was not asked")?.body;
    let messages = last["messages"].as_array().context("no messages")?;
    let asked: usize =
        messages.iter().filter_map(|message| message["tool_calls"].as_array()).map(Vec::len).sum();
    let answered = messages.iter().filter(|message| message["role"] == "tool").count();
    assert_eq!(asked, answered, "{last}");
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    Ok(())
}

#[tokio::test]
async fn a_call_whose_edge_died_is_never_run_again_and_ends_truthfully() -> Result<()> {
    let reached = Arc::new(Notify::new());
    let port = silent_port(Arc::clone(&reached)).await?;
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let mut edge = product.start_edge("alpha").await?;
    let host = admin.wait_online("alpha").await?;
    let call = {
        let admin = admin.clone();
        let body = json!({"tool": "probe_http", "edge_id": host["id"], "args": {"url": format!("http://127.0.0.1:{port}/"), "timeout_ms": 25000}});
        tokio::spawn(async move { admin.post("/calls", body).await })
    };
    reached.notified().await;
    edge.kill().await?;
    let ended = call.await??.ok()?;
    assert!(ended["state"] == "unknown" || ended["state"] == "failed", "{ended}");

    let mut live = admin.events(None).await?;
    edge.start()?;
    loop {
        let now = admin.get(&format!("/calls/{}", ended["id"].as_str().context("no id")?)).await?.ok()?;
        if now["state"] == "failed" {
            assert!(now["error"].as_str().context("no reason")?.contains("outcome"), "{now}");
            break;
        }
        assert_eq!(now["state"], "unknown", "{now}");
        live.next().await?;
    }
    Ok(())
}

#[tokio::test]
async fn stop_ends_a_running_call_on_the_edge_and_leaves_a_usable_chat() -> Result<()> {
    let reached = Arc::new(Notify::new());
    let port = silent_port(Arc::clone(&reached)).await?;
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("alpha").await?;
    let host = admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    let mut live = admin.events(None).await?;
    let text = format!("/probe_http edge_id={} url=http://127.0.0.1:{port}/ timeout_ms=30000", host["id"]);
    let turn =
        admin.post(&format!("/sessions/{chat}/turns"), json!({"text": text})).await?.ok()?["turn_id"].clone();
    reached.notified().await;
    admin.post(&format!("/turns/{}/stop", turn.as_str().context("no turn")?), json!({})).await?.ok()?;
    let finished = live.next_of("chat.turn-finished.v1").await?;
    assert_eq!(finished.data["payload"]["outcome"], "stopped", "{:?}", finished.data);
    let calls = admin.get("/calls?tool=probe_http").await?.ok()?;
    assert_eq!(calls["items"][0]["state"], "cancelled", "{calls}");
    let events = admin.say(&chat, "how loaded is this host?").await?;
    assert_eq!(events.last().context("no events")?["payload"]["outcome"], "answered");
    Ok(())
}

//! The same chat over model servers that speak the real wire formats.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use llm::scripted::{Answer, ScriptedServer};
use serde_json::{Value, json};
use testkit::Product;

/// Two calls at once, then an answer: over one wire format.
async fn two_parallel_calls_and_an_answer(kind: &str) -> Result<()> {
    let server = ScriptedServer::with_answers([
        Answer::Say {
            text: "I'll look.".to_owned(),
            calls: vec![
                ("query_edges".to_owned(), json!({})),
                ("host_load".to_owned(), json!({"edge_ids": [1]})),
                ("probe_tcp".to_owned(), json!({"edge_id": 1, "target": 22})),
            ],
        },
        Answer::text("The host is **calm**."),
    ])
    .await?;
    let mut product = Product::builder()
        .configuration(&format!(
            "[models.scripted]\nkind = \"{kind}\"\nbase_url = \"{}\"\napi_key = \"sk-canary-1234567890abcdefghij\"\nmodel = \"scripted-1\"",
            if kind == "openai_chat" { format!("{}/v1", server.url()) } else { server.url() }
        ))
        .start()
        .await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("alpha").await?;
    admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, "how is it going?").await?;

    let states: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| {
            event["kind"] == "chat.tool-result.v1" && event["payload"]["parent_call_id"].is_null()
        })
        .map(|event| (&event["payload"]["state"], &event["payload"]["error"]))
        .collect();
    let succeeded = states.iter().filter(|(state, _)| *state == "succeeded").count();
    assert!(succeeded >= 2, "{states:?}");
    assert!(states.iter().any(|(state, _)| *state == "invalid"), "{states:?}");

    let finished =
        events.iter().find(|event| event["kind"] == "chat.turn-finished.v1").context("not finished")?;
    assert_eq!(finished["payload"]["outcome"], "answered", "{finished}");
    assert!(finished["payload"]["usage"]["input_tokens"].as_u64().unwrap() > 0);
    let text = events.iter().rfind(|event| event["kind"] == "chat.message.v1").unwrap()["payload"]["text"]
        .as_str()
        .unwrap();
    assert_eq!(text, "The host is **calm**.");

    // The second request answers every call of the first, and the key travels only in its header.
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let body = seen[1].body.to_string();
    let results = if kind == "openai_chat" { "\"role\":\"tool\"" } else { "\"type\":\"tool_result\"" };
    assert_eq!(body.matches(results).count(), 3, "{body}");
    assert!(!body.contains("sk-canary"));
    assert!(!product.manager_log().contains("sk-canary"));
    let models = admin.get("/models").await?.ok()?.to_string();
    assert!(!models.contains("sk-canary"), "{models}");
    Ok(())
}

#[tokio::test]
async fn chat_completions_with_parallel_calls() -> Result<()> {
    two_parallel_calls_and_an_answer("openai_chat").await
}

#[tokio::test]
async fn anthropic_messages_with_parallel_calls() -> Result<()> {
    two_parallel_calls_and_an_answer("anthropic").await
}

#[tokio::test]
async fn a_model_that_cannot_be_reached_ends_the_turn_with_the_reason_and_the_chat_goes_on() -> Result<()> {
    let server = ScriptedServer::with_answers([
        Answer::refusal(401, &json!({"error": {"message": "bad key", "type": "invalid_request_error"}})),
        Answer::text("Here again."),
    ])
    .await?;
    let mut product = Product::builder()
        .configuration(&format!(
            "[models.scripted]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key = \"sk-canary-1234567890abcdefghij\"\nmodel = \"scripted-1\"",
            server.url()
        ))
        .start()
        .await?;
    let admin = product.admin().await?;
    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, "hello").await?;
    let finished = &events.iter().find(|event| event["kind"] == "chat.turn-finished.v1").unwrap()["payload"];
    assert_eq!(finished["outcome"], "failed", "{finished}");
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("scripted") || reason.contains("key"), "{reason}");
    let events = admin.say(&chat, "still there?").await?;
    let finished = &events.iter().find(|event| event["kind"] == "chat.turn-finished.v1").unwrap()["payload"];
    assert_eq!(finished["outcome"], "answered", "{finished}");
    Ok(())
}

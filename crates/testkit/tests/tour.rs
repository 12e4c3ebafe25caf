//! The main job, end to end, with the real binaries: chat, call on a real host, audit; and all of it again after a
//! restart.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::{Product, Session};

/// The payload of the first event of a kind.
fn first<'a>(events: &'a [Value], kind: &str) -> Option<&'a Value> {
    events.iter().find(|event| event["kind"] == kind).map(|event| &event["payload"])
}

/// The text that the turn answered with.
fn answer(events: &[Value]) -> String {
    events
        .iter()
        .filter(|event| event["kind"] == "chat.message.v1")
        .filter_map(|event| event["payload"]["text"].as_str())
        .next_back()
        .unwrap_or_default()
        .to_owned()
}

async fn started() -> Result<(Product, testkit::EdgeProcess, Session)> {
    // Nobody is there to decide, and nobody has to wait long for that.
    let rules = "[security.approval]\ndecide_by_seconds = 1";
    let mut product = Product::builder().configuration(rules).start().await?;
    let admin = product.admin().await?;
    let edge = product.start_edge("alpha").await?;
    admin.wait_online("alpha").await?;
    Ok((product, edge, admin))
}

#[tokio::test]
async fn a_question_becomes_a_call_on_the_host_and_an_answer_with_a_table() -> Result<()> {
    let (_product, _edge, admin) = started().await?;
    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, "how loaded is this host?").await?;

    let call = first(&events, "chat.tool-call.v1").context("no call was made")?;
    assert_eq!(call["tool"], "host_load");
    let result = first(&events, "chat.tool-result.v1").context("no result came")?;
    assert_eq!(result["state"], "succeeded", "{result}");
    let text = answer(&events);
    assert!(text.contains("| "), "no table in: {text}");
    assert_eq!(first(&events, "chat.turn-finished.v1").unwrap()["outcome"], "answered");

    let calls = admin.get("/calls?tool=host_load").await?.ok()?;
    let items = calls["items"].as_array().unwrap();
    assert!(!items.is_empty());
    for item in items {
        assert_eq!(item["state"], "succeeded");
        assert_eq!(item["caller"]["user_id"], 0);
        assert_eq!(item["origin"], "chat");
        assert_eq!(item["on_behalf_of"]["name"], "admin");
    }
    Ok(())
}

#[tokio::test]
async fn the_other_questions_of_the_tour_get_useful_answers() -> Result<()> {
    let (_product, _edge, admin) = started().await?;
    let chat = admin.new_chat().await?;
    for (question, tool) in [
        ("is port 22 open on localhost?", "probe_tcp"),
        ("what is eating memory?", "host_processes"),
        ("which hosts are online?", "query_edges"),
    ] {
        let events = admin.say(&chat, question).await?;
        let call = first(&events, "chat.tool-call.v1").with_context(|| format!("no call for {question}"))?;
        assert_eq!(call["tool"], tool, "{question}");
        let result = first(&events, "chat.tool-result.v1").unwrap();
        assert_eq!(result["state"], "succeeded", "{question}: {result}");
        assert!(answer(&events).len() > 20, "{question}: {}", answer(&events));
    }
    Ok(())
}

#[tokio::test]
async fn a_mutating_skill_waits_for_a_person_and_expires_and_is_audited() -> Result<()> {
    let (_product, _edge, admin) = started().await?;
    let host = admin.wait_online("alpha").await?;
    let reply = admin
        .post(
            "/calls",
            json!({"tool": "kill_process", "edge_id": host["id"], "args": {"pid": 4194303, "start_time": 1, "reason": "it hangs"}}),
        )
        .await?
        .ok()?;
    assert_eq!(reply["state"], "expired", "{reply}");
    assert!(reply["error"].as_str().unwrap().contains("Nobody decided within 1 s"), "{reply}");
    let audited = admin.get(&format!("/calls/{}", reply["id"].as_str().unwrap())).await?.ok()?;
    assert_eq!(audited["state"], "expired");
    assert_eq!(audited["class"], "mutating");
    let capabilities = admin.get("/capabilities").await?.ok()?;
    let shown: Vec<&str> =
        capabilities["items"].as_array().unwrap().iter().filter_map(|item| item["key"].as_str()).collect();
    for key in ["restart_service", "kill_process", "reboot_host", "probe_tcp", "query_edges", "read_result"] {
        assert!(shown.contains(&key), "{key} is not shown");
    }
    Ok(())
}

#[tokio::test]
async fn bad_arguments_are_answered_with_what_was_wrong_and_the_schema() -> Result<()> {
    let (_product, _edge, admin) = started().await?;
    let host = admin.wait_online("alpha").await?;
    let reply = admin
        .post(
            "/calls",
            json!({"tool": "probe_tcp", "edge_id": host["id"], "args": {"target": 22, "tmeout": 1}}),
        )
        .await?
        .ok()?;
    assert_eq!(reply["state"], "invalid");
    assert!(reply["error"].as_str().unwrap().contains("tmeout"), "{reply}");
    assert!(reply["schema"]["properties"]["target"].is_object(), "{reply}");
    Ok(())
}

#[tokio::test]
async fn chats_calls_and_accounts_are_there_after_a_restart() -> Result<()> {
    let (mut product, _edge, admin) = started().await?;
    let chat = admin.new_chat().await?;
    let before = admin.say(&chat, "how loaded is this host?").await?;
    admin
        .post("/users", json!({"name": "olga", "roles": ["operator"], "password": "correct horse battery 7"}))
        .await?
        .ok()?;

    product.stop_manager().await?;
    product.start_manager().await?;

    let admin = product.admin().await?;
    let after = admin.turn_events(&chat, &before[0]["turn_id"]).await?;
    assert_eq!(before, after);
    assert!(!admin.get("/calls").await?.ok()?["items"].as_array().unwrap().is_empty());
    let mut olga = Session::new(&product.console);
    olga.sign_in("olga", "correct horse battery 7").await?;
    // The edge finds its manager again by itself.
    admin.wait_online("alpha").await?;
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    Ok(())
}

#[tokio::test]
async fn the_command_line_makes_the_same_audited_calls() -> Result<()> {
    let (product, _edge, admin) = started().await?;
    let host = admin.wait_online("alpha").await?;
    let edge = host["id"].to_string();
    let output = product.command(&["call", "host_load", "--edge", &edge, "--json"]).await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let call: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(call["state"], "succeeded");
    let audited = admin.get("/calls?origin=cli").await?.ok()?;
    assert_eq!(audited["items"][0]["id"], call["id"]);
    Ok(())
}

#[tokio::test]
async fn a_command_that_only_reads_runs_at_once_in_a_sandbox_that_is_on_record() -> Result<()> {
    let (product, _edge, admin) = started().await?;
    let host = admin.wait_online("alpha").await?;
    let args = json!({"command": "ps aux | head -3"});
    let reply =
        admin.post("/calls", json!({"tool": "bash", "edge_id": host["id"], "args": args})).await?.ok()?;
    let detail = admin.get(&format!("/hosts/{}", host["id"])).await?.ok()?;
    let bash = detail["skills"].as_array().unwrap().iter().find(|skill| skill["key"] == "bash");
    if bash.context("the host has no bash")?["class"] != "safe" {
        // Nothing can hold it here: then nobody runs it without an approval.
        assert_eq!(reply["state"], "expired", "{reply}");
        return Ok(());
    }
    assert_eq!((&reply["state"], &reply["class"]), (&json!("succeeded"), &json!("safe")), "{reply}");
    let result = &reply["result"];
    assert!(result["stdout"].as_str().unwrap().contains("PID"), "{result}");
    assert_eq!(result["stdout"].as_str().unwrap().lines().count(), 3, "{result}");
    assert_eq!(result["class"], "safe");
    let sandbox = result["sandbox"].as_str().context("no sandbox is told")?;
    assert!(sandbox.contains("read_only"), "{sandbox}");

    let path = format!("/calls/{}", reply["id"].as_str().unwrap());
    let audited = admin.get(&path).await?.ok()?;
    assert_eq!(audited["sandbox"], sandbox);
    let ended = audited["audit"].as_array().unwrap().iter().find(|row| row["kind"] == "call.finished");
    assert_eq!(ended.context("no end is audited")?["payload"]["sandbox"], sandbox);

    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, "run `ps aux | head -3` on alpha").await?;
    let result = first(&events, "chat.tool-result.v1").context("no result came")?;
    assert_eq!((&result["state"], &result["sandbox"]), (&json!("succeeded"), &json!(sandbox)), "{result}");
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    Ok(())
}

#[tokio::test]
async fn a_command_that_changes_something_does_nothing_without_a_decision() -> Result<()> {
    let (product, _edge, admin) = started().await?;
    let host = admin.wait_online("alpha").await?;
    let file = product.folder().join("stays");
    std::fs::write(&file, "x")?;
    let args = json!({"command": format!("rm {}", file.display())});
    let reply =
        admin.post("/calls", json!({"tool": "bash", "edge_id": host["id"], "args": args})).await?.ok()?;
    assert_eq!((&reply["state"], &reply["class"]), (&json!("expired"), &json!("mutating")), "{reply}");
    assert!(reply["sandbox"].is_null() && file.exists(), "{reply}");

    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, &format!("run `rm {}` on alpha", file.display())).await?;
    let result = first(&events, "chat.tool-result.v1").context("no result came")?;
    assert_eq!(result["state"], "expired", "{result}");
    let asked: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "chat.approval.v1")
        .filter_map(|event| event["payload"]["state"].as_str())
        .collect();
    assert_eq!(asked, ["pending", "expired"]);
    assert!(file.exists());
    Ok(())
}

//! The manager's own edges, with the real binaries: its configuration, its listener, its limits, a host that is cut off.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use testkit::{Product, binary};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Notify;

/// Runs `steadyhand` with this configuration and returns its exit code and what it said.
async fn run(arguments: &[&str], folder: &Path, configuration: &str) -> Result<(Option<i32>, String)> {
    let file = folder.join("steadyhand.toml");
    std::fs::write(&file, configuration)?;
    let output = Command::new(binary("steadyhand")?)
        .args(arguments)
        .arg("--config")
        .arg(&file)
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), said))
}

#[tokio::test]
async fn serve_says_why_it_can_not_start_and_fails() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let taken = TcpListener::bind("127.0.0.1:0").await?;
    let taken = taken.local_addr()?;
    let file = folder.path().join("a file");
    std::fs::write(&file, "")?;
    let (data, below_a_file) = (folder.path().join("data"), file.join("data"));
    let free = "[http]\nlisten = \"127.0.0.1:0\"\n[tunnel]\nlisten = \"127.0.0.1:0\"\n";
    for (configuration, parts) in [
        ("[http]\nlissten = 1\n".to_owned(), vec!["http.lissten", "did you mean `http.listen`"]),
        (format!("{free}[storage]\ndir = {below_a_file:?}\n"), vec!["the data directory", "can't be made"]),
        (
            format!(
                "[http]\nlisten = \"{taken}\"\n[tunnel]\nlisten = \"127.0.0.1:0\"\n[storage]\ndir = {data:?}\n"
            ),
            vec!["the console can't listen on", "in use"],
        ),
        (
            format!(
                "[http]\nlisten = \"127.0.0.1:0\"\n[tunnel]\nlisten = \"{taken}\"\n[storage]\ndir = {data:?}\n"
            ),
            vec!["the tunnel can't listen on", "in use"],
        ),
        (
            format!(
                "[http]\nlisten = \"127.0.0.1:0\"\ntls_cert = \"/none.pem\"\ntls_key = \"/none.key\"\n\
                 [tunnel]\nlisten = \"127.0.0.1:0\"\n[storage]\ndir = {data:?}\n"
            ),
            vec!["the certificate /none.pem can't be read"],
        ),
    ] {
        let (code, said) = run(&["serve"], folder.path(), &configuration).await?;
        assert_eq!(code, Some(1), "{configuration}\n{said}");
        for part in parts {
            assert!(said.contains(part), "no `{part}` in:\n{said}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn config_check_knows_limits_and_places_of_probes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let right = "[security.limits]\ncalls_per_hour_by_user = 10\ncalls_per_hour_by_tool = 0\n\
                 calls_at_once_by_user = 2\ncalls_at_once_by_tool = 4\n[security.probes]\nallow = [\"*.example.com\"]\n";
    let (code, said) = run(&["config", "check"], folder.path(), right).await?;
    assert_eq!(code, Some(0), "{said}");
    let wrong =
        "[security.limits]\ncalls_per_hour_by_user = \"many\"\n[security.probes]\nallow = [\"http://x/\"]\n";
    let (code, said) = run(&["config", "check"], folder.path(), wrong).await?;
    assert_eq!(code, Some(1), "{said}");
    for part in ["calls_per_hour_by_user: must be a number from 0", "`http://x/` is more than a host"] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    Ok(())
}

#[tokio::test]
async fn the_limit_of_calls_in_an_hour_holds_across_a_restart_and_the_audit_verifies() -> Result<()> {
    let mut product =
        Product::builder().configuration("[security.limits]\ncalls_per_hour_by_user = 3").start().await?;
    let admin = product.admin().await?;
    let list = || admin.post("/calls", json!({"tool": "query_edges"}));
    assert_eq!(list().await?.ok()?["state"], "succeeded");
    assert_eq!(list().await?.ok()?["state"], "succeeded");
    product.stop_manager().await?;
    product.start_manager().await?;
    assert_eq!(list().await?.ok()?["state"], "succeeded");
    let refused = list().await?.ok()?;
    assert_eq!(refused["state"], "refused", "{refused}");
    let reason = refused["error"].as_str().context("no reason")?;
    assert!(reason.contains("At most 3 calls of one person are allowed per hour"), "{reason}");
    let verified = product.command(&["audit", "verify"]).await?;
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success() && said.contains("4 calls are as it says"), "{said}");
    Ok(())
}

#[tokio::test]
async fn the_console_serves_over_tls_with_the_configured_certificate() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem())?;
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    let product = Product::builder()
        .environment("STEADYHAND__HTTP__TLS_CERT", cert.display().to_string())
        .environment("STEADYHAND__HTTP__TLS_KEY", key.display().to_string())
        .start()
        .await?;
    let port = product.console.strip_prefix("https://127.0.0.1:").context("no https address")?;
    let url = format!("https://localhost:{port}/healthz");
    let trusted = reqwest::Certificate::from_pem(made.cert.pem().as_bytes())?;
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).build()?;
    let health = client.get(&url).send().await?;
    assert!(health.status().is_success(), "{health:?}");
    assert_eq!(health.version(), reqwest::Version::HTTP_2);
    let sign_in = client
        .post(format!("https://localhost:{port}/api/v1/sign-in"))
        .json(
            &json!({"name": "admin", "password": product.first_password.as_deref().context("no password")?}),
        )
        .send()
        .await?;
    let cookie = sign_in.headers()["set-cookie"].to_str()?;
    assert!(cookie.contains("Secure"), "{cookie}");
    // In clear, and for whom the certificate is a stranger's, there is nothing.
    let stranger = reqwest::Client::builder().no_proxy().build()?;
    assert!(stranger.get(&url).send().await.is_err());
    assert!(stranger.get(url.replacen("https", "http", 1)).send().await.is_err());
    Ok(())
}

#[tokio::test]
async fn the_calls_that_a_batch_makes_are_shown_below_it() -> Result<()> {
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("alpha").await?;
    let host = admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    let events = admin.say(&chat, &format!("/host_load edge_ids=[{}]", host["id"])).await?;
    let of_kind = |kind: &str| -> Vec<Value> {
        events.iter().filter(|event| event["kind"] == kind).map(|event| event["payload"].clone()).collect()
    };
    let calls = of_kind("chat.tool-call.v1");
    let batch = calls.iter().find(|call| call["parent_call_id"].is_null()).context("no batch")?;
    let children: Vec<&Value> =
        calls.iter().filter(|call| call["parent_call_id"] == batch["call_id"]).collect();
    assert_eq!(children.len(), 1, "{calls:?}");
    assert_eq!(
        (&children[0]["tool"], &children[0]["edge_id"]),
        (&json!("host_load"), &host["id"]),
        "{calls:?}"
    );
    let ended = of_kind("chat.tool-result.v1");
    let place = |id: &Value| ended.iter().position(|result| &result["call_id"] == id);
    let (child, parent) = (place(&children[0]["call_id"]), place(&batch["call_id"]));
    assert!(child.context("the child has no result")? < parent.context("the batch has no result")?);
    assert!(ended.iter().all(|result| result["state"] == "succeeded"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_cut_off_during_a_call_is_shown_truthfully() -> Result<()> {
    let reached = Arc::new(Notify::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let told = Arc::clone(&reached);
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
            told.notify_one();
        }
    });
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let edge = product.start_edge("alpha").await?;
    let host = admin.wait_online("alpha").await?;
    let call = {
        let admin = admin.clone();
        let body = json!({"tool": "probe_http", "edge_id": host["id"], "args": {"url": format!("http://127.0.0.1:{port}/"), "timeout_ms": 30000}});
        tokio::spawn(async move { admin.post("/calls", body).await })
    };
    reached.notified().await;
    // As a partition: the connection stays open, and nothing comes any more.
    let pid = edge.pid().context("the edge does not run")?.to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().await?.success());
    let ended = call.await??.ok()?;
    assert_eq!(ended["state"], "unknown", "{ended}");
    assert!(
        ended["error"].as_str().context("no reason")?.contains("connection to the host was lost"),
        "{ended}"
    );
    admin.wait_host("alpha", |host| host["state"] == "offline").await?;
    let refused = admin
        .post("/calls", json!({"tool": "host_load", "scope": "host", "edge_id": host["id"]}))
        .await?
        .ok()?;
    assert_eq!(refused["state"], "refused", "{refused}");

    let mut live = admin.events(None).await?;
    assert!(Command::new("kill").args(["-CONT", &pid]).status().await?.success());
    let path = format!("/calls/{}", ended["id"].as_str().context("no id")?);
    let resolved = loop {
        let now = admin.get(&path).await?.ok()?;
        if now["state"] != "unknown" {
            break now;
        }
        live.next().await?;
    };
    let state = resolved["state"].as_str().context("no state")?;
    assert!(["failed", "cancelled", "timed_out"].contains(&state), "{resolved}");
    admin.wait_online("alpha").await?;
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    Ok(())
}

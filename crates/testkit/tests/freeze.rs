//! The switch that stops all changes, with the real binaries: from the command line and the API to the edge's own refusal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use serde_json::json;
use testkit::{Product, binary};
use tokio::process::Command;

#[tokio::test]
async fn a_freeze_from_the_command_line_holds_on_the_edge_through_kills_of_both() -> Result<()> {
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let mut edge = product.start_edge("web-1").await?;
    let host = admin.wait_online("web-1").await?;
    assert_eq!((&host["frozen"], &host["read_only"]), (&json!(false), &json!(false)));

    let mut events = admin.events(None).await?;
    let frozen = product.command(&["freeze", "--reason", "a bad deploy"]).await?;
    let said = String::from_utf8_lossy(&frozen.stdout).into_owned();
    assert!(frozen.status.success(), "{}", String::from_utf8_lossy(&frozen.stderr));
    assert!(said.contains("by local-cli: a bad deploy") || said.contains(": a bad deploy"), "{said}");
    assert_eq!(events.next_of("freeze.changed.v1").await?.data, json!({"frozen": true}));
    admin.wait_host("web-1", |host| host["frozen"] == true).await?;
    let change = json!({
        "tool": "write_file", "edge_id": host["id"],
        "args": {"path": "/tmp/x", "content": "x"},
    });
    let said = admin.post("/policy/explain", change.clone()).await?.ok()?;
    assert_eq!(said["decision"], "deny", "{said}");
    let refused = admin.post("/calls", change).await?.ok()?;
    assert_eq!(refused["state"], "refused", "{refused}");
    assert!(refused["error"].as_str().context("no reason")?.contains("a bad deploy"), "{refused}");
    let load = admin.post("/calls", json!({"tool": "host_load", "edge_id": host["id"]})).await?.ok()?;
    assert_eq!(load["state"], "succeeded", "{load}");

    // The command line's own account is an operator: it may freeze, and not allow changes again.
    let unfrozen = product.command(&["unfreeze"]).await?;
    assert!(!unfrozen.status.success());
    assert!(String::from_utf8_lossy(&unfrozen.stderr).contains("only an admin"));

    edge.kill().await?;
    product.kill_manager().await?;
    let local = Command::new(binary("steadyhand-edge")?)
        .args([
            "skills",
            "run",
            "write_file",
            "--local",
            "--param",
            "path=/tmp/x",
            "--param",
            "content=x",
            "--dir",
        ])
        .arg(edge.folder())
        .arg("--config")
        .arg(edge.folder().join("edge.toml"))
        .output()
        .await?;
    let told =
        format!("{}{}", String::from_utf8_lossy(&local.stdout), String::from_utf8_lossy(&local.stderr));
    assert!(told.contains("this edge is frozen"), "{told}");

    product.start_manager().await?;
    edge.start()?;
    let admin = product.admin().await?;
    let host = admin.wait_online("web-1").await?;
    assert_eq!(host["frozen"], true, "{host}");
    let state = admin.get("/freeze").await?.ok()?;
    assert_eq!((&state["frozen"], &state["reason"]), (&json!(true), &json!("a bad deploy")));
    let state = admin.put("/freeze", json!({"frozen": false})).await?.ok()?;
    assert_eq!(state, json!({"frozen": false, "since": null, "by": null, "reason": null}));
    admin.wait_host("web-1", |host| host["frozen"] == false).await?;
    Ok(())
}

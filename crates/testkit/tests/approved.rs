//! Changes that a person allows over the API, on a real edge with the real binaries.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{Product, Session};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Asks for a file to be removed on a host; returns the waiting call.
async fn ask(admin: &Session, host: &Value, file: &Path) -> Result<Value> {
    std::fs::write(file, "x")?;
    let args = json!({"command": format!("rm {}", file.display())});
    let call = json!({"tool": "bash", "edge_id": host["id"], "args": args, "wait": false});
    let call = admin.post("/calls", call).await?.ok()?;
    assert_eq!(call["state"], "awaiting_approval", "{call}");
    assert!(file.exists(), "nothing is done before somebody decides");
    Ok(call)
}

async fn decide(admin: &Session, call: &Value, decision: &str) -> Result<Value> {
    let id = call["approval_id"].as_str().context("no approval")?;
    admin.post(&format!("/approvals/{id}/decision"), json!({"decision": decision})).await?.ok()
}

/// Waits until a call is final.
async fn end_of(admin: &Session, call: &Value) -> Result<Value> {
    let mut events = admin.events(None).await?;
    loop {
        let now = admin.get(&format!("/calls/{}", call["id"].as_str().context("no id")?)).await?.ok()?;
        if !["awaiting_approval", "running"].contains(&now["state"].as_str().unwrap_or_default()) {
            return Ok(now);
        }
        events.next_of("calls.changed.v1").await?;
    }
}

#[tokio::test]
async fn what_a_person_allows_is_done_on_the_host_once_and_what_is_denied_or_frozen_is_not() -> Result<()> {
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("web-1").await?;
    let host = admin.wait_online("web-1").await?;
    let file = product.folder().join("goes");

    let call = ask(&admin, &host, &file).await?;
    let shown = admin.get(&format!("/approvals/{}", call["approval_id"].as_str().unwrap())).await?.ok()?;
    assert_eq!((&shown["edge_name"], &shown["args_scope_fixed"]), (&json!("web-1"), &json!(true)));
    let command = shown["args"]["command"].as_str().unwrap();
    let reason = &shown["reasons"][0];
    let part = reason["start"].as_u64().unwrap() as usize..reason["end"].as_u64().unwrap() as usize;
    assert!(command[part.clone()].starts_with("rm"), "{shown}");
    assert_eq!(decide(&admin, &call, "allow_once").await?["state"], "approved");
    let ended = end_of(&admin, &call).await?;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    assert!(!file.exists());

    let call = ask(&admin, &host, &file).await?;
    decide(&admin, &call, "deny").await?;
    assert_eq!(end_of(&admin, &call).await?["state"], "denied");
    assert!(file.exists());

    // What waits when changes are frozen goes on waiting; allowed meanwhile, it is refused at its start.
    let call = ask(&admin, &host, &file).await?;
    admin.put("/freeze", json!({"frozen": true, "reason": "a bad deploy"})).await?.ok()?;
    let shown = admin.get(&format!("/approvals/{}", call["approval_id"].as_str().unwrap())).await?.ok()?;
    assert_eq!(shown["state"], "pending");
    decide(&admin, &call, "allow_once").await?;
    let ended = end_of(&admin, &call).await?;
    assert_eq!(ended["state"], "refused", "{ended}");
    assert!(ended["error"].as_str().unwrap().contains("a bad deploy"), "{ended}");
    assert!(file.exists());

    // A read-only host refuses, too, and says so itself.
    admin.put("/freeze", json!({"frozen": false})).await?.ok()?;
    let path = format!("/hosts/{}/read-only", host["id"]);
    assert_eq!(admin.put(&path, json!({"read_only": true})).await?.ok()?["read_only"], true);
    admin.wait_host("web-1", |host| host["frozen"] == true && host["read_only"] == true).await?;
    let args = json!({"command": format!("rm {}", file.display())});
    let refused =
        admin.post("/calls", json!({"tool": "bash", "edge_id": host["id"], "args": args})).await?.ok()?;
    assert_eq!(refused["state"], "refused", "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("is read-only since"), "{refused}");
    let verified = product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let listed = product.command(&["approvals", "list"]).await?;
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    Ok(())
}

/// Takes one request and answers it; returns its head and its body.
async fn one_request(listener: TcpListener) -> Result<(String, Value)> {
    let (mut stream, _) = listener.accept().await?;
    let mut text = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await?;
        anyhow::ensure!(read > 0, "it ended early");
        text.extend_from_slice(&piece[..read]);
        let whole = String::from_utf8(text.clone())?;
        let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if body.len() == length.context("no length")?.trim().parse::<usize>()? {
            stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await?;
            return Ok((head, serde_json::from_str(body)?));
        }
    }
}

#[tokio::test]
async fn a_program_outside_is_told_that_a_call_waits_and_where_to_look_but_not_its_arguments() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a secret of some length\n")?;
    let configuration = format!(
        "[security.approval]\nnotify_url = \"http://{}/hook\"\nnotify_secret_file = {secret:?}\n\
         [security.tool_policy.tools]\nquery_edges = \"supervised\"",
        listener.local_addr()?
    );
    let mut product = Product::builder().configuration(&configuration).start().await?;
    let admin = product.admin().await?;
    let asked = json!({"tool": "query_edges", "args": {"name": "nobody-else-s-business"}, "wait": false});
    let (told, call) = tokio::join!(one_request(listener), admin.post("/calls", asked));
    let ((head, body), call) = (told?, call?.ok()?);
    assert!(head.starts_with("post /hook http/1.1"), "{head}");
    assert!(
        head.contains("x-steadyhand-timestamp: ") && head.contains("x-steadyhand-signature: sha256="),
        "{head}"
    );
    assert_eq!((&body["kind"], &body["call_id"]), (&json!("approval.asked"), &call["id"]));
    let url = format!("{}/approvals/{}", product.console, call["approval_id"].as_str().unwrap());
    assert_eq!(body["url"], json!(url));
    assert!(!body.to_string().contains("business"), "{body}");
    Ok(())
}

/// Takes one mail, as a mail server of this machine does; returns what was said to it.
async fn one_mail(listener: TcpListener) -> Result<String> {
    let (stream, _) = listener.accept().await?;
    let mut stream = tokio::io::BufReader::new(stream);
    stream.write_all(b"220 mail.test ready\r\n").await?;
    let (mut said, mut in_text) = (String::new(), false);
    loop {
        let start = said.len();
        anyhow::ensure!(stream.read_line(&mut said).await? > 0, "it ended early");
        let line = said[start..].trim_end().to_owned();
        let answer: &[u8] = match line.as_str() {
            "." => {
                stream.write_all(b"250 taken\r\n").await?;
                return Ok(said);
            }
            _ if in_text => continue,
            "DATA" => {
                in_text = true;
                b"354 go on\r\n"
            }
            _ => b"250 fine\r\n",
        };
        stream.write_all(answer).await?;
    }
}

#[tokio::test]
async fn phones_and_mailboxes_are_told_that_a_call_waits_and_where_to_look_but_not_its_arguments()
-> Result<()> {
    let (push, mail) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    std::fs::write(&token, "tk_of_the_push_server\n")?;
    let configuration = format!(
        "[security.approval]\npush_url = \"http://{}/our-topic\"\npush_token_file = {token:?}\n\
         mail_server = \"smtp://{}\"\nmail_from = \"Steadyhand <steady@example.org>\"\n\
         mail_to = [\"ops@example.org\", \"ana@example.org\"]\n\
         [security.tool_policy.tools]\nquery_edges = \"supervised\"",
        push.local_addr()?,
        mail.local_addr()?
    );
    let mut product = Product::builder().configuration(&configuration).start().await?;
    let admin = product.admin().await?;
    let asked = json!({"tool": "query_edges", "args": {"name": "nobody-else-s-business"}, "wait": false});
    let (pushed, mailed, call) = tokio::join!(one_request(push), one_mail(mail), admin.post("/calls", asked));
    let ((head, body), mailed, call) = (pushed?, mailed?, call?.ok()?);
    let url = format!("{}/approvals/{}", product.console, call["approval_id"].as_str().unwrap());

    assert!(head.starts_with("post / http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer tk_of_the_push_server"), "{head}");
    assert_eq!((&body["topic"], &body["click"]), (&json!("our-topic"), &json!(url)));
    assert!(body["title"].as_str().unwrap().ends_with("waits for a decision"), "{body}");
    assert!(body["message"].as_str().unwrap().starts_with("Asked for by Administrator."), "{body}");

    for line in ["MAIL FROM:<steady@example.org>", "RCPT TO:<ops@example.org>", "RCPT TO:<ana@example.org>"] {
        assert!(mailed.contains(line), "no `{line}` in {mailed}");
    }
    assert!(mailed.contains("Subject: ") && mailed.contains("waits for a decision"), "{mailed}");
    // Long lines of a mail are broken.
    let whole = mailed.replace("=\r\n", "").replace("=3D", "=");
    assert!(whole.contains(&url), "no {url} in {mailed}");
    assert!(!format!("{body}{mailed}").contains("business"), "{body} {mailed}");
    Ok(())
}

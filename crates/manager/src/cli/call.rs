//! `steadyhand call`: the same door as everybody's, from a terminal.

use super::client::{Client, ClientArgs};
use super::local;
use anyhow::Context as _;
use clap::Args;
use futures::StreamExt as _;
use gate::NamedStep;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Run a skill or a tool.
#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// Its key, for example host_load
    skill: String,
    /// The host: its id, or its name
    #[arg(long, value_name = "ID|NAME")]
    edge: Option<String>,
    /// A parameter; the value is JSON if it reads as that, else text
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = local::pair)]
    params: Vec<(String, String)>,
    /// The procedure and step that cover it, where it is dangerous
    #[arg(long, value_name = "ID/STEP")]
    sop: Option<NamedStep>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECS")]
    timeout: Option<u64>,
    /// First wait so many seconds for the host to be online
    #[arg(long, value_name = "SECS", requires = "edge")]
    wait_online: Option<u64>,
    /// Print the whole call as JSON, not only its result
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl CallArgs {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.client.connect()?;
        if let (Some(edge), Some(seconds)) = (&self.edge, self.wait_online) {
            tokio::time::timeout(Duration::from_secs(seconds), wait_online(&client, edge))
                .await
                .map_err(|_| anyhow::anyhow!("the host {edge} wasn't online within {seconds} s"))??;
        }
        let mut body = json!({"tool": self.skill, "args": arguments(&self.params)});
        if let Some(edge) = &self.edge {
            body["edge_id"] = json!(client.find_host(edge).await?.0);
        }
        if let Some(timeout) = self.timeout {
            body["timeout_seconds"] = json!(timeout);
        }
        if let Some(sop) = &self.sop {
            body["sop"] = json!(sop);
        }
        body["wait"] = json!(false);
        let mut call = client.post("/calls", &body).await?;
        if call["state"] == "awaiting_approval" {
            tell_that_it_waits(&client, &call).await?;
            call = end_of(&client, &call).await?;
        }
        let succeeded = call["state"] == "succeeded";
        if self.json {
            local::print(&format!("{call:#}\n"))?;
        } else if succeeded {
            local::print(&format!("{:#}\n", call["result"]))?;
        }
        if succeeded {
            return Ok(());
        }
        let state = call["state"].as_str().unwrap_or("not known");
        let id = call["id"].as_str().unwrap_or("?");
        match call["error"].as_str() {
            Some(error) => anyhow::bail!("{state}: {error} (call {id})"),
            None => anyhow::bail!("the call ended as {state} (call {id})"),
        }
    }
}

/// Parameters as JSON.
pub(super) fn arguments(params: &[(String, String)]) -> Map<String, Value> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    params.iter().map(|(key, text)| (key.clone(), value(text))).collect()
}

/// Tells at the terminal who is waited for, and until when.
async fn tell_that_it_waits(client: &Client, call: &Value) -> anyhow::Result<()> {
    let id = call["approval_id"].as_str().context("a waiting call without approval")?;
    let approval = client.json(client.request(Method::GET, &format!("/approvals/{id}"))).await?;
    let by = approval["decide_by"].as_str().unwrap_or("?");
    let why = approval["why"].as_str().unwrap_or("?");
    eprintln!("{why} It waits at the console, under /approvals/{id}, until {by}.");
    Ok(())
}

/// Waits until a call has ended. The stream is opened before the first look, so that no change falls between the two.
async fn end_of(client: &Client, call: &Value) -> anyhow::Result<Value> {
    let path = format!("/calls/{}", call["id"].as_str().context("a call without id")?);
    loop {
        let events = client.send(client.request(Method::GET, "/events")).await?;
        let mut bytes = events.bytes_stream();
        loop {
            let now = client.json(client.request(Method::GET, &path)).await?;
            if !["awaiting_approval", "queued", "running"]
                .contains(&now["state"].as_str().unwrap_or_default())
            {
                return Ok(now);
            }
            // A keep-alive wakes too, which does no harm.
            match bytes.next().await {
                Some(piece) => drop(piece?),
                // The manager ended the stream: it stops, or restarts.
                None => break,
            }
        }
    }
}

/// Watches the event stream until the host is online. The stream is opened before the first look, so that no change
/// falls between the two.
async fn wait_online(client: &Client, edge: &str) -> anyhow::Result<()> {
    loop {
        let events = client.send(client.request(Method::GET, "/events")).await?;
        let mut bytes = events.bytes_stream();
        if matches!(client.find_host(edge).await, Ok((_, true))) {
            return Ok(());
        }
        let mut text = String::new();
        while let Some(piece) = bytes.next().await {
            text.push_str(&String::from_utf8_lossy(&piece?));
            let changed = text.contains("hosts.changed.v1") || text.contains("resync.v1");
            if let Some(end) = text.rfind('\n') {
                text.drain(..=end);
            }
            if changed && matches!(client.find_host(edge).await, Ok((_, true))) {
                return Ok(());
            }
        }
        // The manager ended the stream: it stops, or restarts.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_json_where_they_read_as_that() {
        let params = [("target", "localhost:22"), ("count", "3"), ("deep", "true"), ("list", "[1]")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let args = Value::Object(arguments(&params));
        assert_eq!(args, json!({"target": "localhost:22", "count": 3, "deep": true, "list": [1]}));
    }
}

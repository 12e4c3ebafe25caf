//! `steadyhand call`: the same door as everybody's, from a terminal.

use super::client::{Client, ClientArgs};
use super::local;
use anyhow::Context as _;
use clap::Args;
use futures::StreamExt as _;
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
            body["edge_id"] = json!(find_host(&client, edge).await?.0);
        }
        if let Some(timeout) = self.timeout {
            body["timeout_seconds"] = json!(timeout);
        }
        let call = client.post("/calls", &body).await?;
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

fn arguments(params: &[(String, String)]) -> Map<String, Value> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    params.iter().map(|(key, text)| (key.clone(), value(text))).collect()
}

/// The host's id and whether it is online.
async fn find_host(client: &Client, wanted: &str) -> anyhow::Result<(i64, bool)> {
    let mut cursor: Option<String> = None;
    loop {
        let mut request = client.request(Method::GET, "/hosts").query(&[("limit", "200")]);
        if let Some(cursor) = &cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        let page = client.json(request).await?;
        for host in page["items"].as_array().into_iter().flatten() {
            let id = host["id"].as_i64().context("a host without id")?;
            if host["name"] == wanted || id.to_string() == wanted {
                return Ok((id, host["state"] == "online"));
            }
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => anyhow::bail!("there is no host `{wanted}`"),
        }
    }
}

/// Watches the event stream until the host is online. The stream is opened before the first look, so that no change
/// falls between the two.
async fn wait_online(client: &Client, edge: &str) -> anyhow::Result<()> {
    loop {
        let events = client.send(client.request(Method::GET, "/events")).await?;
        let mut bytes = events.bytes_stream();
        if matches!(find_host(client, edge).await, Ok((_, true))) {
            return Ok(());
        }
        let mut text = String::new();
        while let Some(piece) = bytes.next().await {
            text.push_str(&String::from_utf8_lossy(&piece?));
            let changed = text.contains("hosts.changed.v1") || text.contains("resync.v1");
            if let Some(end) = text.rfind('\n') {
                text.drain(..=end);
            }
            if changed && matches!(find_host(client, edge).await, Ok((_, true))) {
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

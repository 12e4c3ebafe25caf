//! `steadyhand freeze` and `unfreeze`: the switch that stops all changes.

use super::client::{Client, ClientArgs};
use super::local;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

/// Stop all changes.
#[derive(Debug, Args)]
pub(super) struct FreezeArgs {
    /// Why; shown with every refusal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Allow changes again.
#[derive(Debug, Args)]
pub(super) struct UnfreezeArgs {
    #[command(flatten)]
    client: ClientArgs,
}

impl FreezeArgs {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.client.connect()?;
        put(&client, &json!({"frozen": true, "reason": self.reason})).await
    }
}

impl UnfreezeArgs {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        put(&self.client.connect()?, &json!({"frozen": false})).await
    }
}

async fn put(client: &Client, body: &Value) -> anyhow::Result<()> {
    let state = client.json(client.request(Method::PUT, "/freeze").json(body)).await?;
    local::print(&text(&state))
}

fn text(state: &Value) -> String {
    if state["frozen"] != true {
        return "changes are allowed\n".to_owned();
    }
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let why = state["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("changes are frozen since {} by {}{why}\n", word(&state["since"]), word(&state["by"]["name"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_froze_changes_and_why_is_told() {
        let state = json!({
            "frozen": true, "since": "2026-11-30T12:00:00Z", "by": {"id": 1, "name": "ann"}, "reason": "a bad deploy",
        });
        assert_eq!(text(&state), "changes are frozen since 2026-11-30T12:00:00Z by ann: a bad deploy\n");
        assert_eq!(text(&json!({"frozen": false})), "changes are allowed\n");
    }
}

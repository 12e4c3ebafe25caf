//! `steadyhand enroll-token`.

use super::client::ClientArgs;
use super::local;
use anyhow::Context as _;
use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(super) enum EnrollTokenCommand {
    /// Make a token with which one host can join; prints only the token
    Create {
        #[command(flatten)]
        client: ClientArgs,
        /// Labels that the host gets
        #[arg(long, value_name = "K=V,…", value_delimiter = ',', value_parser = local::pair)]
        labels: Vec<(String, String)>,
        /// How long it can be used, at most 1h
        #[arg(long, value_name = "TIME", default_value = "15m", value_parser = humantime::parse_duration)]
        ttl: Duration,
    },
}

impl EnrollTokenCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::Create { client, labels, ttl } = self;
        let labels: Map<String, Value> = labels.into_iter().map(|(key, value)| (key, json!(value))).collect();
        let body = json!({"labels": labels, "ttl_seconds": ttl.as_secs()});
        let made = client.connect()?.post("/enrollment-tokens", &body).await?;
        let token = made["token"].as_str().context("the manager's answer has no token")?;
        local::print(&format!("{token}\n"))
    }
}

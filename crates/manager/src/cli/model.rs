//! `steadyhand model`: what the builtin router would call, and whether a provider answers.

use super::client::ClientArgs;
use super::local;
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Print the calls that the builtin model would make, without making them; needs no manager
    Route {
        /// Print one line of JSON
        #[arg(long)]
        json: bool,
        /// What an operator would write
        text: String,
    },
    /// Send a provider one real request, through the running manager
    Test {
        /// The provider's name
        name: String,
        #[command(flatten)]
        client: ClientArgs,
    },
}

impl ModelCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Route { json, text } => route(&text, json),
            Self::Test { name, client } => {
                let outcome = client.connect()?.post(&format!("/models/{name}/test"), &json!({})).await?;
                local::print(&format!("{outcome:#}\n"))?;
                anyhow::ensure!(outcome["ok"] == true, "the model {name} gave no answer");
                Ok(())
            }
        }
    }
}

fn route(text: &str, as_json: bool) -> anyhow::Result<()> {
    let routed = llm::builtin::route_json(text);
    if as_json {
        return local::print(&format!("{routed}\n"));
    }
    let routed: Value = serde_json::from_str(&routed)?;
    let mut shown = String::new();
    for call in routed["calls"].as_array().into_iter().flatten() {
        shown.push_str(&format!("{} {}\n", call["tool"].as_str().unwrap_or("?"), call["args"]));
    }
    if let Some(reply) = routed["reply"].as_str().filter(|reply| !reply.is_empty()) {
        shown.push_str(reply);
        shown.push('\n');
    }
    local::print(&shown)
}

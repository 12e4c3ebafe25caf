//! `steadyhand policy`: what the gate would make of a call, and which rule says so.

use super::call::arguments;
use super::client::ClientArgs;
use super::local;
use clap::{Args, Subcommand};
use gate::NamedStep;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Tell what would become of a call now, and which rule says so; nothing runs
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Key of the skill or tool, for example write_file
    #[arg(value_name = "TOOL")]
    tool: String,
    /// The host: its id, or its name
    #[arg(long, value_name = "ID|NAME")]
    edge: Option<String>,
    /// A parameter; the value is JSON if it reads as that, else text
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = local::pair)]
    params: Vec<(String, String)>,
    /// The procedure and step that are to cover it, where it is dangerous
    #[arg(long, value_name = "ID/STEP")]
    sop: Option<NamedStep>,
    /// Explain it as a model's call, in a chat that has taken in text from outside
    #[arg(long)]
    untrusted: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl PolicyCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::Explain(args) = self;
        let client = args.client.connect()?;
        let mut body =
            json!({"tool": args.tool, "args": arguments(&args.params), "untrusted": args.untrusted});
        if let Some(sop) = &args.sop {
            body["sop"] = json!(sop);
        }
        if let Some(edge) = &args.edge {
            body["edge_id"] = json!(client.find_host(edge).await?.0);
        }
        let said = client.post("/policy/explain", &body).await?;
        local::print(&if args.json { format!("{said:#}\n") } else { text(&said) })
    }
}

fn text(said: &Value) -> String {
    let word = |field: &str| said[field].as_str().unwrap_or("?").to_owned();
    let mut text = format!("{}: {}\nrule: {}\n", word("decision"), word("reason"), word("rule"));
    text.push_str(&format!("class: {}\n", word("class")));
    for reason in said["class_reasons"].as_array().into_iter().flatten() {
        text.push_str(&format!("  {}\n", reason["text"].as_str().unwrap_or("?")));
    }
    if let Some(who) = said["approval"]["who"].as_str() {
        text.push_str(&format!("approval: {who}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_begins_with_what_would_happen_and_which_rule_says_so() {
        let said = json!({
            "decision": "ask", "class": "mutating", "reason": "It asks.", "rule": "class = mutating",
            "class_reasons": [{"text": "`rm` removes files", "start": 0, "end": 2}],
            "approval": {"who": "An approver.", "grant_id": null},
        });
        assert_eq!(
            text(&said),
            "ask: It asks.\nrule: class = mutating\nclass: mutating\n  `rm` removes files\napproval: An approver.\n"
        );
    }
}

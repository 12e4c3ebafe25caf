//! `steadyhand approvals` and `grants`: what waits for people, and what they have allowed for longer. Deciding and taking
//! grants back needs a person who is signed in at the console; a command line only has tokens.

use super::client::{Client, ClientArgs};
use super::local;
use clap::{Subcommand, ValueEnum};
use model::ApprovalId;
use reqwest::Method;
use serde_json::Value;

#[derive(Debug, Subcommand)]
pub(super) enum ApprovalsCommand {
    /// List approvals, newest first: those of the token's owner, or all if that is an approver or admin
    List {
        /// Only those that wait, or only those that don't any more
        #[arg(long, value_enum)]
        state: Option<State>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Show one approval with all that it is about
    Show {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum GrantsCommand {
    /// List grants, newest first, also those that are over
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum State {
    Pending,
    Decided,
}

impl ApprovalsCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List { state, json, client } => {
                let state = state.map(|state| match state {
                    State::Pending => "pending",
                    State::Decided => "decided",
                });
                print_list(&client.connect()?, "/approvals", state, json, line_of_approval).await
            }
            Self::Show { id, json, client } => {
                let client = client.connect()?;
                let id: ApprovalId =
                    id.parse().map_err(|_| anyhow::anyhow!("`{id}` is no id of an approval"))?;
                let shown = client.json(client.request(Method::GET, &format!("/approvals/{id}"))).await?;
                local::print(&if json { format!("{shown:#}\n") } else { whole(&shown) })
            }
        }
    }
}

impl GrantsCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::List { json, client } = self;
        print_list(&client.connect()?, "/grants", None, json, line_of_grant).await
    }
}

/// Prints every page of a list.
async fn print_list(
    client: &Client,
    path: &str,
    state: Option<&str>,
    json: bool,
    line: fn(&Value) -> String,
) -> anyhow::Result<()> {
    let mut cursor: Option<String> = None;
    let mut items = Vec::new();
    loop {
        let mut request = client.request(Method::GET, path).query(&[("limit", "200")]);
        for (name, value) in [("state", state), ("cursor", cursor.as_deref())] {
            if let Some(value) = value {
                request = request.query(&[(name, value)]);
            }
        }
        let mut page = client.json(request).await?;
        items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    if json {
        return local::print(&format!("{:#}\n", Value::Array(items)));
    }
    local::print(&items.iter().map(line).collect::<String>())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn line_of_approval(shown: &Value) -> String {
    format!(
        "{} {} {} {} on {} for {}, decide by {}\n",
        word(&shown["id"]),
        word(&shown["state"]),
        word(&shown["class"]),
        word(&shown["tool"]),
        shown["edge_name"].as_str().unwrap_or("the manager"),
        word(&shown["requested_by"]["name"]),
        word(&shown["decide_by"]),
    )
}

fn line_of_grant(grant: &Value) -> String {
    let place = match (&grant["edge_name"], &grant["labels"]) {
        (Value::String(name), _) => name.clone(),
        (_, Value::Object(labels)) => {
            labels.iter().map(|(key, value)| format!("{key}={}", word(value))).collect::<Vec<_>>().join(",")
        }
        _ => "any host".to_owned(),
    };
    format!(
        "{} {} {} on {place} for {}, used {} times, last {}\n",
        word(&grant["id"]),
        word(&grant["state"]),
        word(&grant["tool"]),
        word(&grant["person"]["name"]),
        grant["uses"],
        word(&grant["last_used_at"]),
    )
}

/// Everything that a decision is about.
fn whole(shown: &Value) -> String {
    let mut text = line_of_approval(shown);
    text.push_str(&format!("why: {}\n", word(&shown["why"])));
    if let Some(note) = shown["grant_note"].as_str() {
        text.push_str(&format!("  {note}\n"));
    }
    for reason in shown["reasons"].as_array().into_iter().flatten() {
        text.push_str(&format!("  {}\n", word(&reason["text"])));
    }
    text.push_str(&format!("arguments: {:#}\n", shown["args"]));
    if shown["has_hidden"] == true {
        text.push_str("  (secrets in them are hidden)\n");
    }
    text.push_str(&format!("binding: {}\n", word(&shown["binding"])));
    if let Some(by) = shown["decided_by"]["name"].as_str() {
        text.push_str(&format!(
            "decided: {} by {by} at {}\n",
            word(&shown["decision"]),
            word(&shown["decided_at"])
        ));
    }
    if let Some(note) = shown["note"].as_str() {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&format!("call: {} {}\n", word(&shown["call_id"]), word(&shown["call_state"])));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_approval_is_shown_with_its_arguments_and_who_decided() {
        let shown = json!({
            "id": "a", "state": "denied", "class": "mutating", "tool": "write_file", "edge_name": "web-1",
            "requested_by": {"name": "ann"}, "decide_by": "t1", "why": "It changes something.",
            "reasons": [{"text": "It writes."}], "args": {"path": "/etc/motd"}, "has_hidden": false, "binding": "ff",
            "decided_by": {"name": "carol"}, "decision": "deny", "decided_at": "t2", "note": "no", "call_id": "c",
            "call_state": "denied",
        });
        assert_eq!(
            whole(&shown),
            "a denied mutating write_file on web-1 for ann, decide by t1\nwhy: It changes something.\n  It writes.\n\
             arguments: {\n  \"path\": \"/etc/motd\"\n}\nbinding: ff\ndecided: deny by carol at t2\nnote: no\n\
             call: c denied\n"
        );
    }

    #[test]
    fn a_grant_says_where_it_holds() {
        let mut grant = json!({
            "id": "g", "state": "active", "tool": "write_file", "edge_name": null, "labels": {"env": "test"},
            "person": {"name": "ann"}, "uses": 2, "last_used_at": "t",
        });
        assert_eq!(line_of_grant(&grant), "g active write_file on env=test for ann, used 2 times, last t\n");
        grant["labels"] = Value::Null;
        assert!(line_of_grant(&grant).contains("on any host"));
    }
}

//! `steadyhand approve`: shows what is to be signed for a call, computed again from the call itself, and signs it with a key
//! file. The private key never leaves this process; the manager gets the signature.

use super::client::{Client, ClientArgs};
use super::{keyfile, local};
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use model::{ApprovalId, canonical};
use reqwest::Method;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use signing::Statement;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The approval's id
    #[arg(value_name = "ID")]
    id: String,
    /// Show what is to be signed, and sign nothing
    #[arg(long, conflicts_with_all = ["key", "host_name"])]
    show: bool,
    /// Sign it with this key file, PREFIX.key.pem
    #[arg(long, value_name = "FILE", required_unless_present = "show")]
    key: Option<PathBuf>,
    /// The name of the account on the list of approvers [default: that of the token]
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// The host's name, which the last signature for a dangerous call needs
    #[arg(long, value_name = "NAME")]
    host_name: Option<String>,
    /// Sign without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// What the manager shows, after it was held against the call.
struct Checked {
    statement: Statement,
    text: String,
    shown: String,
}

impl ApproveArgs {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.client.connect()?;
        let id: ApprovalId =
            self.id.parse().map_err(|_| anyhow::anyhow!("`{}` is no id of an approval", self.id))?;
        let approval = client.json(client.request(Method::GET, &format!("/approvals/{id}"))).await?;
        let answer = client.post(&format!("/approvals/{id}/statement"), &json!({})).await?;
        let checked = check(&approval, &answer)?;
        local::print(&checked.shown)?;
        let Some(key) = &self.key else { return Ok(()) };
        let person = match self.person {
            Some(person) => person,
            None => {
                let me = client.json(client.request(Method::GET, "/me")).await?;
                me["user"]["name"]
                    .as_str()
                    .context("the manager doesn't tell whose token this is")?
                    .to_owned()
            }
        };
        anyhow::ensure!(
            person.to_lowercase() != checked.statement.requester.to_lowercase(),
            "`{person}` asked for this call, so other people have to sign it"
        );
        if !self.yes && !local::asked("Sign it?")? {
            return local::print("Nothing was signed.\n");
        }
        sign(&client, id, &checked, key, &person, self.host_name.as_deref()).await
    }
}

/// Holds a statement against the call that it is to be about.
fn check(approval: &Value, answer: &Value) -> anyhow::Result<Checked> {
    let text = answer["statement"].as_str().context("the manager sends no statement")?.to_owned();
    let statement = Statement::read(&text).map_err(|why| anyhow::anyhow!("{why}"))?;
    let args = &answer["args"];
    anyhow::ensure!(
        statement.args_hash == Statement::hash_of(args),
        "the arguments that the manager shows are not those of the statement; sign nothing, and tell whoever runs it"
    );
    let same = approval["call_id"] == statement.call_id.to_string()
        && approval["edge_id"] == json!(statement.edge_id)
        && approval["tool"] == statement.tool.as_str();
    anyhow::ensure!(
        same,
        "the statement is about another call than the approval; sign nothing, and tell whoever runs this manager"
    );
    let digest = canonical::sha256_hex(text.as_bytes());
    let sop = match &statement.sop {
        Some(sop) => format!("procedure: {} version {}, step {}\n", sop.id, sop.version, sop.step),
        None => String::new(),
    };
    let shown = format!(
        "call:      {}\nhost:      {} (edge {})\nskill:     {} ({})\narguments: {args:#}\n{sop}asked by:  {}\nvoid after: {}\n\
         statement: {text}\ndigest:    {digest}\n",
        statement.call_id,
        approval["edge_name"].as_str().unwrap_or("?"),
        statement.edge_id,
        statement.tool,
        approval["class"].as_str().unwrap_or("?"),
        statement.requester,
        statement.not_after.to_rfc3339(),
    );
    Ok(Checked { statement, text, shown })
}

async fn sign(
    client: &Client,
    id: ApprovalId,
    checked: &Checked,
    key: &Path,
    person: &str,
    host_name: Option<&str>,
) -> anyhow::Result<()> {
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&keyfile::read_private(key)?)
        .map_err(|_| anyhow::anyhow!("{} is no Ed25519 key", key.display()))?;
    let spki = keyfile::ed25519_spki(pair.public_key().as_ref());
    let key_id: String = canonical::sha256_hex(&spki).chars().take(16).collect();
    let signature = pair.sign(checked.text.as_bytes());
    let mut body = json!({
        "statement": checked.text,
        "signature": {"person": person, "key": key_id, "signature": STANDARD.encode(signature.as_ref())},
    });
    if let Some(name) = host_name {
        body["host_name"] = json!(name);
    }
    let after = client.post(&format!("/approvals/{id}/signatures"), &body).await?;
    let have = after["signing"]["signatures"].as_array().map_or(0, Vec::len);
    let needed = after["signing"]["needed"].as_u64().unwrap_or_default();
    local::print(&match after["state"].as_str() {
        Some("approved") => format!("signed: {have} of {needed}; the call is approved\n"),
        _ => format!("signed: {have} of {needed}\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CallId, EdgeId, Timestamp};

    fn statement(args: &Value) -> Statement {
        Statement {
            domain: Statement::domain(),
            call_id: CallId::generate(),
            edge_id: EdgeId(3),
            tool: "remove_path".to_owned(),
            definition_hash: "d".to_owned(),
            args_hash: Statement::hash_of(args),
            sop: None,
            requester: "ann".to_owned(),
            nonce: "00".repeat(32),
            not_after: Timestamp::from_timestamp(1_900_000_000, 0).unwrap(),
        }
    }

    #[test]
    fn what_is_shown_is_computed_again_from_the_call_and_a_lie_is_told() {
        let args = json!({"path": "/srv/old"});
        let statement = statement(&args);
        let approval = json!({
            "call_id": statement.call_id, "edge_id": 3, "edge_name": "web-1", "tool": "remove_path",
            "class": "dangerous",
        });
        let answer = json!({"statement": statement.text(), "args": args});
        let checked = check(&approval, &answer).unwrap();
        let digest = canonical::sha256_hex(statement.text().as_bytes());
        assert!(checked.shown.contains(&digest) && checked.shown.contains("/srv/old"), "{}", checked.shown);

        let other_args = json!({"statement": statement.text(), "args": {"path": "/srv/new"}});
        assert!(check(&approval, &other_args).err().unwrap().to_string().contains("sign nothing"));
        for (field, other) in [("call_id", json!("x")), ("edge_id", json!(4)), ("tool", json!("bash"))] {
            let mut other_call = approval.clone();
            other_call[field] = other;
            let problem = check(&other_call, &answer).err().unwrap().to_string();
            assert!(problem.contains("another call"), "{field}: {problem}");
        }
    }
}

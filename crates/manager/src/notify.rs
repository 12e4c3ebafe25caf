//! Tells a program outside when a call waits for a person: one signed POST with a link to the card. Arguments aren't sent.

use crate::config::NotifyConfig;
use anyhow::Context as _;
use hmac::{Hmac, KeyInit, Mac};
use model::{ApprovalId, ApprovalState};
use secrecy::{ExposeSecret as _, SecretSlice};
use serde_json::{Value, json};
use sha2::Sha256;
use std::sync::Arc;
use std::time::Duration;
use storage::Storage;
use storage::approvals::Approval;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use url::Url;

/// How long the program outside may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long until it is told again; after the last one it is given up.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];
/// Longest secret that is read, in bytes.
const MAX_SECRET_BYTES: u64 = 4096;

/// When the message was signed, in seconds since the epoch. Part of what is signed.
const TIMESTAMP: &str = "x-steadyhand-timestamp";
/// `sha256=` and the HMAC-SHA256, in hex, over the timestamp, a dot and the body.
const SIGNATURE: &str = "x-steadyhand-signature";

/// Tells a program outside when a call waits for a person.
#[derive(Clone)]
pub(crate) struct Notifier {
    http: reqwest::Client,
    url: Url,
    secret: Arc<SecretSlice<u8>>,
    console: String,
    storage: Storage,
}

impl Notifier {
    /// Reads the secret and makes ready. `console` is the address at which people open the console.
    ///
    /// # Errors
    ///
    /// Fails if the secret can't be read, or is shorter than 16 bytes.
    pub(crate) fn new(config: &NotifyConfig, console: &str, storage: Storage) -> anyhow::Result<Self> {
        let path = &config.secret_file;
        let read = || -> std::io::Result<Vec<u8>> {
            use std::io::Read as _;
            let mut secret = Vec::new();
            std::fs::File::open(path)?.take(MAX_SECRET_BYTES).read_to_end(&mut secret)?;
            Ok(secret)
        };
        let secret = read().with_context(|| {
            format!("security.approval.notify_secret_file: {} can't be read", path.display())
        })?;
        let secret = secret.trim_ascii().to_vec();
        anyhow::ensure!(
            secret.len() >= 16,
            "security.approval.notify_secret_file: the secret in {} must be at least 16 bytes long",
            path.display()
        );
        let http =
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(LIMIT).build()?;
        let console = console.trim_end_matches('/').to_owned();
        Ok(Self { http, url: config.url.clone(), secret: Arc::new(secret.into()), console, storage })
    }

    /// Tells of every approval that is asked for from now on, until `shutdown`.
    pub(crate) fn follow(self, shutdown: CancellationToken) {
        let mut changes = self.storage.approval_changes();
        tokio::spawn(async move {
            let telling = async {
                loop {
                    match changes.recv().await {
                        Ok(change) if change.state == ApprovalState::Pending => {
                            let (notifier, stop) = (self.clone(), shutdown.clone());
                            tokio::spawn(async move {
                                stop.run_until_cancelled(notifier.tell(change.approval_id)).await
                            });
                        }
                        Ok(_) => {}
                        Err(RecvError::Lagged(missed)) => {
                            tracing::warn!(
                                missed,
                                "too many approvals at once: nobody outside was told of some"
                            );
                        }
                        Err(RecvError::Closed) => return,
                    }
                }
            };
            shutdown.run_until_cancelled(telling).await;
        });
    }

    async fn tell(&self, id: ApprovalId) {
        for wait in AGAIN.iter().map(Some).chain([None]) {
            let problem = match self.storage.approvals().find(id).await {
                // Decided meanwhile, so nobody has to come.
                Ok(approval) if approval.as_ref().is_none_or(|it| it.state != ApprovalState::Pending) => {
                    return;
                }
                Ok(Some(approval)) => match self.send(&approval).await {
                    Ok(()) => return,
                    Err(error) => error.without_url().to_string(),
                },
                Ok(None) => return,
                Err(error) => error.to_string(),
            };
            tracing::warn!(approval.id = %id, problem, again = wait.is_some(), "the program outside was not told that a call waits");
            if let Some(wait) = wait {
                tokio::time::sleep(*wait).await;
            }
        }
    }

    async fn send(&self, approval: &Approval) -> Result<(), reqwest::Error> {
        let body = message(approval, &self.console).to_string();
        let timestamp = self.storage.now().timestamp().to_string();
        let signature = signature(self.secret.expose_secret(), &timestamp, &body);
        let request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header(TIMESTAMP, timestamp)
            .header(SIGNATURE, format!("sha256={signature}"))
            .body(body);
        request.send().await?.error_for_status().map(drop)
    }
}

/// What is told: what waits and where to look, and none of its arguments.
fn message(approval: &Approval, console: &str) -> Value {
    let call = &approval.call;
    json!({
        "kind": "approval.asked", "approval_id": approval.id, "call_id": call.id, "tool": call.tool,
        "tool_name": approval.tool_label, "class": call.class, "edge_name": call.edge_name,
        "requested_by": approval.person_name, "decide_by": approval.decide_by,
        "url": format!("{console}/approvals/{}", approval.id),
    })
}

fn signature(secret: &[u8], timestamp: &str, body: &str) -> String {
    // A key of any length is taken.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(secret) else { return String::new() };
    for part in [timestamp, ".", body] {
        mac.update(part.as_bytes());
    }
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_hmac_over_timestamp_dot_and_body() {
        // The same as `printf '1700000000.{}' | openssl dgst -sha256 -hmac 'a secret of some length'`.
        let told = signature(b"a secret of some length", "1700000000", "{}");
        assert_eq!(told, "9008b8e96ac884fb56cbbbb39d8c4b578c2c6de7951cbcce7f1f18311f3cd9f2");
    }
}

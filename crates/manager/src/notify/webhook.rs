//! A program outside: one signed POST for each call that waits.

use super::{Asked, http, read_secret};
use crate::config::WebhookConfig;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sha2::Sha256;
use url::Url;

/// When the message was signed, in seconds since the epoch. Part of what is signed.
const TIMESTAMP: &str = "x-steadyhand-timestamp";
/// `sha256=` and the HMAC-SHA256, in hex, over the timestamp, a dot and the body.
const SIGNATURE: &str = "x-steadyhand-signature";

pub(super) struct Webhook {
    http: reqwest::Client,
    url: Url,
    secret: SecretString,
}

impl Webhook {
    pub(super) fn new(config: &WebhookConfig) -> anyhow::Result<Self> {
        let secret = read_secret("security.approval.notify_secret_file", &config.secret_file, 16)?;
        Ok(Self { http: http()?, url: config.url.clone(), secret })
    }

    pub(super) async fn tell(&self, asked: &Asked<'_>) -> Result<(), reqwest::Error> {
        let body = message(asked).to_string();
        let timestamp = asked.now.timestamp().to_string();
        let signature = signature(self.secret.expose_secret().as_bytes(), &timestamp, &body);
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
fn message(asked: &Asked<'_>) -> Value {
    let approval = asked.approval;
    let call = &approval.call;
    json!({
        "kind": "approval.asked", "approval_id": approval.id, "call_id": call.id, "tool": call.tool,
        "tool_name": approval.tool_label, "class": call.class, "edge_name": call.edge_name,
        "requested_by": approval.person_name, "decide_by": approval.decide_by, "url": asked.url,
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

//! A push message to phones, by a server that speaks ntfy's protocol: JSON to the server's root, with the topic in it
//! (<https://docs.ntfy.sh/publish/#publish-as-json>).

use super::{Asked, http, read_secret};
use crate::config::PushConfig;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

/// ntfy's scale goes from 1 to 5; this is "high".
const PRIORITY: u8 = 4;

pub(super) struct Push {
    http: reqwest::Client,
    server: Url,
    topic: String,
    token: Option<SecretString>,
}

impl Push {
    pub(super) fn new(config: &PushConfig) -> anyhow::Result<Self> {
        let token = config
            .token_file
            .as_ref()
            .map(|path| read_secret("security.approval.push_token_file", path, 1))
            .transpose()?;
        Ok(Self { http: http()?, server: config.server.clone(), topic: config.topic.clone(), token })
    }

    pub(super) async fn tell(&self, asked: &Asked<'_>) -> Result<(), reqwest::Error> {
        let mut request = self.http.post(self.server.clone()).json(&message(&self.topic, asked));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        request.send().await?.error_for_status().map(drop)
    }
}

fn message(topic: &str, asked: &Asked<'_>) -> Value {
    json!({
        "topic": topic, "title": asked.title(), "message": asked.text(), "click": asked.url, "priority": PRIORITY,
    })
}

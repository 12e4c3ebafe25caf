//! An operator's session over the real API.

use crate::events::EventStream;
use anyhow::{Context, Result, ensure};
use reqwest::{Client, Method, StatusCode, header};
use serde_json::{Value, json};

/// One answer of the API.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its JSON body; `Null` if it has none.
    pub body: Value,
}

impl Reply {
    /// The body of a success.
    ///
    /// # Errors
    ///
    /// Fails with status and body of anything else.
    pub fn ok(self) -> Result<Value> {
        ensure!(self.status.is_success(), "{}: {}", self.status, self.body);
        Ok(self.body)
    }
}

/// A browser without a screen: the cookie, the CSRF token, and the API's base.
#[derive(Clone, Debug)]
pub struct Session {
    client: Client,
    base: String,
    cookie: Option<String>,
    csrf: Option<String>,
}

impl Session {
    /// Nobody yet, at this console.
    pub fn new(console: &str) -> Self {
        let client = Client::builder().no_proxy().build().unwrap_or_default();
        Self { client, base: console.trim_end_matches('/').to_owned(), cookie: None, csrf: None }
    }

    /// Signs in.
    ///
    /// # Errors
    ///
    /// Fails if it is refused.
    pub async fn sign_in(&mut self, name: &str, password: &str) -> Result<Value> {
        self.remember(Method::POST, "/sign-in", json!({"name": name, "password": password})).await
    }

    /// Changes one's own password.
    ///
    /// # Errors
    ///
    /// Fails if it is refused.
    pub async fn change_password(&mut self, current: &str, new: &str) -> Result<Value> {
        self.remember(Method::POST, "/me/password", json!({"current": current, "new": new})).await
    }

    /// A request whose answer may bring a new cookie and CSRF token.
    async fn remember(&mut self, method: Method, path: &str, body: Value) -> Result<Value> {
        let response = self.request(method, path).json(&body).send().await?;
        if let Some(cookie) = response.headers().get(header::SET_COOKIE) {
            let cookie = cookie.to_str()?.split(';').next().unwrap_or_default();
            self.cookie = Some(cookie.to_owned());
        }
        let me = read(response).await?.ok()?;
        self.csrf = me["csrf_token"].as_str().map(str::to_owned);
        Ok(me)
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method, format!("{}/api/v1{path}", self.base));
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        if let Some(csrf) = &self.csrf {
            request = request.header("x-steadyhand-csrf", csrf);
        }
        request
    }

    /// GET.
    ///
    /// # Errors
    ///
    /// Fails only if no answer comes.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        read(self.request(Method::GET, path).send().await?).await
    }

    /// POST with a JSON body.
    ///
    /// # Errors
    ///
    /// Fails only if no answer comes.
    pub async fn post(&self, path: &str, body: Value) -> Result<Reply> {
        read(self.request(Method::POST, path).json(&body).send().await?).await
    }

    /// PUT with a JSON body.
    ///
    /// # Errors
    ///
    /// Fails only if no answer comes.
    pub async fn put(&self, path: &str, body: Value) -> Result<Reply> {
        read(self.request(Method::PUT, path).json(&body).send().await?).await
    }

    /// PATCH with a JSON body.
    ///
    /// # Errors
    ///
    /// Fails only if no answer comes.
    pub async fn patch(&self, path: &str, body: Value) -> Result<Reply> {
        read(self.request(Method::PATCH, path).json(&body).send().await?).await
    }

    /// DELETE.
    ///
    /// # Errors
    ///
    /// Fails only if no answer comes.
    pub async fn delete(&self, path: &str) -> Result<Reply> {
        read(self.request(Method::DELETE, path).send().await?).await
    }

    /// Opens the live stream: with everything durable after `after`, or from this moment on.
    ///
    /// # Errors
    ///
    /// Fails if it is refused.
    pub async fn events(&self, after: Option<i64>) -> Result<EventStream> {
        let mut request = self.request(Method::GET, "/events").header(header::ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.send().await?;
        ensure!(response.status().is_success(), "the stream was refused: {}", response.status());
        Ok(EventStream::new(response))
    }

    /// Waits until the host with this name is online, and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the stream ends first.
    pub async fn wait_online(&self, name: &str) -> Result<Value> {
        self.wait_host(name, |host| host["state"] == "online").await
    }

    /// Waits until the host with this name is as wanted. The stream is opened before the first look, so that no
    /// change is missed.
    ///
    /// # Errors
    ///
    /// Fails if the stream ends first.
    pub async fn wait_host(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut events = self.events(None).await?;
        loop {
            let hosts = self.get("/hosts").await?.ok()?;
            let found = hosts["items"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|host| host["name"] == name && wanted(host));
            if let Some(host) = found {
                return Ok(host.clone());
            }
            events.next_of("hosts.changed.v1").await.with_context(|| format!("waiting for host {name}"))?;
        }
    }

    /// Opens a chat and returns its id.
    ///
    /// # Errors
    ///
    /// Fails if it is refused.
    pub async fn new_chat(&self) -> Result<String> {
        let session = self.post("/sessions", json!({})).await?.ok()?;
        session["id"].as_str().map(str::to_owned).context("the chat has no id")
    }

    /// Says something in a chat and waits for the turn's end. Returns every durable event of the turn.
    ///
    /// # Errors
    ///
    /// Fails if the turn is refused or the stream ends first.
    pub async fn say(&self, chat: &str, text: &str) -> Result<Vec<Value>> {
        let mut events = self.events(None).await?;
        let turn =
            self.post(&format!("/sessions/{chat}/turns"), json!({"text": text})).await?.ok()?["turn_id"]
                .clone();
        loop {
            let event = events.next_of("chat.turn-finished.v1").await?;
            if event.data["turn_id"] == turn {
                break;
            }
        }
        self.turn_events(chat, &turn).await
    }

    /// Every durable event of one turn, from the replay.
    ///
    /// # Errors
    ///
    /// Fails if the chat isn't there.
    pub async fn turn_events(&self, chat: &str, turn: &Value) -> Result<Vec<Value>> {
        let replay = self.get(&format!("/sessions/{chat}/events?limit=1000")).await?.ok()?;
        let items = replay["items"].as_array().cloned().unwrap_or_default();
        Ok(items.into_iter().filter(|event| &event["turn_id"] == turn).collect())
    }
}

async fn read(response: reqwest::Response) -> Result<Reply> {
    let status = response.status();
    let bytes = response.bytes().await?;
    let body =
        if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap_or(Value::Null) };
    Ok(Reply { status, body })
}

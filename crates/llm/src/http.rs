//! One request to a model server: connection, time limits, retries, and refusals turned into typed errors.

use crate::LlmError;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use rand::RngExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Most bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Most characters of a provider's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 400;
/// The longest wait that a provider may ask for before a retry; a longer one is left to the operator.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(20);

/// Where and as whom a model is asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The name of the configuration, shown as the provider.
    pub name: String,
    /// The server. With or without the protocol's version path.
    pub base_url: Url,
    /// The key, if the server wants one.
    pub api_key: Option<SecretString>,
    /// The model.
    pub model: String,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to ask again where nothing of an answer had arrived.
    pub retries: u32,
}

impl Endpoint {
    /// An endpoint with the usual limits.
    pub fn new(
        name: impl Into<String>,
        base_url: Url,
        api_key: Option<SecretString>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            base_url,
            api_key,
            model: model.into(),
            timeouts: Timeouts::default(),
            retries: 2,
        }
    }

    /// The address of an operation. A base without a path gets the version, as people leave it out.
    pub(crate) fn operation(&self, version: &str, operation: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let base = if base.is_empty() { format!("/{version}") } else { base };
        url.set_path(&format!("{base}/{operation}"));
        url
    }
}

/// How long to wait for a model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer. Long: a model on a CPU reads slowly.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            silence: Duration::from_secs(60),
        }
    }
}

/// Makes the client of one endpoint. Redirects are off: they would carry the key elsewhere.
pub(crate) fn client(endpoint: &Endpoint) -> Result<Client, LlmError> {
    Client::builder()
        .connect_timeout(endpoint.timeouts.connect)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("steadyhand/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| LlmError::Network(chain(&error)))
}

/// The body of an answer with status 200.
pub(crate) struct Answer {
    is_json: bool,
    first: Option<Bytes>,
    rest: BoxStream<'static, reqwest::Result<Bytes>>,
    silence: Duration,
}

impl Answer {
    /// Whether it is one JSON document, as servers send that don't stream.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self, cancel: &CancellationToken) -> Result<Option<Bytes>, LlmError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let next = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(LlmError::Cancelled),
            next = timeout(self.silence, self.rest.next()) => next,
        };
        match next {
            Err(_) => Err(LlmError::Network(format!("it went silent for {} s", self.silence.as_secs_f32()))),
            Ok(None) => Ok(None),
            Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
            Ok(Some(Err(error))) => Err(LlmError::Network(chain(&error))),
        }
    }
}

/// Sends a request until an answer begins to arrive. Asks again, with jitter, only where nothing had arrived.
pub(crate) async fn open(
    request: &RequestBuilder,
    endpoint: &Endpoint,
    cancel: &CancellationToken,
) -> Result<Answer, LlmError> {
    let mut attempt = 0;
    loop {
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(LlmError::Cancelled),
            outcome = try_open(request, endpoint) => outcome,
        };
        let error = match outcome {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let asked = error.retry_after().unwrap_or_default();
        if attempt >= endpoint.retries || !error.is_transient() || asked > MAX_RETRY_AFTER {
            return Err(error);
        }
        let jitter = Duration::from_millis(rand::rng().random_range(100..=500 * 2_u64.pow(attempt.min(4))));
        tracing::debug!(error = %error, attempt, "the model did not answer, asking again");
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(LlmError::Cancelled),
            () = sleep(asked + jitter) => {}
        }
        attempt += 1;
    }
}

async fn try_open(request: &RequestBuilder, endpoint: &Endpoint) -> Result<Answer, LlmError> {
    let request =
        request.try_clone().ok_or_else(|| LlmError::Network("the request can't be repeated".to_owned()))?;
    let limits = endpoint.timeouts;
    let too_late = |_| LlmError::Network(format!("no answer within {} s", limits.first_byte.as_secs_f32()));
    let work = async {
        let response = request.send().await.map_err(|error| LlmError::Network(chain(&error)))?;
        let status = response.status();
        let headers = response.headers().clone();
        let mut rest = response.bytes_stream().boxed();
        if status != StatusCode::OK {
            let body = read_refusal(&mut rest).await;
            return Err(refusal(status, &headers, &body, endpoint.api_key.as_ref()));
        }
        let is_json = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.trim_start().starts_with("application/json"));
        let first = match rest.next().await {
            None => None,
            Some(first) => Some(first.map_err(|error| LlmError::Network(chain(&error)))?),
        };
        Ok(Answer { is_json, first, rest, silence: limits.silence })
    };
    timeout(limits.first_byte, work).await.map_err(too_late)?
}

async fn read_refusal(rest: &mut BoxStream<'static, reqwest::Result<Bytes>>) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(Ok(bytes)) = rest.next().await {
        let room = MAX_REFUSAL_BYTES - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if body.len() == MAX_REFUSAL_BYTES {
            break;
        }
    }
    body
}

fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8], key: Option<&SecretString>) -> LlmError {
    let retry_after = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.trim().parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let document = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
    let (code, message) = error_words(&document);
    let message = message.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
    let message = match key.map(ExposeSecret::expose_secret) {
        Some(key) if !key.is_empty() => message.replace(key, "[the key]"),
        _ => message,
    };
    let message = if message.is_empty() { status.to_string() } else { format!("{message} ({status})") };
    classify(status.as_u16(), &code, &shorten(&message), retry_after)
}

/// Code and message of an error document, in the shapes that servers use.
pub(crate) fn error_words(document: &Value) -> (String, Option<String>) {
    let error = document.get("error").unwrap_or(document);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let code = text(error.get("code")).or_else(|| text(error.get("type"))).unwrap_or_default();
    let kind = text(error.get("type")).unwrap_or_default();
    let message = text(error.get("message"))
        .or_else(|| text(document.get("message")))
        .or_else(|| text(document.get("detail")))
        .or_else(|| text(Some(error)));
    (format!("{code} {kind}"), message)
}

/// Cuts a provider's message to what a person reads.
pub(crate) fn shorten(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// The error that a status, a code and a message stand for. Status 200 is for errors inside of a stream.
pub(crate) fn classify(status: u16, code: &str, message: &str, retry_after: Option<Duration>) -> LlmError {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| code.contains(word) || lower.contains(word));
    let message = message.to_owned();
    if says(&[
        "context_length_exceeded",
        "context length",
        "context window",
        "context size",
        "prompt is too long",
        "request_too_large",
    ]) {
        return LlmError::ContextTooLong(message);
    }
    if says(&["insufficient_quota", "credit balance", "billing_error"]) || status == 402 {
        return LlmError::Quota(message);
    }
    if says(&["content_filter", "content_policy"]) {
        return LlmError::ContentFilter(message);
    }
    match status {
        401 | 403 => return LlmError::Auth(message),
        429 => return LlmError::RateLimited { message, retry_after },
        408 => return LlmError::Network(message),
        413 => return LlmError::ContextTooLong(message),
        500..=599 => return LlmError::Overloaded { message, retry_after },
        300..=499 => return LlmError::BadRequest(message),
        _ => {}
    }
    match () {
        () if says(&["authentication", "permission_error", "invalid_api_key"]) => LlmError::Auth(message),
        () if says(&["rate_limit"]) => LlmError::RateLimited { message, retry_after },
        () if says(&["overloaded", "server_error", "api_error", "unavailable"]) => {
            LlmError::Overloaded { message, retry_after }
        }
        () if says(&["invalid_request"]) => LlmError::BadRequest(message),
        () => LlmError::Protocol(message),
    }
}

/// An error with its causes, without the address (which may hold a key).
fn chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() {
        "the connection failed".to_owned()
    } else if error.is_timeout() {
        "it took too long".to_owned()
    } else {
        "the connection broke".to_owned()
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    shorten(&text)
}

//! One request to a model server: connection, time limits, retries, and refusals turned into typed errors.

use crate::{LlmError, ModelLabel};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use rand::RngExt;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Certificate, Client, Proxy, RequestBuilder, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    /// Keys that are used in turn where one is used up or refused.
    pub more_keys: Vec<SecretString>,
    /// Which of the keys is used, from 0 for `api_key`. Shared by the copies of an endpoint.
    pub key_in_use: Arc<AtomicUsize>,
    /// The model.
    pub model: String,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to ask again where nothing of an answer had arrived.
    pub retries: u32,
    /// The HTTP proxy to go through. Without one, the usual variables of the environment count.
    pub proxy: Option<Url>,
    /// Certificates, as PEM, that are trusted besides those of the system.
    pub ca_pem: Option<Arc<[u8]>>,
    /// Tokens that the model reads at most, where that must be asked for (Ollama). 0: as much as the request needs.
    pub context_tokens: u32,
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
            more_keys: Vec::new(),
            key_in_use: Arc::new(AtomicUsize::new(0)),
            model: model.into(),
            timeouts: Timeouts::default(),
            retries: 2,
            proxy: None,
            ca_pem: None,
            context_tokens: 0,
        }
    }

    /// What to call the model in the console.
    pub(crate) fn label(&self) -> ModelLabel {
        ModelLabel { provider: self.name.clone(), model: self.model.clone(), builtin: false }
    }

    /// All keys, empty ones left out.
    fn keys(&self) -> Vec<&SecretString> {
        let keys = self.api_key.iter().chain(&self.more_keys);
        keys.filter(|key| !key.expose_secret().is_empty()).collect()
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
    let mut builder = Client::builder()
        .connect_timeout(endpoint.timeouts.connect)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("steadyhand/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &endpoint.proxy {
        let proxy = Proxy::all(proxy.clone())
            .map_err(|error| LlmError::Network(format!("the proxy can't be used: {}", chain(&error))))?;
        builder = builder.proxy(proxy);
    }
    if let Some(pem) = &endpoint.ca_pem {
        let bad = |why: String| LlmError::Network(format!("the CA file can't be used: {why}"));
        let certificates = Certificate::from_pem_bundle(pem).map_err(|error| bad(chain(&error)))?;
        if certificates.is_empty() {
            return Err(bad("it holds no certificate in PEM form".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| LlmError::Network(chain(&error)))
}

/// Makes one form of a request, with the key that it is to be sent with.
pub(crate) type Form<'f> = &'f (dyn Fn(Option<&SecretString>) -> Result<RequestBuilder, LlmError> + Sync);

/// A header that holds a key.
///
/// # Errors
///
/// Fails if the key can't stand in a header.
pub(crate) fn key_header(key: &SecretString) -> Result<reqwest::header::HeaderValue, LlmError> {
    let mut value = reqwest::header::HeaderValue::from_str(key.expose_secret().trim())
        .map_err(|_| LlmError::Auth("the key holds characters that no key has".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
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

/// Sends a request until an answer begins to arrive. Asks again, with jitter, only where nothing had arrived; where a
/// key is used up or refused, with the next one first.
pub(crate) async fn open(
    form: Form<'_>,
    endpoint: &Endpoint,
    cancel: &CancellationToken,
) -> Result<Answer, LlmError> {
    let keys = endpoint.keys();
    let mut attempt = 0;
    let mut keys_left = keys.len().saturating_sub(1);
    loop {
        let place = endpoint.key_in_use.load(Ordering::Relaxed);
        let key = keys.get(place % keys.len().max(1)).copied();
        let request = form(key)?;
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(LlmError::Cancelled),
            outcome = try_open(request, endpoint) => outcome,
        };
        let error = match outcome {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if keys_left > 0 && error.is_of_the_key() {
            keys_left -= 1;
            let next = (place + 1) % keys.len();
            // Another request may have turned to the next key at the same time.
            let _ = endpoint.key_in_use.compare_exchange(place, next, Ordering::Relaxed, Ordering::Relaxed);
            tracing::info!(model.provider = endpoint.name, error = %error, "turning to the next key of a model");
            continue;
        }
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

async fn try_open(request: RequestBuilder, endpoint: &Endpoint) -> Result<Answer, LlmError> {
    let limits = endpoint.timeouts;
    let too_late = |_| LlmError::Network(format!("no answer within {} s", limits.first_byte.as_secs_f32()));
    let work = async {
        let response = request.send().await.map_err(|error| LlmError::Network(chain(&error)))?;
        let status = response.status();
        let headers = response.headers().clone();
        let mut rest = response.bytes_stream().boxed();
        if status != StatusCode::OK {
            let body = read_refusal(&mut rest).await;
            return Err(refusal(status, &headers, &body, &endpoint.keys()));
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

fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8], keys: &[&SecretString]) -> LlmError {
    let document = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
    // Gemini sends a list of one.
    let document = match document {
        Value::Array(mut items) if !items.is_empty() => items.swap_remove(0),
        other => other,
    };
    let retry_after = retry_after(headers).or_else(|| retry_delay(&document));
    let (code, message) = error_words(&document);
    let mut message = message.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
    for key in keys {
        message = message.replace(key.expose_secret(), "[the key]");
    }
    let message = if message.is_empty() { status.to_string() } else { format!("{message} ({status})") };
    classify(status.as_u16(), &code, &shorten(&message), retry_after)
}

/// How long to wait by the headers: in milliseconds, in seconds, or until a time by the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|text| text.parse::<f64>().ok());
    if let Some(millis) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(millis / 1_000.0).ok();
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let time = |name: &str| chrono::DateTime::parse_from_rfc2822(text(name)?).ok();
    let (until, now) = (time(RETRY_AFTER.as_str())?, time(DATE.as_str())?);
    Some((until - now).to_std().unwrap_or_default())
}

/// The delay in the details of a Google error: `{"@type": "…RetryInfo", "retryDelay": "3.5s"}`.
fn retry_delay(document: &Value) -> Option<Duration> {
    let details = document.get("error")?.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// Code and message of an error document, in the shapes that servers use.
pub(crate) fn error_words(document: &Value) -> (String, Option<String>) {
    let error = document.get("error").unwrap_or(document);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let mut codes: Vec<String> =
        ["code", "type", "status"].iter().filter_map(|f| text(error.get(*f))).collect();
    for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
        codes.extend(text(detail.get("reason")));
        // Google tells which of its limits was met only by the limit's name.
        let violations = detail.get("violations").and_then(Value::as_array);
        codes.extend(violations.into_iter().flatten().filter_map(|violation| text(violation.get("quotaId"))));
    }
    let inner = error.get("metadata").and_then(|metadata| text(metadata.get("raw")));
    let message = text(error.get("message"))
        .or_else(|| text(document.get("message")))
        .or_else(|| text(document.get("detail")))
        .or_else(|| text(Some(error)));
    let message = match (message, inner) {
        // OpenRouter's own words say only that its provider failed; the provider's come along.
        (Some(message), Some(inner)) => Some(format!("{message}: {inner}")),
        (message, inner) => message.or(inner),
    };
    (codes.join(" "), message)
}

/// The status that an error inside of a stream names, or 200.
pub(crate) fn status_in(document: &Value) -> u16 {
    let code = document.get("error").and_then(|error| error.get("code")).and_then(Value::as_u64);
    code.and_then(|code| u16::try_from(code).ok()).filter(|code| (300..600).contains(code)).unwrap_or(200)
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
        "context_size",
        "prompt is too long",
        "input is too long",
        "exceeds the maximum number of tokens",
        "request_too_large",
    ]) {
        return LlmError::ContextTooLong(message);
    }
    if says(&[
        "insufficient_quota",
        "credit balance",
        "billing_error",
        "billing_hard_limit",
        "billing_not_active",
        "insufficient balance",
        "insufficient credits",
        "PerDay",
    ]) || status == 402
    {
        return LlmError::Quota(message);
    }
    if says(&["content_filter", "content_policy", "content management policy", "flagged by moderation"]) {
        return LlmError::ContentFilter(message);
    }
    // Google's 400 for a wrong key.
    if says(&["API_KEY_INVALID"]) {
        return LlmError::Auth(message);
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
        () if says(&["authentication", "permission_error", "invalid_api_key", "PERMISSION_DENIED"]) => {
            LlmError::Auth(message)
        }
        () if says(&["rate_limit", "RESOURCE_EXHAUSTED", "too many requests"]) => {
            LlmError::RateLimited { message, retry_after }
        }
        () if says(&[
            "overloaded",
            "server_error",
            "api_error",
            "unavailable",
            "UNAVAILABLE",
            "INTERNAL",
        ]) =>
        {
            LlmError::Overloaded { message, retry_after }
        }
        () if says(&["invalid_request", "INVALID_ARGUMENT"]) => LlmError::BadRequest(message),
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

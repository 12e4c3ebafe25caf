//! Requests a URL and tells what happened, step by step. A bad certificate is a fact, not an error.

use crate::support::errors::invalid;
use crate::support::net::connect::FailureKind;
use crate::support::net::request::{self, Exchange, MAX_BODY, Response, Timings};
use crate::support::net::tls::TlsReport;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::{Metadata, Skill, SkillContext, SkillError};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

pub(crate) struct ProbeHttp;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// An `http://` or `https://` URL.
    #[schemars(length(min = 1, max = 2048))]
    url: String,
    /// `GET` also reads the body, up to 64 KiB of text.
    #[serde(default)]
    method: Method,
    /// Time for the whole request including redirects, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1, max = 30_000))]
    timeout_ms: u32,
    /// Extra request headers, for example {"Accept": "application/json"}. With any of them the call counts as mutating and needs an approval.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// How many redirects to follow.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    follow: u32,
}

fn default_timeout_ms() -> u32 {
    5000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    #[default]
    Get,
    Head,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The URL that answered last, after redirects.
    url: String,
    /// Whether a response came, whatever its status.
    responded: bool,
    /// Status code.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The usual words for the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_text: Option<String>,
    /// Why no response came, or why it broke off.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<FailureKind>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The address that was connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Protocol version, for example `HTTP/1.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    http_version: Option<String>,
    /// Time for each step of the last request, in milliseconds.
    timings_ms: Timings,
    /// TLS and the certificate. Left out for `http://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<TlsReport>,
    /// Redirects that were followed, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirects: Vec<Redirect>,
    /// Where the response points, if it is a redirect that was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    /// Response headers.
    headers: BTreeMap<String, String>,
    /// Size that the response declares, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_length: Option<u64>,
    /// How many bytes of the body were read.
    body_bytes: u64,
    /// Whether the body goes on after what was read.
    body_cut: bool,
    /// The body, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Redirect {
    /// The URL that redirected.
    url: String,
    /// Its status code.
    status: u16,
    /// Where to.
    location: String,
    /// How long this request took, in milliseconds.
    total_ms: f64,
}

impl Skill for ProbeHttp {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "probe_http",
        name: "HTTP request",
        description: "Request a URL from the host with HEAD or GET and report status, timings (DNS, connect, TLS, first byte, total), TLS version, the certificate chain with expiry and whether it verifies, sizes, headers and the start of a text body.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "200 OK in 84 ms, TLS 1.3, certificate valid for 61 days",
        prerequisites: &[],
    };

    const CLASSED_BY: Option<&str> = Some("headers");

    fn classify(args: &Value) -> Class {
        let without_headers = match args.get("headers") {
            None => true,
            Some(headers) => headers.as_object().is_some_and(serde_json::Map::is_empty),
        };
        if without_headers { Class::Safe } else { Class::Mutating }
    }

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let deadline = Instant::now() + Duration::from_millis(params.timeout_ms.into());
        let mut url = parse_url(&params.url)?;
        let mut headers = parse_headers(&params.headers)?;
        let mut redirects = Vec::new();
        let mut notes = Vec::new();
        loop {
            let exchange = request::send(&cx.host, params.method.in_http(), &url, &headers, deadline).await?;
            let next = next_url(&url, &exchange, &mut notes);
            let Some(next) = next.filter(|_| redirects.len() < params.follow as usize) else {
                return Ok(Output::of(&url, params.method, exchange, redirects, notes));
            };
            redirects.push(Redirect {
                url: url.to_string(),
                status: exchange.response.map_or(0, |response| response.status.as_u16()),
                location: next.to_string(),
                total_ms: exchange.timings.total,
            });
            if next.origin() != url.origin() && !headers.is_empty() {
                // They may hold credentials that are meant for the first place only.
                headers.clear();
                notes.push(format!(
                    "the given headers were not sent to {}",
                    next.origin().ascii_serialization()
                ));
            }
            url = next;
        }
    }
}

impl Output {
    fn of(
        url: &Url,
        method: Method,
        exchange: Exchange,
        redirects: Vec<Redirect>,
        mut notes: Vec<String>,
    ) -> Self {
        let (error_kind, error) = exchange.failure.map(|failure| (failure.error_kind, failure.error)).unzip();
        let response = exchange.response;
        let head = response.as_ref();
        let content_length = head.and_then(|response| {
            response.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
        });
        let body = match head {
            Some(response) if method == Method::Get => text_body(response, &mut notes),
            _ => None,
        };
        Self {
            url: url.to_string(),
            responded: head.is_some(),
            status: head.map(|response| response.status.as_u16()),
            status_text: head.and_then(|response| response.status.canonical_reason()).map(str::to_owned),
            error_kind,
            error,
            address: exchange.address,
            http_version: head.map(|response| format!("{:?}", response.version)),
            timings_ms: exchange.timings,
            tls: exchange.tls,
            redirects,
            location: head.and_then(|response| location(&response.headers)),
            headers: head.map(|response| shown_headers(&response.headers)).unwrap_or_default(),
            content_length,
            body_bytes: head.map_or(0, |response| response.body.len() as u64),
            body_cut: head.is_some_and(|response| response.cut),
            body,
            notes,
        }
    }
}

impl Method {
    fn in_http(self) -> http::Method {
        match self {
            Self::Get => http::Method::GET,
            Self::Head => http::Method::HEAD,
        }
    }
}

/// Reads the URL. The errors say what would be right.
fn parse_url(text: &str) -> Result<Url, SkillError> {
    let text = text.trim();
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => {
            invalid(format!("`{text}` is not a whole URL; write it as `https://{text}`"))
        }
        other => invalid(format!("`{text}` is not a URL: {other}")),
    })?;
    check_url(&url).map(|()| url)
}

fn check_url(url: &Url) -> Result<(), SkillError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid(format!("`{}://` is not supported; use http or https", url.scheme())));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(invalid("the URL has no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("a URL with a user name or password is not sent; they would end up in logs"));
    }
    if url.port() == Some(0) {
        return Err(invalid("port 0 is not a port"));
    }
    Ok(())
}

/// Reads the extra headers. Those that frame the message stay ours.
fn parse_headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, SkillError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let lower = name.to_ascii_lowercase();
        if ["content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"]
            .contains(&lower.as_str())
        {
            return Err(invalid(format!("the header `{name}` can't be set")));
        }
        let key =
            HeaderName::try_from(lower).map_err(|_| invalid(format!("`{name}` is not a header name")))?;
        let value = HeaderValue::try_from(value).map_err(|_| {
            invalid(format!("the value of the header `{name}` has characters that are not allowed"))
        })?;
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Where a redirect leads, if it leads to a place that could be asked.
fn next_url(url: &Url, exchange: &Exchange, notes: &mut Vec<String>) -> Option<Url> {
    let response = exchange.response.as_ref().filter(|response| response.status.is_redirection())?;
    let location = location(&response.headers)?;
    match url.join(&location) {
        Ok(next) => match check_url(&next) {
            Ok(()) => Some(next),
            Err(error) => {
                notes.push(format!("the redirect can't be followed: {error}"));
                None
            }
        },
        Err(error) => {
            notes.push(format!("the redirect can't be followed: `{location}`: {error}"));
            None
        }
    }
}

fn location(headers: &HeaderMap) -> Option<String> {
    headers.get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Headers as text, repeated ones joined, long ones cut.
fn shown_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    const MAX_HEADERS: usize = 100;
    const MAX_VALUE: usize = 2048;
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers.iter().take(MAX_HEADERS) {
        let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_VALUE).collect();
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&text);
            })
            .or_insert(text);
    }
    shown
}

/// The body, if it is text; a note if it isn't.
fn text_body(response: &Response, notes: &mut Vec<String>) -> Option<String> {
    if response.body.is_empty() {
        return None;
    }
    let content_type = response
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let whole_characters = match std::str::from_utf8(&response.body) {
        Ok(_) => response.body.len(),
        // A character that the limit cut in two.
        Err(error) if response.cut && error.error_len().is_none() => error.valid_up_to(),
        Err(_) => 0,
    };
    match std::str::from_utf8(&response.body[..whole_characters]) {
        Ok(text) if !text.is_empty() && !text.contains('\0') => {
            if response.cut {
                notes.push(format!("only the first {} KiB of the body were read", MAX_BODY / 1024));
            }
            Some(text.to_owned())
        }
        _ => {
            notes.push(format!("the body is not UTF-8 text ({content_type}) and left out"));
            None
        }
    }
}

#[cfg(test)]
mod tests;

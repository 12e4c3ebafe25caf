//! One HTTP/1.1 request, with the time that each step took. No pool, no proxy, no redirects, no cookies: what is
//! measured is what happened.

use super::connect::{Failure, FailureKind, connect_any, kind_of, milliseconds};
use super::target::Target;
use super::tls::{self, TlsReport};
use super::{resolve, rules};
use crate::support::errors::{blocking, plain};
use bytes::Bytes;
use http::header::{ACCEPT, HOST, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use schemars::JsonSchema;
use serde::Serialize;
use skill::{Host, SkillError};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use url::Url;

/// Most bytes of a body that are read.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// How long each step took, in milliseconds. They add up to `total`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Timings {
    /// Looking up the name.
    pub(crate) dns: f64,
    /// Connecting, with addresses that didn't answer.
    pub(crate) connect: f64,
    /// The TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<f64>,
    /// From sending the request to the head of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte: Option<f64>,
    /// Reading the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<f64>,
    /// The whole. Where a step failed, with the time that it took to fail.
    pub(crate) total: f64,
}

impl Timings {
    fn sum(&self) -> f64 {
        let later = [self.tls, self.first_byte, self.body].into_iter().flatten().sum::<f64>();
        ((self.dns + self.connect + later) * 1000.0).round() / 1000.0
    }
}

/// What one request came to; each part is there as far as it got.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) timings: Timings,
    pub(crate) address: Option<String>,
    pub(crate) tls: Option<TlsReport>,
    pub(crate) response: Option<Response>,
    pub(crate) failure: Option<Failure>,
}

/// A response, with the start of its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) version: http::Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The body is longer than what was read.
    pub(crate) cut: bool,
}

/// Sends one request and reads the head and the start of the body.
///
/// # Errors
///
/// A rule forbids the address. Everything else that goes wrong is in the exchange.
pub(crate) async fn send(
    host: &Arc<dyn Host>,
    method: Method,
    url: &Url,
    headers: &HeaderMap,
    deadline: Instant,
) -> Result<Exchange, SkillError> {
    let mut exchange = Exchange::default();
    let begun = Instant::now();
    let steps = run(host, method, url, headers, deadline, &mut exchange);
    match timeout_at(deadline, steps).await {
        Ok(outcome) => exchange.failure = outcome?.err(),
        Err(_) => {
            let step = exchange.step();
            exchange.failure = Some(Failure::new(FailureKind::Timeout, format!("time ran out while {step}")));
        }
    }
    exchange.timings.total = match exchange.failure {
        None => exchange.timings.sum(),
        Some(_) => milliseconds(begun.elapsed()),
    };
    Ok(exchange)
}

impl Exchange {
    /// What was being done last.
    fn step(&self) -> &'static str {
        match (&self.address, &self.timings.first_byte) {
            (None, _) if self.timings.dns == 0.0 => "looking up the name",
            (None, _) => "connecting",
            (Some(_), None) => "waiting for the response",
            (Some(_), Some(_)) => "reading the body",
        }
    }
}

async fn run(
    host: &Arc<dyn Host>,
    method: Method,
    url: &Url,
    headers: &HeaderMap,
    deadline: Instant,
    exchange: &mut Exchange,
) -> Result<Result<(), Failure>, SkillError> {
    let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let target = Target { host: name.clone(), port: url.port_or_known_default().unwrap_or(80) };
    let mut lap = Lap::start();
    rules::check_name(host.as_ref(), &target.host, target.port)?;
    let addresses = match resolve::addresses(host.as_ref(), &target).await? {
        Ok(addresses) => addresses,
        Err(reason) => {
            exchange.timings.dns = lap.time();
            return Ok(Err(Failure::dns(&reason)));
        }
    };
    exchange.timings.dns = lap.time();
    let connected = connect_any(&addresses, deadline.saturating_duration_since(Instant::now())).await;
    exchange.timings.connect = lap.time();
    let connected = match connected {
        Ok(connected) => connected,
        Err(mut failures) => {
            let last = failures.pop();
            return Ok(
                Err(last.unwrap_or_else(|| Failure::new(FailureKind::Dns, "the name has no address"))),
            );
        }
    };
    exchange.address = Some(connected.address.to_string());
    let _ = connected.stream.set_nodelay(true);
    let request = match request_of(method, url, headers) {
        Ok(request) => request,
        Err(error) => return Ok(Err(Failure::new(FailureKind::Protocol, error.to_string()))),
    };
    if url.scheme() != "https" {
        return Ok(exchange_over(connected.stream, request, lap, exchange).await);
    }
    let server = match ServerName::try_from(name) {
        Ok(server) => server,
        Err(error) => return Ok(Err(Failure::new(FailureKind::Tls, error.to_string()))),
    };
    let config = match tls::looking_config() {
        Ok(config) => config,
        Err(error) => return Ok(Err(Failure::new(FailureKind::Tls, error.to_string()))),
    };
    let handshake =
        tokio_rustls::TlsConnector::from(Arc::new(config)).connect(server.clone(), connected.stream).await;
    exchange.timings.tls = Some(lap.time());
    let stream = match handshake {
        Ok(stream) => stream,
        Err(error) => return Ok(Err(tls_failure(&error))),
    };
    let (stream, report) = look_at(Arc::clone(host), stream, server).await?;
    exchange.tls = Some(report);
    // Checking the chain is our own work, not the server's time.
    lap = Lap::start();
    Ok(exchange_over(stream, request, lap, exchange).await)
}

type TlsStream = tokio_rustls::client::TlsStream<tokio::net::TcpStream>;

/// Checks the chain, which reads the host's authorities from disk.
async fn look_at(
    host: Arc<dyn Host>,
    stream: TlsStream,
    server: ServerName<'static>,
) -> Result<(TlsStream, TlsReport), SkillError> {
    blocking(move || {
        let report = tls::report(host.as_ref(), stream.get_ref().1, &server, host.now());
        Ok((stream, report))
    })
    .await
}

async fn exchange_over<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    request: Request<Empty<Bytes>>,
    mut lap: Lap,
    exchange: &mut Exchange,
) -> Result<(), Failure> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| http_failure(&error))?;
    // The connection is driven beside the request and ends with this future.
    let respond = async {
        let response = sender.send_request(request).await.map_err(|error| http_failure(&error))?;
        exchange.timings.first_byte = Some(lap.time());
        let (head, body) = response.into_parts();
        let response = exchange.response.insert(Response {
            status: head.status,
            version: head.version,
            headers: head.headers,
            body: Vec::new(),
            cut: false,
        });
        let read = read_body(body, response).await;
        exchange.timings.body = Some(lap.time());
        read
    };
    tokio::pin!(connection);
    tokio::pin!(respond);
    let mut connection_ended = false;
    loop {
        tokio::select! {
            biased;
            outcome = &mut respond => return outcome,
            // What the connection has to say reaches the request too.
            _ = &mut connection, if !connection_ended => connection_ended = true,
        }
    }
}

async fn read_body(mut body: Incoming, response: &mut Response) -> Result<(), Failure> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| http_failure(&error))?;
        if let Ok(data) = frame.into_data() {
            let room = MAX_BODY - response.body.len();
            response.body.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                response.cut = true;
                break;
            }
        }
    }
    Ok(())
}

fn request_of(method: Method, url: &Url, headers: &HeaderMap) -> Result<Request<Empty<Bytes>>, http::Error> {
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let authority = match url.port() {
        Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
        None => url.host_str().unwrap_or_default().to_owned(),
    };
    let mut request = Request::builder().method(method).uri(path).body(Empty::new())?;
    let own = request.headers_mut();
    own.insert(HOST, HeaderValue::try_from(authority)?);
    own.insert(USER_AGENT, HeaderValue::from_static(concat!("steadyhand-probe/", env!("CARGO_PKG_VERSION"))));
    own.insert(ACCEPT, HeaderValue::from_static("*/*"));
    own.extend(headers.clone());
    Ok(request)
}

fn tls_failure(error: &io::Error) -> Failure {
    let kind = if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        FailureKind::Tls
    } else {
        match kind_of(error) {
            FailureKind::Other => FailureKind::Tls,
            kind => kind,
        }
    };
    let hint = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => "; the port may not speak TLS",
        _ if error.kind() == io::ErrorKind::UnexpectedEof => "; the server closed the connection",
        _ => "",
    };
    Failure::new(kind, format!("the TLS handshake failed: {}{hint}", plain(error)))
}

fn http_failure(error: &hyper::Error) -> Failure {
    let words = if error.is_incomplete_message() {
        "the server closed the connection before the response was complete".to_owned()
    } else if error.is_parse() {
        format!("the answer is not HTTP/1.1: {error}")
    } else {
        let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
        format!("{error}{source}")
    };
    Failure::new(FailureKind::Protocol, words)
}

/// Measures steps, one after the other.
struct Lap(Instant);

impl Lap {
    fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the last call.
    fn time(&mut self) -> f64 {
        let now = Instant::now();
        milliseconds(now - std::mem::replace(&mut self.0, now))
    }
}

//! A request's id and span. The caller's W3C trace context, if it sent one, becomes the span's parent.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::Extractor;
use std::time::Instant;
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The id of a request: in its response, in problem details and in the log. Always ours, so that a client can't
/// write into our log.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

/// Opens the span, and counts and times the request.
pub async fn span(mut request: Request, next: Next) -> Response {
    let id = uuid::Uuid::now_v7().to_string();
    // The pattern, not the path: paths hold ids, which would make a time series each.
    let route = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!(
        "http request",
        otel.kind = "server",
        otel.name = %format!("{method} {route}"),
        http.request.method = %method,
        http.route = %route,
        http.response.status_code = tracing::field::Empty,
        request.id = %id,
        user.id = tracing::field::Empty,
    );
    let parent = opentelemetry::global::get_text_map_propagator(|propagator| {
        propagator.extract(&Headers(request.headers()))
    });
    // Without a tracer there is nothing to attach it to.
    let _ = span.set_parent(parent);
    request.extensions_mut().insert(RequestId(id.clone()));
    let started = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    let labels = [("method", method.to_string()), ("route", route), ("status", status.to_string())];
    metrics::counter!("steadyhand_http_requests_total", &labels).increment(1);
    metrics::histogram!("steadyhand_http_request_seconds", &labels[..2])
        .record(started.elapsed().as_secs_f64());
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

//! Writes the bodies of failed API requests: only here are the path and the request's id known.

use crate::error::ApiError;
use crate::middleware::RequestId;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use std::any::Any;

/// Turns errors into problem details.
pub async fn render(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let request_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    let told = response.extensions_mut().remove::<ApiError>();
    let bare = (status.is_client_error() || status.is_server_error()) && path.starts_with("/api/");
    let Some(error) = told.or_else(|| bare.then(|| ApiError::of_status(status))) else { return response };
    let body = serde_json::to_vec(&error.problem(&path, &request_id)).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    Response::from_parts(parts, body.into())
}

/// The answer to a request whose handler panicked: a defect of ours, told like any other.
pub fn panicked(payload: Box<dyn Any + Send>) -> Response {
    let what = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(panic = %what, "a handler panicked");
    ApiError::of_status(StatusCode::INTERNAL_SERVER_ERROR).into_response()
}

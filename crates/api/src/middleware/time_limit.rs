//! How long a request may take. A client that sends its body by the byte is cut off with it.

use crate::error::ApiError;
use crate::state::AppState;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use model::ErrorKind;

/// What ends by its own rules: calls have deadlines, streams last, exports are as long as the log.
fn is_exempt(method: &Method, path: &str) -> bool {
    matches!(path, "/api/v1/events" | "/api/v1/audit/export" | "/api/v1/audit/verify")
        || (*method == Method::POST && path == "/api/v1/calls")
}

/// Applies the limit.
pub async fn apply(State(app): State<AppState>, request: Request, next: Next) -> Response {
    if is_exempt(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    match tokio::time::timeout(app.config.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail =
                format!("this took longer than {} s and was given up", app.config.request_timeout.as_secs());
            ApiError::new(ErrorKind::Unavailable, detail).into_response()
        }
    }
}

//! What happens to every request, from the outside in: request id and span, panics, security headers, host and
//! origin, time limit, size limit.

mod headers;
mod host;
mod problems;
mod time_limit;
mod trace;

pub(crate) use host::{client_address, is_local};
pub use trace::RequestId;

use crate::state::AppState;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};

/// The largest request body, in bytes. Read only up to it, whatever the client claims.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Wraps the router.
pub fn wrap(router: Router, app: &AppState) -> Router {
    let compressible = DefaultPredicate::new().and(NotForContentType::new("font/"));
    router
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(CompressionLayer::new().compress_when(compressible))
        .layer(from_fn_with_state(app.clone(), time_limit::apply))
        .layer(from_fn_with_state(app.clone(), host::check))
        .layer(CatchPanicLayer::custom(problems::panicked))
        .layer(from_fn(problems::render))
        .layer(from_fn_with_state(app.clone(), headers::add))
        .layer(from_fn(trace::span))
}

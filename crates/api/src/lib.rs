//! The HTTP API under `/api/v1`, its OpenAPI document, and the console that is embedded in the binary.
//!
//! Handlers translate: they authenticate, check the route's rule, and hand over to the crates that know. What a
//! caller may do to a call is not decided here but by the gate.

pub mod access;
pub mod auth;
mod console;
pub mod error;
pub mod extract;
mod health;
pub mod middleware;
pub mod models;
mod openapi;
pub mod page;
mod state;
pub mod v1;
mod words;

pub use openapi::{openapi, openapi_json};
pub use state::{ApiConfig, AppInner, AppParts, AppState, ReadinessCheck};

use axum::Router;

/// The whole service: API, probes, console.
pub fn router(app: &AppState) -> Router {
    let (api, _) = v1::routes().split_for_parts();
    let router =
        api.merge(openapi::routes()).merge(health::routes()).fallback(console::serve).with_state(app.clone());
    middleware::wrap(router, app)
}

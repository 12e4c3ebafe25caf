//! Tells what this manager is.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What this manager is.
#[derive(Serialize, ToSchema)]
pub struct About {
    /// Its version.
    version: &'static str,
    /// What it can do that another version may not.
    features: Vec<&'static str>,
    /// Under which licence it stands, and those of the parts that it is built from.
    licences: Vec<Licence>,
}

/// A licence.
#[derive(Serialize, ToSchema)]
pub struct Licence {
    /// The part.
    name: &'static str,
    /// The licence, as an SPDX expression.
    licence: &'static str,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(handler))
}

/// The parts that a reader looks for; the complete list is in the repository's lock file.
const PARTS: &[(&str, &str)] = &[
    ("Steadyhand", "Apache-2.0"),
    ("axum", "MIT"),
    ("hyper", "MIT"),
    ("ring", "Apache-2.0 AND ISC"),
    ("rustls", "Apache-2.0 OR ISC OR MIT"),
    ("SQLite", "blessing"),
    ("sqlx", "MIT OR Apache-2.0"),
    ("tokio", "MIT"),
    ("tonic", "MIT"),
    ("React", "MIT"),
    ("Inter", "OFL-1.1"),
    ("JetBrains Mono", "OFL-1.1"),
    ("Lucide", "ISC"),
];

/// What this manager is.
#[utoipa::path(get, path = "/api/v1/about", operation_id = "about", tag = "settings",
    responses((status = OK, body = About)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
async fn handler(_caller: Caller<Read>) -> Result<Json<About>, ApiError> {
    Ok(Json(About {
        version: env!("CARGO_PKG_VERSION"),
        features: vec!["chat", "hosts", "calls", "audit"],
        licences: PARTS.iter().map(|&(name, licence)| Licence { name, licence }).collect(),
    }))
}

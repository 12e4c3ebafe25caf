//! Ends a quarantine.

use super::get::{detail, visible};
use super::view::HostDetail;
use crate::auth::Caller;
use crate::auth::rule::AdministerHosts;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use axum::extract::State;
use model::EdgeId;
use serde::Deserialize;
use utoipa::ToSchema;

/// Which one is real.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// The instance that keeps the identity; one of the host's `instances`.
    keep_instance: String,
}

/// Ends a quarantine: this instance keeps the identity, the others are shut out.
#[utoipa::path(post, path = "/api/v1/hosts/{id}/resolve", operation_id = "resolve_quarantine", tag = "hosts",
    params(("id" = i64, Path)), request_body = ResolveRequest, responses((status = OK, body = HostDetail)),
    security(("cookie" = ["admin"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<AdministerHosts>,
    Path(id): Path<EdgeId>,
    Json(request): Json<ResolveRequest>,
) -> Result<axum::Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    app.fleet.resolve_quarantine(id, &request.keep_instance, caller.actor()).await?;
    detail(&app, id).map(axum::Json)
}

//! Makes a host read-only, or not.

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

/// What is to hold.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadOnlyRequest {
    /// Whether the host is to take safe calls only.
    read_only: bool,
}

/// Makes a host read-only, or not: a read-only host takes safe calls only. Its edge keeps that itself and refuses, too;
/// one that is offline is told when it is back.
#[utoipa::path(put, path = "/api/v1/hosts/{id}/read-only", operation_id = "set_host_read_only", tag = "hosts",
    params(("id" = i64, Path)), request_body = ReadOnlyRequest, responses((status = OK, body = HostDetail)),
    security(("cookie" = ["admin"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<AdministerHosts>,
    Path(id): Path<EdgeId>,
    Json(request): Json<ReadOnlyRequest>,
) -> Result<axum::Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    app.fleet.set_read_only(id, request.read_only, caller.user.id, caller.actor()).await?;
    detail(&app, id).map(axum::Json)
}

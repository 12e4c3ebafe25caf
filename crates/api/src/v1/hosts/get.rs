//! Tells everything about one host.

use super::view::HostDetail;
use crate::auth::rule::Read;
use crate::auth::{Caller, Identity};
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::EdgeId;

/// One host.
#[utoipa::path(get, path = "/api/v1/hosts/{id}", operation_id = "get_host", tag = "hosts",
    params(("id" = i64, Path)), responses((status = OK, body = HostDetail)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<EdgeId>,
) -> Result<Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    detail(&app, id).map(Json)
}

/// Whether there is such a host for this caller: one that they don't reach is as if it weren't there.
pub(super) fn visible(app: &AppState, identity: &Identity, id: EdgeId) -> Result<(), ApiError> {
    let host = app.fleet.host(id).filter(|host| identity.reaches(host.id, &host.labels));
    host.map(drop).ok_or_else(|| ApiError::not_found("host"))
}

/// The host as its page shows it.
pub(super) fn detail(app: &AppState, id: EdgeId) -> Result<HostDetail, ApiError> {
    app.fleet.host(id).map(HostDetail::from).ok_or_else(|| ApiError::not_found("host"))
}

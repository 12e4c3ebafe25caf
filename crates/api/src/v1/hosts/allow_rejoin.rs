//! Lets a host whose certificate ran out come back.

use super::get::{detail, visible};
use super::view::HostDetail;
use crate::auth::Caller;
use crate::auth::rule::AdministerHosts;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::EdgeId;

/// Lets a host whose certificate ran out while it was off join again with its old key, within the next hour.
#[utoipa::path(post, path = "/api/v1/hosts/{id}/allow-rejoin", operation_id = "allow_rejoin", tag = "hosts",
    params(("id" = i64, Path)), responses((status = OK, body = HostDetail)),
    security(("cookie" = ["admin"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<AdministerHosts>,
    Path(id): Path<EdgeId>,
) -> Result<Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    app.fleet.allow_rejoin(id, caller.actor()).await?;
    detail(&app, id).map(Json)
}

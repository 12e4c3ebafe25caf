//! Shuts a host out.

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

/// Shuts a host out: its certificate holds no longer and its connection ends at once.
#[utoipa::path(post, path = "/api/v1/hosts/{id}/revoke", operation_id = "revoke_host", tag = "hosts",
    params(("id" = i64, Path)), responses((status = OK, body = HostDetail)),
    security(("cookie" = ["admin"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<AdministerHosts>,
    Path(id): Path<EdgeId>,
) -> Result<Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    app.fleet.revoke(id, caller.actor()).await?;
    detail(&app, id).map(Json)
}

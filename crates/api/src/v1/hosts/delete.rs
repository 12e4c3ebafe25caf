//! Removes a host.

use super::get::visible;
use crate::auth::Caller;
use crate::auth::rule::AdministerHosts;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use model::EdgeId;

/// Removes a host from the inventory. Its calls stay in the audit.
#[utoipa::path(delete, path = "/api/v1/hosts/{id}", operation_id = "delete_host", tag = "hosts",
    params(("id" = i64, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["admin"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<AdministerHosts>,
    Path(id): Path<EdgeId>,
) -> Result<StatusCode, ApiError> {
    visible(&app, &caller, id)?;
    app.fleet.remove(id, caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

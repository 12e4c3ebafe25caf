//! Revokes a version of a procedure.

use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;

/// Revokes a version of a procedure and every one before it: no call starts by them from here on, also none that was
/// approved. A newer version goes on counting.
#[utoipa::path(delete, path = "/api/v1/sops/{id}/{version}", operation_id = "revoke_sop", tag = "signing",
    params(("id" = String, Path), ("version" = u64, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path((id, version)): Path<(String, u64)>,
) -> Result<StatusCode, ApiError> {
    app.executor.gate().signing().revoke_sop(id, version, caller.user.id, caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

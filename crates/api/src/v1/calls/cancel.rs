//! Cancels a call that runs or waits for a person.

use super::get::visible;
use crate::auth::Caller;
use crate::auth::rule::Run;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use model::CallId;

/// Asks a running call to stop. Its row tells when it has. A change whose host is away is stopped when that is back. A call
/// that waits for a person is withdrawn at once.
#[utoipa::path(post, path = "/api/v1/calls/{id}/cancel", operation_id = "cancel_call", tag = "calls",
    params(("id" = Uuid, Path)), responses((status = ACCEPTED)),
    security(("cookie" = ["viewer"]), ("token" = ["call"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Run>,
    Path(id): Path<CallId>,
) -> Result<StatusCode, ApiError> {
    let row = visible(&app, &caller, id).await?;
    let by = format!("{} stopped it before anybody decided; nothing was run.", caller.user.name);
    if app.storage.approvals().withdraw(id, caller.actor(), by).await? {
        return Ok(StatusCode::ACCEPTED);
    }
    // Kept first, with who wants it: a call in the journal of a host that isn't there is stopped when it is back.
    let kept = app.storage.calls().request_cancel(id, caller.actor()).await?;
    if app.executor.cancel(id) || kept {
        return Ok(StatusCode::ACCEPTED);
    }
    Err(ApiError::conflict(format!("the call isn't running here; it is {}", row.state)))
}

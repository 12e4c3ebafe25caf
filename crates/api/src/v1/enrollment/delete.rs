//! Takes an enrolment token back.

use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;

/// Takes an enrolment token back. A host that joined with it stays.
#[utoipa::path(delete, path = "/api/v1/enrollment-tokens/{id}", operation_id = "revoke_enrollment_token",
    tag = "hosts", params(("id" = i64, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<ManageHosts>,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    if !app.storage.edges().revoke_token(id, caller.actor()).await? {
        return Err(ApiError::not_found("enrolment token that is open"));
    }
    Ok(StatusCode::NO_CONTENT)
}

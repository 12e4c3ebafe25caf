//! Takes a grant back.

use crate::auth::Caller;
use crate::auth::rule::Decide;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use gate::approvals::Revoked;
use http::StatusCode;
use model::GrantId;

/// Takes a grant back: its person, an approver or an admin may. It stays in the list. Tokens may not.
#[utoipa::path(delete, path = "/api/v1/grants/{id}", operation_id = "revoke_grant", tag = "approvals",
    params(("id" = Uuid, Path)), responses((status = NO_CONTENT)), security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Decide>,
    Path(id): Path<GrantId>,
) -> Result<StatusCode, ApiError> {
    match app.executor.gate().revoke_grant(&caller.decider(), id).await? {
        Revoked::Done => Ok(StatusCode::NO_CONTENT),
        Revoked::NotFound => Err(ApiError::not_found("grant")),
        Revoked::Forbidden(reason) => Err(ApiError::forbidden(reason)),
    }
}

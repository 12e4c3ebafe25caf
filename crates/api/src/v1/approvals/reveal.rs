//! Shows the exact arguments of a call to who may decide on it.

use crate::auth::Caller;
use crate::auth::rule::Decide;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use gate::approvals::Revealed;
use model::ApprovalId;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The exact arguments of a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RevealedArguments {
    /// Nothing is hidden in them.
    #[schema(value_type = Object)]
    args: Value,
}

/// Shows the exact arguments of a call that hasn't ended, with what redaction hides elsewhere. Only for who may decide,
/// and put on record. Tokens may not.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/reveal", operation_id = "reveal_approval", tag = "approvals",
    params(("id" = Uuid, Path)), responses((status = OK, body = RevealedArguments)),
    security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Decide>,
    Path(id): Path<ApprovalId>,
) -> Result<Json<RevealedArguments>, ApiError> {
    match app.executor.gate().reveal_approval(&caller.decider(), id).await? {
        Revealed::Args(args) => Ok(Json(RevealedArguments { args })),
        Revealed::Gone => {
            Err(ApiError::conflict("the call has ended, and its exact arguments are not kept any more"))
        }
        Revealed::NotFound => Err(ApiError::not_found("approval")),
        Revealed::Forbidden(reason) => Err(ApiError::forbidden(reason)),
    }
}

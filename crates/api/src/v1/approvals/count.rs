//! Counts what waits for the caller's decision.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

/// How many approvals wait.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct ApprovalCount {
    /// Those that the caller may decide.
    pending: usize,
}

/// How many approvals wait that the caller may decide. A token may decide none.
#[utoipa::path(get, path = "/api/v1/approvals/count", operation_id = "count_approvals", tag = "approvals",
    responses((status = OK, body = ApprovalCount)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
) -> Result<Json<ApprovalCount>, ApiError> {
    let pending = app.executor.gate().count_decidable(&caller.decider()).await?;
    Ok(Json(ApprovalCount { pending }))
}

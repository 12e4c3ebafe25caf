//! Shows one approval.

use super::view::ApprovalView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::ApprovalId;

/// Shows one approval: to approvers and admins, and to the person behind the call.
#[utoipa::path(get, path = "/api/v1/approvals/{id}", operation_id = "get_approval", tag = "approvals",
    params(("id" = Uuid, Path)), responses((status = OK, body = ApprovalView)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<ApprovalId>,
) -> Result<Json<ApprovalView>, ApiError> {
    let who = caller.decider();
    let found = app.storage.approvals().find(id).await?;
    let visible = found.filter(|approval| app.executor.gate().may_see_approval(&who, approval));
    let approval = visible.ok_or_else(|| ApiError::not_found("approval"))?;
    Ok(Json(ApprovalView::of(&app, &who, approval)))
}

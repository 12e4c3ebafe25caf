//! Shows the list of approvers.

use super::view::ApproversView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Shows the list of approvers and what the manager's configuration pins for it.
#[utoipa::path(get, path = "/api/v1/approvers", operation_id = "get_approvers", tag = "signing",
    responses((status = OK, body = ApproversView)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
) -> Result<Json<ApproversView>, ApiError> {
    Ok(Json(ApproversView::of(&app)))
}

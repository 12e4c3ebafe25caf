//! Tells whether changes are frozen.

use super::view::FreezeView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Whether changes are frozen.
#[utoipa::path(get, path = "/api/v1/freeze", operation_id = "get_freeze", tag = "settings",
    responses((status = OK, body = FreezeView)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
) -> Result<Json<FreezeView>, ApiError> {
    Ok(Json(FreezeView::of(&app)))
}

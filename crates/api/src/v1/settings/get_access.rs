//! Tells who may chat.

use crate::access::{Access, access_of};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Who may chat.
#[utoipa::path(get, path = "/api/v1/settings/access", operation_id = "get_access", tag = "settings",
    responses((status = OK, body = Access)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
) -> Result<Json<Access>, ApiError> {
    Ok(Json(access_of(&app, &caller).await?))
}

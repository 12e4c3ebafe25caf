//! Revokes a token.

use crate::auth::Caller;
use crate::auth::rule::OwnAccount;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;

/// Revokes one of one's own tokens, at once.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", operation_id = "revoke_token", tag = "tokens",
    params(("id" = i64, Path)), responses((status = NO_CONTENT)), security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    if !app.storage.tokens().revoke(id, caller.user.id, caller.actor()).await? {
        return Err(ApiError::not_found("token"));
    }
    app.access_has_changed();
    Ok(StatusCode::NO_CONTENT)
}

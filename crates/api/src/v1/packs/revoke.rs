//! Takes the acceptance of a pack back.

use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use axum::http::StatusCode;

/// Takes the acceptance of a pack back: calls of its skills are refused from here on.
#[utoipa::path(post, path = "/api/v1/packs/{pin}/revoke", operation_id = "revoke_pack", tag = "packs",
    params(("pin" = String, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(pin): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.executor.gate().packs().revoke(pin, caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Takes an offered approval key back.

use crate::auth::Caller;
use crate::auth::rule::OwnAccount;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use uuid::Uuid;

/// Takes an offered key back. A list that names it goes on to hold until a newer one takes its place.
#[utoipa::path(delete, path = "/api/v1/account/approver-keys/{id}", operation_id = "withdraw_approver_key",
    tag = "account", params(("id" = Uuid, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, ApiError> {
    app.executor.gate().signing().withdraw_key(caller.user.id, id, caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Deletes an account.

use super::view::answer;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use model::UserId;

/// Deletes an account; its sign-ins and tokens end. The audit keeps its name.
#[utoipa::path(delete, path = "/api/v1/users/{id}", operation_id = "delete_user", tag = "users",
    params(("id" = i64, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(id): Path<UserId>,
) -> Result<StatusCode, ApiError> {
    answer(app.storage.users().delete(id, caller.actor()).await?)?;
    app.access_has_changed();
    Ok(StatusCode::NO_CONTENT)
}

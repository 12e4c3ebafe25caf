//! Deletes a chat.

use crate::auth::Caller;
use crate::auth::rule::Chat;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use model::SessionId;

/// Deletes one of one's own chats. Its calls stay in the audit.
#[utoipa::path(delete, path = "/api/v1/sessions/{id}", operation_id = "delete_session", tag = "chat",
    params(("id" = Uuid, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["viewer"]), ("token" = ["chat"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Chat>,
    Path(id): Path<SessionId>,
) -> Result<StatusCode, ApiError> {
    if !app.storage.chats().delete(id, caller.user.id).await? {
        return Err(ApiError::not_found("chat"));
    }
    Ok(StatusCode::NO_CONTENT)
}

//! Tells of one chat.

use super::view::SessionView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::SessionId;

/// One of one's own chats.
#[utoipa::path(get, path = "/api/v1/sessions/{id}", operation_id = "get_session", tag = "chat",
    params(("id" = Uuid, Path)), responses((status = OK, body = SessionView)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<SessionId>,
) -> Result<Json<SessionView>, ApiError> {
    let session = app.storage.chats().find(id, caller.user.id).await?;
    Ok(Json(session.ok_or_else(|| ApiError::not_found("chat"))?.into()))
}

//! Stops a turn.

use crate::auth::Caller;
use crate::auth::rule::Chat;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use model::TurnId;

/// Stops one of one's own turns: its model request and its running calls. Its end is in the events.
#[utoipa::path(post, path = "/api/v1/turns/{id}/stop", operation_id = "stop_turn", tag = "chat",
    params(("id" = Uuid, Path)), responses((status = ACCEPTED)),
    security(("cookie" = ["viewer"]), ("token" = ["chat"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Chat>,
    Path(id): Path<TurnId>,
) -> Result<StatusCode, ApiError> {
    let turn = app.storage.turns().find(id).await?.filter(|turn| turn.user == caller.user.id);
    let turn = turn.ok_or_else(|| ApiError::not_found("turn"))?;
    if !app.agent.stop(id, caller.user.id).await? {
        return Err(ApiError::conflict(format!("the turn has ended: {}", turn.state)));
    }
    Ok(StatusCode::ACCEPTED)
}

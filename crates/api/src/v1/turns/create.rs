//! Says something in a chat.

use crate::access::require_chat;
use crate::auth::Caller;
use crate::auth::rule::Chat;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use agent::SubmitTurn;
use axum::extract::State;
use http::StatusCode;
use model::{SessionId, TurnId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to say.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTurnRequest {
    /// The message, or `/tool key=value …` to run a capability oneself.
    text: String,
}

/// The turn that began.
#[derive(Serialize, ToSchema)]
pub struct CreatedTurn {
    /// Its id; what becomes of it is in the events.
    #[schema(value_type = Uuid)]
    turn_id: TurnId,
}

/// Says something in one of one's own chats. A conflict while a turn is at work in it.
#[utoipa::path(post, path = "/api/v1/sessions/{id}/turns", operation_id = "create_turn", tag = "chat",
    params(("id" = Uuid, Path)), request_body = CreateTurnRequest,
    responses((status = ACCEPTED, body = CreatedTurn)), security(("cookie" = ["viewer"]), ("token" = ["chat"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Chat>,
    Path(session): Path<SessionId>,
    Json(request): Json<CreateTurnRequest>,
) -> Result<(StatusCode, axum::Json<CreatedTurn>), ApiError> {
    require_chat(&app, &caller).await?;
    if request.text.trim().is_empty() {
        return Err(ApiError::invalid("/text", "must not be empty"));
    }
    let turn = SubmitTurn {
        session,
        user: caller.user.id,
        user_name: caller.user.display_name.clone(),
        roles: caller.user.roles.clone(),
        token: caller.token(),
        text: request.text,
    };
    let turn_id = app.agent.submit(turn).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(CreatedTurn { turn_id })))
}

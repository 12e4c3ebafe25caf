//! Begins a chat.

use super::view::{SessionView, check_title};
use crate::access::require_chat;
use crate::auth::Caller;
use crate::auth::rule::Chat;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

/// A new chat.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// Its title; made from the first message if absent.
    title: Option<String>,
    /// The name of a model; the default one if absent.
    model: Option<String>,
}

/// Begins a chat.
#[utoipa::path(post, path = "/api/v1/sessions", operation_id = "create_session", tag = "chat",
    request_body = CreateSessionRequest, responses((status = CREATED, body = SessionView)),
    security(("cookie" = ["viewer"]), ("token" = ["chat"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Chat>,
    Json(request): Json<CreateSessionRequest>,
) -> Result<(StatusCode, axum::Json<SessionView>), ApiError> {
    require_chat(&app, &caller).await?;
    let title = request.title.unwrap_or_default();
    check_title(&title)?;
    check_model(&app, request.model.as_deref()).await?;
    let session = app.storage.chats().create(caller.user.id, title.trim(), request.model).await?;
    app.agent.announce().await?;
    Ok((StatusCode::CREATED, axum::Json(session.into())))
}

/// Whether there is a model of this name.
pub(super) async fn check_model(app: &AppState, name: Option<&str>) -> Result<(), ApiError> {
    let Some(name) = name else { return Ok(()) };
    if app.models.list().await?.iter().any(|model| model.name == name) {
        return Ok(());
    }
    Err(ApiError::invalid("/model", format!("there is no model `{name}`")))
}

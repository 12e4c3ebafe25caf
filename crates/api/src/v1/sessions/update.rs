//! Changes a chat.

use super::create::check_model;
use super::view::{SessionView, check_title};
use crate::auth::Caller;
use crate::auth::rule::Chat;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use axum::extract::State;
use model::SessionId;
use serde::{Deserialize, Deserializer};
use storage::chats::SessionChange;
use utoipa::ToSchema;

/// What to change; absent leaves as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSessionRequest {
    /// Its title.
    title: Option<String>,
    /// Kept at the top of the list.
    pinned: Option<bool>,
    /// Put away.
    archived: Option<bool>,
    /// The name of a model; null follows the default.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    model: Option<Option<String>>,
}

/// Tells null from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Changes one of one's own chats.
#[utoipa::path(patch, path = "/api/v1/sessions/{id}", operation_id = "update_session", tag = "chat",
    params(("id" = Uuid, Path)), request_body = UpdateSessionRequest, responses((status = OK, body = SessionView)),
    security(("cookie" = ["viewer"]), ("token" = ["chat"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Chat>,
    Path(id): Path<SessionId>,
    Json(request): Json<UpdateSessionRequest>,
) -> Result<axum::Json<SessionView>, ApiError> {
    check_title(request.title.as_deref().unwrap_or_default())?;
    check_model(&app, request.model.as_ref().and_then(|model| model.as_deref())).await?;
    let change = SessionChange {
        title: request.title.map(|title| title.trim().to_owned()),
        pinned: request.pinned,
        archived: request.archived,
        model: request.model,
    };
    let session = app.storage.chats().change(id, caller.user.id, change).await?;
    app.agent.announce().await?;
    Ok(axum::Json(session.ok_or_else(|| ApiError::not_found("chat"))?.into()))
}

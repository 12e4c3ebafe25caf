//! Replays a chat.

use super::view::TurnEventView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where to begin.
#[derive(Deserialize)]
pub struct AfterQuery {
    after: Option<i64>,
    limit: Option<u32>,
}

/// Events of a chat.
#[derive(Serialize, ToSchema)]
pub struct TurnEvents {
    /// The events, oldest first.
    items: Vec<TurnEventView>,
    /// Ask for what follows with `after`; absent when these were all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<i64>,
}

const MAX_LIMIT: u32 = 1000;

/// Events of one of one's own chats after an id, oldest first.
#[utoipa::path(get, path = "/api/v1/sessions/{id}/events", operation_id = "list_session_events", tag = "chat",
    params(("id" = Uuid, Path), ("after" = Option<i64>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = TurnEvents)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<SessionId>,
    Query(query): Query<AfterQuery>,
) -> Result<Json<TurnEvents>, ApiError> {
    let limit = query.limit.unwrap_or(MAX_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid("limit", format!("must be 1 to {MAX_LIMIT}")));
    }
    let chats = app.storage.chats();
    chats.find(id, caller.user.id).await?.ok_or_else(|| ApiError::not_found("chat"))?;
    let mut events = chats.session_events(id, caller.user.id, query.after.unwrap_or(0), limit + 1).await?;
    let more = events.len() > limit as usize;
    events.truncate(limit as usize);
    let next_after = events.last().filter(|_| more).map(|last| last.id);
    Ok(Json(TurnEvents { items: events.into_iter().map(TurnEventView::from).collect(), next_after }))
}

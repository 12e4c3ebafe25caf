//! Lists one's own chats.

use super::view::SessionView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::SessionId;
use std::str::FromStr as _;
use storage::chats::SessionCursor;
use storage::{from_micros, micros};

/// Lists one's own chats, last changed first.
#[utoipa::path(get, path = "/api/v1/sessions", operation_id = "list_sessions", tag = "chat",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<SessionView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<SessionView>>, ApiError> {
    let limit = page.limit()?;
    let after = page.key()?.map(|key| cursor_of(&key)).transpose()?;
    let sessions = app.storage.chats().list(caller.user.id, after, limit as u32 + 1).await?;
    let page = Page::cut(sessions, limit, |last| format!("{} {}", micros(last.updated_at), last.id));
    Ok(Json(page.map(SessionView::from)))
}

fn cursor_of(key: &str) -> Result<SessionCursor, ApiError> {
    let wrong = || ApiError::invalid("cursor", "isn't a cursor of this list");
    let (at, id) = key.split_once(' ').ok_or_else(wrong)?;
    let at = at.parse().map_err(|_| wrong())?;
    Ok(SessionCursor {
        updated_at: from_micros(at).map_err(|_| wrong())?,
        id: SessionId::from_str(id).map_err(|_| wrong())?,
    })
}

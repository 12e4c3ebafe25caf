//! Reads a window of a call's stored result.

use super::get::visible;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::CallId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const MAX_WINDOW_BYTES: usize = 256 * 1024;
const DEFAULT_WINDOW_BYTES: usize = 64 * 1024;

/// Which window.
#[derive(Deserialize)]
pub struct WindowQuery {
    offset: Option<usize>,
    limit: Option<usize>,
}

/// A window of a result's JSON text.
#[derive(Serialize, ToSchema)]
pub struct ResultWindow {
    /// Where it begins, in bytes.
    offset: usize,
    /// The text; cut between characters.
    text: String,
    /// The size of all of it, in bytes.
    total_bytes: usize,
    /// Where the next window begins; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// Reads the stored result as text, `offset` and `limit` in bytes (at most 262,144).
#[utoipa::path(get, path = "/api/v1/calls/{id}/result", operation_id = "read_result", tag = "calls",
    params(("id" = Uuid, Path), ("offset" = Option<usize>, Query), ("limit" = Option<usize>, Query)),
    responses((status = OK, body = ResultWindow)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<CallId>,
    Query(query): Query<WindowQuery>,
) -> Result<Json<ResultWindow>, ApiError> {
    let limit = query.limit.unwrap_or(DEFAULT_WINDOW_BYTES);
    if !(4..=MAX_WINDOW_BYTES).contains(&limit) {
        return Err(ApiError::invalid("limit", format!("must be 4 to {MAX_WINDOW_BYTES}")));
    }
    visible(&app, &caller, id).await?;
    let text = app.storage.calls().result_text(id).await?.ok_or_else(|| ApiError::not_found("result"))?;
    Ok(Json(window(&text, query.offset.unwrap_or(0), limit)))
}

fn window(text: &str, offset: usize, limit: usize) -> ResultWindow {
    let begin = text.floor_char_boundary(offset);
    let end = text.floor_char_boundary(begin.saturating_add(limit));
    ResultWindow {
        offset: begin,
        text: text[begin..end].to_owned(),
        total_bytes: text.len(),
        next_offset: (end < text.len()).then_some(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_join_to_the_whole_text_and_cut_no_character() {
        let text = "{\"이름\":\"ok\"}";
        let (mut joined, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let window = window(text, at, 4);
            joined.push_str(&window.text);
            offset = window.next_offset;
        }
        assert_eq!(joined, text);
        assert_eq!(window(text, 10_000, 4).text, "");
    }
}

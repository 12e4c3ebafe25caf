//! Lists calls.

use super::CallQuery;
use super::view::{CallView, Names};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use storage::calls::CallCursor;

/// Lists calls, newest first, without their results. Viewers see their own.
#[utoipa::path(get, path = "/api/v1/calls", operation_id = "list_calls", tag = "calls",
    params(CallQuery, ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<CallView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<CallQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<CallView>>, ApiError> {
    let limit = page.limit()?;
    let cursor: Option<CallCursor> = page
        .key()?
        .map(|key| key.parse().map_err(|_| ApiError::invalid("cursor", "isn't a cursor of this list")))
        .transpose()?;
    let rows = app.storage.calls().list(&query.filter(&app, &caller)?, cursor, limit as u32 + 1).await?;
    let names = Names::load(&app).await?;
    let page = Page::cut(rows, limit, |row| CallCursor::after(row).to_string());
    Ok(Json(page.map(|row| CallView::of(row, &names))))
}

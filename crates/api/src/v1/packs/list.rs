//! Every pack.

use super::view::{PackView, all};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::page::Page;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists the packs of all hosts and those beside the manager, those that wait for an admin first.
#[utoipa::path(get, path = "/api/v1/packs", operation_id = "list_packs", tag = "packs",
    responses((status = OK, body = Page<PackView>)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
) -> Result<Json<Page<PackView>>, ApiError> {
    Ok(Json(Page { items: all(&app, &caller).await?, next_cursor: None }))
}

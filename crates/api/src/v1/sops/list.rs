//! Lists procedures.

use super::view::SopView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::page::Page;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists the imported procedures, also those that are over: by id, the newest version of each first.
#[utoipa::path(get, path = "/api/v1/sops", operation_id = "list_sops", tag = "signing",
    responses((status = OK, body = Page<SopView>)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
) -> Result<Json<Page<SopView>>, ApiError> {
    let imported = app.executor.gate().signing().imported();
    let now = app.storage.now();
    let items = imported.procedures.iter().map(|it| SopView::of(&imported, it, now)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

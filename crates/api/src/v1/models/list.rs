//! Lists model providers.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::models::ModelView;
use crate::page::Page;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists model providers. Keys are never shown.
#[utoipa::path(get, path = "/api/v1/models", operation_id = "list_models", tag = "models",
    responses((status = OK, body = Page<ModelView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
) -> Result<Json<Page<ModelView>>, ApiError> {
    Ok(Json(Page { items: app.models.list().await?, next_cursor: None }))
}

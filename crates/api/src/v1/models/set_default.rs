//! Chooses the model of chats that name none.

use super::create::find;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::models::{DEFAULT_SETTING, ModelView};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Makes a provider the default.
#[utoipa::path(post, path = "/api/v1/models/{name}/default", operation_id = "set_default_model", tag = "models",
    params(("name" = String, Path)), responses((status = OK, body = ModelView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(name): Path<String>,
) -> Result<Json<ModelView>, ApiError> {
    find(&app, &name).await?;
    app.storage.settings().set(DEFAULT_SETTING, &name, caller.user.id, caller.actor()).await?;
    Ok(Json(find(&app, &name).await?))
}

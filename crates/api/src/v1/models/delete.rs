//! Removes a model provider that was added here.

use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;

/// Removes a provider and its key.
#[utoipa::path(delete, path = "/api/v1/models/{name}", operation_id = "delete_model", tag = "models",
    params(("name" = String, Path)), responses((status = NO_CONTENT)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    if app.models.is_fixed(&name) {
        return Err(ApiError::conflict(
            "this model is set where the manager is started and can't be removed here",
        ));
    }
    if !app.storage.models().delete(&name, caller.actor()).await? {
        return Err(ApiError::not_found("model"));
    }
    Ok(StatusCode::NO_CONTENT)
}

//! Chooses who may chat.

use crate::access::{Access, SETTING, access_of};
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::words::AccessModeWord;
use agent::AccessMode;
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

/// The choice.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessRequest {
    /// Who may chat.
    #[schema(value_type = AccessModeWord)]
    mode: AccessMode,
}

/// Chooses who may chat. A conflict where `TOOLS_ACCESS_MODE` fixes it.
#[utoipa::path(put, path = "/api/v1/settings/access", operation_id = "set_access", tag = "settings",
    request_body = AccessRequest, responses((status = OK, body = Access)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Json(request): Json<AccessRequest>,
) -> Result<axum::Json<Access>, ApiError> {
    if let Some(pinned) = app.config.pinned_access {
        return Err(ApiError::conflict(format!(
            "`TOOLS_ACCESS_MODE` fixes the access mode to {}",
            pinned.as_str()
        )));
    }
    app.storage.settings().set(SETTING, &request.mode, caller.user.id, caller.actor()).await?;
    app.agent.set_access(request.mode);
    Ok(axum::Json(access_of(&app, &caller).await?))
}

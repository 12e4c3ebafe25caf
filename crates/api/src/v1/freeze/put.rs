//! Freezes changes, or allows them again.

use super::view::FreezeView;
use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use model::Role;
use serde::Deserialize;
use utoipa::ToSchema;

const MAX_REASON_CHARS: usize = 500;

/// What is to hold.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FreezeRequest {
    /// Whether changes are to be frozen.
    frozen: bool,
    /// Why, in at most 500 characters; shown with every refusal.
    reason: Option<String>,
}

/// Freezes all mutating and dangerous calls, here and on every host, or allows them again. Whoever may change things may
/// freeze; only an admin may allow changes again. What runs already is not stopped.
#[utoipa::path(put, path = "/api/v1/freeze", operation_id = "set_freeze", tag = "settings",
    request_body = FreezeRequest, responses((status = OK, body = FreezeView)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<ManageHosts>,
    Json(request): Json<FreezeRequest>,
) -> Result<axum::Json<FreezeView>, ApiError> {
    let reason = request.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| {
        reason.chars().count() > MAX_REASON_CHARS || reason.chars().any(char::is_control)
    }) {
        let message = format!("must be one line of at most {MAX_REASON_CHARS} characters");
        return Err(ApiError::invalid("/reason", message));
    }
    let freezes = app.storage.freezes();
    if request.frozen {
        let reason = reason.map(|reason| app.executor.gate().redact(reason));
        freezes.freeze(reason, caller.user.id, caller.actor()).await?;
    } else {
        if !caller.user.roles.include(Role::Admin) {
            return Err(ApiError::forbidden("only an admin may allow changes again"));
        }
        freezes.unfreeze(caller.user.id, caller.actor()).await?;
    }
    Ok(axum::Json(FreezeView::of(&app)))
}

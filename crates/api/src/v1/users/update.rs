//! Changes an account.

use super::view::{UserHosts, UserView, answer, roles_of};
use crate::auth::rule::Administer;
use crate::auth::{Caller, password};
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use crate::words::RoleWord;
use axum::extract::State;
use model::UserId;
use serde::Deserialize;
use storage::users::{NewPassword, UserChange};
use utoipa::ToSchema;

/// What to change; absent leaves as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUserRequest {
    /// What it may do; at least one.
    #[schema(value_type = Option<Vec<RoleWord>>)]
    roles: Option<Vec<String>>,
    /// Which hosts it may see and use; without any named, all.
    hosts: Option<UserHosts>,
    /// Whether it is shut out.
    disabled: Option<bool>,
    /// A new password, which its owner must change.
    password: Option<String>,
    /// The name shown to others.
    display_name: Option<String>,
}

/// Changes an account. Other roles, shutting out and a new password end its sign-ins.
#[utoipa::path(patch, path = "/api/v1/users/{id}", operation_id = "update_user", tag = "users",
    params(("id" = i64, Path)), request_body = UpdateUserRequest, responses((status = OK, body = UserView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(id): Path<UserId>,
    Json(request): Json<UpdateUserRequest>,
) -> Result<axum::Json<UserView>, ApiError> {
    let user = app.storage.users().find(id).await?.ok_or_else(|| ApiError::not_found("account"))?;
    let password = match request.password {
        None => None,
        Some(password) => {
            password::check_rules(&password, &user.name)
                .map_err(|reason| ApiError::invalid("/password", reason))?;
            Some(NewPassword { hash: app.hasher.hash(password).await?, must_change: true })
        }
    };
    let change = UserChange {
        display_name: request.display_name,
        roles: request.roles.as_deref().map(roles_of).transpose()?,
        reach: request.hosts.map(|hosts| hosts.reach(&app)).transpose()?,
        disabled: request.disabled,
        password,
    };
    let user = answer(app.storage.users().change(id, change, caller.actor()).await?)?;
    app.access_has_changed();
    Ok(axum::Json(user))
}

//! Tells who the caller is and what the console needs to know at its start.

use crate::access::{Access, access_of};
use crate::auth::rule::Anybody;
use crate::auth::{Caller, Credential, Identity};
use crate::error::ApiError;
use crate::state::AppState;
use crate::words::RoleWord;
use axum::Json;
use axum::extract::State;
use model::{Roles, UserId};
use serde::Serialize;
use utoipa::ToSchema;

/// The caller's account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountView {
    /// Its id.
    #[schema(value_type = i64)]
    pub id: UserId,
    /// The name to sign in with.
    pub name: String,
    /// The name shown to others.
    pub display_name: String,
    /// What it may do.
    #[schema(value_type = Vec<RoleWord>)]
    pub roles: Roles,
    /// Nothing but a change of the password is allowed until it happened.
    pub must_change_password: bool,
}

/// Who the caller is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Me {
    /// The account.
    pub user: AccountView,
    /// Goes into the header `x-steadyhand-csrf` of every request that isn't a GET. Empty for tokens.
    pub csrf_token: String,
    /// Who may chat.
    pub access: Access,
    /// The manager's version.
    pub version: &'static str,
}

impl Me {
    pub(super) async fn of(app: &AppState, identity: &Identity) -> Result<Self, ApiError> {
        let csrf_token = match &identity.credential {
            Credential::Cookie { csrf_token, .. } => csrf_token.clone(),
            Credential::Token { .. } => String::new(),
        };
        let user = &identity.user;
        Ok(Self {
            user: AccountView {
                id: user.id,
                name: user.name.clone(),
                display_name: user.display_name.clone(),
                roles: user.roles.clone(),
                must_change_password: user.must_change_password,
            },
            csrf_token,
            access: access_of(app, identity).await?,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}

/// Who am I.
#[utoipa::path(get, path = "/api/v1/me", operation_id = "me", tag = "account",
    responses((status = OK, body = Me)), security(("cookie" = []), ("token" = [])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Anybody>,
) -> Result<Json<Me>, ApiError> {
    Ok(Json(Me::of(&app, &caller).await?))
}

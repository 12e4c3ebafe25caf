//! Makes an account.

use super::view::{UserView, answer, roles_of};
use crate::auth::rule::Administer;
use crate::auth::{Caller, password};
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::words::RoleWord;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use storage::users::{NewUser, UserKind};
use utoipa::ToSchema;

/// A new account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUserRequest {
    /// The name to sign in with: 1–64 of a-z, 0-9, `.`, `_` and `-`.
    name: String,
    /// The name shown to others; the name if absent.
    display_name: Option<String>,
    /// What it may do; at least one.
    #[schema(value_type = Vec<RoleWord>)]
    roles: Vec<String>,
    /// A first password, which its owner must change.
    password: String,
}

/// Makes an account. Its owner must change the password before anything else.
#[utoipa::path(post, path = "/api/v1/users", operation_id = "create_user", tag = "users",
    request_body = CreateUserRequest, responses((status = CREATED, body = UserView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Json(request): Json<CreateUserRequest>,
) -> Result<(StatusCode, axum::Json<UserView>), ApiError> {
    let name = request.name.trim().to_lowercase();
    let legal =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
        return Err(ApiError::invalid("/name", "must be 1 to 64 of a-z, 0-9, `.`, `_` and `-`"));
    }
    password::check_rules(&request.password, &name)
        .map_err(|reason| ApiError::invalid("/password", reason))?;
    let new = NewUser {
        display_name: request
            .display_name
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| name.clone()),
        roles: roles_of(&request.roles)?,
        password_hash: Some(app.hasher.hash(request.password).await?),
        kind: UserKind::Person,
        must_change_password: true,
        name,
    };
    let user = answer(app.storage.users().create(new, caller.actor()).await?)?;
    Ok((StatusCode::CREATED, axum::Json(user)))
}

//! Makes a token.

use super::view::TokenView;
use crate::auth::rule::OwnAccount;
use crate::auth::{Caller, TokenScope, secret};
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use chrono::TimeDelta;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use storage::tokens::NewToken;
use utoipa::ToSchema;

/// A new token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// What to call it, 1–100 characters.
    name: String,
    /// What it may be used for; at least one.
    scopes: Vec<TokenScope>,
    /// Days until it ends, 1–3650; never if absent.
    expires_in_days: Option<u32>,
}

/// A new token, with the token, which is shown this once.
#[derive(Serialize, ToSchema)]
pub struct CreatedToken {
    /// The token. Kept nowhere.
    token: String,
    /// What is kept of it.
    #[serde(flatten)]
    view: TokenView,
}

/// Makes a token with a part of one's own rights.
#[utoipa::path(post, path = "/api/v1/tokens", operation_id = "create_token", tag = "tokens",
    request_body = CreateTokenRequest, responses((status = CREATED, body = CreatedToken)),
    security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
    Json(request): Json<CreateTokenRequest>,
) -> Result<(StatusCode, axum::Json<CreatedToken>), ApiError> {
    let name = request.name.trim().to_owned();
    if name.is_empty() || name.chars().count() > 100 {
        return Err(ApiError::invalid("/name", "must have 1 to 100 characters"));
    }
    if request.scopes.is_empty() {
        return Err(ApiError::invalid("/scopes", "at least one scope is needed"));
    }
    let expires_at = match request.expires_in_days {
        None => None,
        Some(days @ 1..=3650) => Some(app.storage.now() + TimeDelta::days(i64::from(days))),
        Some(_) => return Err(ApiError::invalid("/expires_in_days", "must be 1 to 3650")),
    };
    let mut scopes: Vec<String> = request.scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
    scopes.dedup();
    let token = secret::new_token();
    let new = NewToken {
        user_id: caller.user.id,
        name,
        token_hash: secret::hash(&token),
        hint: token.chars().take(8).collect(),
        scopes,
        expires_at,
    };
    let view = app.storage.tokens().create(new, caller.actor()).await?.into();
    Ok((StatusCode::CREATED, axum::Json(CreatedToken { token, view })))
}

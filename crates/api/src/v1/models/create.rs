//! Adds a model provider.

use super::check_base_url;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Json;
use crate::models::{ModelKind, ModelView};
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use std::str::FromStr as _;
use storage::models::{KeyChange, ModelInput};
use utoipa::ToSchema;

/// A new provider.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateModelRequest {
    /// How sessions name it: 1–64 of a-z, 0-9, `_` and `-`.
    name: String,
    /// `openai_chat` or `anthropic`.
    kind: ModelKind,
    /// Where it is, if not at its vendor's address.
    base_url: Option<String>,
    /// The model's own name.
    model: String,
    /// Its key. Kept encrypted, never shown.
    api_key: Option<String>,
}

/// Adds a provider.
#[utoipa::path(post, path = "/api/v1/models", operation_id = "create_model", tag = "models",
    request_body = CreateModelRequest, responses((status = CREATED, body = ModelView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Json(request): Json<CreateModelRequest>,
) -> Result<(StatusCode, axum::Json<ModelView>), ApiError> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    if request.name.is_empty() || request.name.len() > 64 || !request.name.bytes().all(legal) {
        return Err(ApiError::invalid("/name", "must be 1 to 64 of a-z, 0-9, `_` and `-`"));
    }
    ModelKind::from_str(request.kind.as_str()).map_err(|reason| ApiError::invalid("/kind", reason))?;
    if request.model.trim().is_empty() {
        return Err(ApiError::invalid("/model", "must name the provider's model"));
    }
    check_base_url(request.base_url.as_deref())?;
    let taken = || ApiError::conflict(format!("there is a model provider `{}`", request.name));
    if app.models.is_fixed(&request.name) {
        return Err(taken());
    }
    let input = ModelInput {
        name: request.name.clone(),
        kind: request.kind.as_str().to_owned(),
        base_url: request.base_url,
        model: request.model.trim().to_owned(),
        key: match request.api_key {
            Some(key) if !key.is_empty() => KeyChange::Set(key.into()),
            _ => KeyChange::Remove,
        },
    };
    if !app.storage.models().create(input, caller.actor()).await? {
        return Err(taken());
    }
    let view = find(&app, &request.name).await?;
    Ok((StatusCode::CREATED, axum::Json(view)))
}

/// The provider as lists show it.
pub(super) async fn find(app: &AppState, name: &str) -> Result<ModelView, ApiError> {
    let views = app.models.list().await?;
    views.into_iter().find(|view| view.name == name).ok_or_else(|| ApiError::not_found("model"))
}

//! Changes a model provider that was added here.

use super::check_base_url;
use super::create::find;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::models::{ModelKind, ModelView};
use crate::state::AppState;
use axum::extract::State;
use serde::Deserialize;
use std::str::FromStr as _;
use storage::models::{KeyChange, ModelInput};
use utoipa::ToSchema;

/// What to change; absent leaves as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateModelRequest {
    /// `openai_chat` or `anthropic`.
    kind: Option<ModelKind>,
    /// Where it is; an empty text goes back to its vendor's address.
    base_url: Option<String>,
    /// The model's own name.
    model: Option<String>,
    /// A new key; an empty text drops it.
    api_key: Option<String>,
}

/// Changes a provider. Those of the configuration and the environment can't be changed here.
#[utoipa::path(patch, path = "/api/v1/models/{name}", operation_id = "update_model", tag = "models",
    params(("name" = String, Path)), request_body = UpdateModelRequest, responses((status = OK, body = ModelView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(name): Path<String>,
    Json(request): Json<UpdateModelRequest>,
) -> Result<axum::Json<ModelView>, ApiError> {
    if app.models.is_fixed(&name) {
        return Err(ApiError::conflict(
            "this model is set where the manager is started and can't be changed here",
        ));
    }
    let before = app.storage.models().find(&name).await?.ok_or_else(|| ApiError::not_found("model"))?;
    let kind = request.kind.map_or(before.kind, |kind| kind.as_str().to_owned());
    ModelKind::from_str(&kind).map_err(|reason| ApiError::invalid("/kind", reason))?;
    let base_url = match request.base_url {
        Some(address) => Some(address).filter(|address| !address.is_empty()),
        None => before.base_url.clone(),
    };
    check_base_url(base_url.as_deref())?;
    let key = match request.api_key {
        None if before.has_key && base_url != before.base_url => {
            return Err(ApiError::invalid(
                "/api_key",
                "give the key again: it would be sent to another address",
            ));
        }
        None => KeyChange::Keep,
        Some(key) if key.is_empty() => KeyChange::Remove,
        Some(key) => KeyChange::Set(key.into()),
    };
    let model = request.model.map(|model| model.trim().to_owned()).unwrap_or(before.model);
    if model.is_empty() {
        return Err(ApiError::invalid("/model", "must name the provider's model"));
    }
    let input = ModelInput { name: name.clone(), kind, base_url, model, key };
    app.storage.models().update(input, caller.actor()).await?;
    Ok(axum::Json(find(&app, &name).await?))
}

//! Renames and labels a host.

use super::check_labels;
use super::get::{detail, visible};
use super::view::HostDetail;
use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use axum::extract::State;
use model::EdgeId;
use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What to change; absent leaves as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateHostRequest {
    /// Its name in the inventory: 1–64 of letters, digits, `.`, `_` and `-`; unique.
    name: Option<String>,
    /// All of its labels.
    labels: Option<BTreeMap<String, String>>,
}

/// Renames and labels a host.
#[utoipa::path(patch, path = "/api/v1/hosts/{id}", operation_id = "update_host", tag = "hosts",
    params(("id" = i64, Path)), request_body = UpdateHostRequest, responses((status = OK, body = HostDetail)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<ManageHosts>,
    Path(id): Path<EdgeId>,
    Json(request): Json<UpdateHostRequest>,
) -> Result<axum::Json<HostDetail>, ApiError> {
    visible(&app, &caller, id)?;
    let legal = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if let Some(name) = &request.name
        && (name.is_empty() || name.chars().count() > 64 || !name.chars().all(legal))
    {
        return Err(ApiError::invalid("/name", "must be 1 to 64 letters, digits, `.`, `_` and `-`"));
    }
    if let Some(labels) = &request.labels {
        check_labels(labels)?;
    }
    if let Some(name) = request.name {
        app.fleet.rename(id, &name, caller.actor()).await?;
    }
    if let Some(labels) = request.labels {
        app.fleet.set_labels(id, labels, caller.actor()).await?;
    }
    detail(&app, id).map(axum::Json)
}

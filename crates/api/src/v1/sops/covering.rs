//! Tells which procedures cover a call.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use gate::HostDirectory;
use model::EdgeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Which call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CoveringRequest {
    /// Key of the skill.
    tool: String,
    /// The host.
    #[schema(value_type = i64)]
    edge_id: EdgeId,
    /// Its arguments.
    #[serde(default)]
    #[schema(value_type = Object)]
    args: Value,
}

/// A step that covers the call.
#[derive(Serialize, ToSchema)]
#[schema(as = CoveringStep)]
pub struct CoveringStepView {
    /// The procedure's id.
    id: String,
    /// Its version.
    version: u64,
    /// The step's name.
    step: String,
    /// The procedure's title.
    title: String,
}

/// The steps that cover the call.
#[derive(Serialize, ToSchema)]
pub struct CoveringSteps {
    /// Each.
    items: Vec<CoveringStepView>,
}

/// Tells which steps of the imported procedures cover exactly this call now, on a host that trusts who signed them.
#[utoipa::path(post, path = "/api/v1/sops/covering", operation_id = "covering_sops", tag = "signing",
    request_body = CoveringRequest, responses((status = OK, body = CoveringSteps)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Json(request): Json<CoveringRequest>,
) -> Result<axum::Json<CoveringSteps>, ApiError> {
    let host = HostDirectory::host(&app.fleet, request.edge_id);
    let host = host.filter(|host| caller.reaches(host.id, &host.labels));
    let host = host.ok_or_else(|| ApiError::not_found("host"))?;
    let imported = app.executor.gate().signing().imported();
    let steps = imported.covering(&request.tool, &request.args, &host, app.storage.now());
    let items = steps.into_iter().map(|it| CoveringStepView {
        id: it.id,
        version: it.version,
        step: it.step,
        title: it.title,
    });
    Ok(axum::Json(CoveringSteps { items: items.collect() }))
}

//! Says what would become of a call.

use super::view::PolicyExplanationView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::v1::calls::{SopChoice, scope_of};
use crate::words::ScopeWord;
use axum::extract::State;
use gate::{CallRequest, NamedStep, Narrowing, Principal, Taint};
use model::{CallId, EdgeId, Origin, Scope};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Which call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// Key of the capability.
    tool: String,
    /// Where it would run. If absent: on the host if one is named, else the manager's tool of this key if there is one.
    #[schema(value_type = Option<ScopeWord>)]
    scope: Option<Scope>,
    /// The host, for host skills.
    #[schema(value_type = Option<i64>)]
    edge_id: Option<EdgeId>,
    /// Its arguments, without `edge_id`.
    #[serde(default)]
    #[schema(value_type = Object)]
    args: Value,
    /// The step of a procedure that would be named.
    sop: Option<SopChoice>,
    /// Whether to explain the call as a model's, in a chat of the caller that has taken in text from outside.
    #[serde(default)]
    untrusted: bool,
}

/// Says what would become of a call if the caller made it now, and which rule says so: the gate's own review. Nothing
/// runs, and nothing is put on record.
#[utoipa::path(post, path = "/api/v1/policy/explain", operation_id = "explain_policy", tag = "calls",
    request_body = ExplainRequest, responses((status = OK, body = PolicyExplanationView)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Json(request): Json<ExplainRequest>,
) -> Result<axum::Json<PolicyExplanationView>, ApiError> {
    let person = caller.principal();
    let asker = if request.untrusted {
        Principal { token: person.token, ..Principal::model_for(person.user, person.roles) }
    } else {
        person
    };
    let call = CallRequest {
        call_id: CallId::generate(),
        scope: scope_of(&app, request.scope, request.edge_id, &request.tool),
        key: request.tool,
        edge: request.edge_id,
        args: request.args,
        caller: asker,
        origin: if request.untrusted { Origin::Chat } else { Origin::Api },
        session: None,
        turn: None,
        parent: None,
        timeout: None,
        taint: Taint { untrusted: request.untrusted, named_places: Vec::new() },
        narrowing: Narrowing::All,
        sop: request.sop.map(NamedStep::from),
    };
    let explanation = app.executor.gate().explain(call).await?;
    Ok(axum::Json(explanation.into()))
}

//! Runs a capability and waits for its end.

use super::view::{CallView, Names};
use crate::auth::Caller;
use crate::auth::rule::Run;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::words::ScopeWord;
use axum::extract::State;
use gate::{CallRequest, Narrowing, Taint};
use http::HeaderMap;
use model::{CallId, EdgeId, Origin, Scope};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// A header with which the command line says that it is one. It only names the entry point in the audit.
const ORIGIN_HEADER: &str = "x-steadyhand-origin";

const MAX_TIMEOUT_SECONDS: u64 = 600;

/// What to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateCallRequest {
    /// Key of the capability.
    tool: String,
    /// Where it runs. If absent: on the host if one is named, else the manager's tool of this key if there is one.
    #[schema(value_type = Option<ScopeWord>)]
    scope: Option<Scope>,
    /// The host, for host skills.
    #[schema(value_type = Option<i64>)]
    edge_id: Option<EdgeId>,
    /// Its arguments, without `edge_id`.
    #[serde(default = "no_arguments")]
    #[schema(value_type = Object)]
    args: Value,
    /// When to give up, 1–600 s.
    timeout_seconds: Option<u64>,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Runs a capability and answers with the call when it has ended, however it did. If the client goes away before,
/// a safe call is cancelled.
#[utoipa::path(post, path = "/api/v1/calls", operation_id = "create_call", tag = "calls",
    request_body = CreateCallRequest, responses((status = OK, body = CallView)),
    security(("cookie" = ["viewer"]), ("token" = ["call"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Run>,
    headers: HeaderMap,
    Json(request): Json<CreateCallRequest>,
) -> Result<axum::Json<CallView>, ApiError> {
    let timeout = match request.timeout_seconds {
        None => None,
        Some(seconds @ 1..=MAX_TIMEOUT_SECONDS) => Some(Duration::from_secs(seconds)),
        Some(_) => {
            return Err(ApiError::invalid("/timeout_seconds", format!("must be 1 to {MAX_TIMEOUT_SECONDS}")));
        }
    };
    let catalogue = app.catalogue.load();
    let scope = request.scope.unwrap_or_else(|| match request.edge_id {
        Some(_) => Scope::Host,
        None if catalogue.get(Scope::Manager, &request.tool).is_some() => Scope::Manager,
        None => Scope::Host,
    });
    let call_id = CallId::generate();
    let call = CallRequest {
        call_id,
        scope,
        key: request.tool,
        edge: request.edge_id,
        args: request.args,
        caller: caller.principal(),
        origin: origin_of(&headers),
        session: None,
        turn: None,
        parent: None,
        timeout,
        taint: Taint::default(),
        narrowing: Narrowing::All,
    };
    // If the client goes away this future is dropped: the executor then stops a safe call and ends its row.
    let outcome = app.executor.request(call, CancellationToken::new()).await?;
    let row = app.storage.calls().find(call_id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    let text = outcome.result.as_ref().map(Value::to_string);
    let mut view = CallView::of(row, &Names::load(&app).await?).with_result(text.as_deref());
    view.schema = outcome.schema;
    Ok(axum::Json(view))
}

fn origin_of(headers: &HeaderMap) -> Origin {
    match headers.get(ORIGIN_HEADER).map(http::HeaderValue::as_bytes) {
        Some(b"cli") => Origin::Cli,
        _ => Origin::Api,
    }
}

//! Runs a capability and waits for its end.

use super::view::{CallView, Names};
use crate::auth::Caller;
use crate::auth::rule::Run;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::words::ScopeWord;
use axum::extract::State;
use gate::{CallRequest, NamedStep, Narrowing, Taint};
use http::{HeaderMap, StatusCode};
use model::{CallId, EdgeId, Origin, Scope};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use storage::approvals::ApprovalChange;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
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
    /// The step of a procedure that covers it, where it is dangerous.
    sop: Option<SopChoice>,
    /// When to give up, 1–600 s. Waiting for a person doesn't count.
    timeout_seconds: Option<u64>,
    /// Whether to wait for the end of a call that waits for a person. If not, the answer is the waiting call.
    #[serde(default = "yes")]
    wait: bool,
}

/// A step of a procedure. Its newest version counts that isn't revoked.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SopChoice {
    /// The procedure's id.
    id: String,
    /// The step's name.
    step: String,
}

impl From<SopChoice> for NamedStep {
    fn from(choice: SopChoice) -> Self {
        Self { id: choice.id, step: choice.step }
    }
}

const fn yes() -> bool {
    true
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Runs a capability and answers with the call when it has ended, however it did. If the client goes away before,
/// a safe call is cancelled. A call that needs a person's approval waits for it first, also when the client goes away;
/// with `wait` = false the answer comes at once and is the waiting call (202).
#[utoipa::path(post, path = "/api/v1/calls", operation_id = "create_call", tag = "calls",
    request_body = CreateCallRequest, responses((status = OK, body = CallView), (status = ACCEPTED, body = CallView)),
    security(("cookie" = ["viewer"]), ("token" = ["call"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Run>,
    headers: HeaderMap,
    Json(request): Json<CreateCallRequest>,
) -> Result<(StatusCode, axum::Json<CallView>), ApiError> {
    let timeout = match request.timeout_seconds {
        None => None,
        Some(seconds @ 1..=MAX_TIMEOUT_SECONDS) => Some(Duration::from_secs(seconds)),
        Some(_) => {
            return Err(ApiError::invalid("/timeout_seconds", format!("must be 1 to {MAX_TIMEOUT_SECONDS}")));
        }
    };
    let scope = scope_of(&app, request.scope, request.edge_id, &request.tool);
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
        sop: request.sop.map(NamedStep::from),
    };
    // If the client goes away this future is dropped: the executor then stops a safe call and ends its row.
    let mut asked = app.storage.approval_changes();
    let outcome = tokio::select! {
        outcome = app.executor.request(call, CancellationToken::new()) => Some(outcome?),
        // Dropped while it waits for a person, the request goes on: the call runs once it is approved.
        () = is_asked(&mut asked, call_id), if !request.wait => None,
    };
    let row = app.storage.calls().find(call_id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    let Some(outcome) = outcome else {
        return Ok((StatusCode::ACCEPTED, axum::Json(CallView::of(row, &Names::load(&app).await?))));
    };
    let text = outcome.result.as_ref().map(Value::to_string);
    let mut view = CallView::of(row, &Names::load(&app).await?).with_result(text.as_deref());
    view.schema = outcome.schema;
    Ok((StatusCode::OK, axum::Json(view)))
}

/// Waits until a person is asked about a call.
async fn is_asked(changes: &mut broadcast::Receiver<ApprovalChange>, call: CallId) {
    loop {
        match changes.recv().await {
            Ok(change) if change.call_id == call => return,
            // What was missed may have been it; who asked for the call gets its end then.
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Where a call runs that may not say so.
pub(crate) fn scope_of(app: &AppState, scope: Option<Scope>, edge: Option<EdgeId>, tool: &str) -> Scope {
    scope.unwrap_or_else(|| match edge {
        Some(_) => Scope::Host,
        None if app.catalogue.load().get(Scope::Manager, tool).is_some() => Scope::Manager,
        None => Scope::Host,
    })
}

fn origin_of(headers: &HeaderMap) -> Origin {
    match headers.get(ORIGIN_HEADER).map(http::HeaderValue::as_bytes) {
        Some(b"cli") => Origin::Cli,
        _ => Origin::Api,
    }
}

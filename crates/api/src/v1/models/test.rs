//! Asks a model one real line, and whether it calls tools.

use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::models::BUILTIN;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use futures::StreamExt as _;
use llm::{Completion, LlmError, Message, ModelEvent, ModelRequest, Provider};
use model::Scope;
use serde::Serialize;
use serde_json::json;
use skill::LlmTool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

const MAX_WAIT: Duration = Duration::from_secs(25);

/// How the test went.
#[derive(Serialize, ToSchema)]
pub struct ModelTest {
    /// Whether it answered.
    ok: bool,
    /// What it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether it called the tool that it was asked to call.
    tool_call: bool,
    /// How long it took, in milliseconds.
    latency_ms: u64,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// Why it gave no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Tokens of one request.
#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageView {
    /// Tokens read.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
}

/// Tests a provider with one request to it.
#[utoipa::path(post, path = "/api/v1/models/{name}/test", operation_id = "test_model", tag = "models",
    params(("name" = String, Path)), responses((status = OK, body = ModelTest)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Administer>,
    Path(name): Path<String>,
) -> Result<Json<ModelTest>, ApiError> {
    let provider = app.models.provider(Some(&name)).await?;
    let request = if name == BUILTIN { builtin_question(&app) } else { question() };
    let started = Instant::now();
    let answer = tokio::time::timeout(MAX_WAIT, ask(provider, request))
        .await
        .unwrap_or_else(|_| Err(LlmError::Network(format!("no answer within {} s", MAX_WAIT.as_secs()))));
    let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(match answer {
        Ok(answer) => ModelTest {
            ok: true,
            tool_call: !answer.calls.is_empty(),
            text: Some(answer.text).filter(|text| !text.is_empty()),
            latency_ms,
            usage: Some(UsageView {
                input_tokens: answer.usage.input_tokens,
                output_tokens: answer.usage.output_tokens,
            }),
            error: None,
        },
        Err(error) => ModelTest {
            ok: false,
            text: None,
            tool_call: false,
            latency_ms,
            usage: None,
            error: Some(error.to_string()),
        },
    }))
}

async fn ask(provider: Arc<dyn Provider>, request: ModelRequest) -> Result<Completion, LlmError> {
    let cancel = CancellationToken::new();
    let _cancel_at_the_end = cancel.clone().drop_guard();
    let mut events = provider.stream(request, cancel);
    while let Some(event) = events.next().await {
        if let ModelEvent::Completed(completion) = event? {
            return Ok(completion);
        }
    }
    Err(LlmError::Protocol("the answer ended without an end".to_owned()))
}

fn question() -> ModelRequest {
    ModelRequest {
        system: "You are being tested. Call the tool `ping` once, with the word `steadyhand`.".to_owned(),
        messages: vec![Message::User { text: "Please call ping with the word steadyhand.".to_owned() }],
        tools: vec![LlmTool {
            name: "ping".to_owned(),
            description: "Answers with the word it was given.".to_owned(),
            params: json!({
                "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"],
                "additionalProperties": false,
            }),
            scope: Scope::Manager,
        }],
        allow_tools: true,
        max_output_tokens: 256,
        ..ModelRequest::default()
    }
}

fn builtin_question(app: &AppState) -> ModelRequest {
    ModelRequest {
        messages: vec![Message::User { text: "which hosts are online?".to_owned() }],
        tools: app.catalogue.load().llm_tools(),
        allow_tools: true,
        ..ModelRequest::default()
    }
}

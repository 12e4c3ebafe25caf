//! The events of a turn. Their kinds and payloads are the console's contract.

use crate::results::Ended;
use llm::{HostRef, ModelLabel};
use model::{CallId, Class, Scope, UserId};
use serde_json::{Map, Value, json};
use skill::LlmTool;
use storage::chats::NewEvent;
use uuid::Uuid;

/// Most characters of a result on its card.
const PREVIEW_CHARS: usize = 2_000;
/// Results up to this many bytes are in their event; larger ones are fetched by call id.
const RESULT_BYTES: usize = 32 * 1024;

fn event(kind: &'static str, payload: Value) -> NewEvent {
    NewEvent { kind, payload, delta_of: None }
}

pub(crate) fn user_message(message: Uuid, text: &str, user: UserId, user_name: &str) -> NewEvent {
    event(
        "chat.user-message.v1",
        json!({"message_id": message, "text": text, "user_id": user, "user_name": user_name}),
    )
}

pub(crate) fn turn_started(label: &ModelLabel) -> NewEvent {
    event("chat.turn-started.v1", json!({ "model": label }))
}

pub(crate) fn phase(phase: &'static str, round: u32) -> NewEvent {
    event("chat.phase.v1", json!({"phase": phase, "round": round}))
}

pub(crate) fn text_delta(message: Uuid, text: &str) -> NewEvent {
    let payload = json!({"message_id": message, "text": text});
    NewEvent { delta_of: Some(message), ..event("chat.text-delta.v1", payload) }
}

pub(crate) fn reasoning_delta(message: Uuid, text: &str) -> NewEvent {
    let payload = json!({"message_id": message, "text": text});
    NewEvent { delta_of: Some(message), ..event("chat.reasoning-delta.v1", payload) }
}

pub(crate) fn message(message: Uuid, text: &str, calls: &[(CallId, &str)]) -> NewEvent {
    let calls: Vec<Value> = calls.iter().map(|(id, tool)| json!({"call_id": id, "tool": tool})).collect();
    event("chat.message.v1", json!({"message_id": message, "text": text, "calls": calls}))
}

pub(crate) fn superseded(message: Uuid) -> NewEvent {
    event("attempt.superseded.v1", json!({ "message_id": message }))
}

pub(crate) fn notice(text: &str) -> NewEvent {
    event("chat.notice.v1", json!({ "text": text }))
}

/// What is shown of a call that is about to be made.
#[derive(Clone, Debug)]
pub(crate) struct CallCard {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) scope: Option<Scope>,
    pub(crate) class: Option<Class>,
    pub(crate) host: Option<(i64, String)>,
    /// Redacted.
    pub(crate) args: Value,
    pub(crate) parent: Option<CallId>,
}

pub(crate) fn tool_call(card: &CallCard) -> NewEvent {
    let mut payload = json!({
        "call_id": card.id, "tool": card.tool, "scope": card.scope, "class": card.class, "args": card.args,
    });
    if let Some((id, name)) = &card.host {
        payload["edge_id"] = json!(id);
        payload["edge_name"] = json!(name);
    }
    if let Some(parent) = card.parent {
        payload["parent_call_id"] = json!(parent);
    }
    event("chat.tool-call.v1", payload)
}

/// The latest line of a call that runs. It goes when the call has ended.
pub(crate) fn tool_progress(call: CallId, line: &str) -> NewEvent {
    let payload = json!({"call_id": call, "line": line});
    NewEvent { delta_of: Some(call.0), ..event("chat.tool-progress.v1", payload) }
}

pub(crate) fn tool_result(call: CallId, ended: &Ended) -> NewEvent {
    let mut payload = Map::new();
    payload.insert("call_id".to_owned(), json!(call));
    payload.insert("state".to_owned(), json!(ended.state));
    for (field, value) in
        [("error", &ended.error), ("error_kind", &ended.error_kind), ("sandbox", &ended.sandbox)]
    {
        if let Some(value) = value {
            payload.insert(field.to_owned(), json!(value));
        }
    }
    if let Some(result) = &ended.result {
        let text = result.to_string();
        let preview = serde_json::to_string_pretty(result).unwrap_or_default();
        payload.insert("preview".to_owned(), json!(preview.chars().take(PREVIEW_CHARS).collect::<String>()));
        if text.len() <= RESULT_BYTES {
            payload.insert("result".to_owned(), result.clone());
        }
    }
    payload.insert("result_bytes".to_owned(), json!(ended.result_bytes));
    payload.insert("duration_ms".to_owned(), json!(ended.duration_ms));
    event("chat.tool-result.v1", Value::Object(payload))
}

/// The host of a call, by its `edge_id` argument.
pub(crate) fn host_of(edge: Option<i64>, hosts: &[HostRef]) -> Option<(i64, String)> {
    let id = edge?;
    let name = hosts.iter().find(|host| host.id == id).map(|host| host.name.clone());
    Some((id, name.unwrap_or_else(|| format!("host {id}"))))
}

/// Leaves out tools that no host can run.
pub(crate) fn offered(tools: Vec<LlmTool>, hosts: &[HostRef]) -> Vec<LlmTool> {
    tools
        .into_iter()
        .filter(|tool| {
            tool.scope == Scope::Manager
                || hosts.is_empty()
                || hosts.iter().any(|host| host.unmet.get(&tool.name).is_none_or(Vec::is_empty))
        })
        .collect()
}

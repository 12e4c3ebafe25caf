//! OpenAI Responses. Nothing is kept at the provider: each request brings the whole conversation, and the model's
//! encrypted reasoning with it.

use crate::assemble::{Calls, Piece};
use crate::history;
use crate::http::{self, Endpoint};
use crate::openai::shown_arguments;
use crate::schema::{self, Dialect, Toolbox};
use crate::sse::Event;
use crate::stream::{self, Decoder, append_text, error_in_stream};
use crate::{Completion, Finish, LlmError, Message, ModelEvent, ModelLabel, ModelRequest, Provider, Usage};
use futures::stream::BoxStream;
use reqwest::Client;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// A model behind the Responses protocol.
#[derive(Clone, Debug)]
pub struct Responses {
    endpoint: Arc<Endpoint>,
    client: Client,
    is_azure: bool,
    taste: Arc<Taste>,
}

/// What has been learnt about the server's taste.
#[derive(Debug)]
struct Taste {
    encrypted: AtomicBool,
    strict: AtomicBool,
}

impl Default for Taste {
    fn default() -> Self {
        Self { encrypted: AtomicBool::new(true), strict: AtomicBool::new(true) }
    }
}

impl Taste {
    fn dialect(&self) -> Dialect {
        if self.strict.load(Ordering::Relaxed) { Dialect::OpenAiStrict } else { Dialect::OpenAiChat }
    }

    /// Whether a refusal taught something, so that asking again makes sense. Each lesson is learnt once.
    fn learn(&self, message: &str) -> bool {
        let lower = message.to_ascii_lowercase();
        if lower.contains("encrypted") || lower.contains("include") {
            return self.encrypted.swap(false, Ordering::Relaxed);
        }
        if lower.contains("strict") || lower.contains("invalid schema for function") {
            return self.strict.swap(false, Ordering::Relaxed);
        }
        false
    }
}

impl Responses {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded, or the endpoint's proxy or CA file can't be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        let host = endpoint.base_url.host_str().unwrap_or_default();
        Ok(Self {
            is_azure: host.ends_with(".openai.azure.com"),
            client: http::client(&endpoint)?,
            endpoint: Arc::new(endpoint),
            taste: Arc::new(Taste::default()),
        })
    }

    async fn open(self, request: ModelRequest, cancel: CancellationToken) -> Result<http::Answer, LlmError> {
        let url = self.endpoint.operation("v1", "responses");
        loop {
            let toolbox = Toolbox::new(self.taste.dialect(), &request.tools);
            let body =
                body(&self.endpoint.model, &request, &toolbox, self.taste.encrypted.load(Ordering::Relaxed));
            let form = |key: Option<&SecretString>| {
                let post = self.client.post(url.clone()).json(&body);
                Ok(match key {
                    Some(key) if self.is_azure => post.header("api-key", http::key_header(key)?),
                    Some(key) => post.bearer_auth(key.expose_secret()),
                    None => post,
                })
            };
            match http::open(&form, &self.endpoint, &cancel).await {
                Err(LlmError::BadRequest(message)) if self.taste.learn(&message) => {}
                other => return other,
            }
        }
    }
}

impl Provider for Responses {
    fn label(&self) -> ModelLabel {
        self.endpoint.label()
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        let toolbox = Arc::new(Toolbox::new(self.taste.dialect(), &request.tools));
        let opening = Box::pin(self.clone().open(request, cancel.clone()));
        stream::run(opening, ResponsesDecoder::default(), toolbox, cancel)
    }
}

pub(crate) fn body(model: &str, request: &ModelRequest, toolbox: &Toolbox, encrypted: bool) -> Value {
    let mut input = Vec::new();
    for message in history::prepared(&request.messages) {
        items(&message, encrypted, &mut input);
    }
    let mut body = json!({"model": model, "input": input, "stream": true, "store": false});
    if !request.system.is_empty() {
        body["instructions"] = json!(request.system);
    }
    if encrypted {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if request.max_output_tokens > 0 {
        // Fewer than sixteen are refused.
        body["max_output_tokens"] = json!(request.max_output_tokens.max(16));
    }
    if !toolbox.tools.is_empty() {
        // Strictness is on where nothing is said.
        body["tools"] = toolbox
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.form.params, "strict": tool.form.strict,
                })
            })
            .collect();
        if !request.allow_tools {
            body["tool_choice"] = json!("none");
        }
    }
    body
}

fn items(message: &Message, encrypted: bool, out: &mut Vec<Value>) {
    match message {
        Message::User { text } => out.push(json!({
            "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
        })),
        Message::Assistant { text, calls, provider_data } => {
            if encrypted {
                let kept = provider_data.iter().filter_map(Value::as_array).flatten();
                out.extend(kept.filter_map(reasoning));
            }
            if !text.trim().is_empty() {
                out.push(json!({
                    "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}],
                }));
            }
            out.extend(calls.iter().map(|call| {
                json!({
                    "type": "function_call", "call_id": call.id, "name": schema::legal(&call.name),
                    "arguments": shown_arguments(call).to_string(),
                })
            }));
        }
        Message::Tool { call_id, content, .. } => {
            out.push(json!({"type": "function_call_output", "call_id": call_id, "output": content}));
        }
    }
}

/// A reasoning item as it may come back: the provider knows it only by what is encrypted in it, and refuses its plain
/// text.
fn reasoning(item: &Value) -> Option<Value> {
    let text = |field: &str| item.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("type") != Some("reasoning") {
        return None;
    }
    let summary = item.get("summary").filter(|summary| summary.is_array()).cloned();
    Some(json!({
        "type": "reasoning", "id": text("id")?, "summary": summary.unwrap_or_else(|| json!([])),
        "encrypted_content": text("encrypted_content")?,
    }))
}

#[derive(Debug, Default)]
struct ResponsesDecoder {
    text: String,
    calls: Calls,
    /// Items of which a part came already, by their place.
    begun: BTreeSet<i64>,
    reasoning: Vec<Value>,
    usage: Usage,
    finish: Option<Finish>,
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let data = serde_json::from_str::<Value>(data).map_err(|error| {
            LlmError::Protocol(format!("a piece of the answer is not valid JSON: {error}"))
        })?;
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(&event.name).to_owned();
        let place = data.get("output_index").and_then(Value::as_i64).unwrap_or(0);
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        let mut out = Vec::new();
        match kind.as_str() {
            "response.output_item.added" => {
                if let Some(item) = data.get("item") {
                    self.begin_call(place, item, &mut out)?;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.begun.insert(place);
                self.add_text(delta, &mut out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta"
                if !delta.is_empty() =>
            {
                out.push(ModelEvent::ReasoningDelta(delta.to_owned()));
            }
            "response.function_call_arguments.delta" => {
                self.begun.insert(place);
                let piece = Piece { index: Some(place), arguments: data.get("delta"), ..Piece::default() };
                self.add_piece(&piece, &mut out)?;
            }
            "response.output_item.done" => {
                if let Some(item) = data.get("item") {
                    self.end_item(place, item, &mut out)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                if let Some(response) = data.get("response") {
                    self.end(response, &mut out)?;
                }
            }
            "error" => {
                // The event is the error itself, or holds it.
                return Err(error_in_stream(&data));
            }
            // What is announced, and whatever is still to be invented.
            _ => {}
        }
        Ok(out)
    }

    fn whole(&mut self, document: &Value) -> Result<Vec<ModelEvent>, LlmError> {
        let mut out = Vec::new();
        self.end(document, &mut out)?;
        Ok(out)
    }

    fn is_done(&self) -> bool {
        self.finish.is_some()
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(&mut self) -> Result<Completion, LlmError> {
        let Some(finish) = self.finish else {
            return Err(LlmError::Protocol(
                "the answer ended before the server said that it was done".to_owned(),
            ));
        };
        let calls = std::mem::take(&mut self.calls);
        let finish = if finish == Finish::Stop && !calls.is_empty() { Finish::ToolCalls } else { finish };
        let calls = if finish == Finish::ToolCalls { calls.finish() } else { Vec::new() };
        let reasoning = std::mem::take(&mut self.reasoning);
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            calls,
            finish,
            usage: self.usage,
            provider_data: (!reasoning.is_empty()).then_some(Value::Array(reasoning)),
            answered_by: None,
        })
    }
}

fn is_kind(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

impl ResponsesDecoder {
    fn begin_call(&mut self, place: i64, item: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if !is_kind(item, "function_call") {
            return Ok(());
        }
        let piece = Piece {
            index: Some(place),
            id: item.get("call_id").and_then(Value::as_str),
            name: item.get("name").and_then(Value::as_str),
            arguments: None,
        };
        self.add_piece(&piece, out)
    }

    /// Takes of a whole item what didn't come in pieces.
    fn end_item(&mut self, place: i64, item: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if let Some(kept) = reasoning(item) {
            self.reasoning.push(kept);
        }
        if !self.begun.insert(place) {
            return Ok(());
        }
        if is_kind(item, "function_call") {
            let piece = Piece {
                index: Some(place),
                id: item.get("call_id").and_then(Value::as_str),
                name: item.get("name").and_then(Value::as_str),
                arguments: item.get("arguments"),
            };
            return self.add_piece(&piece, out);
        }
        if is_kind(item, "message") {
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                for field in ["text", "refusal"] {
                    self.add_text(part.get(field).and_then(Value::as_str).unwrap_or_default(), out)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the whole response, which is the last that comes.
    fn end(&mut self, response: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if response.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_in_stream(response));
        }
        // Some servers send nothing before it.
        if self.begun.is_empty() {
            let items = response.get("output").and_then(Value::as_array).into_iter().flatten();
            for (place, item) in items.enumerate() {
                self.end_item(i64::try_from(place).unwrap_or(i64::MAX), item, out)?;
            }
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            self.usage = Usage {
                input_tokens: count("/input_tokens"),
                output_tokens: count("/output_tokens"),
                cached_input_tokens: count("/input_tokens_details/cached_tokens"),
                cache_write_tokens: 0,
            };
        }
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.finish = match (response.get("status").and_then(Value::as_str), reason) {
            (Some("incomplete"), Some("content_filter")) => Some(Finish::ContentFilter),
            (Some("incomplete"), _) => Some(Finish::Length),
            (Some("failed" | "cancelled"), _) => {
                return Err(LlmError::Protocol("the server says that the answer failed".to_owned()));
            }
            (Some("completed"), _) => Some(Finish::Stop),
            _ => None,
        };
        Ok(())
    }

    fn add_piece(&mut self, piece: &Piece<'_>, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if let Some((index, name)) = self.calls.add(piece)? {
            out.push(ModelEvent::CallStarted { index, name });
        }
        Ok(())
    }

    fn add_text(&mut self, more: &str, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if !more.is_empty() {
            append_text(&mut self.text, more)?;
            out.push(ModelEvent::TextDelta(more.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

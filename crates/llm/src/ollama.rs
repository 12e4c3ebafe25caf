//! Ollama's own chat: one JSON document per line.
//!
//! It cuts a conversation that is longer than the window with which the model was loaded, and says nothing. So every
//! request asks for a window that it fits into.

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
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use url::Url;

/// The window that is asked for at least, in tokens. Each other window loads the model anew, so they go in steps.
const MIN_WINDOW: u32 = 16_384;
/// The largest window that is asked for unless the endpoint names one.
const MAX_WINDOW: u32 = 131_072;
/// Room for the answer where the request names no limit, in tokens.
const DEFAULT_ANSWER: u32 = 4_096;
/// Bytes of a request for one token, at least.
const BYTES_PER_TOKEN: usize = 3;

/// A model behind Ollama's protocol.
#[derive(Clone, Debug)]
pub struct Ollama {
    endpoint: Arc<Endpoint>,
    client: Client,
}

impl Ollama {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded, or the endpoint's proxy or CA file can't be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        Ok(Self { client: http::client(&endpoint)?, endpoint: Arc::new(endpoint) })
    }

    fn url(&self) -> Url {
        let mut url = self.endpoint.base_url.clone();
        // People know the address of its other protocol.
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").or_else(|| path.strip_suffix("/api")).unwrap_or(path);
        let path = format!("{path}/api/chat");
        url.set_path(&path);
        url
    }

    async fn open(
        self,
        request: ModelRequest,
        toolbox: Arc<Toolbox>,
        cancel: CancellationToken,
    ) -> Result<http::Answer, LlmError> {
        let url = self.url();
        let body = body(&self.endpoint, &request, &toolbox);
        let form = |key: Option<&SecretString>| {
            let post = self.client.post(url.clone()).json(&body);
            Ok(match key {
                Some(key) => post.bearer_auth(key.expose_secret()),
                None => post,
            })
        };
        http::open(&form, &self.endpoint, &cancel).await
    }
}

impl Provider for Ollama {
    fn label(&self) -> ModelLabel {
        self.endpoint.label()
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        let toolbox = Arc::new(Toolbox::new(Dialect::Ollama, &request.tools));
        let opening = Box::pin(self.clone().open(request, Arc::clone(&toolbox), cancel.clone()));
        stream::run(opening, OllamaDecoder::default(), toolbox, cancel)
    }
}

pub(crate) fn body(endpoint: &Endpoint, request: &ModelRequest, toolbox: &Toolbox) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(history::prepared(&request.messages).iter().map(message));
    let mut body = json!({"model": endpoint.model, "messages": messages, "stream": true});
    if request.allow_tools && !toolbox.tools.is_empty() {
        body["tools"] = toolbox
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.form.params,
                }})
            })
            .collect();
    }
    let mut options = Map::new();
    if request.max_output_tokens > 0 {
        options.insert("num_predict".to_owned(), json!(request.max_output_tokens));
    }
    let answer = if request.max_output_tokens > 0 { request.max_output_tokens } else { DEFAULT_ANSWER };
    options.insert("num_ctx".to_owned(), json!(window(endpoint, body.to_string().len(), answer)));
    body["options"] = Value::Object(options);
    body
}

/// The window for a request of this many bytes.
fn window(endpoint: &Endpoint, bytes: usize, answer: u32) -> u32 {
    if endpoint.context_tokens > 0 {
        return endpoint.context_tokens;
    }
    let needed = u32::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u32::MAX).saturating_add(answer);
    needed.min(MAX_WINDOW).next_power_of_two().clamp(MIN_WINDOW, MAX_WINDOW)
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, provider_data } => {
            let mut out = json!({"role": "assistant", "content": text});
            if calls.is_empty() {
                return out;
            }
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let name = schema::legal(&call.name);
                    json!({"function": {"name": name, "arguments": shown_arguments(call)}})
                })
                .collect();
            out["tool_calls"] = json!(calls);
            // Models that think want to see why they called.
            if let Some(thoughts) = provider_data.as_ref().and_then(|data| data.get("thinking")?.as_str()) {
                out["thinking"] = json!(thoughts);
            }
            out
        }
        Message::Tool { name, content, .. } => {
            json!({"role": "tool", "tool_name": schema::legal(name), "content": content})
        }
    }
}

#[derive(Debug, Default)]
struct OllamaDecoder {
    text: String,
    thoughts: String,
    calls: Calls,
    count: i64,
    usage: Usage,
    finish: Option<Finish>,
}

impl Decoder for OllamaDecoder {
    const LINES: bool = true;

    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError> {
        let line = serde_json::from_str::<Value>(&event.data).map_err(|error| {
            LlmError::Protocol(format!("a piece of the answer is not valid JSON: {error}"))
        })?;
        self.whole(&line)
    }

    fn whole(&mut self, line: &Value) -> Result<Vec<ModelEvent>, LlmError> {
        if line.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_in_stream(line));
        }
        let mut out = Vec::new();
        if let Some(message) = line.get("message") {
            self.read_message(message, &mut out)?;
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            let count = |field: &str| line.get(field).and_then(Value::as_u64).unwrap_or(0);
            self.usage = Usage {
                input_tokens: count("prompt_eval_count"),
                output_tokens: count("eval_count"),
                ..Usage::default()
            };
            self.finish = Some(match line.get("done_reason").and_then(Value::as_str) {
                Some("length") => Finish::Length,
                Some("load" | "unload") => {
                    return Err(LlmError::Protocol("the server only loaded the model".to_owned()));
                }
                _ => Finish::Stop,
            });
        }
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
        let thoughts = std::mem::take(&mut self.thoughts);
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            calls,
            finish,
            usage: self.usage,
            provider_data: (!thoughts.is_empty()).then(|| json!({"thinking": thoughts})),
            answered_by: None,
        })
    }
}

impl OllamaDecoder {
    fn read_message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        let text = |field: &str| message.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = text("thinking") {
            append_text(&mut self.thoughts, thought)?;
            out.push(ModelEvent::ReasoningDelta(thought.to_owned()));
        }
        if let Some(more) = text("content") {
            append_text(&mut self.text, more)?;
            out.push(ModelEvent::TextDelta(more.to_owned()));
        }
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = call.get("function");
            let field = |name: &str| function.and_then(|function| function.get(name));
            // Each call comes whole.
            let piece = Piece {
                index: Some(self.count),
                id: call.get("id").and_then(Value::as_str),
                name: field("name").and_then(Value::as_str),
                arguments: field("arguments"),
            };
            self.count += 1;
            if let Some((index, name)) = self.calls.add(&piece)? {
                out.push(ModelEvent::CallStarted { index, name });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

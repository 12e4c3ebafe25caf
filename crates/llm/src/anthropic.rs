//! Anthropic Messages.

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
use secrecy::SecretString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The revision of the protocol.
const VERSION: &str = "2023-06-01";
/// What is asked for where the request doesn't say: the protocol wants a number.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// A model behind the Messages protocol.
#[derive(Clone, Debug)]
pub struct Messages {
    endpoint: Arc<Endpoint>,
    client: Client,
}

impl Messages {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        Ok(Self { client: http::client(&endpoint)?, endpoint: Arc::new(endpoint) })
    }

    async fn open(
        self,
        request: ModelRequest,
        toolbox: Arc<Toolbox>,
        cancel: CancellationToken,
    ) -> Result<http::Answer, LlmError> {
        let url = self.endpoint.operation("v1", "messages");
        let body = body(&self.endpoint.model, &request, &toolbox);
        let form = |key: Option<&SecretString>| {
            let post = self.client.post(url.clone()).header("anthropic-version", VERSION).json(&body);
            Ok(match key {
                Some(key) => post.header("x-api-key", http::key_header(key)?),
                None => post,
            })
        };
        http::open(&form, &self.endpoint, &cancel).await
    }
}

impl Provider for Messages {
    fn label(&self) -> ModelLabel {
        self.endpoint.label()
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        let toolbox = Arc::new(Toolbox::new(Dialect::Anthropic, &request.tools));
        let opening = Box::pin(self.clone().open(request, Arc::clone(&toolbox), cancel.clone()));
        stream::run(opening, MessagesDecoder::default(), toolbox, cancel)
    }
}

pub(crate) fn body(model: &str, request: &ModelRequest, toolbox: &Toolbox) -> Value {
    let max_tokens =
        if request.max_output_tokens > 0 { request.max_output_tokens } else { DEFAULT_MAX_TOKENS };
    let mut body = json!({
        "model": model, "max_tokens": max_tokens, "stream": true,
        "messages": cached(messages(&history::prepared(&request.messages))),
    });
    if !request.system.is_empty() {
        body["system"] =
            json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
    }
    // Tools stay listed where they may not be called: the history's calls are invalid without them.
    if !toolbox.tools.is_empty() {
        body["tools"] = toolbox
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.form.params})
            })
            .collect();
        mark(body["tools"].as_array_mut().and_then(|tools| tools.last_mut()));
        if !request.allow_tools {
            body["tool_choice"] = json!({"type": "none"});
        }
    }
    body
}

/// Marks the end of what the provider may keep for the next request.
fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Marks where the conversation may be kept: its end, which the next round of the turn goes on from, and the
/// message of the user before it, which the next turn still has where a round came to nothing. With tools and system
/// that makes four marks, as many as there may be.
fn cached(mut turns: Vec<Value>) -> Vec<Value> {
    let last = turns.len().checked_sub(1);
    let before = last.and_then(|last| (0..last).rev().find(|place| turns[*place]["role"] == "user"));
    for place in [last, before].into_iter().flatten() {
        mark(turns[place]["content"].as_array_mut().and_then(|blocks| blocks.last_mut()));
    }
    turns
}

/// The conversation as alternating turns: neighbours of one role are joined, and results are the user's.
fn messages(history: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in history {
        let (role, blocks) = blocks(message);
        match turns.last_mut() {
            Some((last, existing)) if *last == role => existing.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    // An empty text block is refused.
    let text_block = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    match message {
        Message::User { text } => ("user", text_block(text).into_iter().collect()),
        Message::Assistant { text, calls, provider_data } => {
            // Only what this protocol gave may come back in it.
            let mut blocks: Vec<Value> = provider_data
                .iter()
                .filter_map(Value::as_array)
                .flatten()
                .filter(|b| is_thinking(b))
                .cloned()
                .collect();
            blocks.extend(text_block(text.trim_end()));
            blocks.extend(calls.iter().map(|call| {
                json!({"type": "tool_use", "id": call.id, "name": schema::legal(&call.name), "input": shown_arguments(call)})
            }));
            ("assistant", blocks)
        }
        Message::Tool { call_id, content, is_error, .. } => {
            let content = if content.trim().is_empty() { "(nothing)" } else { content };
            let block = json!({"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error});
            ("user", vec![block])
        }
    }
}

/// Whether it is a block of thinking that can be sent: one without its signature is refused.
fn is_thinking(block: &Value) -> bool {
    let has = |field: &str| block.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    match block.get("type").and_then(Value::as_str) {
        Some("thinking") => has("signature") && block.get("thinking").is_some_and(Value::is_string),
        Some("redacted_thinking") => has("data"),
        _ => false,
    }
}

#[derive(Debug, Default)]
struct MessagesDecoder {
    text: String,
    calls: Calls,
    /// Kinds of the open blocks, by index.
    open: BTreeMap<i64, Kind>,
    /// Number of blocks that began: the key of a call, because servers reuse indexes.
    begun: i64,
    thinking: Vec<Value>,
    usage: Usage,
    finish: Option<Finish>,
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Call(i64),
    Thinking(usize),
    Other,
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError> {
        if event.data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let data = serde_json::from_str::<Value>(&event.data).map_err(|error| {
            LlmError::Protocol(format!("a piece of the answer is not valid JSON: {error}"))
        })?;
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(&event.name);
        let mut out = Vec::new();
        match kind {
            "message_start" => {
                if let Some(message) = data.get("message") {
                    self.read_usage(message);
                }
            }
            "content_block_start" => {
                self.begin_block(index_of(&data), data.get("content_block"), &mut out)?
            }
            "content_block_delta" => {
                if let Some(delta) = data.get("delta") {
                    self.read_delta(index_of(&data), delta, &mut out)?;
                }
            }
            "content_block_stop" => {
                self.open.remove(&index_of(&data));
            }
            "message_delta" => {
                self.read_usage(&data);
                if let Some(delta) = data.get("delta") {
                    self.read_finish(delta);
                }
            }
            "message_stop" => self.done = true,
            "error" => return Err(error_in_stream(&data)),
            // `ping`, and whatever is still to be invented.
            _ => {}
        }
        Ok(out)
    }

    fn whole(&mut self, document: &Value) -> Result<Vec<ModelEvent>, LlmError> {
        if document.get("type").and_then(Value::as_str) == Some("error") {
            return Err(error_in_stream(document));
        }
        self.read_usage(document);
        let mut out = Vec::new();
        for (index, block) in
            document.get("content").and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            self.begin_block(i64::try_from(index).unwrap_or(i64::MAX), Some(block), &mut out)?;
        }
        self.read_finish(document);
        self.done = self.finish.is_some();
        Ok(out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_whole(&self) -> bool {
        self.done
    }

    fn finish(&mut self) -> Result<Completion, LlmError> {
        if !self.done {
            return Err(LlmError::Protocol(
                "the answer ended before the server said that it was done".to_owned(),
            ));
        }
        let calls = std::mem::take(&mut self.calls);
        let finish = match self.finish.unwrap_or_default() {
            Finish::Stop | Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
            cut => cut,
        };
        let calls = if finish == Finish::ToolCalls { calls.finish() } else { Vec::new() };
        let mut thinking = std::mem::take(&mut self.thinking);
        thinking.retain(is_thinking);
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            calls,
            finish,
            usage: self.usage,
            provider_data: (!thinking.is_empty()).then_some(Value::Array(thinking)),
            answered_by: None,
        })
    }
}

fn index_of(data: &Value) -> i64 {
    data.get("index").and_then(Value::as_i64).unwrap_or(0)
}

impl MessagesDecoder {
    fn begin_block(
        &mut self,
        index: i64,
        block: Option<&Value>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), LlmError> {
        let Some(block) = block else { return Ok(()) };
        let text_of = |field: &str| block.get(field).and_then(Value::as_str).unwrap_or_default();
        let kind = match text_of("type") {
            "text" => {
                self.add_text(text_of("text"), out)?;
                Kind::Text
            }
            "tool_use" => {
                self.begun += 1;
                let key = self.begun;
                // An empty object here only announces that the arguments follow.
                let input = block
                    .get("input")
                    .filter(|input| input.as_object().is_none_or(|fields| !fields.is_empty()));
                let piece = Piece {
                    index: Some(key),
                    id: block.get("id").and_then(Value::as_str),
                    name: Some(text_of("name")),
                    arguments: input,
                };
                self.add_piece(&piece, out)?;
                Kind::Call(key)
            }
            "thinking" | "redacted_thinking" => {
                self.thinking.push(block.clone());
                Kind::Thinking(self.thinking.len() - 1)
            }
            _ => Kind::Other,
        };
        self.open.insert(index, kind);
        Ok(())
    }

    fn read_delta(&mut self, index: i64, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        let text_of = |field: &str| delta.get(field).and_then(Value::as_str).unwrap_or_default();
        let open = self.open.get(&index).copied();
        match text_of("type") {
            // Text without a block of its own is still the model's words.
            "text_delta" if matches!(open, None | Some(Kind::Text)) => self.add_text(text_of("text"), out)?,
            "input_json_delta" => match open {
                Some(Kind::Call(key)) => {
                    let piece =
                        Piece { index: Some(key), arguments: delta.get("partial_json"), ..Piece::default() };
                    self.add_piece(&piece, out)?;
                }
                Some(Kind::Other) => {}
                _ => {
                    return Err(LlmError::Protocol(
                        "arguments came without the call that they are for".to_owned(),
                    ));
                }
            },
            "thinking_delta" => {
                let thought = text_of("thinking");
                self.extend_thinking(open, "thinking", thought)?;
                if !thought.is_empty() {
                    out.push(ModelEvent::ReasoningDelta(thought.to_owned()));
                }
            }
            "signature_delta" => self.extend_thinking(open, "signature", text_of("signature"))?,
            _ => {}
        }
        Ok(())
    }

    fn extend_thinking(&mut self, open: Option<Kind>, field: &str, more: &str) -> Result<(), LlmError> {
        let Some(Kind::Thinking(position)) = open else { return Ok(()) };
        if let Some(block) = self.thinking.get_mut(position).and_then(Value::as_object_mut) {
            let mut text = block.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            append_text(&mut text, more)?;
            block.insert(field.to_owned(), Value::String(text));
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

    fn add_piece(&mut self, piece: &Piece<'_>, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if let Some((index, name)) = self.calls.add(piece)? {
            out.push(ModelEvent::CallStarted { index, name });
        }
        Ok(())
    }

    fn read_finish(&mut self, delta: &Value) {
        if let Some(word) = delta.get("stop_reason").and_then(Value::as_str) {
            self.finish = Some(match word {
                "max_tokens" | "model_context_window_exceeded" => Finish::Length,
                "refusal" => Finish::ContentFilter,
                "tool_use" => Finish::ToolCalls,
                _ => Finish::Stop,
            });
        }
    }

    /// Counts are cumulative; later ones replace earlier ones.
    fn read_usage(&mut self, holder: &Value) {
        let Some(usage) = holder.get("usage").filter(|usage| usage.is_object()) else { return };
        let count = |field: &str| usage.get(field).and_then(Value::as_u64);
        if let Some(fresh) = count("input_tokens") {
            let written = count("cache_creation_input_tokens").unwrap_or(self.usage.cache_write_tokens);
            let cached = count("cache_read_input_tokens").unwrap_or(self.usage.cached_input_tokens);
            self.usage.input_tokens = fresh.saturating_add(written).saturating_add(cached);
            self.usage.cached_input_tokens = cached;
            self.usage.cache_write_tokens = written;
        }
        if let Some(written) = count("output_tokens") {
            self.usage.output_tokens = written;
        }
    }
}

#[cfg(test)]
mod tests;

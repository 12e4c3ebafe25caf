//! OpenAI-compatible chat completions: OpenAI itself, Ollama, vLLM, llama.cpp and many more.

use crate::assemble::{Calls, Piece};
use crate::http::{self, Endpoint};
use crate::sse::Event;
use crate::stream::{self, Decoder, append_text, error_in_stream};
use crate::{
    Completion, Finish, LlmError, Message, ModelEvent, ModelLabel, ModelRequest, Provider, ToolCall, Usage,
    schema,
};
use futures::stream::BoxStream;
use reqwest::Client;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// A model behind the chat completions protocol.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    endpoint: Arc<Endpoint>,
    client: Client,
    dialect: Arc<Dialect>,
}

/// What has been learnt about the server's taste. Each is tried once and then remembered.
#[derive(Debug)]
struct Dialect {
    stream_options: AtomicBool,
    completion_tokens: AtomicBool,
}

impl ChatCompletions {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        let is_openai = endpoint.base_url.host_str().is_some_and(|host| host.ends_with("openai.com"));
        let dialect =
            Dialect { stream_options: AtomicBool::new(true), completion_tokens: AtomicBool::new(is_openai) };
        Ok(Self {
            client: http::client(&endpoint)?,
            endpoint: Arc::new(endpoint),
            dialect: Arc::new(dialect),
        })
    }

    async fn open(self, request: ModelRequest, cancel: CancellationToken) -> Result<http::Answer, LlmError> {
        loop {
            let mut post = self.client.post(self.endpoint.operation("v1", "chat/completions"));
            if let Some(key) = &self.endpoint.api_key {
                post = post.bearer_auth(key.expose_secret());
            }
            let body = body(&self.endpoint.model, &request, &self.dialect);
            match stream::open(post.json(&body), &self.endpoint, &cancel).await {
                Err(LlmError::BadRequest(message)) if self.dialect.learn(&message) => {}
                other => return other,
            }
        }
    }
}

impl Dialect {
    /// Whether a refusal taught something, so that asking again makes sense. Each lesson is learnt once.
    fn learn(&self, message: &str) -> bool {
        if message.contains("stream_options") {
            return self.stream_options.swap(false, Ordering::Relaxed);
        }
        if message.contains("max_completion_tokens") {
            return !self.completion_tokens.swap(true, Ordering::Relaxed);
        }
        false
    }
}

impl Provider for ChatCompletions {
    fn label(&self) -> ModelLabel {
        ModelLabel {
            provider: self.endpoint.name.clone(),
            model: self.endpoint.model.clone(),
            builtin: false,
        }
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        let opening = Box::pin(self.clone().open(request, cancel.clone()));
        stream::run(opening, ChatDecoder::default(), cancel)
    }
}

fn body(model: &str, request: &ModelRequest, dialect: &Dialect) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(request.messages.iter().map(message));
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    if dialect.stream_options.load(Ordering::Relaxed) {
        body["stream_options"] = json!({"include_usage": true});
    }
    if request.max_output_tokens > 0 {
        let field = if dialect.completion_tokens.load(Ordering::Relaxed) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body[field] = json!(request.max_output_tokens);
    }
    // Not every server heeds `tool_choice: none`, so a model that may not call isn't told of tools.
    if request.allow_tools && !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": schema::cleaned(&tool.params),
                }})
            })
            .collect();
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, .. } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({"role": "assistant", "content": content, "tool_calls": calls.iter().map(call).collect::<Vec<_>>()})
        }
        Message::Tool { call_id, content, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": content})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let arguments = shown_arguments(call).to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// A call's arguments for the history. Bad ones are told as such: servers refuse what doesn't parse.
pub(crate) fn shown_arguments(call: &ToolCall) -> Value {
    match &call.args {
        Ok(args) => args.clone(),
        Err(bad) => json!({"arguments_that_were_not_valid_json": bad.raw}),
    }
}

#[derive(Debug, Default)]
struct ChatDecoder {
    text: String,
    calls: Calls,
    usage: Usage,
    finish: Option<Finish>,
    done: bool,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(Vec::new());
        }
        if data.is_empty() {
            return Ok(Vec::new());
        }
        let chunk = serde_json::from_str::<Value>(data).map_err(|error| {
            LlmError::Protocol(format!("a piece of the answer is not valid JSON: {error}"))
        })?;
        if event.name == "error" || chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_in_stream(&chunk));
        }
        self.read_usage(&chunk);
        let mut out = Vec::new();
        if let Some(choice) = first_choice(&chunk) {
            if let Some(delta) = choice.get("delta") {
                self.read_delta(delta, &mut out)?;
            }
            self.read_finish(choice);
        }
        Ok(out)
    }

    fn whole(&mut self, document: &Value) -> Result<Vec<ModelEvent>, LlmError> {
        if document.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_in_stream(document));
        }
        self.read_usage(document);
        let mut out = Vec::new();
        if let Some(choice) = first_choice(document) {
            if let Some(message) = choice.get("message") {
                self.read_delta(message, &mut out)?;
            }
            self.read_finish(choice);
        }
        Ok(out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.done
    }

    fn finish(&mut self) -> Result<Completion, LlmError> {
        if !self.is_whole() {
            return Err(LlmError::Protocol(
                "the answer ended before the server said that it was done".to_owned(),
            ));
        }
        let calls = std::mem::take(&mut self.calls);
        // Some servers say `stop` though they call; what is there counts, not what they call it.
        let finish = match self.finish.unwrap_or_default() {
            Finish::Stop | Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
            cut => cut,
        };
        let calls = if finish == Finish::ToolCalls { calls.finish() } else { Vec::new() };
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            calls,
            finish,
            usage: self.usage,
            provider_data: None,
        })
    }
}

/// The first choice, which is the only one that was asked for. Some servers number it wrongly.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = chunk.get("choices")?.as_array()?;
    choices.iter().find(|choice| choice.get("index").and_then(Value::as_i64).unwrap_or(0) == 0)
}

impl ChatDecoder {
    fn read_delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        for field in ["reasoning_content", "reasoning"] {
            if let Some(thought) =
                delta.get(field).and_then(Value::as_str).filter(|thought| !thought.is_empty())
            {
                out.push(ModelEvent::ReasoningDelta(thought.to_owned()));
                break;
            }
        }
        for field in ["content", "refusal"] {
            if let Some(more) = delta.get(field).and_then(Value::as_str).filter(|more| !more.is_empty()) {
                append_text(&mut self.text, more)?;
                out.push(ModelEvent::TextDelta(more.to_owned()));
            }
        }
        if let Some(Value::Array(pieces)) = delta.get("tool_calls") {
            for piece in pieces {
                let function = piece.get("function").and_then(Value::as_object);
                self.read_call(piece.get("index").and_then(Value::as_i64), piece.get("id"), function, out)?;
            }
        }
        // The form before `tool_calls`, which a few servers still use.
        if let Some(Value::Object(function)) = delta.get("function_call") {
            self.read_call(Some(-1), None, Some(function), out)?;
        }
        Ok(())
    }

    fn read_call(
        &mut self,
        index: Option<i64>,
        id: Option<&Value>,
        function: Option<&Map<String, Value>>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), LlmError> {
        let piece = Piece {
            index,
            id: id.and_then(Value::as_str),
            name: function.and_then(|function| function.get("name")).and_then(Value::as_str),
            arguments: function.and_then(|function| function.get("arguments")),
        };
        if let Some((index, name)) = self.calls.add(&piece)? {
            out.push(ModelEvent::CallStarted { index, name });
        }
        Ok(())
    }

    fn read_finish(&mut self, choice: &Value) {
        if let Some(word) =
            choice.get("finish_reason").and_then(Value::as_str).filter(|word| !word.is_empty())
        {
            self.finish = Some(match word {
                "length" | "max_tokens" => Finish::Length,
                "content_filter" => Finish::ContentFilter,
                "tool_calls" | "function_call" => Finish::ToolCalls,
                _ => Finish::Stop,
            });
        }
    }

    fn read_usage(&mut self, chunk: &Value) {
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            let count = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
            self.usage =
                Usage { input_tokens: count("prompt_tokens"), output_tokens: count("completion_tokens") };
        }
    }
}

#[cfg(test)]
mod tests;

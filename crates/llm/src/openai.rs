//! OpenAI-compatible chat completions: OpenAI itself, Azure, OpenRouter, DeepSeek, vLLM, llama.cpp, LM Studio and many
//! more.

use crate::assemble::{Calls, Piece};
use crate::history;
use crate::http::{self, Endpoint};
use crate::schema::{self, Dialect, Toolbox};
use crate::sse::Event;
use crate::stream::{self, Decoder, append_text, error_in_stream};
use crate::{
    Completion, Finish, LlmError, Message, ModelEvent, ModelLabel, ModelRequest, Provider, ToolCall, Usage,
};
use futures::stream::BoxStream;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The version of Azure's protocol where the address names none.
const AZURE_VERSION: &str = "2024-10-21";

/// A model behind the chat completions protocol.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    endpoint: Arc<Endpoint>,
    client: Client,
    flavour: Flavour,
    taste: Arc<Taste>,
}

/// Whose server it is, as far as that makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavour {
    OpenAi,
    Azure,
    DeepSeek,
    OpenRouter,
    Other,
}

impl Flavour {
    fn of(endpoint: &Endpoint) -> Self {
        let host = endpoint.base_url.host_str().unwrap_or_default();
        let is = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        match () {
            () if is("openai.com") => Self::OpenAi,
            () if is("openai.azure.com") => Self::Azure,
            () if is("deepseek.com") => Self::DeepSeek,
            () if is("openrouter.ai") => Self::OpenRouter,
            () => Self::Other,
        }
    }

    /// Whether it is OpenAI's own software, which has the strict mode and heeds `tool_choice`.
    const fn is_openai(self) -> bool {
        matches!(self, Self::OpenAi | Self::Azure)
    }
}

/// What has been learnt about the server's taste. Each is tried once and then remembered.
#[derive(Debug)]
struct Taste {
    stream_options: AtomicBool,
    completion_tokens: AtomicBool,
    strict: AtomicBool,
    reasoning: AtomicBool,
}

impl ChatCompletions {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded, or the endpoint's proxy or CA file can't be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        let flavour = Flavour::of(&endpoint);
        Self::with_flavour(endpoint, flavour)
    }

    /// Prepares requests to an endpoint of Azure's shape: the key in a header of its own, the deployment (which the
    /// endpoint's model names) in the path, and a version in the query.
    ///
    /// # Errors
    ///
    /// As [`ChatCompletions::new`].
    pub fn azure(endpoint: Endpoint) -> Result<Self, LlmError> {
        Self::with_flavour(endpoint, Flavour::Azure)
    }

    fn with_flavour(endpoint: Endpoint, flavour: Flavour) -> Result<Self, LlmError> {
        Ok(Self {
            client: http::client(&endpoint)?,
            endpoint: Arc::new(endpoint),
            flavour,
            taste: Arc::new(Taste::of(flavour)),
        })
    }

    async fn open(self, request: ModelRequest, cancel: CancellationToken) -> Result<http::Answer, LlmError> {
        let url = self.url();
        loop {
            let toolbox = Toolbox::new(self.taste.dialect(), &request.tools);
            let body = body(&self.endpoint.model, &request, &toolbox, self.flavour, &self.taste);
            let form = |key: Option<&SecretString>| {
                let post = self.client.post(url.clone()).json(&body);
                Ok(match key {
                    Some(key) if self.flavour == Flavour::Azure => {
                        post.header("api-key", http::key_header(key)?)
                    }
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

    fn url(&self) -> Url {
        let base = &self.endpoint.base_url;
        let path = base.path().trim_end_matches('/');
        // Azure's newer addresses end in `/openai/v1` and are as everybody else's.
        if self.flavour != Flavour::Azure || path.ends_with("/v1") {
            return self.endpoint.operation("v1", "chat/completions");
        }
        let mut url = base.clone();
        let deployment = match path.contains("/deployments/") {
            true => path.to_owned(),
            false => {
                format!("{}/openai/deployments/{}", path.trim_end_matches("/openai"), self.endpoint.model)
            }
        };
        url.set_path(&format!("{}/chat/completions", deployment.trim_end_matches("/chat/completions")));
        if !url.query_pairs().any(|(name, _)| name == "api-version") {
            url.query_pairs_mut().append_pair("api-version", AZURE_VERSION);
        }
        url
    }
}

impl Taste {
    fn of(flavour: Flavour) -> Self {
        Self {
            stream_options: AtomicBool::new(true),
            completion_tokens: AtomicBool::new(flavour.is_openai()),
            strict: AtomicBool::new(flavour.is_openai()),
            reasoning: AtomicBool::new(flavour == Flavour::DeepSeek),
        }
    }

    fn dialect(&self) -> Dialect {
        if self.strict.load(Ordering::Relaxed) { Dialect::OpenAiStrict } else { Dialect::OpenAiChat }
    }

    /// Whether a refusal taught something, so that asking again makes sense. Each lesson is learnt once.
    fn learn(&self, message: &str) -> bool {
        if message.contains("stream_options") {
            return self.stream_options.swap(false, Ordering::Relaxed);
        }
        if message.contains("max_completion_tokens") {
            return !self.completion_tokens.swap(true, Ordering::Relaxed);
        }
        if message.contains("strict") || message.contains("nvalid schema for function") {
            return self.strict.swap(false, Ordering::Relaxed);
        }
        if message.contains("reasoning_content") {
            return !self.reasoning.swap(true, Ordering::Relaxed);
        }
        false
    }
}

impl Provider for ChatCompletions {
    fn label(&self) -> ModelLabel {
        self.endpoint.label()
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        // The way back from the strict form serves the other form, too.
        let toolbox = Arc::new(Toolbox::new(self.taste.dialect(), &request.tools));
        let opening = Box::pin(self.clone().open(request, cancel.clone()));
        stream::run(opening, ChatDecoder::default(), toolbox, cancel)
    }
}

fn body(model: &str, request: &ModelRequest, toolbox: &Toolbox, flavour: Flavour, taste: &Taste) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let echoes = taste.reasoning.load(Ordering::Relaxed);
    messages.extend(history::prepared(&request.messages).iter().map(|each| message(each, flavour, echoes)));
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    if taste.stream_options.load(Ordering::Relaxed) {
        body["stream_options"] = json!({"include_usage": true});
    }
    if request.max_output_tokens > 0 {
        let field = if taste.completion_tokens.load(Ordering::Relaxed) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body[field] = json!(request.max_output_tokens);
    }
    // Not every server heeds `tool_choice: none`, so elsewhere a model that may not call isn't told of tools.
    if !toolbox.tools.is_empty() && (request.allow_tools || flavour.is_openai()) {
        body["tools"] = toolbox
            .tools
            .iter()
            .map(|tool| {
                let mut function = json!({
                    "name": tool.name, "description": tool.description, "parameters": tool.form.params,
                });
                if tool.form.strict {
                    function["strict"] = json!(true);
                }
                json!({"type": "function", "function": function})
            })
            .collect();
        if !request.allow_tools {
            body["tool_choice"] = json!("none");
        }
    }
    body
}

fn message(message: &Message, flavour: Flavour, echoes: bool) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, provider_data } => {
            let content = if text.trim().is_empty() { Value::Null } else { json!(text) };
            let mut out = json!({"role": "assistant", "content": content});
            if !calls.is_empty() {
                out["tool_calls"] = calls.iter().map(call).collect();
            }
            let kept = |field: &str| provider_data.as_ref().and_then(|data| data.get(field));
            // Some refuse it where it wasn't asked for, others refuse a message with calls that lacks it.
            if echoes && !calls.is_empty() {
                let thoughts = kept("reasoning_content").and_then(Value::as_str).unwrap_or_default();
                out["reasoning_content"] = json!(thoughts);
            }
            if flavour == Flavour::OpenRouter
                && let Some(details @ Value::Array(_)) = kept("reasoning_details")
            {
                out["reasoning_details"] = details.clone();
            }
            out
        }
        Message::Tool { call_id, content, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": content})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let arguments = shown_arguments(call).to_string();
    let name = schema::legal(&call.name);
    json!({"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}})
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
    /// Its thoughts, as some servers want them back.
    thoughts: String,
    thought_details: Vec<Value>,
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
            self.read_finish(choice)?;
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
            self.read_finish(choice)?;
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
            provider_data: self.provider_data(),
            answered_by: None,
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
                self.add_thought(thought, out)?;
                break;
            }
        }
        if let Some(Value::Array(details)) = delta.get("reasoning_details") {
            self.thought_details.extend(details.iter().cloned());
        }
        for field in ["content", "refusal"] {
            match delta.get(field) {
                Some(Value::String(more)) => self.add_text(more, out)?,
                // Mistral's thinking models send parts.
                Some(Value::Array(parts)) => {
                    for part in parts {
                        self.read_part(part, out)?;
                    }
                }
                _ => {}
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

    fn read_part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            return self.add_text(text, out);
        }
        for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = thought.get("text").and_then(Value::as_str) {
                self.add_thought(text, out)?;
            }
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

    fn add_thought(&mut self, more: &str, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        append_text(&mut self.thoughts, more)?;
        out.push(ModelEvent::ReasoningDelta(more.to_owned()));
        Ok(())
    }

    /// What the server may want back with the message.
    fn provider_data(&mut self) -> Option<Value> {
        let mut data = Map::new();
        if !self.thoughts.is_empty() {
            data.insert("reasoning_content".to_owned(), Value::String(std::mem::take(&mut self.thoughts)));
        }
        if !self.thought_details.is_empty() {
            let details = joined_details(std::mem::take(&mut self.thought_details));
            data.insert("reasoning_details".to_owned(), Value::Array(details));
        }
        (!data.is_empty()).then_some(Value::Object(data))
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

    fn read_finish(&mut self, choice: &Value) -> Result<(), LlmError> {
        if let Some(word) =
            choice.get("finish_reason").and_then(Value::as_str).filter(|word| !word.is_empty())
        {
            self.finish = Some(match word {
                "length" | "max_tokens" => Finish::Length,
                "content_filter" => Finish::ContentFilter,
                "tool_calls" | "function_call" => Finish::ToolCalls,
                "error" => {
                    return Err(LlmError::Protocol("the server says that the answer failed".to_owned()));
                }
                _ => Finish::Stop,
            });
        }
        Ok(())
    }

    fn read_usage(&mut self, chunk: &Value) {
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            self.usage = Usage {
                input_tokens: count("/prompt_tokens"),
                output_tokens: count("/completion_tokens"),
                // DeepSeek has a field of its own.
                cached_input_tokens: count("/prompt_tokens_details/cached_tokens")
                    .max(count("/prompt_cache_hit_tokens")),
                cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens"),
            };
        }
    }
}

/// OpenRouter streams the details of one thought in pieces with one index; they go back whole.
fn joined_details(pieces: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for piece in pieces {
        let same = out.iter_mut().find(|known| {
            piece.get("index").is_some()
                && ["index", "type"].iter().all(|field| known.get(*field) == piece.get(*field))
        });
        let (Some(Value::Object(known)), Value::Object(more)) = (same, &piece) else {
            out.push(piece);
            continue;
        };
        for (field, value) in more {
            match (known.get_mut(field), value) {
                (Some(Value::String(text)), Value::String(rest))
                    if matches!(field.as_str(), "text" | "summary" | "data") =>
                {
                    text.push_str(rest);
                }
                (Some(Value::Null) | None, value) => {
                    known.insert(field.clone(), value.clone());
                }
                _ => {}
            }
        }
    }
    out
}

/// The bodies that the servers of each flavour would get.
#[cfg(test)]
pub(crate) fn bodies(request: &ModelRequest) -> Vec<(&'static str, Value)> {
    [
        ("openai", Flavour::OpenAi),
        ("azure", Flavour::Azure),
        ("deepseek", Flavour::DeepSeek),
        ("openrouter", Flavour::OpenRouter),
        ("other", Flavour::Other),
    ]
    .into_iter()
    .map(|(name, flavour)| {
        let taste = Taste::of(flavour);
        let toolbox = Toolbox::new(taste.dialect(), &request.tools);
        (name, body("m", request, &toolbox, flavour, &taste))
    })
    .collect()
}

#[cfg(test)]
mod tests;

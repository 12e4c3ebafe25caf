//! Gemini: `generateContent`, streamed.

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
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use url::Url;

/// The signature of a call that the model didn't make itself: without one, newer models refuse the conversation.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// A model behind Gemini's protocol.
#[derive(Clone, Debug)]
pub struct Gemini {
    endpoint: Arc<Endpoint>,
    client: Client,
}

impl Gemini {
    /// Prepares requests to an endpoint. No connection is made.
    ///
    /// # Errors
    ///
    /// Fails if the TLS roots can't be loaded, or the endpoint's proxy or CA file can't be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, LlmError> {
        Ok(Self { client: http::client(&endpoint)?, endpoint: Arc::new(endpoint) })
    }

    fn url(&self) -> Url {
        let model = self.endpoint.model.trim_start_matches("models/");
        let mut url = self.endpoint.operation("v1beta", &format!("models/{model}:streamGenerateContent"));
        url.query_pairs_mut().append_pair("alt", "sse");
        url
    }

    async fn open(
        self,
        request: ModelRequest,
        toolbox: Arc<Toolbox>,
        cancel: CancellationToken,
    ) -> Result<http::Answer, LlmError> {
        let url = self.url();
        let body = body(&self.endpoint.model, &request, &toolbox);
        let form = |key: Option<&SecretString>| {
            let post = self.client.post(url.clone()).json(&body);
            Ok(match key {
                Some(key) => post.header("x-goog-api-key", http::key_header(key)?),
                None => post,
            })
        };
        http::open(&form, &self.endpoint, &cancel).await
    }
}

impl Provider for Gemini {
    fn label(&self) -> ModelLabel {
        self.endpoint.label()
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        let toolbox = Arc::new(Toolbox::new(Dialect::Gemini, &request.tools));
        let opening = Box::pin(self.clone().open(request, Arc::clone(&toolbox), cancel.clone()));
        stream::run(opening, GeminiDecoder::default(), toolbox, cancel)
    }
}

pub(crate) fn body(model: &str, request: &ModelRequest, toolbox: &Toolbox) -> Value {
    let mut body = json!({"contents": contents(model, &history::prepared(&request.messages))});
    if !request.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if request.max_output_tokens > 0 {
        body["generationConfig"] = json!({"maxOutputTokens": request.max_output_tokens});
    }
    if !toolbox.tools.is_empty() {
        let declarations: Vec<Value> = toolbox
            .tools
            .iter()
            .map(|tool| {
                let mut declaration = json!({"name": tool.name, "description": tool.description});
                if let Some(params) = &tool.form.params {
                    declaration["parameters"] = params.clone();
                }
                declaration
            })
            .collect();
        body["tools"] = json!([{"functionDeclarations": declarations}]);
        let mode = if request.allow_tools { "AUTO" } else { "NONE" };
        body["toolConfig"] = json!({"functionCallingConfig": {"mode": mode}});
    }
    body
}

/// The conversation. The results of one message's calls stand together, right after it.
fn contents(model: &str, history: &[Message]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for message in history {
        if let Message::Tool { name, content, is_error, .. } = message {
            let field = if *is_error { "error" } else { "result" };
            results.push(json!({"functionResponse": {
                "name": schema::legal(name), "response": {field: content},
            }}));
            continue;
        }
        if !results.is_empty() {
            out.push(json!({"role": "user", "parts": std::mem::take(&mut results)}));
        }
        match message {
            Message::User { text } => out.push(json!({"role": "user", "parts": [{"text": text}]})),
            Message::Assistant { text, calls, provider_data } => {
                let signature = |pointer: &str| {
                    provider_data.as_ref().and_then(|data| data.pointer(pointer)?.as_str()).map(str::to_owned)
                };
                let mut parts = Vec::new();
                if !text.trim().is_empty() {
                    let mut part = json!({"text": text});
                    if let Some(signature) = signature("/text_signature") {
                        part["thoughtSignature"] = json!(signature);
                    }
                    parts.push(part);
                }
                for (place, call) in calls.iter().enumerate() {
                    let mut part = json!({"functionCall": {
                        "name": schema::legal(&call.name), "args": shown_arguments(call),
                    }});
                    let own = signature(&format!("/call_signatures/{place}"));
                    // Of calls that are made at once only the first is signed.
                    let foreign =
                        (place == 0 && wants_signatures(model)).then(|| FOREIGN_SIGNATURE.to_owned());
                    if let Some(signature) = own.or(foreign) {
                        part["thoughtSignature"] = json!(signature);
                    }
                    parts.push(part);
                }
                out.push(json!({"role": "model", "parts": parts}));
            }
            Message::Tool { .. } => {}
        }
    }
    if !results.is_empty() {
        out.push(json!({"role": "user", "parts": results}));
    }
    out
}

/// Whether a model refuses calls without signatures: all but the first two generations do.
fn wants_signatures(model: &str) -> bool {
    let name = model.trim_start_matches("models/");
    !(name.starts_with("gemini-1") || name.starts_with("gemini-2") || !name.starts_with("gemini"))
}

#[derive(Debug, Default)]
struct GeminiDecoder {
    text: String,
    calls: Calls,
    count: usize,
    text_signature: Option<String>,
    call_signatures: Vec<Option<String>>,
    usage: Usage,
    finish: Option<Finish>,
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let chunk = serde_json::from_str::<Value>(data).map_err(|error| {
            LlmError::Protocol(format!("a piece of the answer is not valid JSON: {error}"))
        })?;
        let mut out = Vec::new();
        self.read(&chunk, &mut out)?;
        Ok(out)
    }

    fn whole(&mut self, document: &Value) -> Result<Vec<ModelEvent>, LlmError> {
        let mut out = Vec::new();
        match document {
            // A stream without `alt=sse` is a list of chunks.
            Value::Array(chunks) => chunks.iter().try_for_each(|chunk| self.read(chunk, &mut out))?,
            chunk => self.read(chunk, &mut out)?,
        }
        Ok(out)
    }

    fn is_done(&self) -> bool {
        // Usage may follow the end.
        false
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
        let finish = match finish {
            Finish::Stop | Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
            cut => cut,
        };
        let calls = if finish == Finish::ToolCalls { calls.finish() } else { Vec::new() };
        let has_signatures =
            self.text_signature.is_some() || self.call_signatures.iter().any(Option::is_some);
        let provider_data = has_signatures
            .then(|| json!({"text_signature": self.text_signature, "call_signatures": self.call_signatures}));
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            calls,
            finish,
            usage: self.usage,
            provider_data,
            answered_by: None,
        })
    }
}

impl GeminiDecoder {
    fn read(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_in_stream(chunk));
        }
        if let Some(reason) = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return Err(LlmError::ContentFilter(format!("the request was refused: {reason}")));
        }
        self.read_usage(chunk);
        let Some(candidate) = chunk.pointer("/candidates/0") else { return Ok(()) };
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            self.read_part(part, out)?;
        }
        let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) else { return Ok(()) };
        self.finish = Some(match reason {
            "FINISH_REASON_UNSPECIFIED" => return Ok(()),
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "MODEL_ARMOR" => Finish::ContentFilter,
            reason if reason.starts_with("IMAGE_") => Finish::ContentFilter,
            reason => {
                let more = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
                let text = format!("the model ended with {reason} {more}");
                return Err(LlmError::Protocol(http::shorten(text.trim_end())));
            }
        });
        Ok(())
    }

    fn read_part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) -> Result<(), LlmError> {
        let signature = part.get("thoughtSignature").and_then(Value::as_str).map(str::to_owned);
        if let Some(call) = part.get("functionCall") {
            let piece = Piece {
                index: i64::try_from(self.count).ok(),
                id: call.get("id").and_then(Value::as_str),
                name: call.get("name").and_then(Value::as_str),
                arguments: call.get("args"),
            };
            self.count += 1;
            self.call_signatures.push(signature);
            if let Some((index, name)) = self.calls.add(&piece)? {
                out.push(ModelEvent::CallStarted { index, name });
            }
            return Ok(());
        }
        if let Some(text) = part.get("text").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            if part.get("thought") == Some(&Value::Bool(true)) {
                out.push(ModelEvent::ReasoningDelta(text.to_owned()));
            } else {
                append_text(&mut self.text, text)?;
                out.push(ModelEvent::TextDelta(text.to_owned()));
            }
        }
        if signature.is_some() {
            self.text_signature = signature;
        }
        Ok(())
    }

    /// Counts are cumulative; later ones replace earlier ones.
    fn read_usage(&mut self, chunk: &Value) {
        let Some(usage) = chunk.get("usageMetadata").filter(|usage| usage.is_object()) else { return };
        let count = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
        self.usage = Usage {
            input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
            output_tokens: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
            cached_input_tokens: count("cachedContentTokenCount"),
            cache_write_tokens: 0,
        };
    }
}

#[cfg(test)]
mod tests;

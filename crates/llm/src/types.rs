//! What is asked of a model, and what it answers, in one form for all providers.

use crate::LlmError;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::LlmTool;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Something that answers a conversation.
pub trait Provider: Send + Sync {
    /// What to call it in the console.
    fn label(&self) -> ModelLabel;

    /// Asks it. The stream ends after the first error or after its one [`ModelEvent::Completed`]; a stream that
    /// ends with neither is a defect. Dropping the stream, or firing `cancel`, ends the request.
    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>>;
}

/// What to call a model in the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLabel {
    /// The name of its configuration, for example `anthropic`.
    pub provider: String,
    /// The model's own name.
    pub model: String,
    /// Whether it is the builtin router, which is no language model.
    pub builtin: bool,
}

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// The conversation, oldest first. Every call in it has its result.
    pub messages: Vec<Message>,
    /// The tools it is told of.
    pub tools: Vec<LlmTool>,
    /// Whether it may call them. In the last round of a turn it may not.
    pub allow_tools: bool,
    /// Most tokens that it may answer; 0 leaves it to the server where the protocol allows.
    pub max_output_tokens: u32,
    /// The hosts, as structured facts. The builtin router reads them; others find them in the system prompt.
    pub hosts: Vec<HostRef>,
    /// What the time is, for the builtin router; others find it in the system prompt.
    pub now: Option<model::Timestamp>,
}

/// One host, as the builtin router needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRef {
    /// Its edge id.
    pub id: i64,
    /// Its name in the inventory.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whether it is connected.
    pub online: bool,
    /// Skills with what they lack there, in words. A skill that isn't listed lacks nothing.
    pub unmet: BTreeMap<String, Vec<String>>,
    /// Whether it is the machine on which the manager runs.
    pub local: bool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The operator's words.
    User {
        /// What they wrote.
        text: String,
    },
    /// The model's words and calls.
    Assistant {
        /// What it said; may be empty when it only calls.
        text: String,
        /// What it wants called.
        calls: Vec<ToolCall>,
        /// What the provider wants back word for word (signed reasoning, for example).
        provider_data: Option<Value>,
    },
    /// The result of one call of the assistant message before it.
    Tool {
        /// The id of the call that it answers.
        call_id: String,
        /// The tool that was called.
        name: String,
        /// What the model gets to read.
        content: String,
        /// Whether the call failed.
        is_error: bool,
        /// The whole result as data, for the builtin router's tables.
        data: Option<Value>,
    },
}

/// One call that a model wants made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in its message, whatever the server sent.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// Its arguments, an object; or what it sent instead. Bad arguments are never mended and never run.
    pub args: Result<Value, BadArguments>,
}

/// Arguments that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadArguments {
    /// What the model sent.
    pub raw: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One piece of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text.
    TextDelta(String),
    /// More of its thinking, where the provider shows it.
    ReasoningDelta(String),
    /// It began to write a call. Nothing of it may be used before [`ModelEvent::Completed`].
    CallStarted {
        /// Its position among the calls, from 0.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// All of it. Exactly one, and last.
    Completed(Completion),
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// All of its text.
    pub text: String,
    /// All of its calls, in order. Empty when the answer was cut ([`Finish::Length`]).
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
    /// What to hand back with this message in later requests.
    pub provider_data: Option<Value>,
    /// Who answered, if it wasn't the provider that was asked but one that stands in for it.
    pub answered_by: Option<ModelLabel>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    #[default]
    Stop,
    /// It wants calls made.
    ToolCalls,
    /// It reached the limit of tokens; calls that it had begun are dropped.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
    /// Of those read, the ones that came out of the provider's cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Of those read, the ones that were put into the provider's cache, where it says so.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

impl Usage {
    /// Adds the tokens of another request.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
    }
}

//! Talks to language models: one streaming trait, and behind it OpenAI's two protocols and the many servers that speak
//! the older one, Anthropic, Gemini, Ollama, and the builtin router that needs no model at all.
//!
//! What a model asks for is only read here, never run. Half-read calls don't leave this crate: a stream yields
//! exactly one [`ModelEvent::Completed`], and only after the server said that it was done.

pub mod anthropic;
mod assemble;
pub mod builtin;
mod error;
mod failover;
pub mod gemini;
mod history;
mod http;
pub mod ollama;
pub mod openai;
pub mod probe;
#[cfg(test)]
mod replay;
pub mod responses;
pub mod schema;
pub mod scripted;
pub mod sse;
mod stream;
pub mod strict;
mod types;

pub use error::LlmError;
pub use failover::Failover;
pub use http::{Endpoint, Timeouts};
pub use types::{
    BadArguments, Completion, Finish, HostRef, Message, ModelEvent, ModelLabel, ModelRequest, Provider,
    ToolCall, Usage,
};

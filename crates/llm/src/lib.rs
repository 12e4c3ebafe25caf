//! Talks to language models: one streaming trait, and behind it OpenAI-compatible servers, Anthropic, and the
//! builtin router that needs no model at all.
//!
//! What a model asks for is only read here, never run. Half-read calls don't leave this crate: a stream yields
//! exactly one [`ModelEvent::Completed`], and only after the server said that it was done.

pub mod anthropic;
mod assemble;
pub mod builtin;
mod error;
mod http;
pub mod openai;
#[cfg(test)]
mod replay;
pub mod schema;
pub mod scripted;
pub mod sse;
mod stream;
mod types;

pub use error::LlmError;
pub use http::{Endpoint, Timeouts};
pub use types::{
    BadArguments, Completion, Finish, HostRef, Message, ModelEvent, ModelLabel, ModelRequest, Provider,
    ToolCall, Usage,
};

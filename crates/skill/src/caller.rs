//! How a manager tool reaches other capabilities: only through the gate, by way of the executor.

use async_trait::async_trait;
use model::{CallId, CallState, EdgeId};
use serde_json::Value;

/// Calls host skills on behalf of a tool. The executor implements it: each child passes the gate and has its own
/// row, with the tool's call as parent.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Makes one call and waits for its end. Never fails: what went wrong is in the outcome. Dropping the future
    /// cancels a safe child.
    async fn call(&self, child: ChildCall) -> ChildOutcome;
}

/// One call that a tool wants made.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildCall {
    /// Key of the host skill.
    pub key: String,
    /// The host.
    pub edge: EdgeId,
    /// Its arguments, without `edge_id`.
    pub args: Value,
}

/// How a child call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildOutcome {
    /// Its row.
    pub call_id: CallId,
    /// Its state; final, or `unknown`.
    pub state: CallState,
    /// What it answered, when it succeeded. Redacted.
    pub result: Option<Value>,
    /// Why it didn't succeed. Redacted.
    pub error: Option<String>,
}

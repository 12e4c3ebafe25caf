//! How a call ended, for whoever asked for it.

use gate::Rejection;
use model::{CallId, CallState};
use serde_json::Value;
use skill::SkillErrorKind;
use std::time::Duration;

/// How a call ended, for whoever asked for it. Everything in it is redacted and on record.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// The call.
    pub call_id: CallId,
    /// Key of the capability, as asked for.
    pub tool: String,
    /// Final, or `unknown`.
    pub state: CallState,
    /// The whole result.
    pub result: Option<Value>,
    /// Size of the result's JSON text, in bytes.
    pub result_bytes: u64,
    /// Why it didn't succeed.
    pub error: Option<String>,
    /// What a caller can do about it.
    pub error_kind: Option<SkillErrorKind>,
    /// For `invalid`: what the arguments should look like.
    pub schema: Option<Value>,
    /// How long it ran.
    pub duration: Duration,
    /// The sandbox in which it ran.
    pub sandbox: Option<String>,
    /// The calls that it made.
    pub children: Vec<CallId>,
}

impl CallOutcome {
    /// The outcome of a call that the gate did not admit.
    pub(crate) fn rejected(tool: String, rejection: Rejection) -> Self {
        let kind = if rejection.state == CallState::Invalid {
            SkillErrorKind::Invalid
        } else {
            SkillErrorKind::Refused
        };
        Self {
            error_kind: Some(kind),
            schema: rejection.schema,
            ..Self::not_run(rejection.call_id, tool, rejection.state, Some(rejection.reason))
        }
    }

    /// The outcome of a call that never ran.
    pub(crate) fn not_run(call_id: CallId, tool: String, state: CallState, error: Option<String>) -> Self {
        Self {
            call_id,
            tool,
            state,
            result: None,
            result_bytes: 0,
            error,
            error_kind: None,
            schema: None,
            duration: Duration::ZERO,
            sandbox: None,
            children: Vec::new(),
        }
    }
}

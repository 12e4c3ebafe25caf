//! Puts the end of a call on record: redacted, whole, once.

use crate::{GateError, Redactor};
use bytes::Bytes;
use model::{CallId, CallState, Class, EdgeId, Origin, PolicyDecision, Scope, Timestamp, UserId};
use serde_json::Value;
use skill::SkillErrorKind;
use std::sync::Arc;
use std::time::Duration;
use storage::calls::{CallEnd, LocalEnd, NewCall, Settled};
use storage::{Actor, Storage};

/// Results beyond this size are redacted on a thread of their own.
const LARGE_BYTES: usize = 128 * 1024;

/// How a call ended, as the tool or host tells it.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// Final, or `unknown`.
    pub state: CallState,
    /// The whole result as JSON text, not redacted yet.
    pub result: Option<Bytes>,
    /// Why it didn't succeed, not redacted yet.
    pub error: Option<String>,
    /// What a caller can do about it.
    pub error_kind: Option<SkillErrorKind>,
    /// The sandbox in which it ran.
    pub sandbox: Option<String>,
    /// How long it ran.
    pub duration: Option<Duration>,
    /// Whether the result is stored. A page of another call's result isn't stored again.
    pub keep_result: bool,
    /// Who says so.
    pub actor: Actor,
}

impl FinishedCall {
    /// An end without a result.
    pub fn without_result(state: CallState, error: impl Into<String>) -> Self {
        Self {
            state,
            result: None,
            error: Some(error.into()),
            error_kind: None,
            sandbox: None,
            duration: None,
            keep_result: true,
            actor: Actor::System,
        }
    }
}

/// A call that root made on a host without the manager, as that host tells it. Nothing is redacted yet.
#[derive(Clone, Debug)]
pub struct LocalCall {
    /// Its id, made by the host.
    pub call_id: CallId,
    /// The host.
    pub edge: EdgeId,
    /// The host's name.
    pub edge_name: Option<String>,
    /// Key of the skill.
    pub skill: String,
    /// Its class there.
    pub class: Class,
    /// The arguments.
    pub args: Value,
    /// Hash of the skill's definition there.
    pub definition_hash: String,
    /// When it began, by the host's clock.
    pub started_at: Timestamp,
    /// How it ended.
    pub finished: FinishedCall,
}

/// What is on record after an attempt to end a call.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Whether this attempt ended it.
    pub settled: Settled,
    /// The state that is on record.
    pub state: CallState,
    /// The whole redacted result.
    pub result: Option<Value>,
    /// Size of its JSON text, in bytes.
    pub result_bytes: u64,
    /// The redacted error.
    pub error: Option<String>,
}

/// Puts ends of calls on record. The executor ends running calls with it, the fleet resolves unknown ones.
#[derive(Clone, Debug)]
pub struct Recorder {
    storage: Storage,
    redactor: Arc<Redactor>,
}

impl Recorder {
    /// Joins the parts.
    pub fn new(storage: Storage, redactor: Arc<Redactor>) -> Self {
        Self { storage, redactor }
    }

    /// Ends a call: of any number of attempts one wins. A result that is no JSON makes the call failed.
    ///
    /// # Errors
    ///
    /// Fails if there is no such call or the database fails.
    pub async fn finish(&self, call: CallId, finished: FinishedCall) -> Result<Recorded, GateError> {
        let (end, result) = self.end_of(finished).await;
        let (state, error) = (end.state, end.error.clone());
        let result_bytes = end.result.as_ref().map_or(0, |text| text.len() as u64);
        let settled = self
            .storage
            .calls()
            .finish(call, end)
            .await
            .map_err(|source| GateError::Finish { call, source })?;
        Ok(match settled {
            Settled::Done => Recorded { settled, state, result, result_bytes, error },
            // What this attempt brought isn't on record, so it is not told either.
            Settled::Before(before) => {
                Recorded { settled, state: before, result: None, result_bytes: 0, error: None }
            }
        })
    }

    /// An end in the form in which it is kept, and the result in it.
    async fn end_of(&self, finished: FinishedCall) -> (CallEnd, Option<Value>) {
        let mut end = CallEnd {
            state: finished.state,
            result: None,
            keep_result: finished.keep_result,
            error: finished.error.map(|error| self.redactor.redact(&error).into_owned()),
            error_kind: finished.error_kind.map(|kind| kind.as_str().to_owned()),
            sandbox: finished.sandbox,
            duration: finished.duration,
            actor: finished.actor,
        };
        let mut result = None;
        if let Some(bytes) = finished.result {
            match self.redacted(bytes).await {
                Ok((value, text)) => {
                    end.result = Some(text);
                    result = Some(value);
                }
                Err(problem) => {
                    end.state = CallState::Failed;
                    end.error = Some(problem);
                }
            }
        }
        (end, result)
    }

    /// Puts a local call on record, once: false if it was there before.
    ///
    /// # Errors
    ///
    /// Fails if the id is another call's, or the database fails.
    pub async fn record_local(&self, call: LocalCall) -> Result<bool, GateError> {
        let id = call.call_id;
        let new = NewCall {
            id,
            session: None,
            turn: None,
            parent: None,
            tool: self.redactor.redact(&call.skill).chars().take(200).collect(),
            class: call.class,
            scope: Scope::Host,
            args_redacted: self.redactor.redact_value(&call.args),
            args_exact: call.args,
            definition_hash: call.definition_hash,
            state: CallState::Running,
            error: None,
            edge: Some(call.edge),
            edge_name: call.edge_name,
            caller: UserId::SYSTEM,
            caller_role: "root".to_owned(),
            on_behalf_of: None,
            token: None,
            origin: Origin::Local,
            policy: PolicyDecision::Allow,
            deadline: None,
            approval: None,
        };
        let (end, _) = self.end_of(call.finished).await;
        let local = LocalEnd { started_at: call.started_at, end };
        let recorded = self.storage.calls().record_local(new, local).await;
        recorded.map_err(|source| GateError::Record { call: id, source })
    }

    async fn redacted(&self, bytes: Bytes) -> Result<(Value, String), String> {
        let redactor = Arc::clone(&self.redactor);
        let large = bytes.len() > LARGE_BYTES;
        let work = move || {
            let value: Value =
                serde_json::from_slice(&bytes).map_err(|error| format!("the result is not JSON: {error}"))?;
            let value = redactor.redact_value(&value);
            let text = value.to_string();
            Ok((value, text))
        };
        if !large {
            return work();
        }
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|_| Err("the result could not be redacted".to_owned()))
    }
}

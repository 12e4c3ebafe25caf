//! A call as it is read back.

use super::CallToken;
use crate::{StorageError, from_micros};
use model::{
    CallId, CallState, Class, EdgeId, Origin, PolicyDecision, Scope, SessionId, Timestamp, TurnId, UserId,
};
use serde_json::Value;
use sqlx::FromRow;
use std::str::FromStr;
use uuid::Uuid;

/// A call as it is read back. Arguments are the redacted ones.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// Its id.
    pub id: CallId,
    /// The chat that it belongs to.
    pub session: Option<SessionId>,
    /// The turn that it belongs to.
    pub turn: Option<TurnId>,
    /// The call of the tool that made this one.
    pub parent: Option<CallId>,
    /// Key of the capability, as asked for.
    pub tool: String,
    /// Its class.
    pub class: Class,
    /// Where it runs.
    pub scope: Scope,
    /// Redacted arguments.
    pub args: Value,
    /// Digest of the exact arguments, keyed per call.
    pub args_digest: String,
    /// Hash of the capability's definition; empty for an unknown one.
    pub definition_hash: String,
    /// Size of the whole result's JSON text, in bytes.
    pub result_bytes: u64,
    /// SHA-256 of the whole result's JSON text.
    pub result_digest: Option<String>,
    /// The artifact that holds a large result.
    pub result_artifact: Option<Uuid>,
    /// Its state.
    pub state: CallState,
    /// Why it didn't succeed or run.
    pub error: Option<String>,
    /// What a caller can do about it.
    pub error_kind: Option<String>,
    /// The host.
    pub edge: Option<EdgeId>,
    /// The host's name when it was called.
    pub edge_name: Option<String>,
    /// When it was received.
    pub created_at: Timestamp,
    /// When it was sent.
    pub started_at: Option<Timestamp>,
    /// When it is to have ended.
    pub deadline_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How long it ran, without waiting for people or queues.
    pub duration_ms: Option<u64>,
    /// Who called; the system for a model.
    pub caller: UserId,
    /// The strongest role of the caller, or `system`.
    pub caller_role: String,
    /// The person in whose chat a model called.
    pub on_behalf_of: Option<UserId>,
    /// The API token through which the person asked.
    pub token: Option<CallToken>,
    /// The entry point.
    pub origin: Origin,
    /// What policy and class said.
    pub policy: PolicyDecision,
    /// The sandbox in which it ran.
    pub sandbox: Option<String>,
    /// Its number on its host, if it isn't safe.
    pub seq: Option<u64>,
    /// When somebody wanted it stopped, if it isn't safe.
    pub cancel_requested_at: Option<Timestamp>,
    /// The approval that it waits or waited for, or the grant that let it run.
    pub approval: Option<Uuid>,
    /// The step of a procedure by which it ran, for example `reboot-web@3/reboot`.
    pub sop: Option<String>,
}

impl CallRow {
    /// The person behind it: the one in whose chat a model called, else the caller.
    pub fn person(&self) -> UserId {
        self.on_behalf_of.unwrap_or(self.caller)
    }
}

/// The columns of [`StoredCall`], which leave results out.
pub(super) const COLUMNS: &str = "id, session_id, turn_id, parent_call_id, tool_name, class, scope, args_json, \
     args_digest, definition_hash, result_bytes, result_digest, result_artifact_id, status, error, error_kind, \
     device_id, device_name, created_at, started_at, deadline_at, finished_at, duration_ms, caller_user_id, \
     caller_role, on_behalf_of, origin, policy_decision, sandbox, token_id, token_name, device_seq, \
     cancel_requested_at, approval_id, sop_id";

/// The columns of [`StoredCall`] of the table that goes by this name in a query.
pub(crate) fn prefixed_columns(table: &str) -> String {
    COLUMNS.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
}

#[derive(FromRow)]
pub(crate) struct StoredCall {
    id: Uuid,
    session_id: Option<Uuid>,
    turn_id: Option<Uuid>,
    parent_call_id: Option<Uuid>,
    tool_name: String,
    class: String,
    scope: String,
    args_json: String,
    args_digest: String,
    definition_hash: String,
    result_bytes: i64,
    result_digest: Option<String>,
    result_artifact_id: Option<Uuid>,
    status: String,
    error: Option<String>,
    error_kind: Option<String>,
    device_id: Option<i64>,
    device_name: Option<String>,
    created_at: i64,
    started_at: Option<i64>,
    deadline_at: Option<i64>,
    finished_at: Option<i64>,
    duration_ms: Option<i64>,
    caller_user_id: i64,
    caller_role: String,
    on_behalf_of: Option<i64>,
    origin: String,
    policy_decision: String,
    sandbox: Option<String>,
    token_id: Option<i64>,
    token_name: Option<String>,
    device_seq: Option<i64>,
    cancel_requested_at: Option<i64>,
    approval_id: Option<Uuid>,
    sop_id: Option<String>,
}

impl StoredCall {
    pub(crate) fn read(self) -> Result<CallRow, StorageError> {
        let args = serde_json::from_str(&self.args_json)
            .map_err(|_| StorageError::corrupt(format!("the arguments of call {}", self.id)))?;
        Ok(CallRow {
            id: CallId(self.id),
            session: self.session_id.map(SessionId),
            turn: self.turn_id.map(TurnId),
            parent: self.parent_call_id.map(CallId),
            tool: self.tool_name,
            class: word(&self.class)?,
            scope: word(&self.scope)?,
            args,
            args_digest: self.args_digest,
            definition_hash: self.definition_hash,
            result_bytes: self.result_bytes.unsigned_abs(),
            result_digest: self.result_digest,
            result_artifact: self.result_artifact_id,
            state: word(&self.status)?,
            error: self.error,
            error_kind: self.error_kind,
            edge: self.device_id.map(EdgeId),
            edge_name: self.device_name,
            created_at: from_micros(self.created_at)?,
            started_at: self.started_at.map(from_micros).transpose()?,
            deadline_at: self.deadline_at.map(from_micros).transpose()?,
            finished_at: self.finished_at.map(from_micros).transpose()?,
            duration_ms: self.duration_ms.map(i64::unsigned_abs),
            caller: UserId(self.caller_user_id),
            caller_role: self.caller_role,
            on_behalf_of: self.on_behalf_of.map(UserId),
            origin: word(&self.origin)?,
            policy: word(&self.policy_decision)?,
            sandbox: self.sandbox,
            token: CallToken::of_columns(self.token_id, self.token_name),
            seq: self.device_seq.map(i64::cast_unsigned),
            cancel_requested_at: self.cancel_requested_at.map(from_micros).transpose()?,
            approval: self.approval_id,
            sop: self.sop_id,
        })
    }
}

fn word<T: FromStr>(text: &str) -> Result<T, StorageError> {
    text.parse().map_err(|_| StorageError::corrupt(format!("the word `{text}` in a call")))
}

//! `chat_tool_calls`: one row per call from any entry point, the projection of the audit chain. Every change of a row
//! and its audit entry are one job, so neither is there without the other.

mod local;
mod query;
mod row;

pub use local::LocalEnd;
pub use query::{CallCursor, CallFilter, DensityBucket, Within};
pub use row::CallRow;
pub(crate) use row::{StoredCall, prefixed_columns};

use crate::audit::{self, Actor, AuditEntry};
use crate::edges::allocate_seq;
use crate::{Conn, MasterKey, Storage, StorageError, artifacts, micros};
use model::canonical;
use model::{
    CallId, CallState, Class, EdgeId, Origin, PolicyDecision, Scope, SessionId, Timestamp, TurnId, UserId,
};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tokio::sync::broadcast;
use uuid::Uuid;

/// Results up to this size stay in their row; larger ones become an artifact.
pub const INLINE_RESULT_BYTES: usize = 32 * 1024;

/// Redacted arguments up to this size are repeated in the audit chain.
const AUDITED_ARGS_BYTES: usize = 4 * 1024;

/// What the chain calls the wish to stop a call.
pub(crate) const CANCEL_KIND: &str = "call.cancel_requested";

const ARGS_PURPOSE: &str = "call arguments";

/// A call as it is received. Its state says what became of it at once: `invalid`, `refused`, `awaiting_approval` or
/// `running`.
#[derive(Clone, Debug)]
pub struct NewCall {
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
    /// Its class with these arguments.
    pub class: Class,
    /// Where it runs.
    pub scope: Scope,
    /// The arguments as they may be shown.
    pub args_redacted: Value,
    /// The exact arguments. Kept encrypted while the call isn't final.
    pub args_exact: Value,
    /// Hash of the capability's definition; empty for an unknown one.
    pub definition_hash: String,
    /// What became of it.
    pub state: CallState,
    /// Why it didn't run.
    pub error: Option<String>,
    /// The host.
    pub edge: Option<EdgeId>,
    /// The host's name at this time.
    pub edge_name: Option<String>,
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
    /// When it is to have ended.
    pub deadline: Option<Timestamp>,
    /// The approval that it waits for, or the grant that lets it run.
    pub approval: Option<Uuid>,
}

/// The API token through which a person asked for something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CallToken {
    /// Its id.
    pub id: i64,
    /// What its owner called it at that time.
    pub name: String,
}

impl CallToken {
    /// Joins two columns, which are there together or not at all.
    pub(crate) fn of_columns(id: Option<i64>, name: Option<String>) -> Option<Self> {
        id.map(|id| Self { id, name: name.unwrap_or_default() })
    }
}

/// Proof of who works on a turn: the insert of a `running` row fails when the turn has a newer epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLease {
    /// The turn.
    pub turn: TurnId,
    /// The epoch of the worker.
    pub epoch: i64,
}

/// How a call ended. All texts are redacted.
#[derive(Clone, Debug)]
pub struct CallEnd {
    /// Final, or `unknown`.
    pub state: CallState,
    /// The whole result as JSON text.
    pub result: Option<String>,
    /// Whether the result itself is kept; else only its size and digest.
    pub keep_result: bool,
    /// Why it didn't succeed.
    pub error: Option<String>,
    /// What a caller can do about it.
    pub error_kind: Option<String>,
    /// The sandbox in which it ran.
    pub sandbox: Option<String>,
    /// How long it ran.
    pub duration: Option<Duration>,
    /// Who says so.
    pub actor: Actor,
}

/// What an attempt to end a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This attempt ended it.
    Done,
    /// It had ended before, like this; the row is as it was.
    Before(CallState),
}

/// A call began or ended. Told after the commit; for views that want to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallChange {
    /// The call.
    pub call_id: CallId,
    /// Its state.
    pub state: CallState,
    /// The person behind it.
    pub person: UserId,
    /// The host in whose journal it is, if it isn't safe.
    pub journaled_on: Option<EdgeId>,
}

impl Storage {
    /// The calls.
    pub fn calls(&self) -> Calls<'_> {
        Calls(self)
    }

    /// Changes of calls from this moment on. A slow receiver misses some and is told so.
    pub fn call_changes(&self) -> broadcast::Receiver<CallChange> {
        self.call_changes.subscribe()
    }
}

/// The calls.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'s>(&'s Storage);

impl Calls<'_> {
    /// Writes the row of a new call and its audit entry. When this returns, both are durable. A call on a host that may
    /// run and isn't safe gets its number there in the same transaction.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the id is taken or the turn has another worker, else only if the database does.
    pub async fn create(&self, call: NewCall, lease: Option<TurnLease>) -> Result<Option<u64>, StorageError> {
        let (now, keys) = (self.0.now(), self.0.keys().clone());
        let person = call.on_behalf_of.unwrap_or(call.caller);
        let (call_id, state, edge) = (call.id, call.state, call.edge);
        let seq = self
            .0
            .write(move |conn| Box::pin(async move { create(conn, &keys, now, &call, lease).await }))
            .await?;
        self.tell(CallChange { call_id, state, person, journaled_on: edge.filter(|_| seq.is_some()) });
        Ok(seq)
    }

    /// Ends a call: of any number of attempts one wins, and only its result is kept.
    ///
    /// # Errors
    ///
    /// Fails if there is no such call, `end.state` doesn't end calls, or the database fails.
    pub async fn finish(&self, id: CallId, end: CallEnd) -> Result<Settled, StorageError> {
        let (now, state) = (self.0.now(), end.state);
        let (settled, person, journaled_on) =
            self.0.write(move |conn| Box::pin(async move { finish(conn, now, id, &end).await })).await?;
        if settled == Settled::Done {
            self.tell(CallChange { call_id: id, state, person, journaled_on });
        }
        Ok(settled)
    }

    /// Puts on record, once, that somebody wants a call stopped that is in the journal of its host, which may not hear
    /// of it now. Says whether the call can still be stopped; then whoever looks after calls is told.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn request_cancel(&self, id: CallId, actor: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        let change = self
            .0
            .write(move |conn| Box::pin(async move { request_cancel(conn, now, id, actor).await }))
            .await?;
        change.inspect(|change| self.tell(*change));
        Ok(change.is_some())
    }

    pub(crate) fn storage(&self) -> &Storage {
        self.0
    }

    pub(crate) fn tell(&self, change: CallChange) {
        // Nobody looks: nobody has to be told.
        let _ = self.0.call_changes.send(change);
    }

    /// Ends every row that was left `running` by a manager that died: on hosts the effect may have happened
    /// (`unknown`), inside the manager it died with it (`failed`). Returns the ids. Only for the start, before calls
    /// are admitted.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn settle_left_running(&self) -> Result<Vec<CallId>, StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(settle_left_running(conn, now))).await
    }

    /// The exact arguments of a call that isn't final; `None` once it is.
    ///
    /// # Errors
    ///
    /// Fails if the database does or the key file is another one.
    pub async fn exact_args(&self, id: CallId) -> Result<Option<Value>, StorageError> {
        let sealed: Option<Option<Vec<u8>>> =
            sqlx::query_scalar("SELECT args_sealed FROM chat_tool_calls WHERE id = $1")
                .bind(id.0)
                .fetch_optional(self.0.read())
                .await?;
        let Some(sealed) = sealed.flatten() else { return Ok(None) };
        let plain = self.0.keys().open(&id.to_string(), ARGS_PURPOSE, &sealed)?;
        serde_json::from_slice(&plain).map(Some).map_err(|_| StorageError::corrupt("the arguments of a call"))
    }
}

/// The digest of a call's exact arguments. Keyed per call, so that it can't be guessed.
fn args_digest(keys: &MasterKey, id: CallId, args: &Value) -> String {
    keys.keyed_digest("arguments of a call", id.0.as_bytes(), canonical::to_string(args).as_bytes())
}

pub(crate) async fn create(
    conn: &mut Conn,
    keys: &MasterKey,
    now: Timestamp,
    call: &NewCall,
    lease: Option<TurnLease>,
) -> Result<Option<u64>, StorageError> {
    if let Some(lease) = lease {
        let epoch: Option<i64> =
            sqlx::query_scalar("SELECT epoch FROM turns WHERE id = $1 AND state = 'running'")
                .bind(lease.turn.0)
                .fetch_optional(&mut *conn)
                .await?;
        if epoch != Some(lease.epoch) {
            return Err(StorageError::conflict("the turn is no longer this worker's"));
        }
    }
    let digest = args_digest(keys, call.id, &call.args_exact);
    let sealed = if call.state.is_final() {
        None
    } else {
        Some(keys.seal(&call.id.to_string(), ARGS_PURPOSE, call.args_exact.to_string().as_bytes())?)
    };
    let started = (call.state == CallState::Running).then(|| micros(now));
    let seq = match call.edge {
        // A local call was numbered by nobody.
        Some(edge)
            if call.state == CallState::Running
                && call.class > Class::Safe
                && call.origin != Origin::Local =>
        {
            Some(allocate_seq(conn, edge).await?)
        }
        _ => None,
    };
    let inserted = sqlx::query(
        "INSERT INTO chat_tool_calls (id, session_id, turn_id, parent_call_id, tool_name, class, scope, args_json,
             args_sealed, args_digest, definition_hash, status, error, device_id, device_name, created_at, started_at,
             deadline_at, finished_at, caller_user_id, caller_role, on_behalf_of, origin, policy_decision, token_id,
             token_name, device_seq, approval_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
             $23, $24, $25, $26, $27, $28)",
    )
    .bind(call.id.0)
    .bind(call.session.map(|id| id.0))
    .bind(call.turn.map(|id| id.0))
    .bind(call.parent.map(|id| id.0))
    .bind(&call.tool)
    .bind(call.class.as_str())
    .bind(call.scope.as_str())
    .bind(call.args_redacted.to_string())
    .bind(sealed)
    .bind(&digest)
    .bind(&call.definition_hash)
    .bind(call.state.as_str())
    .bind(call.error.as_deref())
    .bind(call.edge.map(|id| id.0))
    .bind(call.edge_name.as_deref())
    .bind(micros(now))
    .bind(started)
    .bind(call.deadline.map(micros))
    .bind(call.state.is_final().then(|| micros(now)))
    .bind(call.caller.0)
    .bind(&call.caller_role)
    .bind(call.on_behalf_of.map(|id| id.0))
    .bind(call.origin.as_str())
    .bind(call.policy.as_str())
    .bind(call.token.as_ref().map(|token| token.id))
    .bind(call.token.as_ref().map(|token| token.name.as_str()))
    .bind(seq.map(u64::cast_signed))
    .bind(call.approval)
    .execute(&mut *conn)
    .await;
    match inserted.map_err(StorageError::from) {
        Ok(_) => {}
        Err(error) if error.is_unique_violation() => {
            return Err(StorageError::conflict(format!("the call id {} was used before", call.id)));
        }
        Err(error) => return Err(error),
    }
    audit::append(conn, now, received_entry(call, &digest, seq)).await?;
    Ok(seq)
}

fn received_entry(call: &NewCall, digest: &str, seq: Option<u64>) -> AuditEntry {
    let kind = match call.state {
        CallState::Invalid => "call.invalid",
        CallState::Refused => "call.refused",
        CallState::AwaitingApproval => "call.awaiting_approval",
        _ => "call.admitted",
    };
    let actor = match &call.token {
        _ if call.caller == UserId::SYSTEM => Actor::System,
        Some(token) => Actor::Token(token.id, call.caller),
        None => Actor::User(call.caller),
    };
    let args = call.args_redacted.to_string();
    let args = if args.len() <= AUDITED_ARGS_BYTES {
        json!({"args": call.args_redacted})
    } else {
        json!({"args_bytes": args.len()})
    };
    let mut payload = json!({
        "tool": call.tool, "scope": call.scope, "class": call.class, "state": call.state, "args_digest": digest,
        "definition_hash": call.definition_hash, "device_id": call.edge, "session_id": call.session,
        "turn_id": call.turn, "parent_call_id": call.parent, "caller_user_id": call.caller,
        "caller_role": call.caller_role, "on_behalf_of": call.on_behalf_of, "origin": call.origin,
        "policy_decision": call.policy, "error": call.error, "device_seq": seq,
        "approval_id": call.approval,
        "token_id": call.token.as_ref().map(|token| token.id),
        "token_name": call.token.as_ref().map(|token| &token.name),
    });
    if let (Value::Object(fields), Value::Object(args)) = (&mut payload, args) {
        fields.extend(args);
        fields.retain(|_, value| !value.is_null());
    }
    AuditEntry { kind, call_id: Some(call.id), actor, payload }
}

pub(crate) async fn finish(
    conn: &mut Conn,
    now: Timestamp,
    id: CallId,
    end: &CallEnd,
) -> Result<(Settled, UserId, Option<EdgeId>), StorageError> {
    if !end.state.is_final() && end.state != CallState::Unknown {
        return Err(StorageError::conflict(format!("a call can't end as `{}`", end.state)));
    }
    let before: Option<(String, i64, Option<i64>)> = sqlx::query_as(
        "SELECT status, COALESCE(on_behalf_of, caller_user_id), CASE WHEN device_seq IS NULL THEN NULL ELSE device_id END
         FROM chat_tool_calls WHERE id = $1",
    )
    .bind(id.0)
    .fetch_optional(&mut *conn)
    .await?;
    let (before, person, journaled_on) =
        before.ok_or_else(|| StorageError::not_found(format!("call {id}")))?;
    let before: CallState = before.parse().map_err(|_| StorageError::corrupt("the state of a call"))?;
    if !before.may_become(end.state) {
        return Ok((Settled::Before(before), UserId(person), journaled_on.map(EdgeId)));
    }
    let (inline, artifact) = match &end.result {
        None => (None, None),
        Some(_) if !end.keep_result => (None, None),
        Some(text) if text.len() <= INLINE_RESULT_BYTES => (Some(text.as_str()), None),
        Some(text) => {
            let stored = artifacts::store(conn, now, Some(id), "application/json", text.as_bytes()).await?;
            (None, Some(stored))
        }
    };
    update_end(conn, now, id, before, end, inline, artifact).await?;
    audit::append(conn, now, ended_entry(id, before, end)).await?;
    Ok((Settled::Done, UserId(person), journaled_on.map(EdgeId)))
}

/// The change to tell of; `None` if the call has ended, or is in no journal.
async fn request_cancel(
    conn: &mut Conn,
    now: Timestamp,
    id: CallId,
    actor: Actor,
) -> Result<Option<CallChange>, StorageError> {
    let open: Option<(String, i64, Option<i64>, bool)> = sqlx::query_as(
        "SELECT status, COALESCE(on_behalf_of, caller_user_id), device_id, cancel_requested_at IS NOT NULL
         FROM chat_tool_calls
         WHERE id = $1 AND device_seq IS NOT NULL AND status IN ('running', 'unknown')",
    )
    .bind(id.0)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((state, person, edge, asked)) = open else { return Ok(None) };
    let state: CallState = state.parse().map_err(|_| StorageError::corrupt("the state of a call"))?;
    if !asked {
        sqlx::query("UPDATE chat_tool_calls SET cancel_requested_at = $1 WHERE id = $2")
            .bind(micros(now))
            .bind(id.0)
            .execute(&mut *conn)
            .await?;
        let payload = json!({"device_id": edge});
        audit::append(conn, now, AuditEntry { kind: CANCEL_KIND, call_id: Some(id), actor, payload }).await?;
    }
    Ok(Some(CallChange { call_id: id, state, person: UserId(person), journaled_on: edge.map(EdgeId) }))
}

async fn update_end(
    conn: &mut Conn,
    now: Timestamp,
    id: CallId,
    before: CallState,
    end: &CallEnd,
    inline: Option<&str>,
    artifact: Option<Uuid>,
) -> Result<(), StorageError> {
    // An unknown call may still be resolved and keeps its sealed arguments until then.
    let seal = if end.state.is_final() { "NULL" } else { "args_sealed" };
    let changed = sqlx::query(AssertSqlSafe(format!(
        "UPDATE chat_tool_calls SET status = $1, result_json = $2, result_artifact_id = $3, result_bytes = $4,
             result_digest = $5, error = $6, error_kind = $7, sandbox = COALESCE($8, sandbox), finished_at = $9,
             duration_ms = COALESCE($10, duration_ms), args_sealed = {seal}
         WHERE id = $11 AND status = $12"
    )))
    .bind(end.state.as_str())
    .bind(inline)
    .bind(artifact)
    .bind(end.result.as_ref().map_or(0, |text| text.len() as i64))
    .bind(end.result.as_ref().map(|text| canonical::sha256_hex(text.as_bytes())))
    .bind(end.error.as_deref())
    .bind(end.error_kind.as_deref())
    .bind(end.sandbox.as_deref())
    .bind(micros(now))
    .bind(end.duration.map(|duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    .bind(id.0)
    .bind(before.as_str())
    .execute(&mut *conn)
    .await?
    .rows_affected();
    if changed == 1 {
        Ok(())
    } else {
        Err(StorageError::conflict(format!("call {id} changed at the same time")))
    }
}

fn ended_entry(id: CallId, before: CallState, end: &CallEnd) -> AuditEntry {
    let kind = match (before, end.state) {
        (CallState::Unknown, _) => "call.resolved",
        (_, CallState::Unknown) => "call.unknown",
        _ => "call.finished",
    };
    let mut payload = json!({
        "state": end.state, "error": end.error, "error_kind": end.error_kind, "sandbox": end.sandbox,
        "result_bytes": end.result.as_ref().map(String::len),
        "result_digest": end.result.as_ref().map(|text| canonical::sha256_hex(text.as_bytes())),
        "duration_ms": end.duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
    });
    if let Value::Object(fields) = &mut payload {
        fields.retain(|_, value| !value.is_null());
    }
    AuditEntry { kind, call_id: Some(id), actor: end.actor, payload }
}

async fn settle_left_running(conn: &mut Conn, now: Timestamp) -> Result<Vec<CallId>, StorageError> {
    let left: Vec<(Uuid, String)> = sqlx::query_as(
        "SELECT id, scope FROM chat_tool_calls WHERE status = 'running' ORDER BY created_at, id",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut settled = Vec::with_capacity(left.len());
    for (id, scope) in left {
        let id = CallId(id);
        let (state, error) = if scope == Scope::Host.as_str() {
            (CallState::Unknown, "the manager stopped while the call ran; its host will tell how it ended")
        } else {
            (CallState::Failed, "the manager stopped while the call ran")
        };
        let end = CallEnd {
            state,
            result: None,
            keep_result: true,
            error: Some(error.to_owned()),
            error_kind: None,
            sandbox: None,
            duration: None,
            actor: Actor::System,
        };
        finish(conn, now, id, &end).await?;
        settled.push(id);
    }
    Ok(settled)
}

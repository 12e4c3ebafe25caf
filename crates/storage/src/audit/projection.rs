//! Compares `chat_tool_calls` with the chain that it is a projection of: whoever changes only the rows is found.

use super::StoredRow;
use crate::calls::CANCEL_KIND;
use crate::{Conn, StorageError};
use model::canonical;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use std::collections::HashMap;
use uuid::Uuid;

/// Calls that are compared at a time; bounds memory use.
const PAGE: i64 = 200;

/// Columns and the fields of the chain's first entry of a call that they repeat.
const RECEIVED: &[(&str, &str)] = &[
    ("tool_name", "tool"),
    ("class", "class"),
    ("scope", "scope"),
    ("args_digest", "args_digest"),
    ("definition_hash", "definition_hash"),
    ("device_id", "device_id"),
    ("session_id", "session_id"),
    ("turn_id", "turn_id"),
    ("parent_call_id", "parent_call_id"),
    ("caller_user_id", "caller_user_id"),
    ("caller_role", "caller_role"),
    ("on_behalf_of", "on_behalf_of"),
    ("origin", "origin"),
    ("policy_decision", "policy_decision"),
    ("token_id", "token_id"),
    ("token_name", "token_name"),
];

/// Columns that every entry with a state sets anew.
const ENDED: &[(&str, &str)] = &[
    ("status", "state"),
    ("error", "error"),
    ("error_kind", "error_kind"),
    ("result_bytes", "result_bytes"),
    ("result_digest", "result_digest"),
];

/// Columns that an entry sets only if it has something to say.
const KEPT: &[(&str, &str)] = &[
    ("sandbox", "sandbox"),
    ("duration_ms", "duration_ms"),
    // A call that waited for a person gets its number when it starts.
    ("device_seq", "device_seq"),
    ("approval_id", "approval_id"),
    ("sop_id", "sop_id"),
];

/// One row as JSON, so that its columns compare with the fields of the chain.
#[derive(sqlx::FromRow)]
struct Row {
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
    result_json: Option<String>,
    result_artifact_id: Option<Uuid>,
    result_bytes: i64,
    result_digest: Option<String>,
    status: String,
    error: Option<String>,
    error_kind: Option<String>,
    device_id: Option<i64>,
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
    approval_id: Option<Uuid>,
    sop_id: Option<String>,
    cancel_requested_at: Option<i64>,
}

impl Row {
    fn column(&self, name: &str) -> Value {
        let id = |id: &Option<Uuid>| id.map_or(Value::Null, |id| Value::from(id.to_string()));
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let number = |number: Option<i64>| number.map_or(Value::Null, Value::from);
        match name {
            "tool_name" => self.tool_name.as_str().into(),
            "class" => self.class.as_str().into(),
            "scope" => self.scope.as_str().into(),
            "args_digest" => self.args_digest.as_str().into(),
            "definition_hash" => self.definition_hash.as_str().into(),
            "device_id" => number(self.device_id),
            "session_id" => id(&self.session_id),
            "turn_id" => id(&self.turn_id),
            "parent_call_id" => id(&self.parent_call_id),
            "caller_user_id" => self.caller_user_id.into(),
            "caller_role" => self.caller_role.as_str().into(),
            "on_behalf_of" => number(self.on_behalf_of),
            "origin" => self.origin.as_str().into(),
            "policy_decision" => self.policy_decision.as_str().into(),
            "token_id" => number(self.token_id),
            "token_name" => text(&self.token_name),
            "device_seq" => number(self.device_seq),
            "approval_id" => id(&self.approval_id),
            "sop_id" => text(&self.sop_id),
            "status" => self.status.as_str().into(),
            "error" => text(&self.error),
            "error_kind" => text(&self.error_kind),
            "sandbox" => text(&self.sandbox),
            // Without a result the chain has no size.
            "result_bytes" => number(Some(self.result_bytes).filter(|bytes| *bytes != 0)),
            "result_digest" => text(&self.result_digest),
            "duration_ms" => number(self.duration_ms),
            _ => Value::Null,
        }
    }
}

/// What the chain says of one call.
#[derive(Default)]
struct Told {
    received: Option<Map<String, Value>>,
    ended: Map<String, Value>,
    kept: Map<String, Value>,
    /// Somebody wanted it stopped.
    stopped: bool,
}

impl Told {
    fn add(&mut self, row: &StoredRow) -> Result<(), StorageError> {
        self.stopped |= row.kind == CANCEL_KIND;
        let payload: Value =
            serde_json::from_str(&row.payload).map_err(|_| StorageError::corrupt("JSON in the audit log"))?;
        let Value::Object(payload) = payload else { return Ok(()) };
        // Other entries of a call don't change its row's columns.
        if !payload.contains_key("state") {
            return Ok(());
        }
        for (_, field) in KEPT {
            if let Some(value) = payload.get(*field) {
                self.kept.insert((*field).to_owned(), value.clone());
            }
        }
        self.ended = payload.clone();
        self.received.get_or_insert(payload);
        Ok(())
    }

    /// The first column that isn't what the chain says.
    fn difference(&self, row: &Row) -> Option<String> {
        let call = row.id;
        let Some(received) = &self.received else {
            return Some(format!("call {call} is in chat_tool_calls, but the chain knows nothing of it"));
        };
        for (columns, fields) in [(RECEIVED, received), (ENDED, &self.ended), (KEPT, &self.kept)] {
            for (column, field) in columns {
                let (shown, told) = (row.column(column), fields.get(*field).unwrap_or(&Value::Null));
                let told = if *field == "result_bytes" && told == 0 { &Value::Null } else { told };
                if shown != *told {
                    return Some(format!(
                        "call {call}: `{column}` in chat_tool_calls is {}, but the chain says {}",
                        short(&shown),
                        short(told)
                    ));
                }
            }
        }
        if row.cancel_requested_at.is_some() != self.stopped {
            return Some(format!(
                "call {call}: `cancel_requested_at` in chat_tool_calls is {}, but the chain says that {}",
                row.cancel_requested_at.map_or("null".to_owned(), |at| at.to_string()),
                if self.stopped { "somebody wanted it stopped" } else { "nobody wanted it stopped" }
            ));
        }
        let args: Option<Value> = serde_json::from_str(&row.args_json).ok();
        let same = match (received.get("args"), &args) {
            (Some(told), Some(shown)) => canonical::to_string(told) == canonical::to_string(shown),
            // Large arguments are only measured in the chain.
            (None, Some(_)) => received
                .get("args_bytes")
                .is_none_or(|bytes| bytes.as_u64() == Some(row.args_json.len() as u64)),
            (_, None) => false,
        };
        if !same {
            return Some(format!("call {call}: `args_json` in chat_tool_calls isn't what the chain says"));
        }
        let digest = row.result_json.as_ref().map(|text| canonical::sha256_hex(text.as_bytes()));
        if digest.is_some() && digest != row.result_digest {
            return Some(format!(
                "call {call}: `result_json` in chat_tool_calls isn't the result whose digest the chain holds"
            ));
        }
        None
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// What the comparison found.
pub(super) struct Compared {
    /// Calls that were compared.
    pub(super) calls: u64,
    /// The first thing that is wrong.
    pub(super) problem: Option<String>,
}

/// Compares every call with the chain, in the reader's own snapshot. The chain itself must have been checked.
pub(super) async fn compare(conn: &mut Conn) -> Result<Compared, StorageError> {
    let mut calls = 0;
    let mut after = Uuid::nil();
    loop {
        let page: Vec<Row> =
            sqlx::query_as("SELECT * FROM chat_tool_calls WHERE id > $1 ORDER BY id LIMIT $2")
                .bind(after)
                .bind(PAGE)
                .fetch_all(&mut *conn)
                .await?;
        let Some(last) = page.last().map(|row| row.id) else { break };
        let entries: Vec<StoredRow> = sqlx::query_as(
            "SELECT * FROM audit_log WHERE call_id > $1 AND call_id <= $2 ORDER BY call_id, seq",
        )
        .bind(after)
        .bind(last)
        .fetch_all(&mut *conn)
        .await?;
        let mut told: HashMap<Uuid, Told> = HashMap::new();
        for entry in &entries {
            if let Some(call) = entry.call_id {
                told.entry(call).or_default().add(entry)?;
            }
        }
        for row in &page {
            let mut problem = told.remove(&row.id).unwrap_or_default().difference(row);
            if let (None, Some(artifact)) = (&problem, row.result_artifact_id) {
                problem = changed_artifact(conn, row, artifact).await?;
            }
            if problem.is_some() {
                return Ok(Compared { calls, problem });
            }
            calls += 1;
        }
        after = last;
    }
    let lost: Option<Uuid> = sqlx::query_scalar(AssertSqlSafe(
        "SELECT call_id FROM audit_log WHERE call_id IS NOT NULL AND kind LIKE 'call.%' \
         AND NOT EXISTS (SELECT 1 FROM chat_tool_calls WHERE chat_tool_calls.id = audit_log.call_id) LIMIT 1"
            .to_owned(),
    ))
    .fetch_optional(&mut *conn)
    .await?;
    let problem = lost.map(|call| format!("call {call} is in the chain, but not in chat_tool_calls"));
    Ok(Compared { calls, problem })
}

/// Whether a large result isn't the one whose digest is in the chain.
async fn changed_artifact(
    conn: &mut Conn,
    row: &Row,
    artifact: Uuid,
) -> Result<Option<String>, StorageError> {
    use sha2::{Digest as _, Sha256};
    let mut hasher = Sha256::new();
    let mut position = 0_i64;
    loop {
        let piece: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT data FROM artifact_pieces WHERE artifact_id = $1 AND position = $2")
                .bind(artifact)
                .bind(position)
                .fetch_optional(&mut *conn)
                .await?;
        let Some(piece) = piece else { break };
        hasher.update(&piece);
        position += 1;
    }
    let digest = hex::encode(hasher.finalize());
    Ok((row.result_digest.as_ref() != Some(&digest))
        .then(|| format!("call {}: its stored result isn't the one whose digest the chain holds", row.id)))
}

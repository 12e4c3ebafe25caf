//! A row of the audit chain as the API shows it.

use chrono::{DateTime, Utc};
use model::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use storage::audit::AuditRow;
use utoipa::{IntoParams, ToSchema};

/// A row of the audit chain.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AuditRow)]
pub struct AuditRowView {
    /// From 1, without gaps.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// What happened, for example `call.admitted`.
    pub kind: String,
    /// The call that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub call_id: Option<CallId>,
    /// Who did it: `{kind: system | user | edge | token, id?, user_id?}`.
    pub actor: Value,
    /// What else is to be known.
    pub payload: Value,
    /// Hash of the row before, in hex.
    pub prev_hash: String,
    /// Hash of this row, in hex.
    pub row_hash: String,
}

impl From<AuditRow> for AuditRowView {
    fn from(row: AuditRow) -> Self {
        Self {
            seq: row.seq,
            at: row.at,
            kind: row.kind,
            call_id: row.call_id,
            actor: row.actor,
            payload: row.payload,
            prev_hash: row.prev_hash,
            row_hash: row.row_hash,
        }
    }
}

/// Which rows. Absent means all.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// What happened; `call.` with the dot at its end means all kinds that begin with it.
    pub(super) kind: Option<String>,
    /// Not before.
    pub(super) from: Option<DateTime<Utc>>,
    /// Before.
    pub(super) to: Option<DateTime<Utc>>,
    /// Of this call.
    #[param(value_type = Option<Uuid>)]
    pub(super) call: Option<String>,
}

//! An approval as it is read back, with its call.

use super::signing::{OpenStatement, Signing};
use crate::calls::{CallRow, StoredCall};
use crate::sops::SopStep;
use crate::{StorageError, from_micros};
use model::{ApprovalDecision, ApprovalId, ApprovalState, ClassReason, Timestamp, UserId};
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;

/// An approval as it is read back, with its call.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The call, with redacted arguments and the state that it has now.
    pub call: CallRow,
    /// What the chat is called now that the call belongs to.
    pub session_title: Option<String>,
    /// Who is behind the call, by name.
    pub person_name: String,
    /// The capability's name for people.
    pub tool_label: String,
    /// Why a person is asked.
    pub why: String,
    /// Why a person is asked although there is a grant.
    pub grant_note: Option<String>,
    /// Why the call has its class.
    pub reasons: Vec<ClassReason>,
    /// Whether redaction hides a part of the arguments.
    pub has_hidden: bool,
    /// The host's labels when it was asked.
    pub edge_labels: Option<BTreeMap<String, String>>,
    /// SHA-256 (hex) over everything that the decision is about.
    pub binding: String,
    /// What the call itself may take, once it runs.
    pub timeout: Duration,
    /// The keys that the turn was narrowed to; `None` if to none.
    pub narrowed_to: Option<BTreeSet<String>>,
    /// Where it stands.
    pub state: ApprovalState,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it is too late to decide.
    pub decide_by: Timestamp,
    /// When it left `pending`.
    pub decided_at: Option<Timestamp>,
    /// Who decided; nobody where it expired or was withdrawn.
    pub decided_by: Option<UserId>,
    /// Who decided, by name.
    pub decided_by_name: Option<String>,
    /// What was decided.
    pub decision: Option<ApprovalDecision>,
    /// What was said about it. Redacted.
    pub note: Option<String>,
    /// Until when the call may start.
    pub valid_until: Option<Timestamp>,
    /// What people have to sign; `None` where a decision is enough.
    pub signing: Option<Signing>,
}

/// An account's name for people.
pub(super) const fn name_column() -> &'static str {
    "COALESCE(NULLIF(display_name, ''), name)"
}

/// The columns of [`StoredApproval`] without those of the call.
pub(super) const COLUMNS: &str = "a.id AS ask_id, a.tool_label, a.why, a.grant_note, a.reasons, a.has_hidden, \
     a.edge_labels, a.binding, a.timeout_ms, a.narrowed_to, a.state, a.asked_at, a.decide_by, a.decided_at, \
     a.decided_by, a.decision, a.note, a.valid_until, \
     (SELECT title FROM sessions WHERE sessions.id = c.session_id) AS session_title, \
     s.needed AS signatures_needed, s.independent_needed, s.sop_id AS signing_sop, s.sop_version, s.sop_step, \
     s.statement, s.instance, s.not_after, \
     (SELECT runs FROM sop_runs r WHERE r.sop_id = s.sop_id AND r.version = s.sop_version AND r.step = s.sop_step \
         AND r.edge_id = c.device_id) AS runs_used";

#[derive(FromRow)]
pub(super) struct StoredApproval {
    ask_id: Uuid,
    #[sqlx(flatten)]
    call: StoredCall,
    session_title: Option<String>,
    person_name: Option<String>,
    tool_label: String,
    why: String,
    grant_note: Option<String>,
    reasons: String,
    has_hidden: i64,
    edge_labels: Option<String>,
    binding: String,
    timeout_ms: i64,
    narrowed_to: Option<String>,
    state: String,
    asked_at: i64,
    decide_by: i64,
    decided_at: Option<i64>,
    decided_by: Option<i64>,
    decided_by_name: Option<String>,
    decision: Option<String>,
    note: Option<String>,
    valid_until: Option<i64>,
    signatures_needed: Option<i64>,
    independent_needed: Option<i64>,
    signing_sop: Option<String>,
    sop_version: Option<i64>,
    sop_step: Option<String>,
    statement: Option<String>,
    instance: Option<String>,
    not_after: Option<i64>,
    runs_used: Option<i64>,
}

impl StoredApproval {
    /// What people have to sign, without the signatures.
    fn signing(&self) -> Result<Option<Signing>, StorageError> {
        let Some(needed) = self.signatures_needed else { return Ok(None) };
        let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let sop = match (&self.signing_sop, self.sop_version, &self.sop_step) {
            (Some(id), Some(version), Some(step)) => {
                Some(SopStep { id: id.clone(), version: version.cast_unsigned(), step: step.clone() })
            }
            _ => None,
        };
        let statement = match (&self.statement, &self.instance, self.not_after) {
            (Some(text), Some(instance), Some(not_after)) => Some(OpenStatement {
                text: text.clone(),
                instance: instance.clone(),
                not_after: from_micros(not_after)?,
            }),
            _ => None,
        };
        Ok(Some(Signing {
            needed: small(needed),
            independent_needed: small(self.independent_needed.unwrap_or(0)),
            sop,
            runs_used: small(self.runs_used.unwrap_or(0)),
            statement,
            signatures: Vec::new(),
        }))
    }

    pub(super) fn read(self) -> Result<Approval, StorageError> {
        let wrong = || StorageError::corrupt(format!("approval {}", self.ask_id));
        Ok(Approval {
            signing: self.signing()?,
            id: ApprovalId(self.ask_id),
            reasons: json(&self.reasons).ok_or_else(wrong)?,
            edge_labels: optional_json(self.edge_labels.as_deref()).ok_or_else(wrong)?,
            narrowed_to: optional_json(self.narrowed_to.as_deref()).ok_or_else(wrong)?,
            state: self.state.parse().map_err(|_| wrong())?,
            decision: self.decision.as_deref().map(str::parse).transpose().map_err(|_| wrong())?,
            call: self.call.read()?,
            session_title: self.session_title.filter(|title| !title.is_empty()),
            person_name: self.person_name.unwrap_or_default(),
            tool_label: self.tool_label,
            why: self.why,
            grant_note: self.grant_note,
            has_hidden: self.has_hidden != 0,
            binding: self.binding,
            timeout: Duration::from_millis(self.timeout_ms.unsigned_abs()),
            asked_at: from_micros(self.asked_at)?,
            decide_by: from_micros(self.decide_by)?,
            decided_at: self.decided_at.map(from_micros).transpose()?,
            decided_by: self.decided_by.map(UserId),
            decided_by_name: self.decided_by_name,
            note: self.note,
            valid_until: self.valid_until.map(from_micros).transpose()?,
        })
    }
}

fn json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The outer `None` means that it can't be read.
#[expect(clippy::option_option, reason = "the column may be empty, and what is in it may be wrong")]
fn optional_json<T: DeserializeOwned>(text: Option<&str>) -> Option<Option<T>> {
    text.map_or(Some(None), |text| json(text).map(Some))
}

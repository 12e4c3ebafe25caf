//! Questions to people whether a call may run, one for each call that waits. Every change of one, of its call's row,
//! of the chat that shows it, and the audit entry are one job, so none is there without the others.

mod decide;
mod query;
mod row;
mod signing;

pub(crate) use decide::{Changes, withdraw_of_turn};
pub use decide::{Decided, Started, Verdict};
pub use query::{ApprovalCursor, ApprovalFilter};
pub use row::Approval;
pub use signing::{NewSignature, NewSigning, OpenStatement, Signed, Signing, StoredSignature};

use crate::calls::{self, CallChange, Calls, NewCall, TurnLease};
use crate::chats::{self, NewEvent};
use crate::{Conn, Storage, StorageError, micros};
use model::{
    ApprovalDecision, ApprovalId, ApprovalState, CallId, ClassReason, GrantId, SessionId, Timestamp, TurnId,
    UserId,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::broadcast;
use uuid::Uuid;

/// What is asked, and what of it the card shows that isn't in the call's row.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// Its id.
    pub id: ApprovalId,
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
    /// The host's labels.
    pub edge_labels: Option<BTreeMap<String, String>>,
    /// SHA-256 (hex) over everything that the decision is about.
    pub binding: String,
    /// What the call itself may take, once it runs.
    pub timeout: Duration,
    /// The keys that the turn was narrowed to; `None` if to none.
    pub narrowed_to: Option<BTreeSet<String>>,
    /// How long people may take to decide.
    pub decide_within: Duration,
    /// What people have to sign; `None` where a decision is enough.
    pub signing: Option<NewSigning>,
}

/// An approval changed. Told after the commit; for views that want to look again, and for whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalChange {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Its call.
    pub call_id: CallId,
    /// Its state.
    pub state: ApprovalState,
    /// The person behind the call.
    pub person: UserId,
    /// Whether people are asked just now: for the first time, or again because what they had signed is void.
    pub asks: bool,
}

/// What became of a call that a grant was to let run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// It may run; its number on its host, if it isn't safe.
    Started(Option<u64>),
    /// The grant was revoked, ran out or was used up just before. Nothing was written.
    Gone,
}

impl Storage {
    /// The approvals.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }

    /// Changes of approvals from this moment on. A slow receiver misses some and is told so.
    pub fn approval_changes(&self) -> broadcast::Receiver<ApprovalChange> {
        self.approval_changes.subscribe()
    }
}

/// The approvals.
#[derive(Clone, Copy, Debug)]
pub struct Approvals<'s>(&'s Storage);

impl Approvals<'_> {
    fn tell(&self, change: ApprovalChange) {
        // Nobody looks: nobody has to be told.
        let _ = self.0.approval_changes.send(change);
    }
}

impl Calls<'_> {
    /// Writes the row of a call that waits for a person, the question, its audit entry and what the chat shows of it.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the id is taken or the turn has another worker, else only if the database does.
    pub async fn create_waiting(
        &self,
        call: NewCall,
        approval: NewApproval,
        lease: Option<TurnLease>,
    ) -> Result<(), StorageError> {
        let storage = self.storage();
        let (now, keys) = (storage.now(), storage.keys().clone());
        let person = call.on_behalf_of.unwrap_or(call.caller);
        let change = CallChange { call_id: call.id, state: call.state, person, journaled_on: None };
        let asked = ApprovalChange {
            approval_id: approval.id,
            call_id: call.id,
            state: ApprovalState::Pending,
            person,
            asks: true,
        };
        storage
            .write(move |conn| {
                Box::pin(async move {
                    let call = NewCall { approval: Some(approval.id.0), ..call };
                    calls::create(conn, &keys, now, &call, lease).await?;
                    insert(conn, now, &call, &approval).await
                })
            })
            .await?;
        self.tell(change);
        storage.approvals().tell(asked);
        Ok(())
    }

    /// Writes the `running` row of a call that a grant lets run, its audit entry, and the use of the grant.
    ///
    /// # Errors
    ///
    /// As [`Calls::create`].
    pub async fn create_granted(
        &self,
        call: NewCall,
        grant: GrantId,
        lease: Option<TurnLease>,
    ) -> Result<Granted, StorageError> {
        let storage = self.storage();
        let (now, keys) = (storage.now(), storage.keys().clone());
        let person = call.on_behalf_of.unwrap_or(call.caller);
        let (call_id, state, edge) = (call.id, call.state, call.edge);
        let granted = storage
            .write(move |conn| {
                Box::pin(async move {
                    if !crate::grants::take_use(conn, now, grant).await? {
                        return Ok(Granted::Gone);
                    }
                    let call = NewCall { approval: Some(grant.0), ..call };
                    calls::create(conn, &keys, now, &call, lease).await.map(Granted::Started)
                })
            })
            .await?;
        if let Granted::Started(seq) = granted {
            self.tell(CallChange { call_id, state, person, journaled_on: edge.filter(|_| seq.is_some()) });
        }
        Ok(granted)
    }
}

async fn insert(
    conn: &mut Conn,
    now: Timestamp,
    call: &NewCall,
    approval: &NewApproval,
) -> Result<(), StorageError> {
    let json = |value: Result<String, serde_json::Error>| {
        value.map_err(|_| StorageError::corrupt("what an approval shows"))
    };
    sqlx::query(
        "INSERT INTO approvals (id, call_id, person_id, tool_label, why, grant_note, reasons, has_hidden, edge_labels,
             binding, timeout_ms, narrowed_to, state, asked_at, decide_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13, $14)",
    )
    .bind(approval.id.0)
    .bind(call.id.0)
    .bind(call.on_behalf_of.unwrap_or(call.caller).0)
    .bind(&approval.tool_label)
    .bind(&approval.why)
    .bind(&approval.grant_note)
    .bind(json(serde_json::to_string(&approval.reasons))?)
    .bind(i64::from(approval.has_hidden))
    .bind(approval.edge_labels.as_ref().map(|labels| json(serde_json::to_string(labels))).transpose()?)
    .bind(&approval.binding)
    .bind(i64::try_from(approval.timeout.as_millis()).unwrap_or(i64::MAX))
    .bind(approval.narrowed_to.as_ref().map(|keys| json(serde_json::to_string(keys))).transpose()?)
    .bind(micros(now))
    .bind(micros(now + approval.decide_within))
    .execute(&mut *conn)
    .await?;
    if let Some(signing) = &approval.signing {
        signing::insert(conn, approval.id, signing).await?;
    }
    let Some(turn) = call.turn else { return Ok(()) };
    if call.parent.is_some() {
        // The card of a tool's own call is shown before the tool has ended.
        show(conn, turn, &shown_call(call), now).await?;
    }
    let shown = Shown { decide_by: Some(now + approval.decide_within), ..Shown::new(approval.id, call.id) };
    show(conn, turn, &shown.event(ApprovalState::Pending), now).await
}

fn shown_call(call: &NewCall) -> NewEvent {
    let mut payload = json!({
        "call_id": call.id, "tool": call.tool, "scope": call.scope, "class": call.class, "args": call.args_redacted,
        "parent_call_id": call.parent,
    });
    if let Some(edge) = call.edge {
        payload["edge_id"] = json!(edge);
        payload["edge_name"] = json!(call.edge_name);
    }
    NewEvent { kind: "chat.tool-call.v1", payload, delta_of: None }
}

/// What a chat shows of an approval. The rest of the card is fetched.
struct Shown<'a> {
    approval: ApprovalId,
    call: CallId,
    decision: Option<ApprovalDecision>,
    decided_by_name: Option<&'a str>,
    note: Option<&'a str>,
    decide_by: Option<Timestamp>,
}

impl Shown<'_> {
    const fn new(approval: ApprovalId, call: CallId) -> Self {
        Self { approval, call, decision: None, decided_by_name: None, note: None, decide_by: None }
    }

    fn event(&self, state: ApprovalState) -> NewEvent {
        let mut payload = json!({
            "approval_id": self.approval, "call_id": self.call, "state": state, "decision": self.decision,
            "decided_by_name": self.decided_by_name, "note": self.note, "decide_by": self.decide_by,
        });
        if let Value::Object(fields) = &mut payload {
            fields.retain(|_, value| !value.is_null());
        }
        NewEvent { kind: "chat.approval.v1", payload, delta_of: None }
    }
}

/// Shows something in the chat of a turn, if that is still there.
async fn show(conn: &mut Conn, turn: TurnId, event: &NewEvent, now: Timestamp) -> Result<(), StorageError> {
    let chat: Option<(Uuid, i64)> = sqlx::query_as("SELECT session_id, user_id FROM turns WHERE id = $1")
        .bind(turn.0)
        .fetch_optional(&mut *conn)
        .await?;
    if let Some((session, owner)) = chat {
        chats::append_event(conn, (SessionId(session), UserId(owner)), Some(turn), event, now).await?;
    }
    Ok(())
}

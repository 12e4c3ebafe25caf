//! How a question ends: decided, expired, withdrawn; and how its call starts.

use super::{ApprovalChange, Approvals, Shown, show};
use crate::audit::{self, Actor, AuditEntry};
use crate::calls::{self, CallChange, CallEnd, Settled};
use crate::edges::allocate_seq;
use crate::grants::{self, NewGrant};
use crate::sops::{self, Counted, SopStep};
use crate::{Conn, Storage, StorageError, micros};
use model::{
    ApprovalDecision, ApprovalId, ApprovalState, CallId, CallState, Class, EdgeId, Timestamp, TurnId, UserId,
};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// What is decided.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Who decides.
    pub by: UserId,
    /// What.
    pub decision: ApprovalDecision,
    /// What is said about it. Redacted.
    pub note: Option<String>,
    /// How long the call may take to start.
    pub valid_for: Duration,
    /// The grant that goes with it.
    pub grant: Option<NewGrant>,
}

/// What an attempt to decide came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// This attempt decided it.
    Done,
    /// It was decided, expired or withdrawn before; everything is as it was.
    Before,
}

/// What an attempt to start an approved call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Its row is `running`; its number on its host, if it isn't safe.
    Done(Option<u64>),
    /// The turn that it belongs to has ended.
    TurnEnded,
    /// The step of the procedure has run on this host as often as it may.
    RunsUsedUp,
    /// The procedure was revoked.
    SopRevoked,
    /// It doesn't wait any more.
    Before(CallState),
}

/// What is to be told after the commit.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    approvals: Vec<ApprovalChange>,
    calls: Vec<CallChange>,
}

impl Changes {
    pub(super) fn note(&mut self, change: ApprovalChange) {
        self.approvals.push(change);
    }

    pub(crate) fn tell(self, storage: &Storage) {
        for change in self.calls {
            storage.calls().tell(change);
        }
        for change in self.approvals {
            storage.approvals().tell(change);
        }
    }
}

/// A question with what its end needs.
#[derive(sqlx::FromRow)]
pub(super) struct Open {
    pub(super) id: Uuid,
    call_id: Uuid,
    person_id: i64,
    pub(super) state: String,
    asked_at: i64,
    pub(super) decide_by: i64,
    pub(super) turn_id: Option<Uuid>,
    pub(super) status: String,
}

const OPEN: &str = "SELECT a.id, a.call_id, a.person_id, a.state, a.asked_at, a.decide_by, c.turn_id, c.status \
     FROM approvals a JOIN chat_tool_calls c ON c.id = a.call_id";

impl Open {
    pub(super) async fn find(
        conn: &mut Conn,
        condition: &str,
        id: Uuid,
    ) -> Result<Option<Self>, StorageError> {
        let sql = format!("{OPEN} WHERE {condition} = $1");
        Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(conn).await?)
    }

    pub(super) fn is_pending(&self) -> bool {
        self.state == ApprovalState::Pending.as_str()
    }

    pub(super) fn change(&self, state: ApprovalState) -> ApprovalChange {
        ApprovalChange {
            approval_id: ApprovalId(self.id),
            call_id: CallId(self.call_id),
            state,
            person: UserId(self.person_id),
            asks: false,
        }
    }

    pub(super) fn shown<'a>(&self) -> Shown<'a> {
        Shown::new(ApprovalId(self.id), CallId(self.call_id))
    }
}

impl Approvals<'_> {
    /// Decides: of any number of attempts one wins. What follows for the call, the grant, the chat and the audit is in
    /// the same transaction. One that is past its time expires instead.
    ///
    /// # Errors
    ///
    /// Fails if there is no such approval, or the database fails.
    pub async fn decide(&self, id: ApprovalId, verdict: Verdict) -> Result<Decided, StorageError> {
        let (now, keys) = (self.0.now(), self.0.keys().clone());
        let (decided, changes) = self
            .0
            .write(move |conn| Box::pin(async move { decide(conn, &keys, now, id, verdict).await }))
            .await?;
        changes.tell(self.0);
        Ok(decided)
    }

    /// Ends the wait of a call whose time to decide is over. `false` if it is not over, or was decided.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn expire(&self, call: CallId) -> Result<bool, StorageError> {
        let now = self.0.now();
        let changes = self
            .0
            .write(move |conn| {
                Box::pin(async move {
                    let mut changes = Changes::default();
                    if let Some(open) = Open::find(conn, "a.call_id", call.0).await?
                        && open.is_pending()
                        && open.decide_by <= micros(now)
                    {
                        expire(conn, now, &open, &mut changes).await?;
                    }
                    Ok(changes)
                })
            })
            .await?;
        let expired = !changes.approvals.is_empty();
        changes.tell(self.0);
        Ok(expired)
    }

    /// Ends the wait of a call that nobody wants any more, decided or not, for this reason. `false` if it doesn't wait.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn withdraw(&self, call: CallId, actor: Actor, reason: String) -> Result<bool, StorageError> {
        let now = self.0.now();
        let changes = self
            .0
            .write(move |conn| {
                Box::pin(async move {
                    let mut changes = Changes::default();
                    if let Some(open) = Open::find(conn, "a.call_id", call.0).await? {
                        withdraw(conn, now, &open, actor, &reason, &mut changes).await?;
                    }
                    Ok(changes)
                })
            })
            .await?;
        let withdrawn = !changes.calls.is_empty();
        changes.tell(self.0);
        Ok(withdrawn)
    }

    /// Starts an approved call: its row becomes `running`, with a number on its host if it isn't safe, and the audit
    /// says so. Of any number of attempts one wins. A turn that the call belongs to must still be at work. A call that
    /// a procedure covers is counted as one of the `maximum_runs` of its step in the same transaction.
    ///
    /// # Errors
    ///
    /// Fails if there is no such call, or the database fails.
    pub async fn start(
        &self,
        call: CallId,
        timeout: Duration,
        maximum_runs: Option<u32>,
    ) -> Result<Started, StorageError> {
        let now = self.0.now();
        let (started, change) = self
            .0
            .write(move |conn| Box::pin(async move { start(conn, now, call, timeout, maximum_runs).await }))
            .await?;
        if let Some(change) = change {
            self.0.calls().tell(change);
        }
        Ok(started)
    }
}

async fn decide(
    conn: &mut Conn,
    keys: &crate::MasterKey,
    now: Timestamp,
    id: ApprovalId,
    verdict: Verdict,
) -> Result<(Decided, Changes), StorageError> {
    let mut changes = Changes::default();
    let open = Open::find(conn, "a.id", id.0).await?;
    let open = open.ok_or_else(|| StorageError::not_found(format!("approval {id}")))?;
    if !open.is_pending() {
        return Ok((Decided::Before, changes));
    }
    if open.decide_by <= micros(now) {
        expire(conn, now, &open, &mut changes).await?;
        return Ok((Decided::Before, changes));
    }
    let Verdict { by, decision, note, valid_for, grant } = verdict;
    let state = decision.state();
    let signing: Option<i64> =
        sqlx::query_scalar("SELECT needed FROM approval_signing WHERE approval_id = $1")
            .bind(id.0)
            .fetch_optional(&mut *conn)
            .await?;
    if state == ApprovalState::Approved && signing.is_some() {
        return Err(StorageError::conflict(format!("approval {id} is given by signatures alone")));
    }
    let valid_until = (state == ApprovalState::Approved).then(|| now + valid_for);
    leave_pending(conn, now, &open, state, Some((by, decision)), note.as_deref(), valid_until).await?;
    let name: Option<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "SELECT {} FROM users WHERE id = $1",
        super::row::name_column()
    )))
    .bind(by.0)
    .fetch_optional(&mut *conn)
    .await?;
    let name = name.unwrap_or_else(|| format!("user {by}"));
    let payload = json!({
        "approval_id": id, "decision": decision, "note": note, "valid_until": valid_until,
        "grant_id": grant.as_ref().map(|grant| grant.id),
    });
    record(conn, now, "approval.decided", &open, Actor::User(by), payload).await?;
    if let Some(grant) = grant {
        grants::insert(conn, keys, now, by, id, &grant).await?;
    }
    if let Some(turn) = open.turn_id {
        let shown = Shown {
            decision: Some(decision),
            decided_by_name: Some(&name),
            note: note.as_deref(),
            ..open.shown()
        };
        show(conn, TurnId(turn), &shown.event(state), now).await?;
    }
    if state == ApprovalState::Denied {
        let words = match &note {
            Some(note) => format!("Denied by {name}: {note}"),
            None => format!("Denied by {name}."),
        };
        end_call(conn, now, &open, CallState::Denied, words, Actor::User(by), &mut changes).await?;
    }
    changes.approvals.push(open.change(state));
    Ok((Decided::Done, changes))
}

pub(super) async fn expire(
    conn: &mut Conn,
    now: Timestamp,
    open: &Open,
    changes: &mut Changes,
) -> Result<(), StorageError> {
    leave_pending(conn, now, open, ApprovalState::Expired, None, None, None).await?;
    record(conn, now, "approval.expired", open, Actor::System, json!({"approval_id": open.id})).await?;
    if let Some(turn) = open.turn_id {
        show(conn, TurnId(turn), &open.shown().event(ApprovalState::Expired), now).await?;
    }
    let seconds = (open.decide_by - open.asked_at) / 1_000_000;
    let words = format!("Nobody decided within {seconds} s, which counts as a denial; nothing was run.");
    end_call(conn, now, open, CallState::Expired, words, Actor::System, changes).await?;
    changes.approvals.push(open.change(ApprovalState::Expired));
    Ok(())
}

async fn withdraw(
    conn: &mut Conn,
    now: Timestamp,
    open: &Open,
    actor: Actor,
    reason: &str,
    changes: &mut Changes,
) -> Result<(), StorageError> {
    if open.status != CallState::AwaitingApproval.as_str() {
        return Ok(());
    }
    if open.is_pending() {
        leave_pending(conn, now, open, ApprovalState::Withdrawn, None, None, None).await?;
        record(conn, now, "approval.withdrawn", open, actor, json!({"approval_id": open.id})).await?;
        if let Some(turn) = open.turn_id {
            show(conn, TurnId(turn), &open.shown().event(ApprovalState::Withdrawn), now).await?;
        }
        changes.approvals.push(open.change(ApprovalState::Withdrawn));
    }
    end_call(conn, now, open, CallState::Cancelled, reason.to_owned(), actor, changes).await
}

/// Withdraws whatever a turn that ends still asks.
pub(crate) async fn withdraw_of_turn(
    conn: &mut Conn,
    now: Timestamp,
    turn: TurnId,
) -> Result<Changes, StorageError> {
    let mut changes = Changes::default();
    let sql = format!("{OPEN} WHERE c.turn_id = $1 AND c.status = 'awaiting_approval'");
    let open: Vec<Open> = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(turn.0).fetch_all(&mut *conn).await?;
    for open in &open {
        let reason = "The turn that it belongs to has ended; nothing was run.";
        withdraw(conn, now, open, Actor::System, reason, &mut changes).await?;
    }
    Ok(changes)
}

pub(super) async fn leave_pending(
    conn: &mut Conn,
    now: Timestamp,
    open: &Open,
    state: ApprovalState,
    decided: Option<(UserId, ApprovalDecision)>,
    note: Option<&str>,
    valid_until: Option<Timestamp>,
) -> Result<(), StorageError> {
    let changed = sqlx::query(
        "UPDATE approvals SET state = $1, decided_at = $2, decided_by = $3, decision = $4, note = $5, valid_until = $6
         WHERE id = $7 AND state = 'pending'",
    )
    .bind(state.as_str())
    .bind(micros(now))
    .bind(decided.map(|(by, _)| by.0))
    .bind(decided.map(|(_, decision)| decision.as_str()))
    .bind(note)
    .bind(valid_until.map(micros))
    .bind(open.id)
    .execute(conn)
    .await?
    .rows_affected();
    if changed == 1 {
        Ok(())
    } else {
        Err(StorageError::conflict(format!("approval {} changed at the same time", open.id)))
    }
}

pub(super) async fn record(
    conn: &mut Conn,
    now: Timestamp,
    kind: &'static str,
    open: &Open,
    actor: Actor,
    mut payload: Value,
) -> Result<(), StorageError> {
    if let Value::Object(fields) = &mut payload {
        fields.retain(|_, value| !value.is_null());
    }
    audit::append(conn, now, AuditEntry { kind, call_id: Some(CallId(open.call_id)), actor, payload })
        .await?;
    Ok(())
}

async fn end_call(
    conn: &mut Conn,
    now: Timestamp,
    open: &Open,
    state: CallState,
    error: String,
    actor: Actor,
    changes: &mut Changes,
) -> Result<(), StorageError> {
    let call_id = CallId(open.call_id);
    let end = CallEnd {
        state,
        result: None,
        keep_result: true,
        error: Some(error),
        error_kind: None,
        sandbox: None,
        duration: None,
        actor,
    };
    let (settled, person, journaled_on) = calls::finish(conn, now, call_id, &end).await?;
    if settled == Settled::Done {
        changes.calls.push(CallChange { call_id, state, person, journaled_on });
    }
    Ok(())
}

#[derive(sqlx::FromRow)]
struct Startable {
    status: String,
    class: String,
    device_id: Option<i64>,
    turn_id: Option<Uuid>,
    approval_id: Option<Uuid>,
    person: i64,
    approved: i64,
    turn_runs: i64,
    signatures_needed: Option<i64>,
    signatures: i64,
    sop_id: Option<String>,
    sop_version: Option<i64>,
    sop_step: Option<String>,
}

impl Startable {
    fn sop(&self) -> Option<SopStep> {
        match (&self.sop_id, self.sop_version, &self.sop_step) {
            (Some(id), Some(version), Some(step)) => {
                Some(SopStep { id: id.clone(), version: version.cast_unsigned(), step: step.clone() })
            }
            _ => None,
        }
    }
}

async fn start(
    conn: &mut Conn,
    now: Timestamp,
    call: CallId,
    timeout: Duration,
    maximum_runs: Option<u32>,
) -> Result<(Started, Option<CallChange>), StorageError> {
    let row: Option<Startable> = sqlx::query_as(
        "SELECT c.status, c.class, c.device_id, c.turn_id, c.approval_id,
             COALESCE(c.on_behalf_of, c.caller_user_id) AS person,
             EXISTS (SELECT 1 FROM approvals WHERE id = c.approval_id AND call_id = c.id AND state = 'approved'
                 AND valid_until > $2) AS approved,
             EXISTS (SELECT 1 FROM turns WHERE id = c.turn_id AND state = 'running') AS turn_runs,
             s.needed AS signatures_needed, s.sop_id, s.sop_version, s.sop_step,
             (SELECT COUNT(*) FROM approval_signatures g WHERE g.approval_id = c.approval_id) AS signatures
         FROM chat_tool_calls c LEFT JOIN approval_signing s ON s.approval_id = c.approval_id WHERE c.id = $1",
    )
    .bind(call.0)
    .bind(micros(now))
    .fetch_optional(&mut *conn)
    .await?;
    let row = row.ok_or_else(|| StorageError::not_found(format!("call {call}")))?;
    let state: CallState = row.status.parse().map_err(|_| StorageError::corrupt("the state of a call"))?;
    if state != CallState::AwaitingApproval {
        return Ok((Started::Before(state), None));
    }
    if row.approved == 0 {
        return Err(StorageError::conflict(format!("call {call} has no approval that holds")));
    }
    if row.turn_id.is_some() && row.turn_runs == 0 {
        return Ok((Started::TurnEnded, None));
    }
    let class: Class = row.class.parse().map_err(|_| StorageError::corrupt("the class of a call"))?;
    let edge = row.device_id.map(EdgeId);
    if row.signatures_needed.is_some_and(|needed| row.signatures < needed) {
        return Err(StorageError::conflict(format!("call {call} has too few signatures")));
    }
    let sop = row.sop();
    if class == Class::Dangerous && sop.is_none() {
        return Err(StorageError::conflict(format!("no procedure covers the dangerous call {call}")));
    }
    if let (Some(step), Some(edge)) = (&sop, edge) {
        match sops::count_run(conn, step, edge, maximum_runs.unwrap_or(0)).await? {
            Counted::Yes => {}
            Counted::UsedUp => return Ok((Started::RunsUsedUp, None)),
            Counted::Revoked => return Ok((Started::SopRevoked, None)),
        }
    }
    let sop = sop.map(|step| step.to_string());
    let seq = match edge {
        Some(edge) if class > Class::Safe => Some(allocate_seq(conn, edge).await?),
        _ => None,
    };
    let changed = sqlx::query(
        "UPDATE chat_tool_calls SET status = 'running', started_at = $1, deadline_at = $2, device_seq = $3, sop_id = $4
         WHERE id = $5 AND status = 'awaiting_approval'",
    )
    .bind(micros(now))
    .bind(micros(now + timeout))
    .bind(seq.map(u64::cast_signed))
    .bind(&sop)
    .bind(call.0)
    .execute(&mut *conn)
    .await?
    .rows_affected();
    if changed != 1 {
        return Err(StorageError::conflict(format!("call {call} changed at the same time")));
    }
    let mut payload = json!({
        "state": CallState::Running, "approval_id": row.approval_id, "device_seq": seq, "sop_id": sop,
    });
    if let Value::Object(fields) = &mut payload {
        fields.retain(|_, value| !value.is_null());
    }
    let entry = AuditEntry { kind: "call.admitted", call_id: Some(call), actor: Actor::System, payload };
    audit::append(conn, now, entry).await?;
    let change = CallChange {
        call_id: call,
        state: CallState::Running,
        person: UserId(row.person),
        journaled_on: edge.filter(|_| seq.is_some()),
    };
    Ok((Started::Done(seq), Some(change)))
}

//! Approvals that people give by their signatures: the statement that is open, the signatures over it, and what voids
//! them. Whether a signature is good is the gate's to say.

use super::decide::{Changes, Open, expire, leave_pending, record};
use super::{Approvals, Shown, show};
use crate::audit::Actor;
use crate::sops::SopStep;
use crate::{Conn, StorageError, from_micros, micros};
use model::{ApprovalDecision, ApprovalId, ApprovalState, CallId, CallState, Timestamp, TurnId, UserId};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// What an approval needs that people give by their signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSigning {
    /// How many people have to sign.
    pub needed: u32,
    /// How many of them with a key file.
    pub independent_needed: u32,
    /// The step of a procedure, for a dangerous call.
    pub sop: Option<SopStep>,
}

/// What an approval needs that people give by their signatures, and what is there of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signing {
    /// How many people have to sign.
    pub needed: u32,
    /// How many of them with a key file.
    pub independent_needed: u32,
    /// The step of a procedure, for a dangerous call.
    pub sop: Option<SopStep>,
    /// How often that step was started on the host.
    pub runs_used: u32,
    /// The statement that is open.
    pub statement: Option<OpenStatement>,
    /// The signatures over it, in order.
    pub signatures: Vec<StoredSignature>,
}

/// A statement that people can sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenStatement {
    /// Its canonical text.
    pub text: String,
    /// The process of the host's edge that gave its nonce.
    pub instance: String,
    /// When it is void.
    pub not_after: Timestamp,
}

/// A signature over the statement that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSignature {
    /// The person as the list of approvers names them.
    pub person: String,
    /// Their account.
    pub user: UserId,
    /// The key's id.
    pub key: String,
    /// `ed25519` or `webauthn`.
    pub kind: String,
    /// All of it.
    pub signature: Value,
    /// When it came.
    pub at: Timestamp,
}

/// A signature that comes. The caller has checked it.
#[derive(Clone, Debug)]
pub struct NewSignature {
    /// The text that it is over; it must be the open statement's.
    pub statement: String,
    /// The person as the list of approvers names them.
    pub person: String,
    /// Their account.
    pub user: UserId,
    /// The key's id.
    pub key: String,
    /// `ed25519` or `webauthn`.
    pub kind: String,
    /// All of it.
    pub signature: Value,
    /// Whether the person has typed the host's name.
    pub host_named: bool,
    /// How long the call may take to start after the last signature.
    pub valid_for: Duration,
    /// Who brings it.
    pub actor: Actor,
}

/// What a signature came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// It counts, and more are needed.
    Counted,
    /// It counts, and it was the last one: the call is approved.
    Approved,
    /// It would be the last one, and the host's name has to be typed with that.
    HostNameNeeded,
    /// This person has signed already.
    Twice,
    /// The statement is void, or another one is open.
    OtherStatement,
    /// The approval was decided, has expired or was withdrawn.
    Before,
}

#[derive(sqlx::FromRow)]
pub(super) struct SignatureRow {
    person: String,
    user_id: i64,
    key_id: String,
    kind: String,
    signature: String,
    signed_at: i64,
}

impl SignatureRow {
    fn read(self) -> Result<StoredSignature, StorageError> {
        Ok(StoredSignature {
            signature: serde_json::from_str(&self.signature)
                .map_err(|_| StorageError::corrupt("a signature of an approval"))?,
            person: self.person,
            user: UserId(self.user_id),
            key: self.key_id,
            kind: self.kind,
            at: from_micros(self.signed_at)?,
        })
    }
}

pub(super) async fn insert(
    conn: &mut Conn,
    approval: ApprovalId,
    signing: &NewSigning,
) -> Result<(), StorageError> {
    sqlx::query(
        "INSERT INTO approval_signing (approval_id, needed, independent_needed, sop_id, sop_version, sop_step)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(approval.0)
    .bind(i64::from(signing.needed))
    .bind(i64::from(signing.independent_needed))
    .bind(signing.sop.as_ref().map(|sop| sop.id.as_str()))
    .bind(signing.sop.as_ref().map(|sop| sop.version.cast_signed()))
    .bind(signing.sop.as_ref().map(|sop| sop.step.as_str()))
    .execute(conn)
    .await?;
    Ok(())
}

impl Approvals<'_> {
    /// The signatures over the open statement, in order.
    pub(super) async fn signatures(&self, id: ApprovalId) -> Result<Vec<StoredSignature>, StorageError> {
        let rows: Vec<SignatureRow> = sqlx::query_as(
            "SELECT person, user_id, key_id, kind, signature, signed_at FROM approval_signatures
             WHERE approval_id = $1 ORDER BY signed_at, person",
        )
        .bind(id.0)
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter().map(SignatureRow::read).collect()
    }

    /// Opens a statement in place of the one that `instead_of` says, or where none is open. Returns the one that is
    /// open then, which may be another asker's; `None` if the approval doesn't wait any more.
    ///
    /// # Errors
    ///
    /// Fails if the approval needs no signatures, or the database fails.
    pub async fn open_statement(
        &self,
        id: ApprovalId,
        statement: OpenStatement,
        instead_of: Option<String>,
        actor: Actor,
    ) -> Result<Option<OpenStatement>, StorageError> {
        let now = self.0.now();
        let (opened, changes) = self
            .0
            .write(move |conn| {
                Box::pin(async move { open(conn, now, id, statement, instead_of.as_deref(), actor).await })
            })
            .await?;
        changes.tell(self.0);
        Ok(opened)
    }

    /// Takes a signature. The last one that is needed approves the call in the same transaction.
    ///
    /// # Errors
    ///
    /// Fails if there is no such approval, it needs no signatures, or the database fails.
    pub async fn sign(&self, id: ApprovalId, signature: NewSignature) -> Result<Signed, StorageError> {
        let now = self.0.now();
        let (signed, changes) =
            self.0.write(move |conn| Box::pin(async move { sign(conn, now, id, &signature).await })).await?;
        changes.tell(self.0);
        Ok(signed)
    }

    /// Voids the statement of this instance of an edge, and with it the signatures: the approval waits again if there
    /// is time left to decide, else it expires. `false` if no such statement is open or the call doesn't wait.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn reopen(&self, call: CallId, instance: String, why: String) -> Result<bool, StorageError> {
        let now = self.0.now();
        let (reopened, changes) = self
            .0
            .write(move |conn| Box::pin(async move { reopen(conn, now, call, &instance, &why).await }))
            .await?;
        changes.tell(self.0);
        Ok(reopened)
    }
}

/// What is kept of an approval's signing.
#[derive(sqlx::FromRow)]
struct Kept {
    needed: i64,
    independent_needed: i64,
    sop_id: Option<String>,
    statement: Option<String>,
    instance: Option<String>,
    not_after: Option<i64>,
}

impl Kept {
    async fn find(conn: &mut Conn, id: Uuid) -> Result<Option<Self>, StorageError> {
        let found = sqlx::query_as(
            "SELECT needed, independent_needed, sop_id, statement, instance, not_after FROM approval_signing
             WHERE approval_id = $1",
        )
        .bind(id)
        .fetch_optional(conn)
        .await?;
        Ok(found)
    }

    fn open(&self) -> Result<Option<OpenStatement>, StorageError> {
        Ok(match (&self.statement, &self.instance, self.not_after) {
            (Some(text), Some(instance), Some(not_after)) => Some(OpenStatement {
                text: text.clone(),
                instance: instance.clone(),
                not_after: from_micros(not_after)?,
            }),
            _ => None,
        })
    }
}

async fn kept_of(conn: &mut Conn, id: ApprovalId) -> Result<Kept, StorageError> {
    Kept::find(conn, id.0)
        .await?
        .ok_or_else(|| StorageError::conflict(format!("approval {id} needs no signatures")))
}

async fn pending(
    conn: &mut Conn,
    now: Timestamp,
    id: ApprovalId,
    changes: &mut Changes,
) -> Result<Option<Open>, StorageError> {
    let open = Open::find(conn, "a.id", id.0).await?;
    let open = open.ok_or_else(|| StorageError::not_found(format!("approval {id}")))?;
    if !open.is_pending() {
        return Ok(None);
    }
    if open.decide_by <= micros(now) {
        expire(conn, now, &open, changes).await?;
        return Ok(None);
    }
    Ok(Some(open))
}

async fn open(
    conn: &mut Conn,
    now: Timestamp,
    id: ApprovalId,
    statement: OpenStatement,
    instead_of: Option<&str>,
    actor: Actor,
) -> Result<(Option<OpenStatement>, Changes), StorageError> {
    let mut changes = Changes::default();
    let kept = kept_of(conn, id).await?;
    let Some(asked) = pending(conn, now, id, &mut changes).await? else { return Ok((None, changes)) };
    if kept.statement.as_deref() != instead_of {
        // Somebody else was faster.
        return Ok((kept.open()?, changes));
    }
    void(conn, asked.id).await?;
    sqlx::query(
        "UPDATE approval_signing SET statement = $1, instance = $2, not_after = $3 WHERE approval_id = $4",
    )
    .bind(&statement.text)
    .bind(&statement.instance)
    .bind(micros(statement.not_after))
    .bind(asked.id)
    .execute(&mut *conn)
    .await?;
    let payload = json!({
        "approval_id": id, "digest": model::canonical::sha256_hex(statement.text.as_bytes()),
        "not_after": statement.not_after,
    });
    record(conn, now, "approval.statement", &asked, actor, payload).await?;
    changes.note(asked.change(ApprovalState::Pending));
    Ok((Some(statement), changes))
}

async fn void(conn: &mut Conn, id: Uuid) -> Result<(), StorageError> {
    sqlx::query("DELETE FROM approval_signatures WHERE approval_id = $1")
        .bind(id)
        .execute(&mut *conn)
        .await?;
    sqlx::query(
        "UPDATE approval_signing SET statement = NULL, instance = NULL, not_after = NULL WHERE approval_id = $1",
    )
    .bind(id)
    .execute(conn)
    .await?;
    Ok(())
}

/// Whose signatures are there, and of which kind.
async fn signers(conn: &mut Conn, id: Uuid) -> Result<Vec<(String, String)>, StorageError> {
    let rows = sqlx::query_as(
        "SELECT person, kind FROM approval_signatures WHERE approval_id = $1 ORDER BY signed_at, person",
    )
    .bind(id)
    .fetch_all(conn)
    .await?;
    Ok(rows)
}

/// Whether these are as many as are needed, and enough of them by key file.
fn are_enough(signers: &[(String, String)], kept: &Kept) -> bool {
    let by_key_file = signers.iter().filter(|(_, kind)| kind == "ed25519").count();
    i64::try_from(signers.len()).unwrap_or(i64::MAX) >= kept.needed
        && i64::try_from(by_key_file).unwrap_or(i64::MAX) >= kept.independent_needed
}

async fn sign(
    conn: &mut Conn,
    now: Timestamp,
    id: ApprovalId,
    signature: &NewSignature,
) -> Result<(Signed, Changes), StorageError> {
    let mut changes = Changes::default();
    let kept = kept_of(conn, id).await?;
    let Some(asked) = pending(conn, now, id, &mut changes).await? else {
        return Ok((Signed::Before, changes));
    };
    let not_after = kept.not_after.unwrap_or_default();
    if kept.statement.as_deref() != Some(signature.statement.as_str()) || not_after <= micros(now) {
        return Ok((Signed::OtherStatement, changes));
    }
    let mut people = signers(conn, asked.id).await?;
    if people.iter().any(|(person, _)| *person == signature.person) {
        return Ok((Signed::Twice, changes));
    }
    people.push((signature.person.clone(), signature.kind.clone()));
    let complete = are_enough(&people, &kept);
    if complete && kept.sop_id.is_some() && !signature.host_named {
        return Ok((Signed::HostNameNeeded, changes));
    }
    sqlx::query(
        "INSERT INTO approval_signatures (approval_id, person, user_id, key_id, kind, signature, signed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(asked.id)
    .bind(&signature.person)
    .bind(signature.user.0)
    .bind(&signature.key)
    .bind(&signature.kind)
    .bind(signature.signature.to_string())
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    let payload = json!({
        "approval_id": id, "person": signature.person, "key": signature.key, "kind": signature.kind,
        "digest": model::canonical::sha256_hex(signature.statement.as_bytes()),
    });
    record(conn, now, "approval.signed", &asked, signature.actor, payload).await?;
    if !complete {
        changes.note(asked.change(ApprovalState::Pending));
        return Ok((Signed::Counted, changes));
    }
    // Not longer than the statement is good for.
    let valid_until = from_micros(micros(now + signature.valid_for).min(not_after))?;
    let decision = ApprovalDecision::AllowOnce;
    let state = ApprovalState::Approved;
    leave_pending(conn, now, &asked, state, Some((signature.user, decision)), None, Some(valid_until))
        .await?;
    let signed_by: Vec<String> = people.into_iter().map(|(person, _)| person).collect();
    let payload = json!({
        "approval_id": id, "decision": decision, "valid_until": valid_until, "signed_by": signed_by,
    });
    record(conn, now, "approval.decided", &asked, signature.actor, payload).await?;
    if let Some(turn) = asked.turn_id {
        let names = signed_by.join(" and ");
        let shown = Shown { decision: Some(decision), decided_by_name: Some(&names), ..asked.shown() };
        show(conn, TurnId(turn), &shown.event(state), now).await?;
    }
    changes.note(asked.change(state));
    Ok((Signed::Approved, changes))
}

async fn reopen(
    conn: &mut Conn,
    now: Timestamp,
    call: CallId,
    instance: &str,
    why: &str,
) -> Result<(bool, Changes), StorageError> {
    let mut changes = Changes::default();
    let Some(mut asked) = Open::find(conn, "a.call_id", call.0).await? else { return Ok((false, changes)) };
    let Some(kept) = Kept::find(conn, asked.id).await? else { return Ok((false, changes)) };
    let waits = asked.status == CallState::AwaitingApproval.as_str();
    if !waits || kept.instance.as_deref() != Some(instance) {
        return Ok((false, changes));
    }
    let had = signers(conn, asked.id).await?;
    void(conn, asked.id).await?;
    sqlx::query(
        "UPDATE approvals SET state = 'pending', decided_at = NULL, decided_by = NULL, decision = NULL, note = NULL,
             valid_until = NULL
         WHERE id = $1 AND state IN ('pending', 'approved')",
    )
    .bind(asked.id)
    .execute(&mut *conn)
    .await?;
    let had: Vec<String> = had.into_iter().map(|(person, _)| person).collect();
    let payload = json!({"approval_id": asked.id, "why": why, "void_signatures_of": had});
    record(conn, now, "approval.reopened", &asked, Actor::System, payload).await?;
    ApprovalState::Pending.as_str().clone_into(&mut asked.state);
    if asked.decide_by <= micros(now) {
        expire(conn, now, &asked, &mut changes).await?;
        return Ok((true, changes));
    }
    if let Some(turn) = asked.turn_id {
        let shown = Shown { decide_by: Some(from_micros(asked.decide_by)?), ..asked.shown() };
        show(conn, TurnId(turn), &shown.event(ApprovalState::Pending), now).await?;
    }
    changes.note(super::ApprovalChange { asks: true, ..asked.change(ApprovalState::Pending) });
    Ok((true, changes))
}

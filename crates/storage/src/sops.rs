//! Procedures (SOPs) as they were imported, and how often their steps were started. What is in a document, and whether
//! its signature is good, is the gate's to say.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, Storage, StorageError, from_micros, micros};
use model::{EdgeId, Timestamp, UserId, canonical};
use serde_json::json;

/// A step of one version of a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SopStep {
    /// The procedure's id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
}

impl std::fmt::Display for SopStep {
    /// As rows and the audit name it, for example `reboot-web@3/reboot`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}/{}", self.id, self.version, self.step)
    }
}

/// A procedure that is to be imported. The caller has checked its signature.
#[derive(Clone, Debug)]
pub struct NewSop {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its title, for the audit.
    pub title: String,
    /// As it was signed.
    pub document: Vec<u8>,
    /// The detached signature.
    pub signature: Vec<u8>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
}

/// A procedure as it was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSop {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// As it was signed.
    pub document: Vec<u8>,
    /// The detached signature.
    pub signature: Vec<u8>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// When it was imported.
    pub imported_at: Timestamp,
    /// By whom.
    pub imported_by: UserId,
    /// That person's name for people.
    pub imported_by_name: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// By whom.
    pub revoked_by: Option<UserId>,
    /// That person's name for people.
    pub revoked_by_name: Option<String>,
}

/// The procedures.
#[derive(Clone, Copy, Debug)]
pub struct Sops<'s>(&'s Storage);

impl Storage {
    /// The procedures.
    pub fn sops(&self) -> Sops<'_> {
        Sops(self)
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    id: String,
    version: i64,
    document: Vec<u8>,
    signature: Vec<u8>,
    signer: String,
    imported_at: i64,
    imported_by: i64,
    imported_by_name: Option<String>,
    revoked_at: Option<i64>,
    revoked_by: Option<i64>,
    revoked_by_name: Option<String>,
}

impl Row {
    fn read(self) -> Result<StoredSop, StorageError> {
        Ok(StoredSop {
            id: self.id,
            version: self.version.cast_unsigned(),
            document: self.document,
            signature: self.signature,
            signer: self.signer,
            imported_at: from_micros(self.imported_at)?,
            imported_by: UserId(self.imported_by),
            imported_by_name: self.imported_by_name,
            revoked_at: self.revoked_at.map(from_micros).transpose()?,
            revoked_by: self.revoked_by.map(UserId),
            revoked_by_name: self.revoked_by_name,
        })
    }
}

impl Sops<'_> {
    /// All of them: by id, the newest version of each first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self) -> Result<Vec<StoredSop>, StorageError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, version, document, signature, signer, imported_at, imported_by, revoked_at, revoked_by,
                 (SELECT COALESCE(NULLIF(display_name, ''), name) FROM users WHERE users.id = imported_by)
                     AS imported_by_name,
                 (SELECT COALESCE(NULLIF(display_name, ''), name) FROM users WHERE users.id = revoked_by)
                     AS revoked_by_name
             FROM sops ORDER BY id, version DESC",
        )
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter().map(Row::read).collect()
    }

    /// Imports a procedure.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if its version isn't above every one of this id that was ever imported, and if the database
    /// does.
    pub async fn import(&self, sop: NewSop, by: UserId, actor: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(async move { import(conn, now, &sop, by, actor).await })).await
    }

    /// Revokes one version and every one before it, so that none of those counts again; again is as once.
    ///
    /// # Errors
    ///
    /// Fails if there is no such version, and if the database does.
    pub async fn revoke(
        &self,
        id: String,
        version: u64,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| Box::pin(async move { revoke(conn, now, &id, version, by, actor).await }))
            .await
    }

    /// How often a step was started on a host.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn runs(&self, step: &SopStep, edge: EdgeId) -> Result<u32, StorageError> {
        let runs: Option<i64> = sqlx::query_scalar(
            "SELECT runs FROM sop_runs WHERE sop_id = $1 AND version = $2 AND step = $3 AND edge_id = $4",
        )
        .bind(&step.id)
        .bind(step.version.cast_signed())
        .bind(&step.step)
        .bind(edge.0)
        .fetch_optional(self.0.read())
        .await?;
        Ok(runs.map_or(0, |runs| u32::try_from(runs).unwrap_or(u32::MAX)))
    }
}

async fn import(
    conn: &mut Conn,
    now: Timestamp,
    sop: &NewSop,
    by: UserId,
    actor: Actor,
) -> Result<(), StorageError> {
    let newest: Option<i64> = sqlx::query_scalar("SELECT MAX(version) FROM sops WHERE id = $1")
        .bind(&sop.id)
        .fetch_one(&mut *conn)
        .await?;
    if let Some(newest) = newest.filter(|newest| sop.version.cast_signed() <= *newest) {
        return Err(StorageError::conflict(format!(
            "version {newest} of the procedure `{}` is imported already, and a later one has to have a higher version \
             than that; this is version {}",
            sop.id, sop.version
        )));
    }
    sqlx::query(
        "INSERT INTO sops (id, version, document, signature, signer, imported_at, imported_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&sop.id)
    .bind(sop.version.cast_signed())
    .bind(&sop.document)
    .bind(&sop.signature)
    .bind(&sop.signer)
    .bind(micros(now))
    .bind(by.0)
    .execute(&mut *conn)
    .await?;
    let payload = json!({
        "id": sop.id, "version": sop.version, "title": sop.title, "signer": sop.signer,
        "digest": canonical::sha256_hex(&sop.document),
    });
    let entry = AuditEntry { kind: "sop.imported", call_id: None, actor, payload };
    audit::append(conn, now, entry).await?;
    Ok(())
}

async fn revoke(
    conn: &mut Conn,
    now: Timestamp,
    id: &str,
    version: u64,
    by: UserId,
    actor: Actor,
) -> Result<(), StorageError> {
    let revoked: Option<Option<i64>> =
        sqlx::query_scalar("SELECT revoked_at FROM sops WHERE id = $1 AND version = $2")
            .bind(id)
            .bind(version.cast_signed())
            .fetch_optional(&mut *conn)
            .await?;
    match revoked {
        None => return Err(StorageError::not_found(format!("version {version} of a procedure `{id}`"))),
        Some(Some(_)) => return Ok(()),
        Some(None) => {}
    }
    let older: Vec<i64> = sqlx::query_scalar(
        "SELECT version FROM sops WHERE id = $1 AND version < $2 AND revoked_at IS NULL ORDER BY version DESC",
    )
    .bind(id)
    .bind(version.cast_signed())
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query(
        "UPDATE sops SET revoked_at = $1, revoked_by = $2
         WHERE id = $3 AND version <= $4 AND revoked_at IS NULL",
    )
    .bind(micros(now))
    .bind(by.0)
    .bind(id)
    .bind(version.cast_signed())
    .execute(&mut *conn)
    .await?;
    let payload = json!({"id": id, "version": version, "with_it": older});
    audit::append(conn, now, AuditEntry { kind: "sop.revoked", call_id: None, actor, payload }).await?;
    Ok(())
}

/// What came of the wish to count a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Yes,
    UsedUp,
    Revoked,
}

/// Counts a run of a step on a host, if the procedure still holds and the step has one left.
pub(crate) async fn count_run(
    conn: &mut Conn,
    step: &SopStep,
    edge: EdgeId,
    maximum_runs: u32,
) -> Result<Counted, StorageError> {
    let holds: Option<i64> =
        sqlx::query_scalar("SELECT 1 FROM sops WHERE id = $1 AND version = $2 AND revoked_at IS NULL")
            .bind(&step.id)
            .bind(step.version.cast_signed())
            .fetch_optional(&mut *conn)
            .await?;
    if holds.is_none() {
        return Ok(Counted::Revoked);
    }
    let counted = sqlx::query(
        "INSERT INTO sop_runs (sop_id, version, step, edge_id, runs) VALUES ($1, $2, $3, $4, 1)
         ON CONFLICT (sop_id, version, step, edge_id) DO UPDATE SET runs = sop_runs.runs + 1
             WHERE sop_runs.runs < $5",
    )
    .bind(&step.id)
    .bind(step.version.cast_signed())
    .bind(&step.step)
    .bind(edge.0)
    .bind(i64::from(maximum_runs))
    .execute(conn)
    .await?
    .rows_affected();
    Ok(if counted == 1 { Counted::Yes } else { Counted::UsedUp })
}

//! The audit chain: append-only, each row hashed over all of its fields and the hash of the row before.
//!
//! `row_hash` is SHA-256 over, in this order:
//!
//! ```text
//! "steadyhand audit row 1\n"
//! chain_id    16 bytes
//! seq         8 bytes, big endian
//! at          8 bytes, big endian, microseconds since the epoch
//! kind        8 bytes length, big endian; then UTF-8
//! call_id     1 byte 0; or 1 byte 1 and 16 bytes
//! actor       8 bytes length; then its stored text (canonical JSON, RFC 8785)
//! payload     8 bytes length; then its stored text (canonical JSON)
//! prev_hash   32 bytes
//! ```
//!
//! Row 1 of a chain has kind `chain.started`; its `prev_hash` is SHA-256 of `"steadyhand audit chain 1\n"` and the
//! 16 bytes of the chain id.

mod head;
mod projection;

pub(crate) use head::{ChainHead, HeadRow, READ_HEAD};

use crate::sql::{Bind, Sql, bind_all};
use crate::time::{from_micros, micros};
use crate::{Conn, Storage, StorageError};
use futures::TryStreamExt;
use head::Head;
use model::{CallId, EdgeId, Timestamp, UserId, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The manager itself, or a model.
    System,
    /// A person.
    User(UserId),
    /// A host's edge.
    Edge(EdgeId),
    /// A program, by the id of its API token, and the person whose token it is.
    Token(i64, UserId),
}

impl Actor {
    /// The form that is stored and hashed.
    pub fn to_value(self) -> Value {
        match self {
            Self::System => json!({"kind": "system"}),
            Self::User(user) => json!({"kind": "user", "id": user.0}),
            Self::Edge(edge) => json!({"kind": "edge", "id": edge.0}),
            Self::Token(token, user) => json!({"kind": "token", "id": token, "user_id": user.0}),
        }
    }
}

/// One thing to put on record.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// What happened, for example `call.admitted`.
    pub kind: &'static str,
    /// The call that it belongs to.
    pub call_id: Option<CallId>,
    /// Who did it.
    pub actor: Actor,
    /// What else is to be known. Holds no secret.
    pub payload: Value,
}

/// One row of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    /// The chain.
    pub chain_id: Uuid,
    /// From 1, without gaps.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub kind: String,
    /// The call that it belongs to.
    pub call_id: Option<CallId>,
    /// Who did it.
    pub actor: Value,
    /// What else is to be known.
    pub payload: Value,
    /// Hash of the row before, in hex.
    pub prev_hash: String,
    /// Hash of this row, in hex.
    pub row_hash: String,
}

/// Which rows of the chain to list.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Only this kind; `call.` with the dot at the end means all kinds that begin with it.
    pub kind: Option<String>,
    /// Only of this call.
    pub call: Option<CallId>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Before.
    pub to: Option<Timestamp>,
}

/// What a check of the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether every row is as it was written.
    pub ok: bool,
    /// Rows that were checked.
    pub rows: u64,
    /// The last row that is right.
    pub through_seq: i64,
    /// Calls whose rows are what the chain says.
    pub calls: u64,
    /// What is wrong with the row after it, or with the first call that isn't as the chain says.
    pub problem: Option<String>,
}

#[derive(FromRow)]
struct StoredRow {
    chain_id: Uuid,
    seq: i64,
    at: i64,
    kind: String,
    call_id: Option<Uuid>,
    actor: String,
    payload: String,
    prev_hash: Vec<u8>,
    row_hash: Vec<u8>,
}

impl StoredRow {
    fn hash(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"steadyhand audit row 1\n");
        hasher.update(self.chain_id.as_bytes());
        hasher.update(self.seq.to_be_bytes());
        hasher.update(self.at.to_be_bytes());
        update_text(&mut hasher, &self.kind);
        match &self.call_id {
            None => hasher.update([0]),
            Some(id) => {
                hasher.update([1]);
                hasher.update(id.as_bytes());
            }
        }
        update_text(&mut hasher, &self.actor);
        update_text(&mut hasher, &self.payload);
        hasher.update(&self.prev_hash);
        hasher.finalize().into()
    }

    fn read(self) -> Result<AuditRow, StorageError> {
        let json = |text: &str| {
            serde_json::from_str(text).map_err(|_| StorageError::corrupt("JSON in the audit log"))
        };
        Ok(AuditRow {
            chain_id: self.chain_id,
            seq: self.seq,
            at: from_micros(self.at)?,
            actor: json(&self.actor)?,
            payload: json(&self.payload)?,
            kind: self.kind,
            call_id: self.call_id.map(CallId),
            prev_hash: hex::encode(self.prev_hash),
            row_hash: hex::encode(self.row_hash),
        })
    }
}

fn update_text(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
}

/// What stands in `prev_hash` of a chain's first row.
fn genesis(chain_id: Uuid) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(b"steadyhand audit chain 1\n");
    hasher.update(chain_id.as_bytes());
    hasher.finalize().to_vec()
}

/// Begins the chain of this database, unless it has one.
pub(crate) async fn begin_chain(conn: &mut Conn, now: Timestamp) -> Result<(), StorageError> {
    let chains: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM audit_chains").fetch_one(&mut *conn).await?;
    if chains > 0 {
        return Ok(());
    }
    let chain_id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO audit_chains (chain_id, created_at, head_seq, head_hash) VALUES ($1, $2, 0, $3)",
    )
    .bind(chain_id)
    .bind(micros(now))
    .bind(genesis(chain_id))
    .execute(&mut *conn)
    .await?;
    let payload = json!({"encoding": "steadyhand audit row 1"});
    append(conn, now, AuditEntry { kind: "chain.started", call_id: None, actor: Actor::System, payload })
        .await?;
    Ok(())
}

/// Appends a row to the chain, inside the caller's job, so that it is there exactly when the job's changes are.
///
/// # Errors
///
/// Fails only if the database does.
pub async fn append(conn: &mut Conn, now: Timestamp, entry: AuditEntry) -> Result<i64, StorageError> {
    let Head { chain_id, seq, hash } = head::current(conn).await?;
    let mut row = StoredRow {
        chain_id,
        seq: seq + 1,
        at: micros(now),
        kind: entry.kind.to_owned(),
        call_id: entry.call_id.map(|id| id.0),
        actor: canonical::to_string(&entry.actor.to_value()),
        payload: canonical::to_string(&entry.payload),
        prev_hash: hash,
        row_hash: Vec::new(),
    };
    row.row_hash = row.hash().to_vec();
    sqlx::query(
        "INSERT INTO audit_log (chain_id, seq, at, kind, call_id, actor, payload, prev_hash, row_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(row.chain_id)
    .bind(row.seq)
    .bind(row.at)
    .bind(row.kind)
    .bind(row.call_id)
    .bind(row.actor)
    .bind(row.payload)
    .bind(row.prev_hash)
    .bind(&row.row_hash)
    .execute(&mut *conn)
    .await?;
    // The chain's own row follows before the commit.
    head::advance(Head { chain_id, seq: row.seq, hash: row.row_hash })?;
    Ok(row.seq)
}

impl Storage {
    /// The audit chain.
    pub fn audit(&self) -> Audit<'_> {
        Audit(self)
    }
}

/// Reads the audit chain.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'s>(&'s Storage);

impl Audit<'_> {
    /// Appends a row in a job of its own. What goes with another change belongs into that change's job: [`append`].
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn record(&self, entry: AuditEntry) -> Result<i64, StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(append(conn, now, entry))).await
    }

    /// Lists rows, newest first, below `before` (a `seq`).
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn list(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StorageError> {
        let mut sql = Sql::new("SELECT * FROM audit_log");
        sql.filter("seq < ?", Bind::Int(before.unwrap_or(i64::MAX)));
        if let Some(kind) = &filter.kind {
            match kind.strip_suffix('.') {
                None => sql.filter("kind = ?", Bind::Text(kind.clone())),
                // In byte order `/` follows the dot, so these two bounds hold all kinds with the prefix.
                Some(prefix) => sql
                    .filter("kind >= ?", Bind::Text(kind.clone()))
                    .filter("kind < ?", Bind::Text(format!("{prefix}/"))),
            };
        }
        for (condition, value) in [
            ("call_id = ?", filter.call.map(|id| Bind::Id(id.0))),
            ("at >= ?", filter.from.map(|at| Bind::Int(micros(at)))),
            ("at < ?", filter.to.map(|at| Bind::Int(micros(at)))),
        ] {
            if let Some(value) = value {
                sql.filter(condition, value);
            }
        }
        sql.push(" ORDER BY seq DESC LIMIT ").bind(Bind::Int(i64::from(limit)));
        let (text, binds) = sql.finish();
        let query = sqlx::query_as::<_, StoredRow>(AssertSqlSafe(text));
        let rows = bind_all!(query, binds).fetch_all(self.0.read()).await?;
        rows.into_iter().map(StoredRow::read).collect()
    }

    /// All rows of one call, oldest first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn of_call(&self, call: CallId) -> Result<Vec<AuditRow>, StorageError> {
        let rows: Vec<StoredRow> = sqlx::query_as("SELECT * FROM audit_log WHERE call_id = $1 ORDER BY seq")
            .bind(call.0)
            .fetch_all(self.0.read())
            .await?;
        rows.into_iter().map(StoredRow::read).collect()
    }

    /// Checks every row of the chain (numbers without gaps, hashes, links, and the head that is kept beside it), then
    /// every call's row against it. Rows are streamed; memory use doesn't grow with the log.
    ///
    /// # Errors
    ///
    /// Fails only if the database does. What is wrong with the chain is in the answer.
    pub async fn verify(&self) -> Result<Verification, StorageError> {
        // One connection and one transaction: the head and the rows are of the same moment.
        let mut snapshot = self.0.read().begin().await?;
        let chains: Vec<(Uuid, i64, Vec<u8>)> =
            sqlx::query_as("SELECT chain_id, head_seq, head_hash FROM audit_chains ORDER BY created_at")
                .fetch_all(&mut *snapshot)
                .await?;
        let mut result = Verification { ok: true, rows: 0, through_seq: 0, calls: 0, problem: None };
        if chains.is_empty() {
            return Ok(Verification {
                ok: false,
                problem: Some("the log has no chain".to_owned()),
                ..result
            });
        }
        for (chain_id, head_seq, head_hash) in chains {
            let mut check = ChainCheck::new(chain_id);
            let mut rows =
                sqlx::query_as::<_, StoredRow>("SELECT * FROM audit_log WHERE chain_id = $1 ORDER BY seq")
                    .bind(chain_id)
                    .fetch(&mut *snapshot);
            while let Some(row) = rows.try_next().await? {
                if let Err(problem) = check.next(&row) {
                    result.problem = Some(problem);
                    break;
                }
                result.rows += 1;
            }
            drop(rows);
            result.through_seq = check.seq;
            if result.problem.is_none() && (check.seq != head_seq || check.hash != head_hash) {
                result.problem =
                    Some(format!("the log ends at row {}, but row {head_seq} had been written", check.seq));
            }
            if result.problem.is_some() {
                result.ok = false;
                break;
            }
        }
        if result.ok {
            let compared = projection::compare(&mut snapshot).await?;
            result.calls = compared.calls;
            result.ok = compared.problem.is_none();
            result.problem = compared.problem;
        }
        snapshot.rollback().await?;
        Ok(result)
    }
}

/// Follows one chain row by row.
struct ChainCheck {
    chain_id: Uuid,
    seq: i64,
    hash: Vec<u8>,
}

impl ChainCheck {
    fn new(chain_id: Uuid) -> Self {
        Self { chain_id, seq: 0, hash: genesis(chain_id) }
    }

    fn next(&mut self, row: &StoredRow) -> Result<(), String> {
        let expected = self.seq + 1;
        if row.chain_id != self.chain_id || row.seq != expected {
            return Err(format!("row {expected} is missing; row {} follows row {}", row.seq, self.seq));
        }
        if row.prev_hash != self.hash {
            return Err(format!("row {expected} does not continue row {}", self.seq));
        }
        if row.hash().as_slice() != row.row_hash {
            return Err(format!("row {expected} was changed after it was written"));
        }
        self.seq = row.seq;
        self.hash.clone_from(&row.row_hash);
        Ok(())
    }
}

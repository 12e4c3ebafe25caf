//! The one-time tokens with which hosts join, and the moment of joining.

use super::{EdgeState, Edges, Labels, put_on_record, read_json, write_json};
use crate::audit::Actor;
use crate::{Conn, StorageError, from_micros, micros};
use model::{EdgeId, Timestamp, UserId};
use serde_json::json;

/// What is needed for a new token.
#[derive(Clone, Debug)]
pub struct NewEnrollmentToken {
    /// Digest of its secret.
    pub token_hash: [u8; 32],
    /// What the host that joins with it gets.
    pub labels: Labels,
    /// Whose it is.
    pub created_by: UserId,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// One token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrollmentToken {
    /// Its id.
    pub id: i64,
    /// What the host that joins with it gets.
    pub labels: Labels,
    /// Who made it.
    pub created_by: UserId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
    /// The host that joined with it.
    pub edge: Option<EdgeId>,
}

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It can be used.
    Open,
    /// A host joined with it.
    Used,
    /// Its time is over.
    Expired,
    /// It was taken back.
    Revoked,
}

impl TokenState {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl EnrollmentToken {
    /// What has become of it at `now`.
    pub fn state(&self, now: Timestamp) -> TokenState {
        match self {
            Self { used_at: Some(_), .. } => TokenState::Used,
            Self { revoked_at: Some(_), .. } => TokenState::Revoked,
            Self { expires_at, .. } if *expires_at <= now => TokenState::Expired,
            _ => TokenState::Open,
        }
    }
}

#[derive(sqlx::FromRow)]
struct TokenRow {
    id: i64,
    labels: String,
    created_by: i64,
    created_at: i64,
    expires_at: i64,
    used_at: Option<i64>,
    revoked_at: Option<i64>,
    edge_id: Option<i64>,
}

impl TokenRow {
    fn read(self) -> Result<EnrollmentToken, StorageError> {
        Ok(EnrollmentToken {
            id: self.id,
            labels: read_json(&self.labels, "labels of an enrolment token")?,
            created_by: UserId(self.created_by),
            created_at: from_micros(self.created_at)?,
            expires_at: from_micros(self.expires_at)?,
            used_at: self.used_at.map(from_micros).transpose()?,
            revoked_at: self.revoked_at.map(from_micros).transpose()?,
            edge: self.edge_id.map(EdgeId),
        })
    }
}

const COLUMNS: &str = "id, labels, created_by, created_at, expires_at, used_at, revoked_at, edge_id";

impl Edges<'_> {
    /// Keeps a new token.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create_token(&self, new: NewEnrollmentToken, by: Actor) -> Result<i64, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let id: i64 = sqlx::query_scalar(
                        "INSERT INTO enrollment_tokens (token_hash, labels, created_by, created_at, expires_at)
                         VALUES ($1, $2, $3, $4, $5) RETURNING id",
                    )
                    .bind(new.token_hash.as_slice())
                    .bind(write_json(&new.labels, "labels of an enrolment token")?)
                    .bind(new.created_by.0)
                    .bind(micros(now))
                    .bind(micros(new.expires_at))
                    .fetch_one(&mut *conn)
                    .await?;
                    let payload = json!({"token_id": id, "labels": new.labels, "expires_at": new.expires_at});
                    put_on_record(conn, now, "enrollment_token.created", by, payload).await?;
                    Ok(id)
                })
            })
            .await
    }

    /// Looks a token up by its id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn token(&self, id: i64) -> Result<Option<EnrollmentToken>, StorageError> {
        let sql = format!("SELECT {COLUMNS} FROM enrollment_tokens WHERE id = $1");
        let row: Option<TokenRow> =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(self.0.read()).await?;
        row.map(TokenRow::read).transpose()
    }

    /// The newest tokens, at most `limit`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list_tokens(&self, limit: u32) -> Result<Vec<EnrollmentToken>, StorageError> {
        let sql = format!("SELECT {COLUMNS} FROM enrollment_tokens ORDER BY id DESC LIMIT $1");
        let rows: Vec<TokenRow> =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(i64::from(limit)).fetch_all(self.0.read()).await?;
        rows.into_iter().map(TokenRow::read).collect()
    }

    /// Takes back a token that nobody has used. Says whether it did.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke_token(&self, id: i64, by: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let changed = sqlx::query(
                        "UPDATE enrollment_tokens SET revoked_at = $1
                         WHERE id = $2 AND used_at IS NULL AND revoked_at IS NULL",
                    )
                    .bind(micros(now))
                    .bind(id)
                    .execute(&mut *conn)
                    .await?
                    .rows_affected();
                    if changed > 0 {
                        let payload = json!({"token_id": id});
                        put_on_record(conn, now, "enrollment_token.revoked", by, payload).await?;
                    }
                    Ok(changed > 0)
                })
            })
            .await
    }

    /// Uses a token up and makes the edge that joins with it: of any number of hosts with one token, one joins.
    /// `None` if the token is unknown, used, taken back or too old.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn enroll(
        &self,
        token_hash: [u8; 32],
        hostname: String,
        address: String,
    ) -> Result<Option<EdgeId>, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let used: Option<(i64, String)> = sqlx::query_as(
                        "UPDATE enrollment_tokens SET used_at = $1
                         WHERE token_hash = $2 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > $1
                         RETURNING id, labels",
                    )
                    .bind(micros(now))
                    .bind(token_hash.as_slice())
                    .fetch_optional(&mut *conn)
                    .await?;
                    let Some((token, labels)) = used else { return Ok(None) };
                    let name = free_name(conn, &hostname).await?;
                    let edge: i64 = sqlx::query_scalar(
                        "INSERT INTO edges (name, hostname, labels, state, created_at)
                         VALUES ($1, $2, $3, $4, $5) RETURNING id",
                    )
                    .bind(&name)
                    .bind(&hostname)
                    .bind(labels)
                    .bind(EdgeState::Active.as_str())
                    .bind(micros(now))
                    .fetch_one(&mut *conn)
                    .await?;
                    sqlx::query("UPDATE enrollment_tokens SET edge_id = $1 WHERE id = $2")
                        .bind(edge)
                        .bind(token)
                        .execute(&mut *conn)
                        .await?;
                    let payload = json!({"edge_id": edge, "name": name, "hostname": hostname, "token_id": token, "address": address});
                    put_on_record(conn, now, "edge.enrolled", Actor::Edge(EdgeId(edge)), payload).await?;
                    Ok(Some(EdgeId(edge)))
                })
            })
            .await
    }
}

/// The name that a host asks for, or with a number behind it where another one has it.
async fn free_name(conn: &mut Conn, hostname: &str) -> Result<String, StorageError> {
    let mut name = hostname.to_owned();
    let mut number = 1;
    loop {
        let taken: Option<i64> =
            sqlx::query_scalar("SELECT id FROM edges WHERE name = $1 AND state <> 'deleted'")
                .bind(&name)
                .fetch_optional(&mut *conn)
                .await?;
        if taken.is_none() {
            return Ok(name);
        }
        number += 1;
        name = format!("{hostname}-{number}");
    }
}

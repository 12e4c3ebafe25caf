//! Browser sign-ins. The cookie's token is kept as its SHA-256 only, so a stolen database signs nobody in.

use crate::audit::{self, Actor, AuditEntry};
use crate::users::{User, UserRow};
use crate::{Storage, StorageError, from_micros, micros};
use model::{Timestamp, UserId};
use serde_json::{Value, json};
use std::time::Duration;

/// One browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Its id.
    pub id: i64,
    /// Who signed in.
    pub user_id: UserId,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// When it ends, whatever happens.
    pub expires_at: Timestamp,
}

/// What is needed for a new sign-in.
#[derive(Clone, Debug)]
pub struct NewSignIn {
    /// Who signed in.
    pub user_id: UserId,
    /// SHA-256 of the cookie's token.
    pub token_hash: [u8; 32],
    /// Where from.
    pub address: String,
    /// When it ends, whatever happens.
    pub expires_at: Timestamp,
}

/// The browser sign-ins.
#[derive(Clone, Copy, Debug)]
pub struct SignIns<'s>(&'s Storage);

impl Storage {
    /// The browser sign-ins.
    pub fn signins(&self) -> SignIns<'_> {
        SignIns(self)
    }
}

#[derive(sqlx::FromRow)]
struct SignInRow {
    id: i64,
    user_id: i64,
    created_at: i64,
    last_seen_at: i64,
    expires_at: i64,
}

impl SignInRow {
    fn read(self) -> Result<SignIn, StorageError> {
        Ok(SignIn {
            id: self.id,
            user_id: UserId(self.user_id),
            created_at: from_micros(self.created_at)?,
            last_seen_at: from_micros(self.last_seen_at)?,
            expires_at: from_micros(self.expires_at)?,
        })
    }
}

impl SignIns<'_> {
    /// Records a sign-in and drops those that have run out.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create(&self, new: NewSignIn) -> Result<SignIn, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query("DELETE FROM signins WHERE expires_at <= $1").bind(micros(now)).execute(&mut *conn).await?;
                    let row: SignInRow = sqlx::query_as(
                        "INSERT INTO signins (user_id, token_hash, address, created_at, last_seen_at, expires_at) \
                         VALUES ($1, $2, $3, $4, $4, $5) RETURNING id, user_id, created_at, last_seen_at, expires_at",
                    )
                    .bind(new.user_id.0)
                    .bind(&new.token_hash[..])
                    .bind(&new.address)
                    .bind(micros(now))
                    .bind(micros(new.expires_at))
                    .fetch_one(&mut *conn)
                    .await?;
                    let entry = AuditEntry {
                        kind: "sign_in.succeeded",
                        call_id: None,
                        actor: Actor::User(new.user_id),
                        payload: json!({"sign_in": row.id, "address": new.address}),
                    };
                    audit::append(conn, now, entry).await?;
                    row.read()
                })
            })
            .await
    }

    /// Records an attempt that failed. The name is told only where it is one of ours: people type passwords there.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn record_failure(
        &self,
        user: Option<UserId>,
        address: &str,
        reason: &'static str,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        let payload: Value = json!({"user_id": user, "address": address, "reason": reason});
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let entry =
                        AuditEntry { kind: "sign_in.failed", call_id: None, actor: Actor::System, payload };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Looks up a living sign-in and its account. `None` if it ended, ran out, was unused for `idle`, or its
    /// account is shut out.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(
        &self,
        token_hash: &[u8; 32],
        idle: Duration,
    ) -> Result<Option<(SignIn, User)>, StorageError> {
        let row: Option<SignInRow> = sqlx::query_as(
            "SELECT id, user_id, created_at, last_seen_at, expires_at FROM signins WHERE token_hash = $1",
        )
        .bind(&token_hash[..])
        .fetch_optional(self.0.read())
        .await?;
        let Some(sign_in) = row.map(SignInRow::read).transpose()? else { return Ok(None) };
        let now = self.0.now();
        let idle_ends = sign_in.last_seen_at + idle;
        if now >= sign_in.expires_at || now >= idle_ends {
            return Ok(None);
        }
        let user: Option<UserRow> =
            sqlx::query_as("SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL AND disabled = 0")
                .bind(sign_in.user_id.0)
                .fetch_optional(self.0.read())
                .await?;
        user.map(|row| Ok((sign_in, row.read()?.user))).transpose()
    }

    /// Notes that a sign-in was used. Called at most once a minute per sign-in.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn touch(&self, id: i64) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query("UPDATE signins SET last_seen_at = $2 WHERE id = $1")
                        .bind(id)
                        .bind(micros(now))
                        .execute(conn)
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Ends a sign-in. Ending one that has ended is no error.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn end(&self, id: i64, user: UserId) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done =
                        sqlx::query("DELETE FROM signins WHERE id = $1").bind(id).execute(&mut *conn).await?;
                    if done.rows_affected() > 0 {
                        let entry = AuditEntry {
                            kind: "sign_in.ended",
                            call_id: None,
                            actor: Actor::User(user),
                            payload: json!({"sign_in": id}),
                        };
                        audit::append(conn, now, entry).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

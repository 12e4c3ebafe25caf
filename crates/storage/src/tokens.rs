//! API tokens: what programs present instead of a cookie. Kept as SHA-256 only; scopes narrow what its owner may.

use crate::audit::{self, Actor, AuditEntry};
use crate::users::{User, UserRow};
use crate::{Storage, StorageError, from_micros, micros};
use model::{Timestamp, UserId};
use serde_json::json;

/// One API token, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// Its id.
    pub id: i64,
    /// Whose rights it narrows.
    pub user_id: UserId,
    /// What its owner calls it.
    pub name: String,
    /// The token's first characters, to recognise it by.
    pub hint: String,
    /// What it may be used for, in the words of the API.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends; `None` is never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What is needed for a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Whose rights it narrows.
    pub user_id: UserId,
    /// What its owner calls it.
    pub name: String,
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The token's first characters.
    pub hint: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// When it ends; `None` is never.
    pub expires_at: Option<Timestamp>,
}

/// The API tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'s>(&'s Storage);

impl Storage {
    /// The API tokens.
    pub fn tokens(&self) -> Tokens<'_> {
        Tokens(self)
    }
}

#[derive(sqlx::FromRow)]
struct TokenRow {
    id: i64,
    user_id: i64,
    name: String,
    hint: String,
    scopes: String,
    created_at: i64,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl TokenRow {
    fn read(self) -> Result<ApiToken, StorageError> {
        let row = self;
        Ok(ApiToken {
            id: row.id,
            user_id: UserId(row.user_id),
            name: row.name,
            hint: row.hint,
            // Scopes that can't be read allow nothing.
            scopes: serde_json::from_str(&row.scopes).unwrap_or_default(),
            created_at: from_micros(row.created_at)?,
            expires_at: row.expires_at.map(from_micros).transpose()?,
            last_used_at: row.last_used_at.map(from_micros).transpose()?,
            revoked_at: row.revoked_at.map(from_micros).transpose()?,
        })
    }
}

const COLUMNS: &str = "id, user_id, name, hint, scopes, created_at, expires_at, last_used_at, revoked_at";

impl Tokens<'_> {
    /// Records a token.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create(&self, new: NewToken, actor: Actor) -> Result<ApiToken, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let scopes = serde_json::to_string(&new.scopes).unwrap_or_else(|_| "[]".to_owned());
                    let row: TokenRow = sqlx::query_as(sqlx::AssertSqlSafe(format!(
                        "INSERT INTO api_tokens (user_id, name, token_hash, hint, scopes, created_at, expires_at) \
                         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING {COLUMNS}"
                    )))
                    .bind(new.user_id.0)
                    .bind(&new.name)
                    .bind(&new.token_hash[..])
                    .bind(&new.hint)
                    .bind(scopes)
                    .bind(micros(now))
                    .bind(new.expires_at.map(micros))
                    .fetch_one(&mut *conn)
                    .await?;
                    let token = row.read()?;
                    let entry = AuditEntry {
                        kind: "token.created",
                        call_id: None,
                        actor,
                        payload: json!({
                            "token": token.id, "user_id": token.user_id, "name": token.name,
                            "scopes": token.scopes, "expires_at": token.expires_at,
                        }),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(token)
                })
            })
            .await
    }

    /// Looks up a living token and its account. `None` if it was revoked, ran out, or its account is shut out.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(&self, token_hash: &[u8; 32]) -> Result<Option<(ApiToken, User)>, StorageError> {
        let row: Option<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM api_tokens WHERE token_hash = $1 AND revoked_at IS NULL"
        )))
        .bind(&token_hash[..])
        .fetch_optional(self.0.read())
        .await?;
        let Some(token) = row.map(TokenRow::read).transpose()? else { return Ok(None) };
        if token.expires_at.is_some_and(|end| self.0.now() >= end) {
            return Ok(None);
        }
        let user: Option<UserRow> =
            sqlx::query_as("SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL AND disabled = 0")
                .bind(token.user_id.0)
                .fetch_optional(self.0.read())
                .await?;
        user.map(|row| Ok((token, row.read()?.user))).transpose()
    }

    /// Notes that a token was used. Called at most once a minute per token.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn touch(&self, id: i64) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query("UPDATE api_tokens SET last_used_at = $2 WHERE id = $1")
                        .bind(id)
                        .bind(micros(now))
                        .execute(conn)
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// The living tokens of an account in the order of their ids, from after `after`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self, user: UserId, after: i64, limit: i64) -> Result<Vec<ApiToken>, StorageError> {
        let rows: Vec<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM api_tokens WHERE user_id = $1 AND id > $2 AND revoked_at IS NULL \
             ORDER BY id LIMIT $3"
        )))
        .bind(user.0)
        .bind(after)
        .bind(limit)
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter().map(TokenRow::read).collect()
    }

    /// Revokes a token of this account. `false` if there is none that lives.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke(&self, id: i64, owner: UserId, actor: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "UPDATE api_tokens SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
                    )
                    .bind(id)
                    .bind(owner.0)
                    .bind(micros(now))
                    .execute(&mut *conn)
                    .await?;
                    if done.rows_affected() == 0 {
                        return Ok(false);
                    }
                    let entry = AuditEntry {
                        kind: "token.revoked",
                        call_id: None,
                        actor,
                        payload: json!({"token": id, "user_id": owner}),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(true)
                })
            })
            .await
    }

    /// Revokes all living tokens of an account with this name, for a service account whose token is made anew.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke_named(&self, owner: UserId, name: &str) -> Result<(), StorageError> {
        let now = self.0.now();
        let name = name.to_owned();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "UPDATE api_tokens SET revoked_at = $3 WHERE user_id = $1 AND name = $2 AND revoked_at IS NULL",
                    )
                    .bind(owner.0)
                    .bind(name)
                    .bind(micros(now))
                    .execute(conn)
                    .await?;
                    Ok(())
                })
            })
            .await
    }
}

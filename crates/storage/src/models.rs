//! Model providers that people added in the console. Keys are sealed with the key file and never leave in a list.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Storage, StorageError, micros};
use serde_json::json;
use std::fmt;
use zeroize::Zeroizing;

const KEY_PURPOSE: &str = "model provider api key";

/// One provider, without its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRecord {
    /// Unique; how sessions name it.
    pub name: String,
    /// Which protocol it speaks, in the words of the API.
    pub kind: String,
    /// Where it is, if not at its vendor's address.
    pub base_url: Option<String>,
    /// The model's own name.
    pub model: String,
    /// Whether there is a key.
    pub has_key: bool,
}

/// What a new or changed provider is made of.
#[derive(Clone)]
pub struct ModelInput {
    /// Unique; how sessions name it.
    pub name: String,
    /// Which protocol it speaks.
    pub kind: String,
    /// Where it is, if not at its vendor's address.
    pub base_url: Option<String>,
    /// The model's own name.
    pub model: String,
    /// What to do with the key.
    pub key: KeyChange,
}

/// What to do with a provider's key.
#[derive(Clone)]
pub enum KeyChange {
    /// Leave it.
    Keep,
    /// Drop it.
    Remove,
    /// Take this one.
    Set(Zeroizing<String>),
}

impl fmt::Debug for ModelInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelInput")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// The model providers.
#[derive(Clone, Copy, Debug)]
pub struct Models<'s>(&'s Storage);

impl Storage {
    /// The model providers.
    pub fn models(&self) -> Models<'_> {
        Models(self)
    }
}

#[derive(sqlx::FromRow)]
struct ModelRow {
    name: String,
    kind: String,
    base_url: Option<String>,
    model: String,
    has_key: i64,
}

impl From<ModelRow> for ModelRecord {
    fn from(row: ModelRow) -> Self {
        Self {
            name: row.name,
            kind: row.kind,
            base_url: row.base_url,
            model: row.model,
            has_key: row.has_key != 0,
        }
    }
}

const COLUMNS: &str = "name, kind, base_url, model, CASE WHEN api_key IS NULL THEN 0 ELSE 1 END AS has_key";

impl Models<'_> {
    /// All providers, by name.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self) -> Result<Vec<ModelRecord>, StorageError> {
        let rows: Vec<ModelRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM model_providers ORDER BY name"
        )))
        .fetch_all(self.0.read())
        .await?;
        Ok(rows.into_iter().map(ModelRecord::from).collect())
    }

    /// Looks one up.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(&self, name: &str) -> Result<Option<ModelRecord>, StorageError> {
        let row: Option<ModelRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM model_providers WHERE name = $1"
        )))
        .bind(name)
        .fetch_optional(self.0.read())
        .await?;
        Ok(row.map(ModelRecord::from))
    }

    /// The key of a provider, if it has one.
    ///
    /// # Errors
    ///
    /// Fails if the database does, or if the key was sealed with another key file.
    pub async fn key(&self, name: &str) -> Result<Option<Zeroizing<String>>, StorageError> {
        let row: Option<(Option<Vec<u8>>,)> =
            sqlx::query_as("SELECT api_key FROM model_providers WHERE name = $1")
                .bind(name)
                .fetch_optional(self.0.read())
                .await?;
        let Some((Some(sealed),)) = row else { return Ok(None) };
        let plain = self.0.keys().open(name, KEY_PURPOSE, &sealed)?;
        let text =
            std::str::from_utf8(&plain).map_err(|_| StorageError::corrupt("a model provider's key"))?;
        Ok(Some(Zeroizing::new(text.to_owned())))
    }

    /// Adds a provider. `false` if the name is taken.
    ///
    /// # Errors
    ///
    /// Fails only if the database or the sealing does.
    pub async fn create(&self, input: ModelInput, actor: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        let sealed = self.seal(&input)?;
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "INSERT INTO model_providers (name, kind, base_url, model, api_key, created_at, updated_at) \
                         VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (name) DO NOTHING",
                    )
                    .bind(&input.name)
                    .bind(&input.kind)
                    .bind(&input.base_url)
                    .bind(&input.model)
                    .bind(sealed)
                    .bind(micros(now))
                    .execute(&mut *conn)
                    .await?;
                    if done.rows_affected() == 0 {
                        return Ok(false);
                    }
                    audit::append(conn, now, entry("model.created", &input, actor)).await?;
                    Ok(true)
                })
            })
            .await
    }

    /// Replaces a provider's record. `false` if there is none.
    ///
    /// # Errors
    ///
    /// Fails only if the database or the sealing does.
    pub async fn update(&self, input: ModelInput, actor: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        let sealed = self.seal(&input)?;
        let keep = i64::from(matches!(input.key, KeyChange::Keep));
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "UPDATE model_providers SET kind = $2, base_url = $3, model = $4, \
                         api_key = CASE WHEN $5 = 1 THEN api_key ELSE $6 END, updated_at = $7 WHERE name = $1",
                    )
                    .bind(&input.name)
                    .bind(&input.kind)
                    .bind(&input.base_url)
                    .bind(&input.model)
                    .bind(keep)
                    .bind(sealed)
                    .bind(micros(now))
                    .execute(&mut *conn)
                    .await?;
                    if done.rows_affected() == 0 {
                        return Ok(false);
                    }
                    audit::append(conn, now, entry("model.changed", &input, actor)).await?;
                    Ok(true)
                })
            })
            .await
    }

    /// Removes a provider. `false` if there is none.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn delete(&self, name: &str, actor: Actor) -> Result<bool, StorageError> {
        let now = self.0.now();
        let name = name.to_owned();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query("DELETE FROM model_providers WHERE name = $1")
                        .bind(&name)
                        .execute(&mut *conn)
                        .await?;
                    if done.rows_affected() == 0 {
                        return Ok(false);
                    }
                    let entry = AuditEntry {
                        kind: "model.deleted",
                        call_id: None,
                        actor,
                        payload: json!({"name": name}),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(true)
                })
            })
            .await
    }

    fn seal(&self, input: &ModelInput) -> Result<Option<Vec<u8>>, StorageError> {
        match &input.key {
            KeyChange::Set(key) => self.0.keys().seal(&input.name, KEY_PURPOSE, key.as_bytes()).map(Some),
            KeyChange::Keep | KeyChange::Remove => Ok(None),
        }
    }
}

fn entry(kind: &'static str, input: &ModelInput, actor: Actor) -> AuditEntry {
    let key = match input.key {
        KeyChange::Keep => "kept",
        KeyChange::Remove => "removed",
        KeyChange::Set(_) => "set",
    };
    AuditEntry {
        kind,
        call_id: None,
        actor,
        payload: json!({
            "name": input.name, "kind": input.kind, "base_url": input.base_url, "model": input.model, "key": key,
        }),
    }
}

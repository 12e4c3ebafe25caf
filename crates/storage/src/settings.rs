//! Settings that people change at run time, as one JSON value per key.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Storage, StorageError, micros};
use model::UserId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'s>(&'s Storage);

impl Storage {
    /// The settings.
    pub fn settings(&self) -> Settings<'_> {
        Settings(self)
    }
}

impl Settings<'_> {
    /// Reads a setting. `None` if it was never set, or what is stored doesn't fit `T`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StorageError> {
        let row: Option<(String,)> = sqlx::query_as("SELECT value FROM settings WHERE key = $1")
            .bind(key)
            .fetch_optional(self.0.read())
            .await?;
        Ok(row.and_then(|(text,)| serde_json::from_str(&text).ok()))
    }

    /// Sets a setting. The value goes into the audit, so it must hold no secret.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn set<T: Serialize>(
        &self,
        key: &'static str,
        value: &T,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        let value = json!(value);
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO settings (key, value, updated_at, updated_by) VALUES ($1, $2, $3, $4) \
                         ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, \
                         updated_by = excluded.updated_by",
                    )
                    .bind(key)
                    .bind(value.to_string())
                    .bind(micros(now))
                    .bind(by.0)
                    .execute(&mut *conn)
                    .await?;
                    let entry = AuditEntry {
                        kind: "setting.changed",
                        call_id: None,
                        actor,
                        payload: json!({"key": key, "value": value}),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Writes something, to know that writing works. Not a setting, so not audited.
    ///
    /// # Errors
    ///
    /// Fails if nothing can be written durably.
    pub async fn probe(&self) -> Result<(), StorageError> {
        let now = micros(self.0.now());
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO settings (key, value, updated_at, updated_by) VALUES ('probe', 'null', $1, 0) \
                         ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at",
                    )
                    .bind(now)
                    .execute(conn)
                    .await?;
                    Ok(())
                })
            })
            .await
    }
}

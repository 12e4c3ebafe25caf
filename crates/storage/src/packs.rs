//! Packs that an admin accepted.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Storage, StorageError, from_micros, micros};
use model::{Timestamp, UserId};
use serde_json::{Value, json};

/// A pack that an admin accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct PackPin {
    /// What it is, as one digest over everything that was shown.
    pub pin: String,
    /// Its name.
    pub name: String,
    /// SHA-256 (hex) over its files.
    pub digest: String,
    /// The pack as it was shown to who accepted it.
    pub pack: Value,
    /// When.
    pub accepted_at: Timestamp,
    /// By whom.
    pub accepted_by: UserId,
}

/// The packs that an admin accepted.
#[derive(Clone, Copy, Debug)]
pub struct PackPins<'s>(&'s Storage);

impl Storage {
    /// The packs that an admin accepted.
    pub fn pack_pins(&self) -> PackPins<'_> {
        PackPins(self)
    }
}

impl PackPins<'_> {
    /// All of them, those that were accepted last at the end.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self) -> Result<Vec<PackPin>, StorageError> {
        let rows: Vec<(String, String, String, String, i64, i64)> = sqlx::query_as(
            "SELECT pin, name, digest, pack, accepted_at, accepted_by FROM pack_pins ORDER BY accepted_at, pin",
        )
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter()
            .map(|(pin, name, digest, pack, at, by)| {
                Ok(PackPin {
                    pack: serde_json::from_str(&pack)
                        .map_err(|error| StorageError::corrupt(format!("the pack {pin}: {error}")))?,
                    pin,
                    name,
                    digest,
                    accepted_at: from_micros(at)?,
                    accepted_by: UserId(by),
                })
            })
            .collect()
    }

    /// Accepts a pack; again is as once.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn accept(
        &self,
        pin: String,
        name: String,
        digest: String,
        pack: Value,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "INSERT INTO pack_pins (pin, name, digest, pack, accepted_at, accepted_by) \
                         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (pin) DO NOTHING",
                    )
                    .bind(&pin)
                    .bind(&name)
                    .bind(&digest)
                    .bind(pack.to_string())
                    .bind(micros(now))
                    .bind(by.0)
                    .execute(&mut *conn)
                    .await?;
                    if done.rows_affected() > 0 {
                        let payload = json!({"pin": pin, "name": name, "digest": digest});
                        let entry = AuditEntry { kind: "pack.accepted", call_id: None, actor, payload };
                        audit::append(conn, now, entry).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Takes an acceptance back.
    ///
    /// # Errors
    ///
    /// Fails if there is none, and if the database does.
    pub async fn revoke(&self, pin: String, actor: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query("DELETE FROM pack_pins WHERE pin = $1")
                        .bind(&pin)
                        .execute(&mut *conn)
                        .await?;
                    if done.rows_affected() == 0 {
                        return Err(StorageError::NotFound { what: format!("accepted pack {pin}") });
                    }
                    let payload = json!({"pin": pin});
                    let entry = AuditEntry { kind: "pack.revoked", call_id: None, actor, payload };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }
}

//! Attempts to sign in, so that a restart doesn't hand out new ones. Keys are digests made by the caller; of a name
//! that nobody has there is a row like of any other.

use crate::{Storage, StorageError, from_micros, micros};
use model::Timestamp;
use std::time::Duration;

/// The attempts.
#[derive(Clone, Copy, Debug)]
pub struct SignInThrottle<'s>(&'s Storage);

impl Storage {
    /// Attempts to sign in.
    pub fn sign_in_throttle(&self) -> SignInThrottle<'_> {
        SignInThrottle(self)
    }
}

impl SignInThrottle<'_> {
    /// Keys that aren't full again at `now`, the latest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn load(&self, now: Timestamp, limit: u32) -> Result<Vec<(String, Timestamp)>, StorageError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT key, full_at FROM sign_in_throttle WHERE full_at > $1 ORDER BY full_at DESC LIMIT $2",
        )
        .bind(micros(now))
        .bind(i64::from(limit))
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter().map(|(key, at)| Ok((key, from_micros(at)?))).collect()
    }

    /// Takes one attempt of each key: it is full again that much later. Drops the keys that are full at `forget`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn take(
        &self,
        keys: Vec<(String, Duration)>,
        now: Timestamp,
        forget: Timestamp,
    ) -> Result<(), StorageError> {
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    for (key, refill) in keys {
                        sqlx::query(
                            "INSERT INTO sign_in_throttle (key, full_at) VALUES ($1, $2 + $3) ON CONFLICT (key) \
                             DO UPDATE SET full_at = $3 + CASE WHEN sign_in_throttle.full_at > $2 \
                             THEN sign_in_throttle.full_at ELSE $2 END",
                        )
                        .bind(key)
                        .bind(micros(now))
                        .bind(i64::try_from(refill.as_micros()).unwrap_or(i64::MAX / 4))
                        .execute(&mut *conn)
                        .await?;
                    }
                    sqlx::query("DELETE FROM sign_in_throttle WHERE full_at <= $1")
                        .bind(micros(forget))
                        .execute(&mut *conn)
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Gives one attempt of each key back.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn give_back(&self, keys: Vec<(String, Duration)>) -> Result<(), StorageError> {
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    for (key, refill) in keys {
                        sqlx::query("UPDATE sign_in_throttle SET full_at = full_at - $2 WHERE key = $1")
                            .bind(key)
                            .bind(i64::try_from(refill.as_micros()).unwrap_or(i64::MAX / 4))
                            .execute(&mut *conn)
                            .await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

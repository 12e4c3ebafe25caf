//! Whole results that are too large for their row, in pieces, so that a window can be read without the rest.

use crate::{Conn, Storage, StorageError, micros};
use model::{CallId, Timestamp, canonical};
use uuid::Uuid;

/// Size of a piece, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Stores bytes in the caller's job.
///
/// # Errors
///
/// Fails only if the database does.
pub async fn store(
    conn: &mut Conn,
    now: Timestamp,
    call: Option<CallId>,
    media_type: &str,
    data: &[u8],
) -> Result<Uuid, StorageError> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO artifacts (id, call_id, media_type, bytes, sha256, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id)
    .bind(call.map(|call| call.0))
    .bind(media_type)
    .bind(data.len() as i64)
    .bind(canonical::sha256_hex(data))
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    for (position, piece) in data.chunks(PIECE_BYTES).enumerate() {
        sqlx::query("INSERT INTO artifact_pieces (artifact_id, position, data) VALUES ($1, $2, $3)")
            .bind(id)
            .bind(position as i64)
            .bind(piece)
            .execute(&mut *conn)
            .await?;
    }
    Ok(id)
}

impl Storage {
    /// Stored results.
    pub fn artifacts(&self) -> Artifacts<'_> {
        Artifacts(self)
    }
}

/// Reads stored results.
#[derive(Clone, Copy, Debug)]
pub struct Artifacts<'s>(&'s Storage);

impl Artifacts<'_> {
    /// Reads all of it; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn read(&self, id: Uuid) -> Result<Option<Vec<u8>>, StorageError> {
        let Some(bytes) = self.bytes(id).await? else { return Ok(None) };
        self.window(id, 0, bytes).await.map(Some)
    }

    /// Its size in bytes; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn bytes(&self, id: Uuid) -> Result<Option<u64>, StorageError> {
        let bytes: Option<i64> = sqlx::query_scalar("SELECT bytes FROM artifacts WHERE id = $1")
            .bind(id)
            .fetch_optional(self.0.read())
            .await?;
        Ok(bytes.map(i64::unsigned_abs))
    }

    /// Reads up to `limit` bytes from `offset`; fewer at the end, none beyond it.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn window(&self, id: Uuid, offset: u64, limit: u64) -> Result<Vec<u8>, StorageError> {
        let piece_bytes = PIECE_BYTES as u64;
        let end = offset.saturating_add(limit);
        let (first, last) = (offset / piece_bytes, end.div_ceil(piece_bytes));
        let pieces: Vec<(Vec<u8>,)> = sqlx::query_as(
            "SELECT data FROM artifact_pieces WHERE artifact_id = $1 AND position >= $2 AND position < $3 ORDER BY position",
        )
        .bind(id)
        .bind(i64::try_from(first).unwrap_or(i64::MAX))
        .bind(i64::try_from(last).unwrap_or(i64::MAX))
        .fetch_all(self.0.read())
        .await?;
        let joined: Vec<u8> = pieces.into_iter().flat_map(|(piece,)| piece).collect();
        let skip = usize::try_from(offset - first * piece_bytes).unwrap_or(usize::MAX).min(joined.len());
        let stop = skip.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(joined.len());
        Ok(joined[skip..stop].to_vec())
    }
}

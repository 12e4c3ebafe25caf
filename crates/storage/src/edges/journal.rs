//! The numbers of dispatches that aren't safe, and how far an edge's journal is with them.

use super::{Edges, of_record, put_on_record};
use crate::audit::Actor;
use crate::{Conn, StorageError};
use model::EdgeId;
use serde_json::json;

/// What an edge says of its journal when it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalShown {
    /// Every number up to this one has been acknowledged.
    pub through: u64,
    /// The highest number ever accepted.
    pub highest: u64,
}

impl Edges<'_> {
    /// Puts on record what an edge has said of its journal. Where that is further than this manager's counter, the
    /// counter is raised; the answer is what it was. With `chosen`, the edge was chosen although its journal may be an
    /// older one: it counts as it is, and calls up to the counter may be unknown to it.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge.
    pub async fn journal_shown(
        &self,
        id: EdgeId,
        shown: JournalShown,
        chosen: bool,
    ) -> Result<Option<u64>, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    let reached = shown.highest.max(shown.through);
                    let older = shown.highest < old.confirmed_seq || shown.through < old.acknowledged_through;
                    let (confirmed, through, lost) = if chosen && older {
                        (shown.highest, shown.through, old.last_seq)
                    } else {
                        (
                            old.confirmed_seq.max(shown.highest),
                            old.acknowledged_through.max(shown.through),
                            old.lost_through,
                        )
                    };
                    sqlx::query(
                        "UPDATE edges SET confirmed_seq = $1, acknowledged_through = $2, lost_through = $3,
                         last_seq = MAX(last_seq, $4) WHERE id = $5",
                    )
                    .bind(confirmed.cast_signed())
                    .bind(through.cast_signed())
                    .bind(lost.cast_signed())
                    .bind(reached.cast_signed())
                    .bind(id.0)
                    .execute(&mut *conn)
                    .await?;
                    if chosen && older {
                        let payload = json!({
                            "edge_id": id, "name": old.name, "confirmed": old.confirmed_seq, "shown": shown.highest,
                        });
                        put_on_record(conn, now, "edge.journal_replaced", Actor::System, payload).await?;
                    }
                    if reached <= old.last_seq {
                        return Ok(None);
                    }
                    let payload =
                        json!({"edge_id": id, "name": old.name, "from": old.last_seq, "to": reached});
                    put_on_record(conn, now, "edge.counter_raised", Actor::System, payload).await?;
                    Ok(Some(old.last_seq))
                })
            })
            .await
    }

    /// Notes that the edge has accepted the call with this number.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn confirm_seq(&self, id: EdgeId, seq: u64) -> Result<(), StorageError> {
        self.raise("UPDATE edges SET confirmed_seq = MAX(confirmed_seq, $1) WHERE id = $2", id, seq).await
    }

    /// Notes that the edge has forgotten every call up to this number.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn acknowledged(&self, id: EdgeId, through: u64) -> Result<(), StorageError> {
        let sql = "UPDATE edges SET acknowledged_through = MAX(acknowledged_through, $1) WHERE id = $2";
        self.raise(sql, id, through).await
    }

    async fn raise(&self, sql: &'static str, id: EdgeId, to: u64) -> Result<(), StorageError> {
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(sql).bind(to.cast_signed()).bind(id.0).execute(conn).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Up to which number every call of an edge is final, and up to which the edge knows that already.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn final_through(&self, id: EdgeId) -> Result<(u64, u64), StorageError> {
        let row: Option<(i64, i64)> = sqlx::query_as(
            "SELECT COALESCE((SELECT MIN(device_seq) - 1 FROM chat_tool_calls
                              WHERE device_id = $1 AND device_seq IS NOT NULL AND status IN ('running', 'unknown')),
                             last_seq), acknowledged_through
             FROM edges WHERE id = $1",
        )
        .bind(id.0)
        .fetch_optional(self.0.read())
        .await?;
        let (through, known) = row.unwrap_or_default();
        Ok((through.cast_unsigned(), known.cast_unsigned()))
    }
}

/// Allocates the number of a dispatch that isn't safe. For the job that writes its `running` row.
///
/// # Errors
///
/// Fails if there is no such edge.
pub(crate) async fn allocate_seq(conn: &mut Conn, id: EdgeId) -> Result<u64, StorageError> {
    let seq: Option<i64> =
        sqlx::query_scalar("UPDATE edges SET last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq")
            .bind(id.0)
            .fetch_optional(conn)
            .await?;
    seq.map(i64::cast_unsigned).ok_or_else(|| StorageError::not_found(format!("host {id}")))
}

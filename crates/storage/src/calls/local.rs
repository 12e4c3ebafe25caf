//! Calls that root made on a host without the manager. They have ended before the manager hears of them.

use super::{CallChange, CallEnd, Calls, NewCall, create, finish};
use crate::{StorageError, micros};
use model::{CallState, Origin, Timestamp};

/// How a local call went, as its host tells it.
#[derive(Clone, Debug)]
pub struct LocalEnd {
    /// When it began, by the host's clock.
    pub started_at: Timestamp,
    /// How it ended.
    pub end: CallEnd,
}

impl Calls<'_> {
    /// Writes a local call with its end and both audit entries, once: false if it was written before.
    ///
    /// # Errors
    ///
    /// Fails with a conflict if the id is another call's, else only if the database does.
    pub async fn record_local(&self, call: NewCall, local: LocalEnd) -> Result<bool, StorageError> {
        let (now, keys) = (self.0.now(), self.0.keys().clone());
        let change =
            CallChange { call_id: call.id, state: local.end.state, person: call.caller, journaled_on: None };
        let fresh = self
            .0
            .write(move |conn| {
                Box::pin(async move {
                    let known: Option<(String, Option<i64>)> =
                        sqlx::query_as("SELECT origin, device_id FROM chat_tool_calls WHERE id = $1")
                            .bind(call.id.0)
                            .fetch_optional(&mut *conn)
                            .await?;
                    if let Some((origin, device)) = known {
                        let same = origin == Origin::Local.as_str() && device == call.edge.map(|edge| edge.0);
                        return if same {
                            Ok(false)
                        } else {
                            Err(StorageError::conflict(format!("the call id {} is another call's", call.id)))
                        };
                    }
                    // It ran under the host's journal, not under this manager's numbers.
                    let call = NewCall { state: CallState::Running, ..call };
                    create(conn, &keys, now, &call, None).await?;
                    finish(conn, now, call.id, &local.end).await?;
                    sqlx::query("UPDATE chat_tool_calls SET started_at = $1 WHERE id = $2")
                        .bind(micros(local.started_at))
                        .bind(call.id.0)
                        .execute(&mut *conn)
                        .await?;
                    Ok(true)
                })
            })
            .await?;
        if fresh {
            self.tell(change);
        }
        Ok(fresh)
    }
}

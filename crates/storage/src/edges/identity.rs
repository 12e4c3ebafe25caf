//! What tells one host from its copy: rolling epochs, quarantine and its end.

use super::{EdgeState, Edges, of_record, put_on_record, write_json};
use crate::StorageError;
use crate::audit::Actor;
use model::{EdgeId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// One of the instances that claim to be the same edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contestant {
    /// Its process.
    pub instance_id: String,
    /// What its host calls itself.
    pub hostname: String,
    /// From where it connected.
    pub address: String,
    /// The boot of its host.
    pub boot_id: String,
    /// When it was seen.
    pub at: Timestamp,
}

impl Edges<'_> {
    /// Puts the epoch on record that is about to be handed to an edge which has shown `held`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn offer_epoch(&self, id: EdgeId, held: u64, offered: u64) -> Result<(), StorageError> {
        self.set_epochs(id, held, Some(offered)).await
    }

    /// Notes that the edge has kept `epoch`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn confirm_epoch(&self, id: EdgeId, epoch: u64) -> Result<(), StorageError> {
        self.set_epochs(id, epoch, None).await
    }

    async fn set_epochs(&self, id: EdgeId, epoch: u64, offered: Option<u64>) -> Result<(), StorageError> {
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query("UPDATE edges SET epoch = $1, epoch_offered = $2 WHERE id = $3")
                        .bind(epoch.cast_signed())
                        .bind(offered.map(u64::cast_signed))
                        .bind(id.0)
                        .execute(conn)
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Shuts an edge out until somebody has chosen between the instances that claim to be it.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge.
    pub async fn quarantine(
        &self,
        id: EdgeId,
        reason: String,
        contestants: Vec<Contestant>,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    if !matches!(old.state, EdgeState::Active | EdgeState::Quarantined) {
                        return Ok(());
                    }
                    // Those that come later join those that are known.
                    let mut all = old.contestants;
                    for contestant in contestants {
                        all.retain(|known| known.instance_id != contestant.instance_id);
                        all.push(contestant);
                    }
                    const MAX_CONTESTANTS: usize = 8;
                    all.drain(..all.len().saturating_sub(MAX_CONTESTANTS));
                    sqlx::query(
                        "UPDATE edges SET state = 'quarantined', state_reason = $1, contestants = $2 WHERE id = $3",
                    )
                    .bind(&reason)
                    .bind(write_json(&all, "contestants of an edge")?)
                    .bind(id.0)
                    .execute(&mut *conn)
                    .await?;
                    if old.state == EdgeState::Quarantined {
                        return Ok(());
                    }
                    let payload = json!({"edge_id": id, "name": old.name, "reason": reason, "instances": all});
                    put_on_record(conn, now, "edge.quarantined", Actor::System, payload).await
                })
            })
            .await
    }

    /// Ends a quarantine: `keep` may come back, whatever epoch it shows. Until it has, the choice can be changed.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge, it isn't quarantined, or `keep` is none of those that claim to be it.
    pub async fn resolve_quarantine(&self, id: EdgeId, keep: String, by: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    if old.state != EdgeState::Quarantined && old.keep_instance.is_none() {
                        return Err(StorageError::conflict(format!("`{}` is not quarantined", old.name)));
                    }
                    if !old.contestants.iter().any(|contestant| contestant.instance_id == keep) {
                        return Err(StorageError::conflict(format!(
                            "no instance `{keep}` claims to be `{}`",
                            old.name
                        )));
                    }
                    sqlx::query(
                        "UPDATE edges SET state = 'active', state_reason = NULL, keep_instance = $1 WHERE id = $2",
                    )
                    .bind(&keep)
                    .bind(id.0)
                    .execute(&mut *conn)
                    .await?;
                    let payload =
                        json!({"edge_id": id, "name": old.name, "kept": keep, "instances": old.contestants});
                    put_on_record(conn, now, "edge.quarantine_resolved", by, payload).await
                })
            })
            .await
    }

    /// Uses up the permission to rejoin. Says whether there was one.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn use_rejoin(&self, id: EdgeId) -> Result<bool, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let changed = sqlx::query(
                        "UPDATE edges SET rejoin_until = NULL
                         WHERE id = $1 AND state = 'active' AND rejoin_until > $2",
                    )
                    .bind(id.0)
                    .bind(crate::micros(now))
                    .execute(&mut *conn)
                    .await?
                    .rows_affected();
                    if changed > 0 {
                        put_on_record(conn, now, "edge.rejoined", Actor::Edge(id), json!({"edge_id": id}))
                            .await?;
                    }
                    Ok(changed > 0)
                })
            })
            .await
    }
}

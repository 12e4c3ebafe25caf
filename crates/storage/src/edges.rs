//! Hosts: who is enrolled, what they last said of themselves, and what must outlive a restart about their identity.

mod certificates;
mod enrollment;
mod identity;
mod journal;

pub use certificates::CertificateRecord;
pub use enrollment::{EnrollmentToken, NewEnrollmentToken, TokenState};
pub use identity::Contestant;
pub use journal::JournalShown;
pub(crate) use journal::allocate_seq;

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, Storage, StorageError, from_micros, micros};
use model::{EdgeId, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What people put on hosts to find them by.
pub type Labels = BTreeMap<String, String>;

/// Whether an edge may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeState {
    /// It may.
    Active,
    /// Two instances claim to be it; neither may until somebody has chosen.
    Quarantined,
    /// Its certificates are void.
    Revoked,
    /// Revoked, and gone from the lists. The row stays, because calls name it.
    Deleted,
}

impl EdgeState {
    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Revoked => "revoked",
            Self::Deleted => "deleted",
        }
    }
}

impl FromStr for EdgeState {
    type Err = StorageError;

    fn from_str(word: &str) -> Result<Self, StorageError> {
        [Self::Active, Self::Quarantined, Self::Revoked, Self::Deleted]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| StorageError::corrupt(format!("the edge state `{word}`")))
    }
}

/// One enrolled host.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRecord {
    /// Its id.
    pub id: EdgeId,
    /// What people call it. Unique.
    pub name: String,
    /// What it calls itself.
    pub hostname: String,
    /// What people put on it.
    pub labels: Labels,
    /// Whether it may connect.
    pub state: EdgeState,
    /// Why not.
    pub state_reason: Option<String>,
    /// While quarantined: the instances that claim to be it.
    pub contestants: Vec<Contestant>,
    /// The only instance that may come back after a quarantine.
    pub keep_instance: Option<String>,
    /// Until when it may prove an expired key for a new certificate.
    pub rejoin_until: Option<Timestamp>,
    /// The epoch that it has confirmed.
    pub epoch: u64,
    /// The epoch that it was handed and may or may not have kept.
    pub epoch_offered: Option<u64>,
    /// The highest number that a dispatch to it has got.
    pub last_seq: u64,
    /// Up to which number it has confirmed to have forgotten its calls, because they are final here.
    pub acknowledged_through: u64,
    /// The highest number that it has said to have accepted.
    pub confirmed_seq: u64,
    /// Calls up to this number may have run without it knowing: its journal was replaced by an older one.
    pub lost_through: u64,
    /// Its process, when it last connected.
    pub instance_id: Option<String>,
    /// What it last said of itself, in the form that the fleet chose.
    pub description: Option<Value>,
    /// From where it last connected.
    pub address: Option<String>,
    /// When it was enrolled.
    pub created_at: Timestamp,
    /// When it last connected.
    pub connected_at: Option<Timestamp>,
    /// When it was last seen connected.
    pub last_seen_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
struct EdgeRow {
    id: i64,
    name: String,
    hostname: String,
    labels: String,
    state: String,
    state_reason: Option<String>,
    contestants: String,
    keep_instance: Option<String>,
    rejoin_until: Option<i64>,
    epoch: i64,
    epoch_offered: Option<i64>,
    last_seq: i64,
    acknowledged_through: i64,
    confirmed_seq: i64,
    lost_through: i64,
    instance_id: Option<String>,
    description: Option<String>,
    address: Option<String>,
    created_at: i64,
    connected_at: Option<i64>,
    last_seen_at: Option<i64>,
}

impl EdgeRow {
    fn read(self) -> Result<EdgeRecord, StorageError> {
        Ok(EdgeRecord {
            id: EdgeId(self.id),
            name: self.name,
            hostname: self.hostname,
            labels: read_json(&self.labels, "labels of an edge")?,
            state: self.state.parse()?,
            state_reason: self.state_reason,
            contestants: read_json(&self.contestants, "contestants of an edge")?,
            keep_instance: self.keep_instance,
            rejoin_until: self.rejoin_until.map(from_micros).transpose()?,
            epoch: self.epoch.cast_unsigned(),
            epoch_offered: self.epoch_offered.map(i64::cast_unsigned),
            last_seq: self.last_seq.cast_unsigned(),
            acknowledged_through: self.acknowledged_through.cast_unsigned(),
            confirmed_seq: self.confirmed_seq.cast_unsigned(),
            lost_through: self.lost_through.cast_unsigned(),
            instance_id: self.instance_id,
            description: self
                .description
                .map(|text| read_json(&text, "description of an edge"))
                .transpose()?,
            address: self.address,
            created_at: from_micros(self.created_at)?,
            connected_at: self.connected_at.map(from_micros).transpose()?,
            last_seen_at: self.last_seen_at.map(from_micros).transpose()?,
        })
    }
}

fn read_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|_| StorageError::corrupt(what))
}

fn write_json<T: serde::Serialize>(value: &T, what: &str) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(|_| StorageError::corrupt(what))
}

/// The enrolled hosts.
#[derive(Clone, Copy, Debug)]
pub struct Edges<'s>(&'s Storage);

impl Storage {
    /// The enrolled hosts.
    pub fn edges(&self) -> Edges<'_> {
        Edges(self)
    }
}

impl Edges<'_> {
    /// Looks one up; `None` if there is none, or it was deleted.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn find(&self, id: EdgeId) -> Result<Option<EdgeRecord>, StorageError> {
        let row: Option<EdgeRow> = sqlx::query_as("SELECT * FROM edges WHERE id = $1 AND state <> 'deleted'")
            .bind(id.0)
            .fetch_optional(self.0.read())
            .await?;
        row.map(EdgeRow::read).transpose()
    }

    /// All that were not deleted, by name.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn list(&self) -> Result<Vec<EdgeRecord>, StorageError> {
        let rows: Vec<EdgeRow> =
            sqlx::query_as("SELECT * FROM edges WHERE state <> 'deleted' ORDER BY name, id")
                .fetch_all(self.0.read())
                .await?;
        rows.into_iter().map(EdgeRow::read).collect()
    }

    /// Renames an edge.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge, or the name is another one's.
    pub async fn rename(&self, id: EdgeId, name: String, by: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    let taken: Option<i64> = sqlx::query_scalar(
                        "SELECT id FROM edges WHERE name = $1 AND id <> $2 AND state <> 'deleted'",
                    )
                    .bind(&name)
                    .bind(id.0)
                    .fetch_optional(&mut *conn)
                    .await?;
                    if taken.is_some() {
                        return Err(StorageError::conflict(format!("another host is called `{name}`")));
                    }
                    sqlx::query("UPDATE edges SET name = $1 WHERE id = $2")
                        .bind(&name)
                        .bind(id.0)
                        .execute(&mut *conn)
                        .await?;
                    let payload = json!({"edge_id": id, "from": old.name, "to": name});
                    put_on_record(conn, now, "edge.renamed", by, payload).await
                })
            })
            .await
    }

    /// Replaces an edge's labels.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge.
    pub async fn set_labels(&self, id: EdgeId, labels: Labels, by: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    sqlx::query("UPDATE edges SET labels = $1 WHERE id = $2")
                        .bind(write_json(&labels, "labels of an edge")?)
                        .bind(id.0)
                        .execute(&mut *conn)
                        .await?;
                    let payload = json!({"edge_id": id, "from": old.labels, "to": labels});
                    put_on_record(conn, now, "edge.labelled", by, payload).await
                })
            })
            .await
    }

    /// Voids all certificates of an edge; with `delete` it also leaves the lists.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge.
    pub async fn revoke(&self, id: EdgeId, delete: bool, by: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    let state = if delete { EdgeState::Deleted } else { EdgeState::Revoked };
                    let reason = if delete { "an administrator removed this host" } else { "an administrator revoked this host" };
                    sqlx::query(
                        "UPDATE edges SET state = $1, state_reason = $2, contestants = '[]', keep_instance = NULL,
                         rejoin_until = NULL WHERE id = $3",
                    )
                    .bind(state.as_str())
                    .bind(reason)
                    .bind(id.0)
                    .execute(&mut *conn)
                    .await?;
                    certificates::revoke_all_but(conn, id, None, now).await?;
                    let kind = if delete { "edge.removed" } else { "edge.revoked" };
                    let payload = json!({"edge_id": id, "name": old.name});
                    put_on_record(conn, now, kind, by, payload).await
                })
            })
            .await
    }

    /// Lets an edge whose certificate ran out prove its old key for a new one, until `until`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge.
    pub async fn allow_rejoin(&self, id: EdgeId, until: Timestamp, by: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let old = of_record(conn, id).await?;
                    if old.state == EdgeState::Revoked {
                        let reason =
                            format!("`{}` is revoked for good: remove it and enrol the host again", old.name);
                        return Err(StorageError::conflict(reason));
                    }
                    sqlx::query("UPDATE edges SET rejoin_until = $1 WHERE id = $2")
                        .bind(micros(until))
                        .bind(id.0)
                        .execute(&mut *conn)
                        .await?;
                    let payload = json!({"edge_id": id, "name": old.name, "until": until});
                    put_on_record(conn, now, "edge.rejoin_allowed", by, payload).await
                })
            })
            .await
    }

    /// Keeps what an edge said of itself when it connected.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn connected(
        &self,
        id: EdgeId,
        hostname: String,
        instance_id: String,
        address: String,
        description: Value,
    ) -> Result<(), StorageError> {
        let now = micros(self.0.now());
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "UPDATE edges SET hostname = $1, instance_id = $2, address = $3, description = $4,
                         connected_at = $5, last_seen_at = $5, keep_instance = NULL, contestants = '[]'
                         WHERE id = $6",
                    )
                    .bind(hostname)
                    .bind(instance_id)
                    .bind(address)
                    .bind(write_json(&description, "description of an edge")?)
                    .bind(now)
                    .bind(id.0)
                    .execute(conn)
                    .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Keeps what an edge says of itself while it is connected.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn described(&self, id: EdgeId, description: Value) -> Result<(), StorageError> {
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query("UPDATE edges SET description = $1 WHERE id = $2")
                        .bind(write_json(&description, "description of an edge")?)
                        .bind(id.0)
                        .execute(conn)
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Notes that these edges were connected until now.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn seen(&self, ids: Vec<EdgeId>) -> Result<(), StorageError> {
        let now = micros(self.0.now());
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    for id in ids {
                        sqlx::query("UPDATE edges SET last_seen_at = $1 WHERE id = $2")
                            .bind(now)
                            .bind(id.0)
                            .execute(&mut *conn)
                            .await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

/// The record of an edge, inside a job.
async fn of_record(conn: &mut Conn, id: EdgeId) -> Result<EdgeRecord, StorageError> {
    let row: Option<EdgeRow> = sqlx::query_as("SELECT * FROM edges WHERE id = $1 AND state <> 'deleted'")
        .bind(id.0)
        .fetch_optional(conn)
        .await?;
    row.ok_or_else(|| StorageError::not_found(format!("host {id}")))?.read()
}

async fn put_on_record(
    conn: &mut Conn,
    now: Timestamp,
    kind: &'static str,
    actor: Actor,
    payload: Value,
) -> Result<(), StorageError> {
    audit::append(conn, now, AuditEntry { kind, call_id: None, actor, payload }).await?;
    Ok(())
}

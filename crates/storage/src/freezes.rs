//! Where changes are stopped: everywhere, or on one host that is read-only. What holds is in memory too, so that whoever
//! decides on a call never waits for the database; it is changed only after the commit.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, Storage, StorageError, from_micros, micros};
use model::{EdgeId, Timestamp, UserId};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Since when changes are stopped, by whom and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Since when.
    pub since: Timestamp,
    /// Who stopped them.
    pub by: UserId,
    /// That person's name for people, if the account is still there.
    pub by_name: Option<String>,
    /// Why, in that person's words.
    pub reason: Option<String>,
}

/// Where changes are stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreezeState {
    /// Everywhere.
    pub everywhere: Option<Freeze>,
    /// On these hosts, which are read-only.
    pub hosts: BTreeMap<EdgeId, Freeze>,
}

impl FreezeState {
    /// Whether a host is to refuse changes: because of either.
    pub fn holds_on(&self, edge: EdgeId) -> bool {
        self.everywhere.is_some() || self.hosts.contains_key(&edge)
    }
}

/// The freezes.
#[derive(Clone, Copy, Debug)]
pub struct Freezes<'s>(&'s Storage);

/// Stands for everywhere in the table.
const EVERYWHERE: i64 = 0;

impl Storage {
    /// The freezes.
    pub fn freezes(&self) -> Freezes<'_> {
        Freezes(self)
    }
}

impl Freezes<'_> {
    /// Where changes are stopped now.
    pub fn current(&self) -> Arc<FreezeState> {
        Arc::clone(&self.0.freezes.state.borrow())
    }

    /// Where changes are stopped, from now on.
    pub fn watch(&self) -> watch::Receiver<Arc<FreezeState>> {
        self.0.freezes.state.subscribe()
    }

    /// Stops changes everywhere; a second time changes nothing, so the first reason stays. The reason must hold no
    /// secret.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn freeze(&self, reason: Option<String>, by: UserId, actor: Actor) -> Result<(), StorageError> {
        self.change(EVERYWHERE, true, reason, by, actor).await
    }

    /// Allows changes again, except on hosts that are read-only.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn unfreeze(&self, by: UserId, actor: Actor) -> Result<(), StorageError> {
        self.change(EVERYWHERE, false, None, by, actor).await
    }

    /// Makes a host read-only, or not.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host, or the database does.
    pub async fn set_read_only(
        &self,
        edge: EdgeId,
        read_only: bool,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        self.change(edge.0, read_only, None, by, actor).await
    }

    async fn change(
        &self,
        place: i64,
        stop: bool,
        reason: Option<String>,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let storage = self.0.clone();
        // On a task of its own: what is durable must come to memory too, whether or not anybody waits for it.
        let changed = tokio::spawn(async move {
            let _turn = storage.freezes.changing.lock().await;
            let now = storage.now();
            let state = storage
                .write(move |conn| {
                    Box::pin(async move {
                        put(conn, place, stop, reason.as_deref(), by, now, actor).await?;
                        load(conn).await
                    })
                })
                .await?;
            storage.freezes.state.send_if_modified(|current| {
                let changed = **current != state;
                *current = Arc::new(state);
                changed
            });
            Ok(())
        });
        changed.await.unwrap_or(Err(StorageError::Closed))
    }
}

/// What holds, in memory.
#[derive(Debug)]
pub(crate) struct FreezeBook {
    state: watch::Sender<Arc<FreezeState>>,
    /// Held while it is changed, so that the later change is the later one in memory too.
    changing: tokio::sync::Mutex<()>,
}

impl FreezeBook {
    pub(crate) fn new(state: FreezeState) -> Self {
        Self { state: watch::Sender::new(Arc::new(state)), changing: tokio::sync::Mutex::default() }
    }
}

/// Puts one change on record, if it is one.
async fn put(
    conn: &mut Conn,
    place: i64,
    stop: bool,
    reason: Option<&str>,
    by: UserId,
    now: Timestamp,
    actor: Actor,
) -> Result<(), StorageError> {
    let mut payload = json!({});
    if place != EVERYWHERE {
        let known: Option<(String,)> =
            sqlx::query_as("SELECT name FROM edges WHERE id = $1 AND state <> 'deleted'")
                .bind(place)
                .fetch_optional(&mut *conn)
                .await?;
        let (name,) = known.ok_or_else(|| StorageError::NotFound { what: format!("host {place}") })?;
        payload = json!({"edge_id": place, "name": name, "read_only": stop});
    } else if let Some(reason) = reason {
        payload = json!({"reason": reason});
    }
    let done = if stop {
        sqlx::query(
            "INSERT INTO freezes (edge_id, since, by_user, reason) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (edge_id) DO NOTHING",
        )
        .bind(place)
        .bind(micros(now))
        .bind(by.0)
        .bind(reason)
        .execute(&mut *conn)
        .await?
    } else {
        sqlx::query("DELETE FROM freezes WHERE edge_id = $1").bind(place).execute(&mut *conn).await?
    };
    if done.rows_affected() > 0 {
        let kind = match (place, stop) {
            (EVERYWHERE, true) => "freeze.on",
            (EVERYWHERE, false) => "freeze.off",
            _ => "host.read_only",
        };
        audit::append(conn, now, AuditEntry { kind, call_id: None, actor, payload }).await?;
    }
    Ok(())
}

/// Reads what holds.
pub(crate) async fn load(conn: &mut Conn) -> Result<FreezeState, StorageError> {
    /// Place, since when, by whom, that person's name, why.
    type Row = (i64, i64, i64, Option<String>, Option<String>);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT f.edge_id, f.since, f.by_user, COALESCE(NULLIF(u.display_name, ''), u.name), f.reason FROM freezes f \
         LEFT JOIN users u ON u.id = f.by_user ORDER BY f.edge_id",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut state = FreezeState::default();
    for (place, since, by, by_name, reason) in rows {
        let freeze = Freeze { since: from_micros(since)?, by: UserId(by), by_name, reason };
        match place {
            EVERYWHERE => state.everywhere = Some(freeze),
            edge => drop(state.hosts.insert(EdgeId(edge), freeze)),
        }
    }
    Ok(state)
}

//! Chat sessions, what was said in them, and their events.

use crate::{Conn, Pool, Storage, StorageError, from_micros, micros};
use model::{SessionId, Timestamp, TurnId, UserId};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// The chats.
#[derive(Clone, Debug)]
pub struct Chats {
    storage: Storage,
}

/// One chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose it is. Nobody else sees it.
    pub owner: UserId,
    /// Its title; empty before the first message.
    pub title: String,
    /// Kept at the top of the list.
    pub pinned: bool,
    /// Put away.
    pub archived: bool,
    /// The name of its model's configuration; `None` follows the default.
    pub model: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The turn that is at work.
    pub running_turn: Option<TurnId>,
}

/// What may change of a session. `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChange {
    /// Its title.
    pub title: Option<String>,
    /// Kept at the top of the list.
    pub pinned: Option<bool>,
    /// Put away.
    pub archived: Option<bool>,
    /// Its model; `Some(None)` follows the default.
    pub model: Option<Option<String>>,
}

/// Where a page of sessions begins: after this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCursor {
    /// Its last change.
    pub updated_at: Timestamp,
    /// Its id.
    pub id: SessionId,
}

/// One message as it is kept. The body belongs to the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// Its id.
    pub id: Uuid,
    /// The turn that wrote it.
    pub turn: TurnId,
    /// What it says.
    pub body: Value,
    /// Whether it holds free text from outside.
    pub untrusted: bool,
}

/// One event of a chat: what live views and replays are made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnEvent {
    /// Rises in the order of commits, over all chats.
    pub id: i64,
    /// Its chat.
    pub session_id: SessionId,
    /// Its turn; `None` for changes of the session itself.
    pub turn_id: Option<TurnId>,
    /// Rises within its chat. Gaps are deltas that a finished message replaced.
    pub seq: i64,
    /// What happened, for example `chat.message.v1`.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// What of it is to be shown.
    pub payload: Value,
}

impl Storage {
    /// The chats.
    pub fn chats(&self) -> Chats {
        Chats { storage: self.clone() }
    }
}

#[derive(sqlx::FromRow)]
struct SessionRow {
    id: Uuid,
    owner_id: i64,
    title: String,
    pinned: i64,
    archived: i64,
    model: Option<String>,
    created_at: i64,
    updated_at: i64,
    running_turn: Option<Uuid>,
}

impl TryFrom<SessionRow> for Session {
    type Error = StorageError;

    fn try_from(row: SessionRow) -> Result<Self, StorageError> {
        Ok(Self {
            id: SessionId(row.id),
            owner: UserId(row.owner_id),
            title: row.title,
            pinned: row.pinned != 0,
            archived: row.archived != 0,
            model: row.model,
            created_at: from_micros(row.created_at)?,
            updated_at: from_micros(row.updated_at)?,
            running_turn: row.running_turn.map(TurnId),
        })
    }
}

#[derive(sqlx::FromRow)]
struct EventRow {
    id: i64,
    session_id: Uuid,
    turn_id: Option<Uuid>,
    seq: i64,
    kind: String,
    at: i64,
    payload: String,
}

impl TryFrom<EventRow> for TurnEvent {
    type Error = StorageError;

    fn try_from(row: EventRow) -> Result<Self, StorageError> {
        Ok(Self {
            id: row.id,
            session_id: SessionId(row.session_id),
            turn_id: row.turn_id.map(TurnId),
            seq: row.seq,
            kind: row.kind,
            at: from_micros(row.at)?,
            payload: parse(&row.payload, "an event")?,
        })
    }
}

#[derive(sqlx::FromRow)]
struct MessageRow {
    id: Uuid,
    turn_id: Uuid,
    body: String,
    untrusted: i64,
}

const SESSION: &str = "SELECT s.id, s.owner_id, s.title, s.pinned, s.archived, s.model, s.created_at, s.updated_at, \
     (SELECT t.id FROM turns t WHERE t.session_id = s.id AND t.state = 'running') AS running_turn FROM sessions s";

impl Chats {
    /// Makes a session.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create(
        &self,
        owner: UserId,
        title: &str,
        model: Option<String>,
    ) -> Result<Session, StorageError> {
        let now = self.storage.now();
        let session = Session {
            id: SessionId::generate(),
            owner,
            title: title.to_owned(),
            pinned: false,
            archived: false,
            model,
            created_at: now,
            updated_at: now,
            running_turn: None,
        };
        let row = session.clone();
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO sessions (id, owner_id, title, model, created_at, updated_at) \
                         VALUES ($1, $2, $3, $4, $5, $5)",
                    )
                    .bind(row.id.0)
                    .bind(row.owner.0)
                    .bind(&row.title)
                    .bind(&row.model)
                    .bind(micros(now))
                    .execute(&mut *conn)
                    .await?;
                    announce(conn, &row, now).await
                })
            })
            .await?;
        Ok(session)
    }

    /// Looks one up; `None` if there is none or it is somebody else's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(&self, id: SessionId, owner: UserId) -> Result<Option<Session>, StorageError> {
        let mut conn = self.storage.read().acquire().await?;
        find(&mut conn, id, owner).await
    }

    /// A page of a person's sessions, last changed first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(
        &self,
        owner: UserId,
        after: Option<SessionCursor>,
        limit: u32,
    ) -> Result<Vec<Session>, StorageError> {
        let sql = format!(
            "{SESSION} WHERE s.owner_id = $1 AND (s.updated_at < $2 OR (s.updated_at = $2 AND s.id < $3)) \
             ORDER BY s.updated_at DESC, s.id DESC LIMIT $4"
        );
        let (updated_at, id) =
            after.map_or((i64::MAX, Uuid::max()), |cursor| (micros(cursor.updated_at), cursor.id.0));
        sqlx::query_as::<_, SessionRow>(sqlx::AssertSqlSafe(sql))
            .bind(owner.0)
            .bind(updated_at)
            .bind(id)
            .bind(i64::from(limit))
            .fetch_all(self.storage.read())
            .await?
            .into_iter()
            .map(Session::try_from)
            .collect()
    }

    /// Changes one; `None` if there is none or it is somebody else's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn change(
        &self,
        id: SessionId,
        owner: UserId,
        change: SessionChange,
    ) -> Result<Option<Session>, StorageError> {
        let now = self.storage.now();
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    let Some(mut session) = find(conn, id, owner).await? else { return Ok(None) };
                    session.title = change.title.unwrap_or(session.title);
                    session.pinned = change.pinned.unwrap_or(session.pinned);
                    session.archived = change.archived.unwrap_or(session.archived);
                    session.model = change.model.unwrap_or(session.model);
                    session.updated_at = now;
                    save(conn, &session).await?;
                    announce(conn, &session, now).await?;
                    Ok(Some(session))
                })
            })
            .await
    }

    /// Deletes one with all that was said in it. Its calls stay in the audit. `false` if there is none or it is
    /// somebody else's.
    ///
    /// # Errors
    ///
    /// A conflict while a turn is at work in it.
    pub async fn delete(&self, id: SessionId, owner: UserId) -> Result<bool, StorageError> {
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    let Some(session) = find(conn, id, owner).await? else { return Ok(false) };
                    if session.running_turn.is_some() {
                        return Err(StorageError::conflict("a turn is at work in this chat; stop it first"));
                    }
                    sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id.0).execute(&mut *conn).await?;
                    Ok(true)
                })
            })
            .await
    }

    /// Everything said in a session, oldest first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn history(&self, session: SessionId) -> Result<Vec<StoredMessage>, StorageError> {
        sqlx::query_as::<_, MessageRow>(
            "SELECT id, turn_id, body, untrusted FROM messages WHERE session_id = $1 ORDER BY position",
        )
        .bind(session.0)
        .fetch_all(self.storage.read())
        .await?
        .into_iter()
        .map(|row| {
            Ok(StoredMessage {
                id: row.id,
                turn: TurnId(row.turn_id),
                body: parse(&row.body, "a message")?,
                untrusted: row.untrusted != 0,
            })
        })
        .collect()
    }

    /// Events of one session after an id, oldest first. Empty if the session is somebody else's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn session_events(
        &self,
        session: SessionId,
        owner: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TurnEvent>, StorageError> {
        sqlx::query_as::<_, EventRow>(
            "SELECT id, session_id, turn_id, seq, kind, at, payload FROM turn_events \
             WHERE session_id = $1 AND owner_id = $2 AND id > $3 ORDER BY id LIMIT $4",
        )
        .bind(session.0)
        .bind(owner.0)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(self.storage.read())
        .await?
        .into_iter()
        .map(TurnEvent::try_from)
        .collect()
    }

    /// Events of all sessions of a person after an id, oldest first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn events(
        &self,
        owner: UserId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TurnEvent>, StorageError> {
        sqlx::query_as::<_, EventRow>(
            "SELECT id, session_id, turn_id, seq, kind, at, payload FROM turn_events \
             WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        )
        .bind(owner.0)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(self.storage.read())
        .await?
        .into_iter()
        .map(TurnEvent::try_from)
        .collect()
    }

    /// The highest event id that there is, over all people; 0 if there is none.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn last_event_id(&self) -> Result<i64, StorageError> {
        last_event_id(self.storage.read()).await
    }
}

pub(crate) async fn last_event_id(pool: &Pool) -> Result<i64, StorageError> {
    Ok(sqlx::query_scalar::<_, i64>("SELECT COALESCE(MAX(id), 0) FROM turn_events").fetch_one(pool).await?)
}

pub(crate) async fn find(
    conn: &mut Conn,
    id: SessionId,
    owner: UserId,
) -> Result<Option<Session>, StorageError> {
    let sql = format!("{SESSION} WHERE s.id = $1 AND s.owner_id = $2");
    let row = sqlx::query_as::<_, SessionRow>(sqlx::AssertSqlSafe(sql))
        .bind(id.0)
        .bind(owner.0)
        .fetch_optional(conn)
        .await?;
    row.map(Session::try_from).transpose()
}

pub(crate) async fn save(conn: &mut Conn, session: &Session) -> Result<(), StorageError> {
    sqlx::query(
        "UPDATE sessions SET title = $2, pinned = $3, archived = $4, model = $5, updated_at = $6 WHERE id = $1",
    )
    .bind(session.id.0)
    .bind(&session.title)
    .bind(i64::from(session.pinned))
    .bind(i64::from(session.archived))
    .bind(&session.model)
    .bind(micros(session.updated_at))
    .execute(conn)
    .await?;
    Ok(())
}

/// Tells the views of a session's list entry.
pub(crate) async fn announce(
    conn: &mut Conn,
    session: &Session,
    now: Timestamp,
) -> Result<i64, StorageError> {
    let payload = json!({
        "title": session.title, "pinned": session.pinned, "archived": session.archived, "model": session.model,
    });
    let event = NewEvent { kind: "session.updated.v1", payload, delta_of: None };
    append_event(conn, (session.id, session.owner), None, &event, now).await
}

/// One event to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// What happened.
    pub kind: &'static str,
    /// What of it is to be shown.
    pub payload: Value,
    /// For a delta: the message that will replace it.
    pub delta_of: Option<Uuid>,
}

/// Writes one event and returns its id.
pub(crate) async fn append_event(
    conn: &mut Conn,
    (session, owner): (SessionId, UserId),
    turn: Option<TurnId>,
    event: &NewEvent,
    now: Timestamp,
) -> Result<i64, StorageError> {
    let seq = sqlx::query_scalar::<_, i64>(
        "UPDATE sessions SET last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq",
    )
    .bind(session.0)
    .fetch_one(&mut *conn)
    .await?;
    Ok(sqlx::query_scalar::<_, i64>(
        "INSERT INTO turn_events (session_id, turn_id, owner_id, seq, kind, at, payload, delta_of) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
    )
    .bind(session.0)
    .bind(turn.map(|turn| turn.0))
    .bind(owner.0)
    .bind(seq)
    .bind(event.kind)
    .bind(micros(now))
    .bind(event.payload.to_string())
    .bind(event.delta_of)
    .fetch_one(conn)
    .await?)
}

fn parse(text: &str, what: &str) -> Result<Value, StorageError> {
    serde_json::from_str(text).map_err(|_| StorageError::corrupt(what))
}

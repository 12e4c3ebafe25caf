//! Turns as durable jobs. Everything that a turn writes goes through [`Turns::write`], in one transaction that first
//! checks the lease: a worker that lost its turn can't add to it.

use crate::approvals::{Changes, withdraw_of_turn};
use crate::calls::CallToken;
use crate::chats::{self, NewEvent};
use crate::{Conn, Storage, StorageError, from_micros, micros};
use model::{Roles, SessionId, Timestamp, TurnId, UserId};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// The turns.
#[derive(Clone, Debug)]
pub struct Turns {
    storage: Storage,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// Its chat.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// The rights that its calls have.
    pub roles: Roles,
    /// The API token through which it was asked for.
    pub token: Option<CallToken>,
    /// `running`, or how it ended.
    pub state: String,
    /// The epoch of its lease. The gate checks it before a call runs.
    pub epoch: i64,
    /// Whether its owner wants it stopped.
    pub stop_requested: bool,
    /// Whether free text from outside is in what the model has read.
    pub untrusted: bool,
    /// Model requests that were begun.
    pub requests: i64,
    /// Tokens read so far.
    pub input_tokens: i64,
    /// Tokens written so far.
    pub output_tokens: i64,
    /// When it began.
    pub started_at: Timestamp,
}

/// What begins a turn.
#[derive(Clone, Debug)]
pub struct NewTurn {
    /// Its id.
    pub id: TurnId,
    /// Its chat.
    pub session: SessionId,
    /// Who asks.
    pub user: UserId,
    /// The rights that its calls have.
    pub roles: Roles,
    /// The API token through which it is asked for.
    pub token: Option<CallToken>,
    /// Who works on it.
    pub worker: Uuid,
    /// How long the lease holds.
    pub lease: Duration,
    /// The operator's message.
    pub message: NewMessage,
    /// What it shows.
    pub events: Vec<NewEvent>,
    /// The title that the chat gets if it has none.
    pub title: String,
}

/// One message to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// Its id.
    pub id: Uuid,
    /// What it says.
    pub body: Value,
    /// Whether it holds free text from outside.
    pub untrusted: bool,
}

/// The right to write to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The turn.
    pub turn: TurnId,
    /// The epoch in which the right was had.
    pub epoch: i64,
}

/// What one transaction adds to a turn. The default adds nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnWrite {
    /// Messages to keep, in order.
    pub messages: Vec<NewMessage>,
    /// Drops the deltas of this message, which is finished or given up.
    pub drop_deltas_of: Option<Uuid>,
    /// Events to show, in order.
    pub events: Vec<NewEvent>,
    /// Free text from outside enters the turn with this.
    pub untrusted: bool,
    /// A model request begins.
    pub request_begins: bool,
    /// Tokens read, to be added.
    pub input_tokens: i64,
    /// Tokens written, to be added.
    pub output_tokens: i64,
    /// Ends the turn: how, and why. Its event is written last, with the sums and the duration.
    pub finish: Option<(&'static str, Option<String>)>,
}

impl Storage {
    /// The turns.
    pub fn turns(&self) -> Turns {
        Turns { storage: self.clone() }
    }
}

#[derive(sqlx::FromRow)]
struct TurnRow {
    id: Uuid,
    session_id: Uuid,
    user_id: i64,
    roles: String,
    state: String,
    epoch: i64,
    stop_requested: i64,
    untrusted: i64,
    requests: i64,
    input_tokens: i64,
    output_tokens: i64,
    started_at: i64,
    token_id: Option<i64>,
    token_name: Option<String>,
}

impl TryFrom<TurnRow> for Turn {
    type Error = StorageError;

    fn try_from(row: TurnRow) -> Result<Self, StorageError> {
        Ok(Self {
            id: TurnId(row.id),
            session: SessionId(row.session_id),
            user: UserId(row.user_id),
            roles: serde_json::from_str(&row.roles)
                .map_err(|_| StorageError::corrupt("the roles of a turn"))?,
            state: row.state,
            epoch: row.epoch,
            stop_requested: row.stop_requested != 0,
            untrusted: row.untrusted != 0,
            requests: row.requests,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            started_at: from_micros(row.started_at)?,
            token: CallToken::of_columns(row.token_id, row.token_name),
        })
    }
}

const TURN: &str = "SELECT id, session_id, user_id, roles, state, epoch, stop_requested, untrusted, requests, \
     input_tokens, output_tokens, started_at, token_id, token_name FROM turns";

impl Turns {
    /// Keeps an operator's message and begins its turn, in one transaction. Returns the lease.
    ///
    /// # Errors
    ///
    /// Not found if the chat isn't the user's; a conflict if a turn is at work in it.
    pub async fn begin(&self, new: NewTurn) -> Result<Lease, StorageError> {
        let now = self.storage.now();
        self.storage.write(move |conn| Box::pin(begin(conn, new, now))).await
    }

    /// Adds to a turn. Returns the id of the last event written, if any. With its end, whatever it still asks people
    /// is withdrawn.
    ///
    /// # Errors
    ///
    /// A conflict if the lease is lost or the turn has ended; nothing is written then.
    pub async fn write(&self, lease: Lease, add: TurnWrite) -> Result<Option<i64>, StorageError> {
        let now = self.storage.now();
        let (last, changes) = self.storage.write(move |conn| Box::pin(write(conn, lease, add, now))).await?;
        changes.tell(&self.storage);
        Ok(last)
    }

    /// Looks one up.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(&self, id: TurnId) -> Result<Option<Turn>, StorageError> {
        let mut conn = self.storage.read().acquire().await?;
        find(&mut conn, id).await
    }

    /// Makes a lease hold for longer. `false` if it is lost or the turn has ended.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn renew(&self, lease: Lease, hold: Duration) -> Result<bool, StorageError> {
        let until = micros(self.storage.now() + hold);
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "UPDATE turns SET lease_until = $3 WHERE id = $1 AND epoch = $2 AND state = 'running'",
                    )
                    .bind(lease.turn.0)
                    .bind(lease.epoch)
                    .bind(until)
                    .execute(conn)
                    .await?;
                    Ok(done.rows_affected() == 1)
                })
            })
            .await
    }

    /// Notes that its owner wants a turn stopped. `false` if it isn't at work, or is somebody else's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn request_stop(&self, turn: TurnId, by: UserId) -> Result<bool, StorageError> {
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(
                        "UPDATE turns SET stop_requested = 1 WHERE id = $1 AND user_id = $2 AND state = 'running'",
                    )
                    .bind(turn.0)
                    .bind(by.0)
                    .execute(conn)
                    .await?;
                    Ok(done.rows_affected() == 1)
                })
            })
            .await
    }

    /// Takes over turns that nobody works on: those whose lease ran out, and, if this is the only worker of the
    /// database, those of all other workers. Their epoch rises, so that a worker that is still there after all
    /// can't do anything more for them.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn take_over(
        &self,
        worker: Uuid,
        sole: bool,
        hold: Duration,
    ) -> Result<Vec<Turn>, StorageError> {
        let now = self.storage.now();
        self.storage
            .write(move |conn| {
                Box::pin(async move {
                    let ids = sqlx::query_scalar::<_, Uuid>(
                        "UPDATE turns SET worker = $1, epoch = epoch + 1, lease_until = $2 \
                         WHERE state = 'running' AND (lease_until < $3 OR (worker <> $1 AND $4 = 1)) RETURNING id",
                    )
                    .bind(worker)
                    .bind(micros(now + hold))
                    .bind(micros(now))
                    .bind(i64::from(sole))
                    .fetch_all(&mut *conn)
                    .await?;
                    let mut turns = Vec::with_capacity(ids.len());
                    for id in ids {
                        turns.extend(find(conn, TurnId(id)).await?);
                    }
                    turns.sort_by_key(|turn| turn.id);
                    Ok(turns)
                })
            })
            .await
    }

    /// Messages of a turn that have deltas and were never finished.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn unfinished_messages(&self, turn: TurnId) -> Result<Vec<Uuid>, StorageError> {
        Ok(sqlx::query_scalar::<_, Uuid>(
            "SELECT DISTINCT delta_of FROM turn_events WHERE turn_id = $1 AND delta_of IS NOT NULL \
             AND kind <> 'chat.tool-progress.v1'",
        )
        .bind(turn.0)
        .fetch_all(self.storage.read())
        .await?)
    }
}

async fn find(conn: &mut Conn, id: TurnId) -> Result<Option<Turn>, StorageError> {
    let sql = format!("{TURN} WHERE id = $1");
    let row = sqlx::query_as::<_, TurnRow>(sqlx::AssertSqlSafe(sql)).bind(id.0).fetch_optional(conn).await?;
    row.map(Turn::try_from).transpose()
}

async fn begin(conn: &mut Conn, new: NewTurn, now: Timestamp) -> Result<Lease, StorageError> {
    let mut session = chats::find(conn, new.session, new.user)
        .await?
        .ok_or_else(|| StorageError::not_found(format!("chat {}", new.session)))?;
    if session.running_turn.is_some() {
        return Err(StorageError::conflict("a turn is at work in this chat; wait for it or stop it"));
    }
    let lease = Lease { turn: new.id, epoch: 1 };
    let roles =
        serde_json::to_string(&new.roles).map_err(|_| StorageError::corrupt("the roles of a turn"))?;
    sqlx::query(
        "INSERT INTO turns (id, session_id, user_id, roles, state, worker, epoch, lease_until, started_at, \
         token_id, token_name) VALUES ($1, $2, $3, $4, 'running', $5, $6, $7, $8, $9, $10)",
    )
    .bind(new.id.0)
    .bind(new.session.0)
    .bind(new.user.0)
    .bind(roles)
    .bind(new.worker)
    .bind(lease.epoch)
    .bind(micros(now + new.lease))
    .bind(micros(now))
    .bind(new.token.as_ref().map(|token| token.id))
    .bind(new.token.as_ref().map(|token| token.name.as_str()))
    .execute(&mut *conn)
    .await?;
    add_message(conn, new.session, new.id, &new.message, now).await?;
    for event in &new.events {
        chats::append_event(conn, (new.session, new.user), Some(new.id), event, now).await?;
    }
    session.updated_at = now;
    let had_title = !session.title.is_empty();
    if !had_title {
        session.title = new.title;
    }
    chats::save(conn, &session).await?;
    if !had_title {
        chats::announce(conn, &session, now).await?;
    }
    Ok(lease)
}

async fn write(
    conn: &mut Conn,
    lease: Lease,
    add: TurnWrite,
    now: Timestamp,
) -> Result<(Option<i64>, Changes), StorageError> {
    let turn =
        find(conn, lease.turn).await?.filter(|turn| turn.epoch == lease.epoch && turn.state == "running");
    let Some(turn) = turn else {
        return Err(StorageError::conflict("the turn has ended or another worker has taken it"));
    };
    for message in &add.messages {
        add_message(conn, turn.session, turn.id, message, now).await?;
    }
    if let Some(message) = add.drop_deltas_of {
        sqlx::query("DELETE FROM turn_events WHERE turn_id = $1 AND delta_of = $2")
            .bind(turn.id.0)
            .bind(message)
            .execute(&mut *conn)
            .await?;
    }
    let at = (turn.session, turn.user);
    let mut last = None;
    for event in &add.events {
        last = Some(chats::append_event(conn, at, Some(turn.id), event, now).await?);
    }
    if add.untrusted || add.request_begins || add.input_tokens != 0 || add.output_tokens != 0 {
        sqlx::query(
            "UPDATE turns SET untrusted = CASE WHEN $2 = 1 THEN 1 ELSE untrusted END, requests = requests + $3, \
             input_tokens = input_tokens + $4, output_tokens = output_tokens + $5 WHERE id = $1",
        )
        .bind(turn.id.0)
        .bind(i64::from(add.untrusted))
        .bind(i64::from(add.request_begins))
        .bind(add.input_tokens)
        .bind(add.output_tokens)
        .execute(&mut *conn)
        .await?;
    }
    let mut changes = Changes::default();
    if let Some((outcome, reason)) = add.finish {
        changes = withdraw_of_turn(conn, now, turn.id).await?;
        // The epoch rises once more, so that no call can start for a turn that has ended.
        sqlx::query(
            "UPDATE turns SET state = $2, reason = $3, finished_at = $4, epoch = epoch + 1 WHERE id = $1",
        )
        .bind(turn.id.0)
        .bind(outcome)
        .bind(&reason)
        .bind(micros(now))
        .execute(&mut *conn)
        .await?;
        let payload = json!({
            "outcome": outcome,
            "reason": reason,
            "usage": {
                "input_tokens": turn.input_tokens + add.input_tokens,
                "output_tokens": turn.output_tokens + add.output_tokens,
            },
            "duration_ms": (now - turn.started_at).num_milliseconds().max(0),
        });
        let event = NewEvent { kind: "chat.turn-finished.v1", payload, delta_of: None };
        last = Some(chats::append_event(conn, at, Some(turn.id), &event, now).await?);
        touch(conn, turn.session, now).await?;
    }
    Ok((last, changes))
}

async fn touch(conn: &mut Conn, session: SessionId, now: Timestamp) -> Result<(), StorageError> {
    sqlx::query("UPDATE sessions SET updated_at = $2 WHERE id = $1")
        .bind(session.0)
        .bind(micros(now))
        .execute(conn)
        .await?;
    Ok(())
}

async fn add_message(
    conn: &mut Conn,
    session: SessionId,
    turn: TurnId,
    message: &NewMessage,
    now: Timestamp,
) -> Result<(), StorageError> {
    let position = sqlx::query_scalar::<_, i64>(
        "UPDATE sessions SET last_position = last_position + 1 WHERE id = $1 RETURNING last_position",
    )
    .bind(session.0)
    .fetch_one(&mut *conn)
    .await?;
    sqlx::query(
        "INSERT INTO messages (id, session_id, turn_id, position, body, untrusted, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(message.id)
    .bind(session.0)
    .bind(turn.0)
    .bind(position)
    .bind(message.body.to_string())
    .bind(i64::from(message.untrusted))
    .bind(micros(now))
    .execute(conn)
    .await?;
    Ok(())
}

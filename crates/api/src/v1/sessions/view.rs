//! A chat and its events as the API shows them.

use chrono::{DateTime, Utc};
use model::{SessionId, TurnId, UserId};
use serde::Serialize;
use serde_json::Value;
use storage::chats::{Session, TurnEvent};
use utoipa::ToSchema;

/// A chat.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionView {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: SessionId,
    /// Its title; empty before the first message.
    pub title: String,
    /// Kept at the top of the list.
    pub pinned: bool,
    /// Put away.
    pub archived: bool,
    /// Its model; absent follows the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whose it is.
    #[schema(value_type = i64)]
    pub owner_id: UserId,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// The turn that is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub running_turn_id: Option<TurnId>,
}

impl From<Session> for SessionView {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            title: session.title,
            pinned: session.pinned,
            archived: session.archived,
            model: session.model,
            owner_id: session.owner,
            created_at: session.created_at,
            updated_at: session.updated_at,
            running_turn_id: session.running_turn,
        }
    }
}

/// An event of a chat. Live stream and replay show the same.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = TurnEvent)]
pub struct TurnEventView {
    /// Rises in the order in which events became durable; the id in the event stream.
    pub id: i64,
    /// The chat.
    #[schema(value_type = Uuid)]
    pub session_id: SessionId,
    /// The turn; absent for changes of the chat itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub turn_id: Option<TurnId>,
    /// Rises within its chat; gaps are deltas that a finished message replaced.
    pub seq: i64,
    /// What happened, for example `chat.message.v1`.
    pub kind: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What of it is to be shown.
    pub payload: Value,
}

impl From<TurnEvent> for TurnEventView {
    fn from(event: TurnEvent) -> Self {
        Self {
            id: event.id,
            session_id: event.session_id,
            turn_id: event.turn_id,
            seq: event.seq,
            kind: event.kind,
            at: event.at,
            payload: event.payload,
        }
    }
}

/// Checks a title.
pub(super) fn check_title(title: &str) -> Result<(), crate::error::ApiError> {
    if title.chars().count() > 200 {
        return Err(crate::error::ApiError::invalid("/title", "must have at most 200 characters"));
    }
    Ok(())
}

//! Why a turn could not begin or be stopped. How a turn itself went is in its events.

use crate::ModelUnavailable;
use model::{Classify, ErrorKind, SessionId};
use storage::StorageError;

/// Why a turn could not begin or be stopped.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The access mode shuts the person out.
    #[error("chat is not open to you; an admin can change this under Settings")]
    NoAccess,
    /// There is no such chat, or it is somebody else's.
    #[error("there is no chat {0}")]
    NoSession(SessionId),
    /// The message can't be taken as it is.
    #[error("{0}")]
    BadMessage(String),
    /// The chat has a turn at work.
    #[error("a turn is at work in this chat; wait for it or stop it")]
    Busy,
    /// As many turns are at work as may be.
    #[error("{0} turns are at work, which is the limit; try again in a moment")]
    TooMany(usize),
    /// The chat's model can't be used.
    #[error("the model can't be used: {0}")]
    Model(#[from] ModelUnavailable),
    /// The database failed.
    #[error("the chat could not be written or read")]
    Storage(#[source] StorageError),
}

impl From<StorageError> for AgentError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl Classify for AgentError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoAccess => ErrorKind::Forbidden,
            Self::NoSession(_) => ErrorKind::NotFound,
            Self::BadMessage(_) => ErrorKind::Invalid,
            Self::Busy | Self::Model(_) => ErrorKind::Conflict,
            Self::TooMany(_) => ErrorKind::TooMany,
            Self::Storage(error) => error.kind(),
        }
    }
}

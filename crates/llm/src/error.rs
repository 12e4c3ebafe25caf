//! Why a model gave no answer.

use model::{Classify, ErrorKind};
use std::time::Duration;

/// Why a model gave no answer. The texts come from the provider, cut short, and hold no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is missing, wrong, or lacks the right.
    #[error("the model provider refused the credentials: {0}")]
    Auth(String),
    /// The account's budget is used up. Waiting doesn't help.
    #[error("the model provider's quota is used up: {0}")]
    Quota(String),
    /// Too many requests in too short a time.
    #[error("the model provider limits the rate of requests: {message}")]
    RateLimited {
        /// What the provider said.
        message: String,
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The provider can't serve at the moment.
    #[error("the model provider is overloaded or down: {message}")]
    Overloaded {
        /// What the provider said.
        message: String,
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The conversation doesn't fit the model.
    #[error("the conversation is longer than the model can read: {0}")]
    ContextTooLong(String),
    /// The provider withheld the answer.
    #[error("the model provider's content filter stopped the answer: {0}")]
    ContentFilter(String),
    /// The provider doesn't take the request as it is: wrong model name, unsupported field.
    #[error("the model provider did not accept the request: {0}")]
    BadRequest(String),
    /// The provider can't be reached, or went silent.
    #[error("the model provider can't be reached: {0}")]
    Network(String),
    /// The provider broke its own protocol; the answer can't be trusted to be whole.
    #[error("the model provider's answer broke off or made no sense: {0}")]
    Protocol(String),
    /// The request was stopped from our side.
    #[error("the request to the model was stopped")]
    Cancelled,
}

impl LlmError {
    /// Whether the same request may work a moment later. Only asked where nothing of the answer had arrived.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Network(_))
    }

    /// Whether another key of the same account or person may do better.
    pub(crate) fn is_of_the_key(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Quota(_) | Self::Auth(_))
    }

    /// Whether another provider may do better with the same request.
    pub fn is_of_the_provider(&self) -> bool {
        self.is_transient() || self.is_of_the_key() || matches!(self, Self::Protocol(_))
    }

    /// How long the provider asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Classify for LlmError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::RateLimited { .. } | Self::Quota(_) => ErrorKind::TooMany,
            Self::ContextTooLong(_) | Self::ContentFilter(_) | Self::BadRequest(_) => ErrorKind::Invalid,
            Self::Auth(_) | Self::Overloaded { .. } | Self::Network(_) | Self::Protocol(_) => {
                ErrorKind::Unavailable
            }
            Self::Cancelled => ErrorKind::Conflict,
        }
    }
}

//! What can go wrong with the fleet.

use model::{Classify, EdgeId, ErrorKind};
use storage::StorageError;
use tunnel::pki::PkiError;

/// What can go wrong with the fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// There is no such host.
    #[error("host {0} not found")]
    NotFound(EdgeId),
    /// There is no such token.
    #[error("enrolment token {0} not found")]
    NoToken(i64),
    /// The host is away.
    #[error("host `{name}` is not connected")]
    Offline {
        /// Its name.
        name: String,
    },
    /// A name that can't be a host's.
    #[error("a host's name is 1 to 64 letters, digits, `.`, `-` or `_`, and begins with a letter or digit")]
    BadName,
    /// Labels that can't be a host's.
    #[error(
        "at most 32 labels; a label's name is 1 to 64 letters, digits, `.`, `-`, `_` or `/`, its value at most 128 characters"
    )]
    BadLabels,
    /// A token that would last too long.
    #[error("an enrolment token lasts from 60 to 3600 seconds")]
    BadTtl,
    /// The edge didn't do its part of a renewal.
    #[error("the edge did not take a new certificate: {0}")]
    Renewal(String),
    /// The tunnel's port can't be used.
    #[error("the tunnel can't listen")]
    Listen(#[source] std::io::Error),
    /// A key or certificate can't be made.
    #[error("failed to make a certificate")]
    Pki(#[from] PkiError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Classify for FleetError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound(_) | Self::NoToken(_) => ErrorKind::NotFound,
            Self::BadName | Self::BadLabels | Self::BadTtl => ErrorKind::Invalid,
            Self::Offline { .. } => ErrorKind::Conflict,
            Self::Renewal(_) | Self::Listen(_) => ErrorKind::Unavailable,
            Self::Pki(error) => error.kind(),
            Self::Storage(error) => error.kind(),
        }
    }
}

//! What can go wrong in the database.

use model::{Classify, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

/// What can go wrong in the database. Cloneable, because one failed commit fails every job of its group.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// The database file or its directory can't be made or opened.
    #[error("cannot open `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A statement failed.
    #[error("the database refused a statement")]
    Database(#[source] Arc<sqlx::Error>),
    /// A migration failed, or the database is from a newer version.
    #[error("the database can't be brought to this version")]
    Migrate(#[source] Arc<sqlx::migrate::MigrateError>),
    /// A group of writes could not be made durable; none of them happened.
    #[error("the write could not be committed")]
    Commit(#[source] Arc<sqlx::Error>),
    /// The writer has stopped.
    #[error("the database is closed")]
    Closed,
    /// A job panicked; its changes were taken back.
    #[error("a database job panicked: {0}")]
    Panicked(String),
    /// A job held the writer for too long; its changes were taken back.
    #[error("a database job took longer than {0} s")]
    TooSlow(u64),
    /// There is no such row.
    #[error("{what} not found")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// The write clashes with what is there.
    #[error("{reason}")]
    Conflict {
        /// A sentence for people.
        reason: String,
    },
    /// A stored value can't be read back.
    #[error("the database holds a value that can't be read: {what}")]
    Corrupt {
        /// What it is.
        what: String,
    },
    /// A stored secret can't be decrypted: another key file, another owner, or tampering.
    #[error("a stored secret can't be decrypted with this key file")]
    Sealed,
}

impl StorageError {
    /// There is no `what`.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }

    /// The write clashes, for `reason`.
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::Conflict { reason: reason.into() }
    }

    /// `what` can't be read back.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Whether a unique or primary key was taken.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error)
            if error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation))
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

impl Classify for StorageError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::File { .. } | Self::Commit(_) | Self::Closed | Self::TooSlow(_) => ErrorKind::Unavailable,
            Self::Database(error) if is_busy_or_full(error) => ErrorKind::Unavailable,
            Self::Database(_)
            | Self::Migrate(_)
            | Self::Panicked(_)
            | Self::Corrupt { .. }
            | Self::Sealed => ErrorKind::Internal,
        }
    }
}

/// Whether waiting or making room helps: SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, a full pool.
fn is_busy_or_full(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error
            .code()
            .and_then(|code| code.parse::<u32>().ok())
            .is_some_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13)),
        _ => false,
    }
}

//! The database: one writer with group commit, a pool of readers, and a repository per aggregate.
//!
//! Callers hold repositories and never see SQL. SQLite (WAL, `synchronous=FULL`) is the embedded default; the SQL is
//! written so that PostgreSQL takes it too. Decisions stay out: the gate makes them, this crate keeps them.

pub mod approvals;
pub mod approvers;
pub mod artifacts;
pub mod audit;
pub mod calls;
pub mod chats;
mod crypt;
pub mod edges;
mod error;
pub mod freezes;
pub mod grants;
pub mod models;
pub mod packs;
mod reach;
pub mod settings;
pub mod signins;
pub mod sops;
mod sql;
pub mod throttle;
mod time;
pub mod tokens;
pub mod turns;
pub mod users;
mod writer;

pub use audit::{Actor, AuditEntry};
pub use crypt::MasterKey;
pub use error::StorageError;
pub use time::{from_micros, micros};
pub use writer::{Conn, WriterStats};

use approvals::ApprovalChange;
use calls::CallChange;
use freezes::FreezeBook;
use futures::future::BoxFuture;
use model::{Clock, Timestamp};
use reach::ReachBook;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use writer::Writer;

/// The readers.
pub type Pool = sqlx::SqlitePool;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/sqlite");

const MAX_READERS: u32 = 8;
/// Changes of calls that are kept for a slow receiver.
const CALL_CHANGES: usize = 1024;
/// Changes of approvals that are kept for a slow receiver.
const APPROVAL_CHANGES: usize = 1024;
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Storage {
    writer: Writer,
    readers: Pool,
    clock: Arc<dyn Clock>,
    keys: MasterKey,
    call_changes: broadcast::Sender<CallChange>,
    approval_changes: broadcast::Sender<ApprovalChange>,
    freezes: Arc<FreezeBook>,
    reaches: Arc<ReachBook>,
}

impl Storage {
    /// Opens the database file, making it (0600) if there is none, and brings it to this version.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be opened, is no database, or was written by a newer version.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>, keys: MasterKey) -> Result<Self, StorageError> {
        make_private_file(path)
            .map_err(|source| StorageError::File { path: path.to_owned(), source: Arc::new(source) })?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            // Without it, REPLACE deletes rows without asking the delete triggers of the audit log.
            .pragma("recursive_triggers", "ON")
            .disable_statement_logging();
        let mut conn = options.connect().await?;
        MIGRATIONS.run(&mut conn).await.map_err(|error| StorageError::Migrate(Arc::new(error)))?;
        drop(conn);
        let writer = Writer::start(options.clone()).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(MAX_READERS)
            .acquire_timeout(BUSY_TIMEOUT)
            .connect_with(options.pragma("query_only", "ON"))
            .await?;
        let (call_changes, _) = broadcast::channel(CALL_CHANGES);
        let (approval_changes, _) = broadcast::channel(APPROVAL_CHANGES);
        let freezes = writer.write(|conn| Box::pin(freezes::load(conn))).await?;
        let freezes = Arc::new(FreezeBook::new(freezes));
        let reaches = writer.write(|conn| Box::pin(reach::load(conn))).await?;
        let reaches = Arc::new(ReachBook::new(reaches));
        let storage = Self { writer, readers, clock, keys, call_changes, approval_changes, freezes, reaches };
        let now = storage.now();
        storage.write(move |conn| Box::pin(audit::begin_chain(conn, now))).await?;
        Ok(storage)
    }

    /// Runs a job in a savepoint of its own inside a group-committed transaction, and returns after the commit is
    /// durable. If the job fails or panics, its changes are taken back.
    ///
    /// Cancel safety: dropping the future doesn't take the job back; it may or may not happen.
    ///
    /// # Errors
    ///
    /// Fails with the job's error, or if the group can't be committed.
    pub async fn write<F, T>(&self, work: F) -> Result<T, StorageError>
    where
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StorageError>> + Send + 'static,
        T: Send + 'static,
    {
        self.writer.write(work).await
    }

    /// The readers. They can't write.
    pub fn read(&self) -> &Pool {
        &self.readers
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What encrypts secrets at rest.
    pub fn keys(&self) -> &MasterKey {
        &self.keys
    }

    /// What the writer did since the start.
    pub fn stats(&self) -> WriterStats {
        self.writer.stats()
    }

    /// Finishes queued writes and closes all connections. Writes after it fail.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Makes folder (0700) and file (0600). SQLite gives its journal files the permissions of the database.
fn make_private_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut permissions = fs::metadata(path)?.permissions();
            if permissions.mode() & 0o077 != 0 {
                permissions.set_mode(0o600);
                fs::set_permissions(path, permissions)?;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

//! Where the chain stands within the group of jobs that is being written.
//!
//! It is read once for a group, inside its transaction, moves with each row, and is written once, before the commit. So
//! another process that appends (a command on a stopped manager's database, say) is never overwritten.

use crate::{Conn, StorageError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

tokio::task_local! {
    static HEAD: ChainHead;
}

/// The newest row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) chain_id: Uuid,
    pub(super) seq: i64,
    pub(super) hash: Vec<u8>,
}

/// What the group knows of the chain. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChainHead(Arc<Mutex<Known>>);

/// What is known at one moment; goes back with a job that is taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    head: Option<Head>,
    moved: bool,
}

/// The columns that [`ChainHead::read`] takes.
pub(crate) type HeadRow = (Uuid, i64, Vec<u8>);

/// Reads the newest row of the chain that is appended to.
pub(crate) const READ_HEAD: &str =
    "SELECT chain_id, head_seq, head_hash FROM audit_chains ORDER BY created_at LIMIT 1";

impl ChainHead {
    /// The head as a group found it; `None` before there is a chain.
    pub(crate) fn read(row: Option<HeadRow>) -> Self {
        let head = row.map(|(chain_id, seq, hash)| Head { chain_id, seq, hash });
        Self(Arc::new(Mutex::new(Known { head, moved: false })))
    }

    /// Runs a job of the group.
    pub(crate) async fn within<T>(&self, job: impl Future<Output = T>) -> T {
        HEAD.scope(self.clone(), job).await
    }

    /// What is known now.
    pub(crate) fn known(&self) -> Known {
        self.lock().clone()
    }

    /// Goes back to what was known.
    pub(crate) fn go_back(&self, known: Known) {
        *self.lock() = known;
    }

    /// What the chain's row has to say, if this group appended to it.
    pub(crate) fn moved(&self) -> Option<HeadRow> {
        let known = self.lock();
        let Head { chain_id, seq, hash } = known.head.clone().filter(|_| known.moved)?;
        Some((chain_id, seq, hash))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The head for a job that appends.
///
/// # Errors
///
/// Fails if there is no chain, the database does, or this isn't the writer's job.
pub(super) async fn current(conn: &mut Conn) -> Result<Head, StorageError> {
    let known = HEAD.try_with(|head| head.lock().head.clone()).map_err(|_| outside())?;
    if let Some(head) = known {
        return Ok(head);
    }
    // The job itself has just begun the chain.
    let (chain_id, seq, hash) = sqlx::query_as::<_, HeadRow>(READ_HEAD).fetch_one(&mut *conn).await?;
    Ok(Head { chain_id, seq, hash })
}

/// Moves it, once the row is there.
pub(super) fn advance(head: Head) -> Result<(), StorageError> {
    HEAD.try_with(|now| *now.lock() = Known { head: Some(head), moved: true }).map_err(|_| outside())
}

fn outside() -> StorageError {
    StorageError::corrupt("an audit row outside of the writer")
}

//! Which hosts people may see and use. What holds is in memory too, so that whoever decides on a call never waits for the
//! database; it is changed only after the commit.

use crate::users::Users;
use crate::{Conn, StorageError};
use model::{Reach, UserId};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The accounts that are restricted.
pub(crate) type Reaches = BTreeMap<UserId, Arc<Reach>>;

/// What holds, in memory.
#[derive(Debug)]
pub(crate) struct ReachBook {
    reaches: RwLock<Reaches>,
    /// Held while it is changed, so that the later change is the later one in memory too.
    pub(crate) changing: tokio::sync::Mutex<()>,
}

impl ReachBook {
    pub(crate) fn new(reaches: Reaches) -> Self {
        Self { reaches: RwLock::new(reaches), changing: tokio::sync::Mutex::default() }
    }

    pub(crate) fn set(&self, reaches: Reaches) {
        // Only ever replaced as a whole, so a panic elsewhere doesn't spoil it.
        *self.reaches.write().unwrap_or_else(PoisonError::into_inner) = reaches;
    }

    fn of(&self, user: UserId) -> Arc<Reach> {
        self.reaches.read().unwrap_or_else(PoisonError::into_inner).get(&user).cloned().unwrap_or_default()
    }
}

impl Users<'_> {
    /// Which hosts an account may see and use, now; all, for accounts that aren't restricted.
    pub fn reach_of(&self, id: UserId) -> Arc<Reach> {
        self.storage().reaches.of(id)
    }
}

/// Reads what holds, of deleted accounts too: what they had asked for may not have ended yet.
pub(crate) async fn load(conn: &mut Conn) -> Result<Reaches, StorageError> {
    let rows: Vec<(i64, String)> =
        sqlx::query_as("SELECT id, reach FROM users WHERE reach <> '{}'").fetch_all(conn).await?;
    let mut reaches = Reaches::new();
    for (id, text) in rows {
        let reach = read(&text)?;
        if !reach.is_everywhere() {
            reaches.insert(UserId(id), Arc::new(reach));
        }
    }
    Ok(reaches)
}

/// Reads one; what can't be read is an error and never "all hosts".
pub(crate) fn read(text: &str) -> Result<Reach, StorageError> {
    serde_json::from_str(text).map_err(|_| StorageError::corrupt("the hosts of an account"))
}

pub(crate) fn write(reach: &Reach) -> Result<String, StorageError> {
    serde_json::to_string(reach).map_err(|_| StorageError::corrupt("the hosts of an account"))
}

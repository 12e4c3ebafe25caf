//! What an edge remembers over restarts.

use crate::files::{read_json, write_json};
use crate::{DataDir, EdgeError};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// What the manager relies on. On the disk before the manager is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Durable {
    /// The last epoch that the manager handed out.
    pub(crate) epoch: u64,
    /// Mutating and dangerous calls are stopped.
    pub(crate) frozen: bool,
}

/// The durable state and its file.
#[derive(Debug)]
pub(crate) struct DurableState {
    dir: DataDir,
    current: Mutex<Durable>,
}

impl DurableState {
    pub(crate) fn load(dir: DataDir) -> Result<Self, EdgeError> {
        let current = read_json(&dir.state())?.unwrap_or_default();
        Ok(Self { dir, current: Mutex::new(current) })
    }

    pub(crate) fn get(&self) -> Durable {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state; it is on the disk when this returns, or nothing has changed.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Durable)) -> Result<(), EdgeError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = *current;
        change(&mut next);
        if next != *current {
            write_json(&self.dir.state(), &next)?;
            *current = next;
        }
        Ok(())
    }
}

/// Where the connection to the manager stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionPhase {
    /// It is up.
    Connected,
    /// It was up and ended.
    Ended,
    /// The manager doesn't want this edge.
    Refused,
    /// It couldn't be made.
    Failed,
}

/// How the last connection went, for `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastConnection {
    /// When this was written.
    pub at: Timestamp,
    /// Where it stands.
    pub phase: ConnectionPhase,
    /// A sentence.
    pub detail: String,
}

impl LastConnection {
    /// Reads it; `None` if there never was one, or the file can't be read.
    pub fn load(dir: &DataDir) -> Option<Self> {
        read_json(&dir.connection()).ok().flatten()
    }

    /// Keeps it. It only helps people, so a failure is no reason to stop.
    pub(crate) fn store(&self, dir: &DataDir) {
        if let Err(error) = write_json(&dir.connection(), self) {
            tracing::warn!(%error, "could not keep how the connection went");
        }
    }
}

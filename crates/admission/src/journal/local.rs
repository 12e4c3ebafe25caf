//! Calls that root makes on the host itself: each has a journal file of its own, because the edge may run at the same
//! time. The one that runs the call holds the file's lock; the edge tells the manager of those that have ended, and
//! removes their files when the manager has them.

use super::index::Entry;
use super::{Accepted, Index, Journal, JournalOptions, log, settled};
use crate::Ended;
use model::{CallId, Clock};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Calls that wait to be told. More aren't taken on.
const MAX_WAITING: usize = 1000;

const EXTENSION: &str = "journal";

/// A local call that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalCall {
    /// What was let through.
    pub accepted: Accepted,
    /// How it ended, as far as that was kept.
    pub ended: Ended,
}

/// The directory of the local calls' files.
#[derive(Clone, Debug)]
pub struct LocalCalls {
    folder: PathBuf,
    boot_id: String,
}

impl LocalCalls {
    /// The calls in `folder`, which need not be there yet.
    pub fn new(folder: PathBuf, boot_id: String) -> Self {
        Self { folder, boot_id }
    }

    /// A journal for one call.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be used, or too many calls wait to be told to the manager.
    pub fn journal(&self, call_id: CallId, clock: Arc<dyn Clock>) -> io::Result<Journal> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let waiting = self.files()?.len();
        if waiting >= MAX_WAITING {
            return Err(io::Error::other(format!(
                "{waiting} local calls wait to be told to the manager, the limit; start the edge (steadyhand-edge run), so that it can"
            )));
        }
        Ok(Journal::open(JournalOptions::new(self.path(call_id), self.boot_id.clone(), clock)))
    }

    /// How many have ended and wait to be told.
    pub fn waiting(&self) -> usize {
        let files = self.files().unwrap_or_default();
        files.iter().filter(|path| matches!(is_running(path), Ok(false))).count()
    }

    /// Those that have ended, oldest first. A file that can't be read is told in the log and left.
    pub fn ended(&self) -> Vec<LocalCall> {
        let mut calls = Vec::new();
        for path in self.files().unwrap_or_default() {
            match self.read(&path) {
                Ok(call) => calls.extend(call),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a local call can't be read, so the manager isn't told of it");
                }
            }
        }
        calls
    }

    /// Removes the files of calls that the manager has.
    ///
    /// # Errors
    ///
    /// Fails if the disk does; then some are told again.
    pub fn forget(&self, calls: &[CallId]) -> io::Result<()> {
        for call_id in calls {
            let path = self.path(*call_id);
            match is_running(&path) {
                Ok(false) => fs::remove_file(&path)?,
                Ok(true) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        match File::open(&self.folder) {
            Ok(folder) => folder.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn path(&self, call_id: CallId) -> PathBuf {
        self.folder.join(format!("{call_id}.{EXTENSION}"))
    }

    /// The files, oldest first: their names are ids that sort by time.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push(path);
            }
        }
        model::order::sort(&mut files);
        Ok(files)
    }

    fn read(&self, path: &Path) -> io::Result<Option<LocalCall>> {
        if is_running(path)? {
            return Ok(None);
        }
        let content = log::read(path)?;
        if let Some(damage) = content.damage {
            return Err(io::Error::other(damage));
        }
        let index = Index::replay(&content.records);
        Ok(index.calls().next().map(|Entry { accepted, ended, .. }| LocalCall {
            ended: ended.as_ref().map_or_else(|| settled(accepted, &self.boot_id), |ended| ended.ended()),
            accepted: accepted.clone(),
        }))
    }
}

/// Whether the process that runs the call is alive: it holds the lock.
fn is_running(path: &Path) -> io::Result<bool> {
    match File::open(path)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

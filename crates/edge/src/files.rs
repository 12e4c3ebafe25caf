//! The data directory, and files that survive a power cut.

use crate::EdgeError;
use admission::replace_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Where the configuration is, unless told otherwise.
pub const DEFAULT_CONFIG: &str = "/etc/steadyhand/edge.toml";

/// Where the edge keeps its key and its state, unless told otherwise.
pub const DEFAULT_DIR: &str = "/var/lib/steadyhand-edge";

/// Where an edge keeps its key and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// The directory at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Key, certificate and authority.
    pub fn identity(&self) -> PathBuf {
        self.0.join("identity.pem")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state.json")
    }

    /// What must outlive the edge about calls that change something.
    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("calls.journal")
    }

    /// A journal for each call that root makes here without the manager.
    pub(crate) fn local(&self) -> PathBuf {
        self.0.join("local")
    }

    /// The highest version of the list of approvers, and how often each step of a procedure has run.
    pub(crate) fn signed(&self) -> PathBuf {
        self.0.join("signed.json")
    }

    /// Calls that were refused for their evidence.
    pub(crate) fn refusals(&self) -> PathBuf {
        self.0.join("refusals.json")
    }

    pub(crate) fn connection(&self) -> PathBuf {
        self.0.join("connection.json")
    }

    /// The copies from which packs run.
    pub(crate) fn packs(&self) -> PathBuf {
        self.0.join("packs")
    }

    /// The copies of a command line that runs beside the edge.
    pub(crate) fn local_packs(&self, process: u32) -> PathBuf {
        self.0.join(format!("packs.{process}"))
    }

    /// Makes the directory, readable by its owner only.
    pub(crate) fn create(&self) -> Result<(), EdgeError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
            .map_err(|source| EdgeError::File { path: self.0.clone(), source })
    }

    /// Takes the directory for this process. Also where it can't be written: then the file that is there is locked, or
    /// the directory itself.
    pub(crate) fn lock(&self) -> Result<Lock, EdgeError> {
        let path = self.0.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .or_else(|error| match error.kind() {
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull => {
                    File::open(&path).or_else(|_| File::open(&self.0))
                }
                _ => Err(error),
            })
            .map_err(|source| EdgeError::File { path: path.clone(), source })?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(EdgeError::AlreadyRunning { dir: self.0.clone() }),
            Err(error) => Err(EdgeError::File { path, source: error.into() }),
        }
    }
}

/// Held for as long as this process may use the directory. The kernel gives it back however the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Reads a JSON file; `None` if there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EdgeError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(EdgeError::File { path: path.to_owned(), source }),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| EdgeError::Damaged { path: path.to_owned(), problem: error.to_string() })
}

/// Puts a JSON file in place as a whole; it is on the disk when this returns.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), EdgeError> {
    let text = serde_json::to_vec_pretty(value)
        .map_err(|error| EdgeError::Damaged { path: path.to_owned(), problem: error.to_string() })?;
    replace_file(path, &text, 0o600).map_err(|source| EdgeError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::new(folder.path());
        let lock = dir.lock().unwrap();
        assert!(matches!(dir.lock(), Err(EdgeError::AlreadyRunning { .. })));
        drop(lock);
        dir.lock().unwrap();
    }
}

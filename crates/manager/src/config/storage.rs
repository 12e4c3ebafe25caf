//! `[storage]`: where data is kept.

use super::reader::Reader;
use std::path::PathBuf;

/// Where data is kept.
#[derive(Clone, Debug)]
pub struct StorageConfig {
    /// A directory of the manager's own: database, key file, certificate authority. Default: `/var/lib/steadyhand`.
    pub dir: PathBuf,
}

impl StorageConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self { dir: reader.text("storage.dir").unwrap_or_else(|| "/var/lib/steadyhand".to_owned()).into() }
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.dir.join("steadyhand.db")
    }

    /// The key under which secrets are kept in the database.
    pub fn master_key(&self) -> PathBuf {
        self.dir.join("master.key")
    }

    /// The copies of packs, from which they run.
    pub fn packs(&self) -> PathBuf {
        self.dir.join("packs")
    }

    /// The token of the command line of this machine.
    pub fn cli_token(&self) -> PathBuf {
        self.dir.join("cli.token")
    }

    /// Where the console of the process that serves is, for the command line.
    pub fn console_address(&self) -> PathBuf {
        self.dir.join("console.addr")
    }
}

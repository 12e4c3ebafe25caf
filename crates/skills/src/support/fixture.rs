//! A host for tests: a folder that stands for `/`, a clock that stands still, rules of its own.

use model::Timestamp;
use skill::{AddressRules, FileRules, Host, SkillContext};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct FakeHost {
    root: TempDir,
    files: FileRules,
    addresses: AddressRules,
    now: Timestamp,
}

impl FakeHost {
    /// A host with an empty root.
    pub(crate) fn empty() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            files: FileRules::default(),
            addresses: AddressRules::default(),
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
        }
    }

    pub(crate) fn with_addresses(mut self, addresses: AddressRules) -> Self {
        self.addresses = addresses;
        self
    }

    pub(crate) fn with_files(mut self, files: FileRules) -> Self {
        self.files = files;
        self
    }

    /// Writes a file below the root.
    pub(crate) fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Writes an executable below the root.
    pub(crate) fn with_program(self, path: &str, script: &str) -> Self {
        self.write(path, script);
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.path(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    /// A context with this host.
    pub(crate) fn context(self) -> SkillContext {
        SkillContext::new(Arc::new(self))
    }
}

impl Host for FakeHost {
    fn root(&self) -> &Path {
        self.root.path()
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn file_rules(&self) -> &FileRules {
        &self.files
    }

    fn address_rules(&self) -> &AddressRules {
        &self.addresses
    }
}

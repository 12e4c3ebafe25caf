//! The machine itself.

use model::{Clock, Timestamp};
use skill::{AddressRules, ChangeRules, FileRules, Host};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the edge's configuration says about the machine.
#[derive(Clone, Debug)]
pub struct RealHostConfig {
    /// Where the machine's root is. `/`, but for an agent in a container that has the host's root mounted.
    pub root: PathBuf,
    /// Which files may be read. The agent's own key directory belongs into `denied`.
    pub files: FileRules,
    /// Which addresses may be probed, and which are the product's own.
    pub addresses: AddressRules,
    /// What may be changed, and what is the agent's own.
    pub changes: ChangeRules,
}

impl Default for RealHostConfig {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            files: FileRules::default(),
            addresses: AddressRules::default(),
            changes: ChangeRules::default(),
        }
    }
}

/// The machine itself.
#[derive(Clone, Debug)]
pub struct RealHost {
    config: RealHostConfig,
    clock: Arc<dyn Clock>,
}

impl RealHost {
    /// Joins configuration and clock.
    pub fn new(config: RealHostConfig, clock: Arc<dyn Clock>) -> Self {
        Self { config, clock }
    }
}

impl Host for RealHost {
    fn root(&self) -> &Path {
        &self.config.root
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn file_rules(&self) -> &FileRules {
        &self.config.files
    }

    fn address_rules(&self) -> &AddressRules {
        &self.config.addresses
    }

    fn change_rules(&self) -> &ChangeRules {
        &self.config.changes
    }
}

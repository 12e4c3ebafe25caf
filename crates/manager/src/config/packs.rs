//! `[packs]`: packs whose skills of scope manager run beside the manager.

use super::environment::Environment;
use super::reader::Reader;
use model::Class;
use packs::LoadRules;
use std::path::PathBuf;

/// Packs whose skills of scope manager run beside the manager, once an admin has accepted them.
#[derive(Clone, Debug)]
pub struct PacksConfig {
    /// Each directory in these is a pack. Default: `/usr/lib/steadyhand/packs` and `/etc/steadyhand/packs`, which an edge
    /// on the same machine reads too.
    pub dirs: Vec<PathBuf>,
    /// The class of a skill whose manifest names none. Default: dangerous.
    pub default_class: Class,
    /// Whether packs may use the network. Default: true; each one says in its manifest whether it wants to.
    pub network: bool,
    /// Packs may write only below these. Default: wherever their manifests say.
    pub write_roots: Vec<PathBuf>,
    /// What manifests may ask to have handed on.
    environment: packs::Environment,
}

/// Where packs are looked for if the configuration names no place.
const DIRS: &[&str] = &["/usr/lib/steadyhand/packs", "/etc/steadyhand/packs"];

impl PacksConfig {
    pub(super) fn read(reader: &mut Reader<'_>, environment: &dyn Environment) -> Self {
        Self {
            dirs: reader.folders("packs.dirs").unwrap_or_else(|| DIRS.iter().map(PathBuf::from).collect()),
            default_class: reader
                .parsed("packs.default_class", "\"safe\", \"mutating\" or \"dangerous\"")
                .unwrap_or(Class::Dangerous),
            network: reader.flag("packs.network").unwrap_or(true),
            write_roots: reader.folders("packs.write_roots").unwrap_or_default(),
            environment: packs::Environment(environment.with_prefix("").into_iter().collect()),
        }
    }

    /// The rules by which packs are loaded; their copies are kept in `keep`.
    pub(crate) fn rules(&self, keep: PathBuf) -> LoadRules {
        LoadRules {
            default_class: self.default_class,
            network: self.network,
            write_roots: self.write_roots.clone(),
            environment: self.environment.clone(),
            ..LoadRules::new(self.dirs.clone(), keep)
        }
    }
}

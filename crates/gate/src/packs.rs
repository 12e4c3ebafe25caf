//! Packs: what an edge tells of one, and which of them an admin accepted. The others are inert, since the catalogue
//! does not have them.

use arc_swap::ArcSwap;
use model::{Class, Scope, UserId, canonical};
use serde::{Deserialize, Serialize};
use serde_json::json;
use skill::{Capability, Catalogue, Definition, Source};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use storage::packs::PackPin;
use storage::{Actor, Storage, StorageError};
use tokio::sync::{Mutex, watch};
use tracing::warn;

/// A pack as an edge tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PackFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 (hex) over its files; empty if it is broken.
    pub digest: String,
    /// What it is for.
    pub description: String,
    /// Whether it lies beside the manager, so that its skills are those of scope manager. Else a host tells of it.
    pub beside_manager: bool,
    /// Its skills of that scope.
    pub definitions: Vec<Definition>,
    /// What its calls may reach, in words.
    pub reach: Vec<String>,
    /// Sentences about it.
    pub warnings: Vec<String>,
    /// Where it is.
    pub path: String,
    /// Why it can't be used; empty if it can.
    pub error: String,
}

/// Why a pack can't be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PackProblem(pub String);

impl PackFacts {
    /// What is accepted: one digest over everything that an admin is shown. Two hosts that tell different things of
    /// the same files have two.
    pub fn pin(&self) -> String {
        canonical::digest(&json!({
            "name": self.name, "version": self.version, "digest": self.digest, "description": self.description,
            "definitions": self.definitions, "reach": self.reach,
        }))
    }

    /// Its skills as the gate knows them.
    ///
    /// # Errors
    ///
    /// Fails where what the edge told isn't what a pack can have.
    pub fn capabilities(&self) -> Result<Vec<Arc<Capability>>, PackProblem> {
        Ok(self.made()?.into_iter().map(Arc::new).collect())
    }

    fn made(&self) -> Result<Vec<Capability>, PackProblem> {
        if !self.error.is_empty() {
            return Err(PackProblem(self.error.clone()));
        }
        let is_digest = self.digest.len() == 64 && self.digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest || self.name.is_empty() {
            return Err(PackProblem("the edge tells no digest or no name of it".to_owned()));
        }
        self.definitions
            .iter()
            .map(|definition| {
                check(definition, self.scope())?;
                let source = Source::Pack(self.name.clone());
                let capability = Capability::new(definition.clone(), |_| Class::Safe, source)
                    .map_err(|error| PackProblem(format!("`{}`: {error}", definition.key)))?;
                Ok(capability.with_program(self.digest.as_str()).with_subprocess(true))
            })
            .collect()
    }

    /// Where its skills run.
    pub fn scope(&self) -> Scope {
        if self.beside_manager { Scope::Manager } else { Scope::Host }
    }
}

/// The packs beside the manager, as they were found there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnPacks {
    /// Those that have skills of scope manager, and those that are broken.
    pub packs: Vec<PackFacts>,
    /// What the manager's machine lacks for a skill, in words, by the skill's hash.
    pub unmet: BTreeMap<String, Vec<String>>,
    /// Whether a sandbox keeps safe skills from changing anything. Where none does, they count as mutating.
    pub holds_read_only: bool,
}

impl OwnPacks {
    /// Whether a pack has a skill with this key, accepted or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.packs.iter().flat_map(|pack| &pack.definitions).any(|definition| definition.key == key)
    }

    /// The skills of a pack as they can be called here and at this time; none of one that isn't here as it was
    /// accepted.
    fn as_here(&self, pack: &PackFacts) -> Result<Vec<Arc<Capability>>, PackProblem> {
        let pin = pack.pin();
        if !self.packs.iter().any(|own| own.error.is_empty() && own.pin() == pin) {
            return Ok(Vec::new());
        }
        let here = |capability: Capability| {
            let unmet = self.unmet.get(capability.hash()).cloned().unwrap_or_default();
            let least = if self.holds_read_only { Class::Safe } else { Class::Mutating };
            Arc::new(capability.with_unmet(unmet).with_least_class(least))
        };
        Ok(pack.made()?.into_iter().map(here).collect())
    }
}

/// What is told of a pack is shown to people and models, so it is held to what a manifest may say.
fn check(definition: &Definition, scope: Scope) -> Result<(), PackProblem> {
    let texts = [
        (&definition.name, 80),
        (&definition.description, 1000),
        (&definition.category, 40),
        (&definition.result_preview, 200),
    ];
    let is_plain = |(text, most): &(&String, usize)| {
        text.chars().count() <= *most && !text.chars().any(char::is_control)
    };
    if definition.scope != scope
        || !Definition::is_legal_key(&definition.key)
        || !texts.iter().all(is_plain)
        || definition.params.to_string().len() > 64 * 1024
    {
        let key: String = definition.key.chars().filter(|letter| !letter.is_control()).take(64).collect();
        return Err(PackProblem(format!("the definition of `{key}` is not one that a manifest can have")));
    }
    Ok(())
}

/// The packs that an admin accepted, and the catalogue that has their skills.
pub struct PackBook {
    storage: Storage,
    /// Without packs.
    base: Arc<Catalogue>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    own: ArcSwap<OwnPacks>,
    /// Held while the catalogue is made anew.
    changing: Mutex<()>,
    /// How often it was made anew.
    changed: watch::Sender<u64>,
}

impl fmt::Debug for PackBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackBook")
    }
}

impl PackBook {
    /// The book over a catalogue that has no packs yet.
    pub(crate) fn new(storage: Storage, catalogue: Arc<ArcSwap<Catalogue>>) -> Self {
        let (base, own) = (catalogue.load_full(), ArcSwap::default());
        Self { storage, base, catalogue, own, changing: Mutex::default(), changed: watch::Sender::default() }
    }

    /// Puts the skills of all accepted packs into the catalogue.
    pub(crate) async fn load(&self) -> Result<(), StorageError> {
        let _changing = self.changing.lock().await;
        let pins = self.storage.pack_pins().list().await?;
        self.catalogue.store(Arc::new(with_packs(&self.base, &pins, &self.own.load())));
        self.changed.send_modify(|times| *times += 1);
        Ok(())
    }

    /// Wakes whenever a pack was accepted or revoked, and when those beside the manager changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The packs beside the manager.
    pub fn own(&self) -> Arc<OwnPacks> {
        self.own.load_full()
    }

    /// Tells which packs are beside the manager. Those of their skills that were accepted can be called from here on;
    /// all others are inert.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn replace_own(&self, own: OwnPacks) -> Result<(), StorageError> {
        self.own.store(Arc::new(own));
        self.load().await
    }

    /// Every accepted pack.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn accepted(&self) -> Result<Vec<PackPin>, StorageError> {
        self.storage.pack_pins().list().await
    }

    /// Accepts a pack as it was told. Its skills can be called from here on, on every host that has exactly it.
    ///
    /// # Errors
    ///
    /// Fails as a conflict where it can't be used or takes the key of something else, and if the database does.
    pub async fn accept(&self, pack: &PackFacts, by: UserId, actor: Actor) -> Result<(), StorageError> {
        self.check_keys(pack).map_err(|problem| StorageError::Conflict { reason: problem.to_string() })?;
        let (pin, name, digest) = (pack.pin(), pack.name.clone(), pack.digest.clone());
        self.storage.pack_pins().accept(pin, name, digest, json!(pack), by, actor).await?;
        self.load().await
    }

    /// A model knows tools by their keys alone, so a pack takes none that means something else, whatever its scope.
    fn check_keys(&self, pack: &PackFacts) -> Result<(), PackProblem> {
        let catalogue = self.catalogue.load();
        for capability in pack.capabilities()? {
            let key = &capability.definition().key;
            if is_builtin(&self.base, key) {
                return Err(PackProblem(format!("`{key}` is a builtin, which no pack replaces")));
            }
            let (elsewhere, words) = match pack.scope() {
                Scope::Host => (Scope::Manager, "beside the manager"),
                Scope::Manager => (Scope::Host, "on hosts"),
            };
            if catalogue.get(elsewhere, key).is_some() {
                let problem = format!("`{key}` is the skill of a pack {words} already, which is accepted");
                return Err(PackProblem(problem));
            }
        }
        Ok(())
    }

    /// Takes an acceptance back: calls of the pack's skills are refused from here on.
    ///
    /// # Errors
    ///
    /// Fails if the pack isn't accepted, and if the database does.
    pub async fn revoke(&self, pin: String, actor: Actor) -> Result<(), StorageError> {
        self.storage.pack_pins().revoke(pin, actor).await?;
        self.load().await
    }
}

/// Whether the key is one of the manager's own, in whatever scope.
fn is_builtin(base: &Catalogue, key: &str) -> bool {
    [Scope::Host, Scope::Manager].into_iter().any(|scope| base.get(scope, key).is_some())
}

/// The catalogue with the skills of packs at its end. Of several versions of one skill the one that was accepted last
/// is listed, and all are known by their hash.
fn with_packs(base: &Catalogue, pins: &[PackPin], own: &OwnPacks) -> Catalogue {
    let mut versions = Vec::new();
    let mut listed: BTreeMap<(Scope, String), Arc<Capability>> = BTreeMap::new();
    for pin in pins {
        let facts = serde_json::from_value::<PackFacts>(pin.pack.clone())
            .map_err(|error| PackProblem(error.to_string()))
            .and_then(|facts| if facts.beside_manager { own.as_here(&facts) } else { facts.capabilities() });
        let capabilities = match facts {
            Ok(capabilities) => capabilities,
            Err(problem) => {
                warn!(pack = pin.name, %problem, "an accepted pack can't be used");
                continue;
            }
        };
        for capability in capabilities {
            let (scope, key) = (capability.definition().scope, capability.definition().key.clone());
            if is_builtin(base, &key) {
                warn!(
                    pack = pin.name,
                    skill = key,
                    "a pack's skill has the key of a builtin and is left out"
                );
                continue;
            }
            if scope == Scope::Host {
                versions.push(Arc::clone(&capability));
            }
            listed.insert((scope, key), capability);
        }
    }
    let all = base.iter().cloned().chain(listed.into_values());
    match Catalogue::new(all) {
        Ok(catalogue) => catalogue.with_versions(versions),
        Err(error) => {
            warn!(%error, "the skills of packs can't be listed");
            base.clone()
        }
    }
}

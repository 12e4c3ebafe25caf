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
use tokio::sync::Mutex;
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
    /// Its host skills.
    pub definitions: Vec<Definition>,
    /// What its calls may reach, in words.
    pub reach: Vec<String>,
    /// Sentences about it.
    pub warnings: Vec<String>,
    /// Where it is on the host.
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
                check(definition)?;
                let source = Source::Pack(self.name.clone());
                let capability = Capability::new(definition.clone(), |_| Class::Safe, source)
                    .map_err(|error| PackProblem(format!("`{}`: {error}", definition.key)))?;
                Ok(Arc::new(capability.with_program(self.digest.as_str()).with_subprocess(true)))
            })
            .collect()
    }
}

/// What an edge tells is shown to people and models, so it is held to what a manifest may say.
fn check(definition: &Definition) -> Result<(), PackProblem> {
    let texts = [
        (&definition.name, 80),
        (&definition.description, 1000),
        (&definition.category, 40),
        (&definition.result_preview, 200),
    ];
    let is_plain = |(text, most): &(&String, usize)| {
        text.chars().count() <= *most && !text.chars().any(char::is_control)
    };
    if definition.scope != Scope::Host
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
    /// Held while the catalogue is made anew.
    changing: Mutex<()>,
}

impl fmt::Debug for PackBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackBook")
    }
}

impl PackBook {
    /// The book over a catalogue that has no packs yet.
    pub(crate) fn new(storage: Storage, catalogue: Arc<ArcSwap<Catalogue>>) -> Self {
        Self { storage, base: catalogue.load_full(), catalogue, changing: Mutex::default() }
    }

    /// Puts the skills of all accepted packs into the catalogue.
    pub(crate) async fn load(&self) -> Result<(), StorageError> {
        let _changing = self.changing.lock().await;
        let pins = self.storage.pack_pins().list().await?;
        self.catalogue.store(Arc::new(with_packs(&self.base, &pins)));
        Ok(())
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
    /// Fails as a conflict where it can't be used, and if the database does.
    pub async fn accept(&self, pack: &PackFacts, by: UserId, actor: Actor) -> Result<(), StorageError> {
        pack.capabilities().map_err(|problem| StorageError::Conflict { reason: problem.to_string() })?;
        let (pin, name, digest) = (pack.pin(), pack.name.clone(), pack.digest.clone());
        self.storage.pack_pins().accept(pin, name, digest, json!(pack), by, actor).await?;
        self.load().await
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

/// The catalogue with the skills of packs at its end. Of several versions of one skill the one that was accepted last
/// is listed, and all are known by their hash.
fn with_packs(base: &Catalogue, pins: &[PackPin]) -> Catalogue {
    let mut versions = Vec::new();
    let mut listed: BTreeMap<String, Arc<Capability>> = BTreeMap::new();
    for pin in pins {
        let facts = serde_json::from_value::<PackFacts>(pin.pack.clone())
            .map_err(|error| PackProblem(error.to_string()))
            .and_then(|facts| facts.capabilities());
        let capabilities = match facts {
            Ok(capabilities) => capabilities,
            Err(problem) => {
                warn!(pack = pin.name, %problem, "an accepted pack can't be used");
                continue;
            }
        };
        for capability in capabilities {
            let key = &capability.definition().key;
            if base.get(Scope::Host, key).is_some() {
                warn!(
                    pack = pin.name,
                    skill = key,
                    "a pack's skill has the key of a builtin and is left out"
                );
                continue;
            }
            versions.push(Arc::clone(&capability));
            listed.insert(key.clone(), capability);
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

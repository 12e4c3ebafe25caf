//! The procedures and the list of approvers that were imported, checked with the keys of the manager's configuration, and
//! what of them covers a call.
//!
//! What an edge believes is in the edge's own file. This book is there to ask for the right thing, to tell people early
//! what would be refused later, and to bring a host what it checks.

use crate::{HostFacts, SigningFacts};
use arc_swap::ArcSwap;
use model::{Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signing::{ApproverList, DocumentError, RelyingParty, RootKey, Sop, SopKey};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use storage::approvers::{KeyOffer, NewOffer, StoredApprovers};
use storage::sops::{NewSop, SopStep, StoredSop};
use storage::{Actor, Storage, StorageError};
use tokio::sync::{Mutex, watch};
use tracing::warn;
use uuid::Uuid;

/// What the manager's configuration trusts in signed documents.
#[derive(Clone, Debug, Default)]
pub struct SigningPins {
    /// Keys that sign procedures.
    pub sop_keys: Vec<SopKey>,
    /// The key that signs the list of approvers.
    pub approver_root: Option<RootKey>,
    /// The console that passkeys belong to.
    pub relying_party: Option<RelyingParty>,
}

/// A step of a procedure, as somebody who asks for a call names it: `ID/STEP`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedStep {
    /// The procedure's id. Its newest version counts, or none if that is revoked.
    pub id: String,
    /// The step's name.
    pub step: String,
}

impl fmt::Display for NamedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.id, self.step)
    }
}

/// A text that names no step of a procedure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a procedure and its step as `ID/STEP`, for example `reboot-web/reboot`")]
pub struct NamedStepProblem;

impl FromStr for NamedStep {
    type Err = NamedStepProblem;

    fn from_str(text: &str) -> Result<Self, NamedStepProblem> {
        let (id, step) = text.trim().split_once('/').ok_or(NamedStepProblem)?;
        let is_name = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if is_name(id) && is_name(step) {
            Ok(Self { id: id.to_owned(), step: step.to_owned() })
        } else {
            Err(NamedStepProblem)
        }
    }
}

/// How a procedure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SopState {
    /// Calls can be made by it.
    Active,
    /// It is valid only later.
    NotYet,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
    /// A newer version counts.
    Superseded,
    /// The configuration doesn't trust the key any more that signed it.
    Untrusted,
}

/// An imported procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// As it was imported.
    pub stored: StoredSop,
    /// What is in it; else why it isn't trusted.
    pub sop: Result<Sop, String>,
}

/// The imported list of approvers.
#[derive(Clone, Debug)]
pub struct Approvers {
    /// As it was imported.
    pub stored: StoredApprovers,
    /// What is in it; else why it isn't trusted.
    pub list: Result<ApproverList, String>,
}

/// Everything that was imported.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The procedures: by id, the newest version of each first.
    pub procedures: Vec<Procedure>,
    /// The newest list of approvers.
    pub approvers: Option<Approvers>,
    /// What browsers call passkeys by, by the key's id.
    credentials: BTreeMap<String, String>,
}

/// A step that covers a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveringStep {
    /// The procedure's id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
    /// The procedure's title.
    pub title: String,
}

/// A step that covers a call, with how often it may run on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) step: SopStep,
    pub(crate) maximum_runs: u32,
}

impl Imported {
    /// The version of a procedure that counts: the newest. None does once that is revoked: whoever takes a version back
    /// doesn't mean the one that it had replaced.
    pub(crate) fn newest(&self, id: &str) -> Option<&Procedure> {
        let newest = self.procedures.iter().find(|it| it.stored.id == id)?;
        newest.stored.revoked_at.is_none().then_some(newest)
    }

    /// One version of a procedure.
    pub fn version(&self, id: &str, version: u64) -> Option<&Procedure> {
        self.procedures.iter().find(|it| it.stored.id == id && it.stored.version == version)
    }

    /// How a procedure stands.
    pub fn state_of(&self, procedure: &Procedure, now: Timestamp) -> SopState {
        let stored = &procedure.stored;
        let Some(newest) = self.newest(&stored.id).filter(|_| stored.revoked_at.is_none()) else {
            return SopState::Revoked;
        };
        if newest.stored.version != stored.version {
            return SopState::Superseded;
        }
        match &procedure.sop {
            Err(_) => SopState::Untrusted,
            Ok(sop) if now < sop.valid_from => SopState::NotYet,
            Ok(sop) if now >= sop.valid_until => SopState::Expired,
            Ok(_) => SopState::Active,
        }
    }

    /// What a browser calls a passkey by, if its person offered it here.
    pub fn credential_of(&self, key: &str) -> Option<&str> {
        self.credentials.get(key).map(String::as_str)
    }

    /// The steps that cover exactly this call on this host, now.
    pub fn covering(&self, tool: &str, args: &Value, host: &HostFacts, now: Timestamp) -> Vec<CoveringStep> {
        let Some(signing) = &host.signing else { return Vec::new() };
        let mut covering = Vec::new();
        for procedure in &self.procedures {
            if self.state_of(procedure, now) != SopState::Active
                || !signing.sop_keys.contains(&procedure.stored.signer)
            {
                continue;
            }
            let Ok(sop) = &procedure.sop else { continue };
            let steps =
                sop.steps.iter().filter(|step| step.not_covering(tool, args, &signing.labels).is_none());
            covering.extend(steps.map(|step| CoveringStep {
                id: sop.id.clone(),
                version: sop.version,
                step: step.name.clone(),
                title: sop.title.clone(),
            }));
        }
        covering
    }

    /// The named step, if it covers this call on this host now; else why not, in a sentence.
    pub(crate) fn covered_by(
        &self,
        named: &NamedStep,
        tool: &str,
        args: &Value,
        host: &str,
        signing: &SigningFacts,
        now: Timestamp,
    ) -> Result<Covered, String> {
        let Some(procedure) = self.newest(&named.id) else {
            return Err(if self.procedures.iter().any(|it| it.stored.id == named.id) {
                format!("The procedure `{}` was revoked.", named.id)
            } else {
                format!("There is no procedure `{}` here.", named.id)
            });
        };
        let sop = procedure
            .sop
            .as_ref()
            .map_err(|why| format!("The procedure `{}` can't be used: {why}.", named.id))?;
        let not_covered =
            |why: String| format!("The procedure {} doesn't cover this call: {why}.", sop.label());
        if !signing.sop_keys.contains(&procedure.stored.signer) {
            return Err(not_covered(format!(
                "host `{host}` doesn't trust the key {} that signed it",
                procedure.stored.signer
            )));
        }
        if let Some(why) = sop.not_valid(now) {
            return Err(not_covered(why));
        }
        let step =
            sop.step(&named.step).ok_or_else(|| not_covered(format!("it has no step `{}`", named.step)))?;
        if let Some(why) = step.not_covering(tool, args, &signing.labels) {
            return Err(not_covered(why));
        }
        Ok(Covered {
            step: SopStep { id: sop.id.clone(), version: sop.version, step: step.name.clone() },
            maximum_runs: step.maximum_runs,
        })
    }

    /// The list of approvers, if people can sign by it now for this host; else why not, in a sentence.
    pub(crate) fn list_for(
        &self,
        pins: &SigningPins,
        host: &str,
        signing: &SigningFacts,
        now: Timestamp,
    ) -> Result<&ApproverList, String> {
        let Some(root) = &pins.approver_root else {
            return Err("Nobody can sign: this manager's configuration pins no root key of approvers \
                        ([security.approvers] root_key)."
                .to_owned());
        };
        match &signing.approver_root {
            None => {
                return Err(format!(
                    "Nobody can sign for host `{host}`: its own configuration pins no root key of approvers."
                ));
            }
            Some(pinned) if *pinned != root.fingerprint() => {
                return Err(format!(
                    "Nobody can sign for host `{host}`: it pins the root key {pinned}, and this manager {}.",
                    root.fingerprint()
                ));
            }
            Some(_) => {}
        }
        let approvers = self.approvers.as_ref().ok_or_else(|| {
            "Nobody can sign: no list of approvers is imported (`steadyhand approvers import`).".to_owned()
        })?;
        let list = approvers
            .list
            .as_ref()
            .map_err(|why| format!("Nobody can sign: the list of approvers can't be used: {why}."))?;
        if now >= list.expires {
            return Err(format!(
                "Nobody can sign: version {} of the list of approvers expired at {}.",
                list.version,
                list.expires.to_rfc3339()
            ));
        }
        if list.version < signing.list_version {
            return Err(format!(
                "Nobody can sign for host `{host}`: it has seen version {} of the list of approvers, and version {} is \
                 imported here.",
                signing.list_version, list.version
            ));
        }
        Ok(list)
    }
}

/// A procedure whose signature is good, with what its importer should see.
#[derive(Clone, Debug)]
pub struct CheckedSop {
    /// What is in it.
    pub sop: Sop,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// The newest version that was imported before.
    pub before: Option<StoredSop>,
    document: Vec<u8>,
    signature: Vec<u8>,
}

/// The imported procedures and list of approvers.
pub struct SigningBook {
    storage: Storage,
    pins: SigningPins,
    imported: ArcSwap<Imported>,
    /// Held while it is read anew.
    changing: Mutex<()>,
    /// How often it was.
    changes: watch::Sender<u64>,
}

impl fmt::Debug for SigningBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningBook").field("pins", &self.pins).finish_non_exhaustive()
    }
}

impl SigningBook {
    pub(crate) fn new(storage: Storage, pins: SigningPins) -> Self {
        Self {
            storage,
            pins,
            imported: ArcSwap::default(),
            changing: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// What the configuration trusts.
    pub fn pins(&self) -> &SigningPins {
        &self.pins
    }

    /// That something was imported, revoked, offered or withdrawn, from this moment on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Everything that was imported.
    pub fn imported(&self) -> Arc<Imported> {
        self.imported.load_full()
    }

    /// Reads everything that was imported, and checks it again with the keys that are trusted now.
    pub(crate) async fn load(&self) -> Result<(), StorageError> {
        let _changing = self.changing.lock().await;
        let procedures = self.storage.sops().list().await?;
        let procedures = procedures.into_iter().map(|stored| self.procedure(stored)).collect();
        let approvers = self.storage.approver_lists().latest().await?.map(|stored| self.approvers(stored));
        let offers = self.storage.approver_lists().offers(None).await?;
        let credentials =
            offers.into_iter().filter_map(|offer| Some((offer.key_id, offer.credential_id?))).collect();
        self.imported.store(Arc::new(Imported { procedures, approvers, credentials }));
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    fn procedure(&self, stored: StoredSop) -> Procedure {
        let sop = Sop::verify(&stored.document, &stored.signature, &self.pins.sop_keys)
            .map(|(sop, _)| sop)
            .map_err(|error| error.to_string());
        if let Err(why) = &sop {
            warn!(
                sop.id = stored.id,
                sop.version = stored.version,
                why,
                "an imported procedure can't be used"
            );
        }
        Procedure { stored, sop }
    }

    fn approvers(&self, stored: StoredApprovers) -> Approvers {
        let list = match &self.pins.approver_root {
            None => Err("the configuration pins no root key ([security.approvers] root_key)".to_owned()),
            Some(root) => ApproverList::verify(&stored.document, &stored.signature, root)
                .map_err(|error| error.to_string()),
        };
        if let Err(why) = &list {
            warn!(version = stored.version, why, "the imported list of approvers can't be used");
        }
        Approvers { stored, list }
    }

    /// Checks a procedure that somebody wants to import.
    ///
    /// # Errors
    ///
    /// Fails if no trusted key signed it, or it can't be read.
    pub fn check_sop(&self, document: Vec<u8>, signature: Vec<u8>) -> Result<CheckedSop, DocumentError> {
        let (sop, key) = Sop::verify(&document, &signature, &self.pins.sop_keys)?;
        let signer = key.fingerprint().to_owned();
        let before = self.imported().procedures.iter().find(|it| it.stored.id == sop.id).cloned();
        Ok(CheckedSop { sop, signer, before: before.map(|it| it.stored), document, signature })
    }

    /// Imports a procedure.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if its version isn't above all that were imported, and if the database does.
    pub async fn import_sop(
        &self,
        checked: CheckedSop,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let CheckedSop { sop, signer, document, signature, .. } = checked;
        let new = NewSop { id: sop.id, version: sop.version, title: sop.title, document, signature, signer };
        self.storage.sops().import(new, by, actor).await?;
        self.load().await
    }

    /// Revokes one version of a procedure and all before it: no call starts by them from here on.
    ///
    /// # Errors
    ///
    /// Fails if there is none, and if the database does.
    pub async fn revoke_sop(
        &self,
        id: String,
        version: u64,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        self.storage.sops().revoke(id, version, by, actor).await?;
        self.load().await
    }

    /// Checks a list of approvers that somebody wants to import.
    ///
    /// # Errors
    ///
    /// Fails if the trusted root key didn't sign it, or it can't be read.
    pub fn check_approvers(&self, document: &[u8], signature: &[u8]) -> Result<ApproverList, DocumentError> {
        let root = self.pins.approver_root.as_ref();
        let root = root.ok_or(DocumentError::NothingPinned { what: "the list of approvers" })?;
        ApproverList::verify(document, signature, root)
    }

    /// Imports a list of approvers that was checked.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if its version isn't above that of the present one, and if the database does.
    pub async fn import_approvers(
        &self,
        list: &ApproverList,
        document: Vec<u8>,
        signature: Vec<u8>,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        self.storage.approver_lists().import(list.version, document, signature, by, actor).await?;
        self.load().await
    }

    /// Puts a key down that a person offers for the list. It counts for nothing until a list names it.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if it is offered already, and if the database does.
    pub async fn offer_key(&self, user: UserId, key: NewOffer, actor: Actor) -> Result<Uuid, StorageError> {
        let id = self.storage.approver_lists().offer(user, key, actor).await?;
        self.load().await?;
        Ok(id)
    }

    /// Takes an offer back.
    ///
    /// # Errors
    ///
    /// Fails if the person has no such offer, and if the database does.
    pub async fn withdraw_key(&self, user: UserId, id: Uuid, actor: Actor) -> Result<(), StorageError> {
        self.storage.approver_lists().withdraw(user, id, actor).await?;
        self.load().await
    }

    /// The keys that are offered: all, or one person's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn offers(&self, of: Option<UserId>) -> Result<Vec<KeyOffer>, StorageError> {
        self.storage.approver_lists().offers(of).await
    }

    /// Whether the present list names a key of a person.
    pub fn lists(&self, person: &str, key: &str) -> bool {
        let imported = self.imported();
        let list = imported.approvers.as_ref().and_then(|approvers| approvers.list.as_ref().ok());
        list.is_some_and(|list| list.key(person, key).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_named_by_two_names_and_a_stroke() {
        let named: NamedStep = " reboot-web/step_1 ".parse().unwrap();
        assert_eq!((named.id.as_str(), named.step.as_str()), ("reboot-web", "step_1"));
        for wrong in ["", "reboot-web", "/x", "x/", "a/b/c", "a b/c"] {
            assert_eq!(wrong.parse::<NamedStep>(), Err(NamedStepProblem), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_reads_is_written_the_same(text in ".{0,80}") {
            if let Ok(named) = text.parse::<NamedStep>() {
                prop_assert_eq!(named.to_string(), text.trim());
            }
        }
    }
}

//! The list of approvers: which keys speak for which person. Signed by a root key that each edge pins for itself.
//!
//! A TOML file with a detached Ed25519 signature over its bytes as they are.

use crate::encoding::base64_bytes;
use crate::keys::{PublicKeyBits, parse_spki};
use crate::sop::{RawTime, malformed};
use crate::{DocumentError, RootKey, SignatureKind};
use model::{Timestamp, canonical};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Bytes of a list, at most.
pub(crate) const MAX_LIST_BYTES: usize = 256 * 1024;

const MAX_PEOPLE: usize = 500;
const MAX_KEYS: usize = 16;

/// Who may approve, and with which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproverList {
    /// Only ever rises; an edge refuses one below the highest that it has seen.
    pub version: u64,
    /// When it is void.
    pub expires: Timestamp,
    /// The people.
    pub people: Vec<Approver>,
}

/// One person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver {
    /// The name of the person's account on the manager.
    pub person: String,
    /// The keys, 1–16.
    pub keys: Vec<ApproverKey>,
}

/// One key of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproverKey {
    /// The first 16 hex digits of the SHA-256 of its SubjectPublicKeyInfo.
    pub id: String,
    /// How it signs.
    pub kind: SignatureKind,
    /// Of what kind it is, and in the form for the verifier.
    pub(crate) bits: PublicKeyBits,
    pub(crate) raw: Vec<u8>,
    /// Where the person says it is, for people.
    pub label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawList {
    version: u64,
    expires: RawTime,
    people: Vec<RawApprover>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawApprover {
    person: String,
    keys: Vec<RawKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKey {
    kind: SignatureKind,
    /// SubjectPublicKeyInfo.
    #[serde(with = "base64_bytes")]
    public: Vec<u8>,
    #[serde(default)]
    label: String,
}

impl ApproverList {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// Says what is wrong, where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        if text.len() > MAX_LIST_BYTES {
            return Err(malformed(format!("a list of approvers has at most {MAX_LIST_BYTES} bytes")));
        }
        let raw: RawList =
            toml::from_str(text).map_err(|error| malformed(error.to_string().trim_end().to_owned()))?;
        if raw.version == 0 || raw.version > i64::MAX as u64 {
            return Err(malformed("version: expected a number from 1".to_owned()));
        }
        let expires = raw.expires.read("expires")?;
        if raw.people.len() > MAX_PEOPLE {
            return Err(malformed(format!("people: at most {MAX_PEOPLE}")));
        }
        let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
        let mut people = Vec::with_capacity(raw.people.len());
        for (index, person) in raw.people.into_iter().enumerate() {
            let approver = person.read(index)?;
            if !names.insert(approver.person.to_lowercase()) {
                return Err(malformed(format!(
                    "people[{index}].person: `{}` is there twice",
                    approver.person
                )));
            }
            for key in &approver.keys {
                // Else one key could speak for two people.
                if !ids.insert(key.id.clone()) {
                    return Err(malformed(format!(
                        "people[{index}].keys: the key {} is there twice",
                        key.id
                    )));
                }
            }
            people.push(approver);
        }
        Ok(Self { version: raw.version, expires, people })
    }

    /// Reads a list that the root key signed.
    ///
    /// # Errors
    ///
    /// Fails if it didn't, before anything in it is looked at, or if it can't be read.
    pub fn verify(document: &[u8], signature: &[u8], root: &RootKey) -> Result<Self, DocumentError> {
        if document.len() > MAX_LIST_BYTES {
            return Err(malformed(format!("a list of approvers has at most {MAX_LIST_BYTES} bytes")));
        }
        if !root.verifies(document, signature) {
            return Err(DocumentError::Unsigned {
                what: "the list of approvers",
                pinned: root.fingerprint(),
            });
        }
        let text = std::str::from_utf8(document)
            .map_err(|_| malformed("the list of approvers is not UTF-8".to_owned()))?;
        Self::parse(text)
    }

    /// A person's key by its id.
    pub fn key(&self, person: &str, id: &str) -> Option<&ApproverKey> {
        self.people.iter().find(|approver| approver.person == person)?.keys.iter().find(|key| key.id == id)
    }
}

impl RawApprover {
    fn read(self, index: usize) -> Result<Approver, DocumentError> {
        let Self { person, keys } = self;
        if person.trim().is_empty() || person.trim() != person || person.chars().count() > 200 {
            return Err(malformed(format!(
                "people[{index}].person: expected the name of an account, 1 to 200 characters"
            )));
        }
        if keys.is_empty() || keys.len() > MAX_KEYS {
            return Err(malformed(format!("people[{index}].keys: expected 1 to {MAX_KEYS} keys")));
        }
        let keys = keys
            .into_iter()
            .enumerate()
            .map(|(at, key)| {
                key.read().map_err(|problem| malformed(format!("people[{index}].keys[{at}]: {problem}")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Approver { person, keys })
    }
}

impl RawKey {
    fn read(self) -> Result<ApproverKey, String> {
        let Self { kind, public, label } = self;
        let (raw, bits) = parse_spki(&public).map_err(|error| error.to_string())?;
        match (kind, bits) {
            (SignatureKind::Ed25519, PublicKeyBits::Ed25519)
            | (SignatureKind::Webauthn, PublicKeyBits::Ed25519 | PublicKeyBits::P256) => {}
            (SignatureKind::Webauthn, PublicKeyBits::Rsa(size)) if (2048..=8192).contains(&size) => {}
            (SignatureKind::Ed25519, _) => return Err("a key file is an Ed25519 key".to_owned()),
            (SignatureKind::Webauthn, _) => {
                return Err("a passkey is P-256, Ed25519, or RSA of 2048 to 8192 bits".to_owned());
            }
        }
        let id = canonical::sha256_hex(&public).chars().take(16).collect();
        Ok(ApproverKey { id, kind, bits, raw, label })
    }
}

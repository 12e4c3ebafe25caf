//! Everything that a signed call brings, and the rules that it is held against.

use crate::approvers::ApproverList;
use crate::encoding::base64_bytes;
use crate::{
    EvidenceError, RelyingParty, RootKey, Signature, SignatureKind, Sop, SopKey, SopRef, Statement, Step,
};
use model::{CallId, Class, EdgeId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of evidence in its text form, at most. A message of the tunnel holds it beside the arguments only if they leave
/// the room.
pub const MAX_EVIDENCE_BYTES: usize = 640 * 1024;

/// Signatures on one call, at most.
const MAX_SIGNATURES: usize = 16;

/// A document with its detached signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedDocument {
    /// The document, byte for byte.
    #[serde(with = "base64_bytes")]
    pub document: Vec<u8>,
    /// Its signature.
    #[serde(with = "base64_bytes")]
    pub signature: Vec<u8>,
}

/// What a signed call brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The canonical statement.
    pub statement: String,
    /// The approvers' signatures over it.
    pub signatures: Vec<Signature>,
    /// The list of approvers.
    pub approvers: SignedDocument,
    /// The procedure; only for a dangerous call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sop: Option<SignedDocument>,
}

impl Evidence {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Fails if it is too long or not what it should be.
    pub fn read(bytes: &[u8]) -> Result<Self, EvidenceError> {
        if bytes.len() > MAX_EVIDENCE_BYTES {
            return Err(EvidenceError::Malformed(format!("it has more than {MAX_EVIDENCE_BYTES} bytes")));
        }
        let evidence: Self =
            serde_json::from_slice(bytes).map_err(|error| EvidenceError::Malformed(error.to_string()))?;
        if evidence.signatures.len() > MAX_SIGNATURES {
            return Err(EvidenceError::Malformed(format!("it has more than {MAX_SIGNATURES} signatures")));
        }
        Ok(evidence)
    }

    /// Its text form.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serialising texts can't fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// What a host's owner pinned, in the host's own configuration.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// Keys that sign procedures. None: dangerous calls are off.
    pub sop_keys: Vec<SopKey>,
    /// The key that signs the list of approvers. None: no signature counts.
    pub approver_root: Option<RootKey>,
    /// The console that passkeys must belong to. None: only key files count.
    pub relying_party: Option<RelyingParty>,
    /// How many of the signatures must come from a key file, 0–2. For a call that needs fewer signatures, all of them.
    pub min_independent_signatures: usize,
}

/// The call, as the door knows it by itself.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// Its id.
    pub call_id: CallId,
    /// This host.
    pub edge_id: EdgeId,
    /// Key of the skill.
    pub tool: &'a str,
    /// Hash of the definition that will run.
    pub definition_hash: &'a str,
    /// The exact arguments.
    pub args: &'a Value,
    /// The class that the door takes it to be.
    pub class: Class,
    /// The labels that the host has in its own configuration.
    pub labels: &'a BTreeMap<String, String>,
}

/// What the evidence proves. What has to be remembered is here for the caller to hold against its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The people who signed.
    pub people: BTreeSet<String>,
    /// Must be out, and is used up by this call.
    pub nonce: String,
    /// Must not be below the highest that was ever seen here.
    pub list_version: u64,
    /// For a dangerous call: the step, and how often it may run.
    pub step: Option<(SopRef, Step)>,
    /// For a dangerous call: when its procedure ends, after which nothing of it has to be remembered.
    pub valid_until: Option<Timestamp>,
}

/// Holds evidence against the pins. Nothing in it counts before what vouches for it has been checked: first the list and
/// the procedure by their keys, then the statement against the call, then each signature.
///
/// # Errors
///
/// Tells the first rule that is broken.
pub fn check(
    evidence: &Evidence,
    facts: &CallFacts<'_>,
    pins: &Pins,
    now: Timestamp,
) -> Result<Proof, EvidenceError> {
    let root = pins.approver_root.as_ref().ok_or_else(|| {
        EvidenceError::List("this host pins no key for it, so no signature counts here".to_owned())
    })?;
    let SignedDocument { document, signature } = &evidence.approvers;
    let list = ApproverList::verify(document, signature, root)?;
    if now >= list.expires {
        return Err(EvidenceError::List(format!(
            "version {} expired at {}",
            list.version,
            list.expires.to_rfc3339()
        )));
    }
    let statement = Statement::read(&evidence.statement).map_err(EvidenceError::Malformed)?;
    about_this_call(&statement, facts)?;
    if now >= statement.not_after {
        return Err(EvidenceError::Expired(statement.not_after.to_rfc3339()));
    }
    let (step, valid_until) = match facts.class {
        Class::Dangerous => {
            let (step, valid_until) = covering_step(evidence, &statement, facts, pins, now)?;
            (Some(step), Some(valid_until))
        }
        Class::Safe | Class::Mutating => (None, None),
    };
    let need = if facts.class == Class::Dangerous { 2 } else { 1 };
    let people = signers(evidence, &statement, &list, pins, need)?;
    if people.len() < need {
        return Err(EvidenceError::TooFew { have: people.len(), need });
    }
    Ok(Proof { people, nonce: statement.nonce, list_version: list.version, step, valid_until })
}

fn about_this_call(statement: &Statement, facts: &CallFacts<'_>) -> Result<(), EvidenceError> {
    let differs = |field| Err(EvidenceError::OtherCall { field });
    if statement.call_id != facts.call_id {
        return differs("call id");
    }
    if statement.edge_id != facts.edge_id {
        return differs("host");
    }
    if statement.tool != facts.tool {
        return differs("skill");
    }
    if statement.definition_hash != facts.definition_hash {
        return differs("definition");
    }
    if statement.args_hash != Statement::hash_of(facts.args) {
        return differs("arguments");
    }
    Ok(())
}

fn covering_step(
    evidence: &Evidence,
    statement: &Statement,
    facts: &CallFacts<'_>,
    pins: &Pins,
    now: Timestamp,
) -> Result<((SopRef, Step), Timestamp), EvidenceError> {
    let signed = evidence.sop.as_ref().ok_or_else(|| {
        EvidenceError::Malformed("a dangerous call needs a signed procedure (SOP)".to_owned())
    })?;
    let (sop, _) = Sop::verify(&signed.document, &signed.signature, &pins.sop_keys)?;
    let not_covered = |why: String| EvidenceError::NotCovered { sop: sop.label(), why };
    let named = statement
        .sop
        .as_ref()
        .ok_or_else(|| not_covered("the signed statement names no procedure".to_owned()))?;
    if (named.id.as_str(), named.version) != (sop.id.as_str(), sop.version) {
        return Err(not_covered(format!(
            "the signed statement names {} version {}",
            named.id, named.version
        )));
    }
    if let Some(why) = sop.not_valid(now) {
        return Err(not_covered(why));
    }
    let step =
        sop.step(&named.step).ok_or_else(|| not_covered(format!("it has no step `{}`", named.step)))?;
    match step.not_covering(facts.tool, facts.args, facts.labels) {
        Some(why) => Err(not_covered(why)),
        None => Ok(((named.clone(), step.clone()), sop.valid_until)),
    }
}

/// The different people who signed. One signature that is not good spoils all: it shows that somebody tries something.
fn signers(
    evidence: &Evidence,
    statement: &Statement,
    list: &ApproverList,
    pins: &Pins,
    people_needed: usize,
) -> Result<BTreeSet<String>, EvidenceError> {
    let mut people = BTreeSet::new();
    let mut independent = BTreeSet::new();
    for signature in &evidence.signatures {
        let person = signature.person.clone();
        let bad = |why: String| EvidenceError::Signature { person: shown(&person), why };
        let key = list
            .key(&signature.person, &signature.key)
            .ok_or_else(|| bad("the list of approvers has no such key of such a person".to_owned()))?;
        signature.check(key, statement, pins.relying_party.as_ref()).map_err(bad)?;
        if signature.person.to_lowercase() == statement.requester.to_lowercase() {
            continue;
        }
        if key.kind == SignatureKind::Ed25519 {
            independent.insert(signature.person.clone());
        }
        people.insert(signature.person.clone());
    }
    let need = pins.min_independent_signatures.min(people_needed);
    if independent.len() < need {
        return Err(EvidenceError::TooFewIndependent { have: independent.len(), need });
    }
    Ok(people)
}

/// A name out of evidence, short enough for a message.
fn shown(name: &str) -> String {
    name.chars().filter(|char| !char.is_control()).take(64).collect()
}

//! Approvals that people give by their signatures: who may sign, the statement, what a signature must be, what voids them,
//! and the evidence that a host checks by itself.
//!
//! Everything that is checked here is checked again by the host's edge with nothing but its own file. The checks here are
//! so that people learn at once what would be refused later.

mod evidence;
mod sign;
mod statement;
mod who;

pub(crate) use evidence::newer_version;

use model::Timestamp;
use serde_json::Value;
use signing::{Signature, SignatureKind};
use std::time::Duration;
use storage::Actor;
use storage::approvals::Approval;

/// How long a nonce of an edge is good for.
const NONCE_HOLDS: Duration = Duration::from_secs(3600);

/// A statement that somebody may sign.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementToSign {
    /// Its canonical text: what a key file signs.
    pub text: String,
    /// SHA-256 of the text, hex: the challenge of a passkey.
    pub digest: String,
    /// The exact arguments of the call that it is about.
    pub args: Value,
    /// When it is void.
    pub not_after: Timestamp,
    /// How many people have to sign.
    pub needed: u32,
}

/// What came of the wish to see what is to be signed.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// The statement.
    Statement(StatementToSign),
    /// The approval was decided, had expired or was withdrawn; this is how it stands.
    Before(Box<Approval>),
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// This person may see it and not sign; a sentence says why.
    Forbidden(String),
    /// It can't be signed now; a sentence says why.
    Conflict(String),
}

/// A signature that somebody brings.
#[derive(Clone, Debug)]
pub struct BroughtSignature {
    /// The text that it is over.
    pub statement: String,
    /// The signature.
    pub signature: Signature,
    /// The host's name, typed by the person.
    pub host_name: Option<String>,
    /// Who brings it.
    pub actor: Actor,
}

/// What came of a signature.
#[derive(Clone, Debug, PartialEq)]
pub enum Countersigned {
    /// It counts; this is how the approval stands now.
    Counted(Box<Approval>),
    /// The approval was decided, had expired or was withdrawn; this is how it stands.
    Before(Box<Approval>),
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// This person may see it and not sign so; a sentence says why.
    Forbidden(String),
    /// It is too late for it, or it is there already; a sentence says why.
    Conflict(String),
    /// It isn't what it should be; a sentence says why.
    Invalid(String),
}

/// A person's key that counts for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableKey {
    /// Its id.
    pub key: String,
    /// How it signs.
    pub kind: SignatureKind,
    /// What a browser calls a passkey by, if its person offered it here.
    pub credential_id: Option<String>,
    /// Where the person says it is.
    pub label: String,
}

/// The procedure of a call, for who looks at its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSop {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
    /// Its title.
    pub title: String,
    /// Until when it may be used; `None` if it can't be read any more.
    pub valid_until: Option<Timestamp>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// How often the step has run on this host.
    pub runs_used: u32,
    /// How often it may.
    pub maximum_runs: u32,
}

/// What has to be signed, for who looks at an approval.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSigning {
    /// The procedure, for a dangerous call.
    pub sop: Option<ShownSop>,
    /// Whether the next signature of this person needs the host's name with it.
    pub host_name_required: bool,
    /// This person's keys that count here.
    pub my_keys: Vec<UsableKey>,
    /// Whether this person may sign now; else why not.
    pub may_sign: Result<(), String>,
}

/// The word for a kind of signature.
pub const fn kind_word(kind: SignatureKind) -> &'static str {
    match kind {
        SignatureKind::Ed25519 => "ed25519",
        SignatureKind::Webauthn => "webauthn",
    }
}

//! What has to be signed for a call, as the API shows it.

use crate::v1::approvers::SignatureKindWord;
use chrono::{DateTime, Utc};
use gate::signatures::ShownSigning;
use serde::Serialize;
use storage::approvals::Signing;
use utoipa::ToSchema;

/// The procedure that covers a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SigningSop {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
    /// Its title.
    pub title: String,
    /// Until when it may be used; null if it can't be read any more.
    pub valid_until: Option<DateTime<Utc>>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// How often the step has run on this host.
    pub runs_used: u32,
    /// How often it may.
    pub maximum_runs: u32,
}

/// A signature that is there.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SigningSignature {
    /// Who signed, by the name of the account.
    pub person: String,
    /// With which key.
    pub key: String,
    /// How it signs.
    pub kind: SignatureKindWord,
    /// When.
    pub at: DateTime<Utc>,
}

/// A key of the caller with which this call can be signed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SigningKey {
    /// Its id.
    pub key: String,
    /// How it signs.
    pub kind: SignatureKindWord,
    /// What the browser calls a passkey by, in base64url.
    pub credential_id: Option<String>,
    /// Where the caller said it is.
    pub label: String,
}

/// What has to be signed for a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ApprovalSigning)]
pub struct SigningView {
    /// How many people have to sign.
    pub needed: u32,
    /// How many of them with a key file.
    pub independent_needed: u32,
    /// The procedure; only for a dangerous call.
    pub sop: Option<SigningSop>,
    /// Whether a statement is open.
    pub statement_open: bool,
    /// When that is void.
    pub not_after: Option<DateTime<Utc>>,
    /// The signatures that are there, in order.
    pub signatures: Vec<SigningSignature>,
    /// Whether the caller's next signature needs the typed name of the host with it.
    pub host_name_required: bool,
    /// The caller's keys that count here.
    pub my_keys: Vec<SigningKey>,
    /// Whether the caller may sign now.
    pub may_sign: bool,
    /// Why the caller may not.
    pub may_not_because: Option<String>,
}

impl SigningView {
    pub(super) fn new(signing: Signing, shown: ShownSigning) -> Self {
        let sop = shown.sop.map(|sop| SigningSop {
            id: sop.id,
            version: sop.version,
            step: sop.step,
            title: sop.title,
            valid_until: sop.valid_until,
            signer: sop.signer,
            runs_used: sop.runs_used,
            maximum_runs: sop.maximum_runs,
        });
        let signatures = signing.signatures.into_iter().map(|signature| SigningSignature {
            kind: SignatureKindWord::of_word(&signature.kind),
            person: signature.person,
            key: signature.key,
            at: signature.at,
        });
        let my_keys = shown.my_keys.into_iter().map(|key| SigningKey {
            key: key.key,
            kind: key.kind.into(),
            credential_id: key.credential_id,
            label: key.label,
        });
        Self {
            needed: signing.needed,
            independent_needed: signing.independent_needed,
            sop,
            statement_open: signing.statement.is_some(),
            not_after: signing.statement.map(|open| open.not_after),
            signatures: signatures.collect(),
            host_name_required: shown.host_name_required,
            my_keys: my_keys.collect(),
            may_sign: shown.may_sign.is_ok(),
            may_not_because: shown.may_sign.err(),
        }
    }
}

//! One person's signature over a statement.

use crate::Statement;
use crate::approvers::ApproverKey;
use crate::encoding::base64_bytes;
use crate::webauthn::{self, RelyingParty};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureKind {
    /// An Ed25519 key file signs the statement's text, outside of any browser.
    Ed25519,
    /// A passkey signs an assertion whose challenge is the statement's digest.
    Webauthn,
}

/// A signature, and whose it is said to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The name of the person in the list of approvers.
    pub person: String,
    /// The id of the key in that list.
    pub key: String,
    /// The signature itself.
    #[serde(with = "base64_bytes")]
    pub signature: Vec<u8>,
    /// For a passkey: what the browser collected (JSON, as it was signed).
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub client_data: Vec<u8>,
    /// For a passkey: what the authenticator says.
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub authenticator_data: Vec<u8>,
}

impl Signature {
    /// Whether `key` made it over `statement`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it.
    pub(crate) fn check(
        &self,
        key: &ApproverKey,
        statement: &Statement,
        party: Option<&RelyingParty>,
    ) -> Result<(), String> {
        match key.kind {
            SignatureKind::Ed25519 => UnparsedPublicKey::new(&ED25519, &key.raw)
                .verify(statement.text().as_bytes(), &self.signature)
                .map_err(|_| "it was made over another statement, or by another key".to_owned()),
            SignatureKind::Webauthn => {
                let party = party.ok_or("it is a passkey's, and this host pins no origin of a console")?;
                webauthn::check(self, key, statement, party)
            }
        }
    }
}

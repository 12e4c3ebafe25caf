//! Assertions of passkeys (W3C Web Authentication Level 3, §7.2), checked without any state: signature counters are
//! not looked at, because synced passkeys send 0.

use crate::approvers::ApproverKey;
use crate::encoding::base64url;
use crate::keys::PublicKeyBits;
use crate::{Signature, Statement};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes of the browser's data, at most.
const MAX_CLIENT_DATA: usize = 4096;

/// Bytes of the authenticator's data, at most.
const MAX_AUTHENTICATOR_DATA: usize = 4096;

/// A person was there.
const USER_PRESENT: u8 = 0b0000_0001;
/// The authenticator made sure who (PIN, finger, face).
const USER_VERIFIED: u8 = 0b0000_0100;

/// The console that signatures must come from. Pinned on each host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// Such as `https://steadyhand.example.org`; compared as it is.
    pub origin: String,
    /// Such as `steadyhand.example.org`.
    pub id: String,
}

/// The members of the client data that are looked at; browsers add others.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
    #[serde(default, rename = "topOrigin")]
    top_origin: Option<String>,
}

pub(crate) fn check(
    signature: &Signature,
    key: &ApproverKey,
    statement: &Statement,
    party: &RelyingParty,
) -> Result<(), String> {
    let Signature { client_data, authenticator_data, .. } = signature;
    if client_data.len() > MAX_CLIENT_DATA || authenticator_data.len() > MAX_AUTHENTICATOR_DATA {
        return Err("the data of the passkey is too long".to_owned());
    }
    let client: ClientData =
        serde_json::from_slice(client_data).map_err(|_| "the browser's data can't be read".to_owned())?;
    if client.kind != "webauthn.get" {
        return Err("the browser's data is not of an assertion (`webauthn.get`)".to_owned());
    }
    let challenge = base64url(&statement.digest());
    if !bool::from(client.challenge.as_bytes().ct_eq(challenge.as_bytes())) {
        return Err("it was made over another statement".to_owned());
    }
    if client.origin != party.origin {
        return Err(format!("it was made on another site than {}", party.origin));
    }
    if client.cross_origin || client.top_origin.is_some() {
        return Err("it was made inside of another site's frame".to_owned());
    }
    // rpIdHash (32), flags (1), counter (4), then extensions.
    let (rp_id_hash, rest) =
        authenticator_data.split_at_checked(32).ok_or("the authenticator's data is too short")?;
    let flags = match rest {
        [flags, _, _, _, _, ..] => *flags,
        _ => return Err("the authenticator's data is too short".to_owned()),
    };
    if rp_id_hash != Sha256::digest(party.id.as_bytes()).as_slice() {
        return Err(format!("the passkey belongs to another site than {}", party.id));
    }
    if flags & USER_PRESENT == 0 {
        return Err("nobody was present when it was made".to_owned());
    }
    if flags & USER_VERIFIED == 0 {
        return Err("the authenticator did not verify who was present".to_owned());
    }
    let algorithm: &dyn VerificationAlgorithm = match key.bits {
        PublicKeyBits::P256 => &ECDSA_P256_SHA256_ASN1,
        PublicKeyBits::Ed25519 => &ED25519,
        PublicKeyBits::Rsa(_) => &RSA_PKCS1_2048_8192_SHA256,
    };
    let mut signed = authenticator_data.clone();
    signed.extend_from_slice(&Sha256::digest(client_data));
    UnparsedPublicKey::new(algorithm, &key.raw)
        .verify(&signed, &signature.signature)
        .map_err(|_| "it was made by another key, or its data was changed".to_owned())
}

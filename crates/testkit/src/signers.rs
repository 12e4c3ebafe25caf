//! People with keys, and everything that they sign: procedures, the list of approvers, statements of calls.

use anyhow::{Context as _, Result, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use model::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use signing::{Signature, SignedDocument, Statement};
use std::collections::BTreeMap;

/// The public key of those who sign procedures, as PEM.
pub const SOP_KEY: &str = include_str!("../../signing/fixtures/sop.pub.pem");

/// People with a key file each: all but `mallory` are on the list.
const WITH_FILES: [&str; 4] = ["ana", "cho", "olga", "mallory"];

/// People with a passkey each.
const WITH_PASSKEYS: [&str; 2] = ["ben", "dora"];

/// `ana`, `cho` and `olga` sign by key file, `ben` and `dora` by passkey. `mallory` has a key file and is on no list.
pub struct Signers {
    root: Ed25519KeyPair,
    files: BTreeMap<&'static str, Ed25519KeyPair>,
    passkeys: BTreeMap<&'static str, EcdsaKeyPair>,
}

/// What a browser and its authenticator say when a passkey signs.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// Where it was made.
    pub origin: &'a str,
    /// Whose passkey it is.
    pub rp_id: &'a str,
    /// What the authenticator vouches for: 1 somebody was there, 4 it is who it should be.
    pub flags: u8,
    /// Whether it was made inside of another site's frame.
    pub cross_origin: bool,
}

impl<'a> Assertion<'a> {
    /// One that is as it should be on this console.
    pub fn on(origin: &'a str, rp_id: &'a str) -> Self {
        Self { origin, rp_id, flags: 0b101, cross_origin: false }
    }
}

impl Signers {
    /// Makes all keys.
    ///
    /// # Errors
    ///
    /// Fails if the machine has no randomness.
    pub fn new() -> Result<Self> {
        let files = WITH_FILES.into_iter().map(|name| Ok((name, ed25519()?))).collect::<Result<_>>()?;
        let passkeys = WITH_PASSKEYS.into_iter().map(|name| Ok((name, p256()?))).collect::<Result<_>>()?;
        Ok(Self { root: ed25519()?, files, passkeys })
    }

    /// The key that signs the list of approvers, as hosts pin it.
    pub fn root_key(&self) -> String {
        STANDARD.encode(self.root.public_key())
    }

    /// The list of approvers, signed by its root.
    pub fn list(&self, version: u64, expires: Timestamp) -> SignedDocument {
        self.signed_by_root(&self.list_text(version, expires))
    }

    /// The text of the list of approvers.
    pub fn list_text(&self, version: u64, expires: Timestamp) -> String {
        let mut text = format!("version = {version}\nexpires = {}\n", expires.format("%Y-%m-%dT%H:%M:%SZ"));
        let mut person = |name: &str, kind: &str, spki: Vec<u8>| {
            text += &format!(
                "[[people]]\nperson = \"{name}\"\n[[people.keys]]\nkind = \"{kind}\"\npublic = \"{}\"\n",
                STANDARD.encode(spki)
            );
        };
        for (name, pair) in self.files.iter().filter(|(name, _)| **name != "mallory") {
            person(name, "ed25519", file_spki(pair));
        }
        for (name, pair) in &self.passkeys {
            person(name, "webauthn", passkey_spki(pair));
        }
        text
    }

    /// Signs any text as a list of approvers.
    pub fn signed_by_root(&self, text: &str) -> SignedDocument {
        SignedDocument { document: text.into(), signature: self.root.sign(text.as_bytes()).as_ref().to_vec() }
    }

    /// A person's signature by key file.
    ///
    /// # Errors
    ///
    /// Fails if that person has none.
    pub fn by_file(&self, person: &str, statement: &Statement) -> Result<Signature> {
        let pair = self.files.get(person).context("no such person with a key file")?;
        Ok(Signature {
            person: person.to_owned(),
            key: key_id(&file_spki(pair)),
            signature: pair.sign(statement.text().as_bytes()).as_ref().to_vec(),
            client_data: Vec::new(),
            authenticator_data: Vec::new(),
        })
    }

    /// A person's signature by passkey.
    ///
    /// # Errors
    ///
    /// Fails if that person has none.
    pub fn by_passkey(
        &self,
        person: &str,
        statement: &Statement,
        assertion: Assertion<'_>,
    ) -> Result<Signature> {
        let pair = self.passkeys.get(person).context("no such person with a passkey")?;
        let client_data = json!({
            "type": "webauthn.get", "challenge": URL_SAFE_NO_PAD.encode(statement.digest()),
            "origin": assertion.origin, "crossOrigin": assertion.cross_origin,
        })
        .to_string()
        .into_bytes();
        let mut authenticator_data = Sha256::digest(assertion.rp_id.as_bytes()).to_vec();
        authenticator_data.extend([assertion.flags, 0, 0, 0, 0]);
        let signed = [authenticator_data.as_slice(), &Sha256::digest(&client_data)].concat();
        let signature = pair.sign(&SystemRandom::new(), &signed).map_err(|_| anyhow!("it can't sign"))?;
        Ok(Signature {
            person: person.to_owned(),
            key: key_id(&passkey_spki(pair)),
            signature: signature.as_ref().to_vec(),
            client_data,
            authenticator_data,
        })
    }
}

/// Signs a procedure with the key of [`SOP_KEY`].
///
/// # Errors
///
/// Fails if the key can't sign.
pub fn signed_procedure(text: &str) -> Result<SignedDocument> {
    rsa_signed(text, include_bytes!("../../signing/fixtures/sop.pkcs8.der"))
}

/// Signs a procedure with a key that nobody pins.
///
/// # Errors
///
/// Fails if the key can't sign.
pub fn signed_by_another_key(text: &str) -> Result<SignedDocument> {
    rsa_signed(text, include_bytes!("../../signing/fixtures/other.pkcs8.der"))
}

fn rsa_signed(text: &str, key: &[u8]) -> Result<SignedDocument> {
    let pair = RsaKeyPair::from_pkcs8(key).map_err(|error| anyhow!("the key: {error}"))?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PSS_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| anyhow!("it can't sign"))?;
    Ok(SignedDocument { document: text.into(), signature })
}

fn ed25519() -> Result<Ed25519KeyPair> {
    let random = || anyhow!("no randomness");
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| random())?;
    Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| random())
}

fn p256() -> Result<EcdsaKeyPair> {
    let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| anyhow!("no randomness"))?;
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).map_err(|_| anyhow!("no randomness"))
}

/// A SubjectPublicKeyInfo of Ed25519 (RFC 8410).
fn file_spki(pair: &Ed25519KeyPair) -> Vec<u8> {
    const HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    [&HEAD, pair.public_key().as_ref()].concat()
}

/// A SubjectPublicKeyInfo of a point on P-256 (RFC 5480).
fn passkey_spki(pair: &EcdsaKeyPair) -> Vec<u8> {
    const HEAD: [u8; 26] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
        0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];
    [&HEAD, pair.public_key().as_ref()].concat()
}

fn key_id(spki: &[u8]) -> String {
    model::canonical::sha256_hex(spki).chars().take(16).collect()
}

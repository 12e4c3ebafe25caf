//! The keys that a configuration pins.

use crate::KeyError;
use crate::encoding::pem_block;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use std::fmt;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Bits that an RSA key for procedures has at least.
pub const MIN_RSA_BITS: usize = 3072;

/// A public key that signs procedures: RSA with PSS and SHA-256 (RFC 8017 §8.1, salt of 32 bytes), 3072 to 8192 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct SopKey {
    fingerprint: String,
    /// An `RSAPublicKey` of PKCS #1.
    pkcs1: Vec<u8>,
}

impl fmt::Debug for SopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SopKey({})", self.fingerprint)
    }
}

impl SopKey {
    /// Reads a PEM block `PUBLIC KEY` (SubjectPublicKeyInfo).
    ///
    /// # Errors
    ///
    /// Fails if it is none, no RSA key, or one of less than [`MIN_RSA_BITS`] or more than 8192 bits.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("PRIVATE KEY") {
            return Err(KeyError("this is a private key; pin the public one (`….pub.pem`), and keep this one off every manager and host".to_owned()));
        }
        let der = pem_block(text, "PUBLIC KEY").ok_or_else(|| {
            KeyError(
                "expected a PEM block `-----BEGIN PUBLIC KEY-----`, as `steadyhand sop keygen` writes it"
                    .to_owned(),
            )
        })?;
        Self::from_spki(&der)
    }

    /// Reads a SubjectPublicKeyInfo (DER).
    ///
    /// # Errors
    ///
    /// As [`SopKey::from_pem`].
    pub fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        let (spki, bits) = parse_spki(der)?;
        let PublicKeyBits::Rsa(size) = bits else {
            return Err(KeyError(
                "procedures are signed by RSA keys; this is a key of another kind".to_owned(),
            ));
        };
        if !(MIN_RSA_BITS..=8192).contains(&size) {
            return Err(KeyError(format!(
                "an RSA key for procedures has {MIN_RSA_BITS} to 8192 bits; this one has {size}"
            )));
        }
        let fingerprint = model::canonical::sha256_hex(der).chars().take(16).collect();
        Ok(Self { fingerprint, pkcs1: spki })
    }

    /// The first 16 hex digits of the SHA-256 of its SubjectPublicKeyInfo: what people compare.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether it made `signature` over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, &self.pkcs1).verify(message, signature).is_ok()
    }
}

/// The public key that signs the list of approvers: Ed25519 (RFC 8032).
#[derive(Clone, PartialEq, Eq)]
pub struct RootKey(Vec<u8>);

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootKey({})", self.fingerprint())
    }
}

impl RootKey {
    /// Reads 32 bytes in base64, as `steadyhand approvers keygen` prints them.
    ///
    /// # Errors
    ///
    /// Fails if it is something else.
    pub fn from_base64(text: &str) -> Result<Self, KeyError> {
        STANDARD.decode(text.trim()).ok().filter(|bytes| bytes.len() == ED25519_BYTES).map(Self).ok_or_else(
            || KeyError("expected an Ed25519 public key: 32 bytes as base64 (44 characters)".to_owned()),
        )
    }

    /// Its text form.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.0)
    }

    /// The first 16 hex digits of the SHA-256 of the key: what people compare.
    pub fn fingerprint(&self) -> String {
        model::canonical::sha256_hex(&self.0).chars().take(16).collect()
    }

    /// Whether it made `signature` over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

/// Bytes of an Ed25519 public key.
pub(crate) const ED25519_BYTES: usize = 32;

/// What kind of key a SubjectPublicKeyInfo holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublicKeyBits {
    /// RSA with a modulus of so many bits.
    Rsa(usize),
    /// A point on P-256.
    P256,
    /// Ed25519.
    Ed25519,
}

/// Takes the key out of a SubjectPublicKeyInfo (RFC 5280 §4.1), in the form that the verifier wants.
///
/// # Errors
///
/// Fails if it can't be read to its last byte, or holds a key of another kind.
pub(crate) fn parse_spki(der: &[u8]) -> Result<(Vec<u8>, PublicKeyBits), KeyError> {
    const ED25519_OID: &str = "1.3.101.112";
    const P256_OID: &str = "1.2.840.10045.3.1.7";
    let unreadable = || KeyError("expected a public key (SubjectPublicKeyInfo, DER)".to_owned());
    let (rest, spki) = SubjectPublicKeyInfo::from_der(der).map_err(|_| unreadable())?;
    if !rest.is_empty() {
        return Err(unreadable());
    }
    let raw = spki.subject_public_key.data.to_vec();
    if spki.algorithm.algorithm.to_id_string() == ED25519_OID {
        return if raw.len() == ED25519_BYTES {
            Ok((raw, PublicKeyBits::Ed25519))
        } else {
            Err(unreadable())
        };
    }
    match spki.parsed().map_err(|_| unreadable())? {
        PublicKey::RSA(key) => {
            let modulus = key.modulus.iter().skip_while(|byte| **byte == 0);
            let bytes = modulus.clone().count();
            let leading = modulus.clone().next().map_or(0, |byte| byte.leading_zeros() as usize);
            Ok((raw, PublicKeyBits::Rsa(bytes * 8 - leading)))
        }
        PublicKey::EC(_) => {
            let curve = spki.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok());
            let is_p256 = curve.is_some_and(|oid| oid.to_id_string() == P256_OID);
            if is_p256 && raw.len() == 65 && raw.first() == Some(&4) {
                Ok((raw, PublicKeyBits::P256))
            } else {
                Err(KeyError("of elliptic curves only P-256, uncompressed, is known".to_owned()))
            }
        }
        _ => Err(KeyError("this kind of key is not known; RSA, P-256 and Ed25519 are".to_owned())),
    }
}

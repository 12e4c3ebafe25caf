//! What an edge keeps on its disk: its key, its certificate and the authority, in one file.

use super::certificate::spki_of;
use super::{CertificateFacts, PkiError, files};
use crate::spiffe::{Deployment, SpiffeId};
use model::{EdgeId, Timestamp};
use rcgen::{CertificateParams, DistinguishedName, KeyPair, PublicKeyData as _};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use std::path::Path;

/// A private key of an edge. It never leaves the host; `Debug` hides it.
pub struct EdgeKey(KeyPair);

impl EdgeKey {
    /// Makes a fresh ECDSA P-256 key.
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness to give.
    pub fn generate() -> Result<Self, PkiError> {
        Ok(Self(KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?))
    }

    /// A certificate request for this key, PKCS#10 in DER. It names nobody: the manager decides who the key is for.
    ///
    /// # Errors
    ///
    /// Fails if the cryptography refuses.
    pub fn request(&self) -> Result<Vec<u8>, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        Ok(params.serialize_request(&self.0)?.der().to_vec())
    }

    pub(super) fn pair(&self) -> &KeyPair {
        &self.0
    }

    fn to_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.0.serialize_der()))
    }
}

impl fmt::Debug for EdgeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EdgeKey(hidden)")
    }
}

/// Who an edge is: a key, a certificate for it, and the authority that the manager must have too.
#[derive(Debug)]
pub struct EdgeIdentity {
    key: EdgeKey,
    chain: Vec<CertificateDer<'static>>,
    ca: CertificateDer<'static>,
    facts: CertificateFacts,
    deployment: Deployment,
    edge: EdgeId,
}

impl EdgeIdentity {
    /// Puts a key and what the manager answered together.
    ///
    /// # Errors
    ///
    /// Fails if the certificate is for another key, isn't an edge's, or the authority can't be read.
    pub fn assemble(key: EdgeKey, chain: Vec<Vec<u8>>, ca: Vec<u8>) -> Result<Self, PkiError> {
        let bad = |reason: &str| PkiError::BadCertificate { reason: reason.to_owned() };
        let chain: Vec<_> = chain.into_iter().map(CertificateDer::from).collect();
        let leaf = chain.first().ok_or_else(|| bad("there is none"))?;
        if spki_of(leaf).ok_or_else(|| bad("it can't be parsed"))? != key.0.subject_public_key_info() {
            return Err(bad("it is for another key than this edge's"));
        }
        let facts = CertificateFacts::read(leaf)?;
        let Some(SpiffeId::Edge(deployment, edge)) = facts.name.clone() else {
            return Err(bad("it is not an edge's"));
        };
        if spki_of(&ca).is_none() {
            return Err(bad("the authority's certificate can't be parsed"));
        }
        Ok(Self { key, chain, ca: CertificateDer::from(ca), facts, deployment, edge })
    }

    /// Reads the identity from its file; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged, or readable by others than its owner.
    pub fn load(path: &Path) -> Result<Option<Self>, PkiError> {
        let Some(pem) = files::read_secret(path)? else { return Ok(None) };
        let damaged = |reason: String| PkiError::Damaged { path: path.to_owned(), reason };
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| damaged(error.to_string()))?;
        let key = EdgeKey(KeyPair::try_from(&key).map_err(|error| damaged(error.to_string()))?);
        let mut chain = CertificateDer::pem_slice_iter(&pem)
            .map(|der| der.map(|der| der.to_vec()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| damaged(error.to_string()))?;
        // The authority is the last one.
        let ca = chain.pop().ok_or_else(|| damaged("it holds no certificate".to_owned()))?;
        Self::assemble(key, chain, ca).map(Some).map_err(|error| damaged(error.to_string()))
    }

    /// Puts the identity on the disk, readable by its owner only, in one step.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be written.
    pub fn store(&self, path: &Path) -> Result<(), PkiError> {
        let mut text = files::pem("PRIVATE KEY", self.key.0.serialized_der());
        for certificate in self.chain.iter().chain([&self.ca]) {
            text.push_str(&files::pem("CERTIFICATE", certificate));
        }
        files::replace(path, text.as_bytes(), 0o600)
    }

    /// This edge's id.
    pub fn edge(&self) -> EdgeId {
        self.edge
    }

    /// The deployment that this edge belongs to.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// What the certificate says.
    pub fn facts(&self) -> &CertificateFacts {
        &self.facts
    }

    /// Serial number of the certificate, lower-case hex.
    pub fn serial(&self) -> &str {
        &self.facts.serial
    }

    /// The certificate isn't valid after this.
    pub fn not_after(&self) -> Timestamp {
        self.facts.not_after
    }

    /// When two thirds of the certificate's life are over, and it should be renewed.
    pub fn renew_at(&self) -> Timestamp {
        self.facts.not_before + (self.facts.not_after - self.facts.not_before) * 2 / 3
    }

    /// The certificate, leaf first, DER.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The deployment's authority, DER.
    pub fn ca(&self) -> &CertificateDer<'static> {
        &self.ca
    }

    /// The private key, for the TLS configuration.
    pub(crate) fn key_der(&self) -> PrivateKeyDer<'static> {
        self.key.to_der()
    }

    pub(super) fn key(&self) -> &EdgeKey {
        &self.key
    }
}

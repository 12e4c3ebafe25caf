//! The deployment's certificate authority.

use super::certificate::spki_of;
use super::{CertificateFacts, PkiError, files};
use crate::spiffe::{Deployment, SpiffeId};
use crate::token::Pin;
use model::{Clock, EdgeId, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, SubjectPublicKeyInfo,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, X509CertificationRequest};

/// Certificates are valid from a little before they are made, so that a host whose clock is slightly late can use
/// them at once.
const BACKDATE: Duration = Duration::from_secs(300);
const CA_LIFE: Duration = Duration::from_secs(20 * 365 * 86_400);
const MAX_REQUEST_BYTES: usize = 8 * 1024;
const KEY_FILE: &str = "ca.key";
const CERTIFICATE_FILE: &str = "ca.crt";

/// Signs the certificates of one deployment.
pub struct Authority {
    deployment: Deployment,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pin: Pin,
    clock: Arc<dyn Clock>,
}

impl Authority {
    /// Opens the authority in `folder`, or makes it there: `ca.key` (0600) and `ca.crt`.
    ///
    /// # Errors
    ///
    /// Fails if the key is readable by others, doesn't fit the certificate, is missing while the certificate is
    /// there, belongs to another deployment, or a file can't be read or written.
    pub fn load_or_create(folder: &Path, deployment: &str, clock: Arc<dyn Clock>) -> Result<Self, PkiError> {
        let deployment: Deployment = deployment.parse()?;
        let key_path = folder.join(KEY_FILE);
        let certificate_path = folder.join(CERTIFICATE_FILE);
        let certificate = files::read(&certificate_path)?;
        let key = match files::read_secret(&key_path)? {
            Some(pem) => read_key(&pem).map_err(|reason| PkiError::Damaged { path: key_path, reason })?,
            None if certificate.is_some() => return Err(PkiError::KeyMissing { path: key_path }),
            None => {
                let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
                files::replace(&key_path, files::pem("PRIVATE KEY", key.serialized_der()).as_bytes(), 0o600)?;
                key
            }
        };
        let certificate = match certificate {
            Some(pem) => CertificateDer::from_pem_slice(&pem).map_err(|error| PkiError::Damaged {
                path: certificate_path.clone(),
                reason: error.to_string(),
            })?,
            // A first start that was cut off after the key: the pin depends on the key only, so it stays.
            None => {
                let certificate = self_signed(&deployment, &key, clock.now())?;
                files::replace(&certificate_path, files::pem("CERTIFICATE", &certificate).as_bytes(), 0o644)?;
                certificate
            }
        };
        Self::from_parts(deployment, key, certificate, clock, &certificate_path)
    }

    /// Makes an authority that is kept nowhere, for tests.
    ///
    /// # Errors
    ///
    /// Fails if the name is no deployment's, or the cryptography refuses.
    pub fn in_memory(deployment: &str, clock: Arc<dyn Clock>) -> Result<Self, PkiError> {
        let deployment: Deployment = deployment.parse()?;
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = self_signed(&deployment, &key, clock.now())?;
        Self::from_parts(deployment, key, certificate, clock, Path::new(CERTIFICATE_FILE))
    }

    fn from_parts(
        deployment: Deployment,
        key: KeyPair,
        certificate: CertificateDer<'static>,
        clock: Arc<dyn Clock>,
        path: &Path,
    ) -> Result<Self, PkiError> {
        let damaged = |reason: &str| PkiError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
        let spki = spki_of(&certificate).ok_or_else(|| damaged("it is no certificate"))?;
        if spki != key.subject_public_key_info() {
            return Err(damaged("it doesn't fit the key beside it"));
        }
        let facts = CertificateFacts::read(&certificate)?;
        let found = facts.names_text();
        if found != ca_name(&deployment) {
            return Err(PkiError::OtherDeployment {
                path: path.to_owned(),
                found: found.trim_start_matches("spiffe://").to_owned(),
                wanted: deployment.to_string(),
            });
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key)?;
        Ok(Self { pin: Pin::of_spki(&spki), deployment, issuer, certificate, clock })
    }

    /// The deployment that this authority signs for.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The authority's own certificate, DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Digest of the authority's public key, which every join token carries.
    pub fn spki_pin(&self) -> Pin {
        self.pin
    }

    /// Signs a certificate for an edge. Of the request only the public key is used.
    ///
    /// # Errors
    ///
    /// Fails if the request is no PKCS#10, isn't signed with its own key, or the key is of a kind that isn't allowed.
    pub fn issue_edge(
        &self,
        csr_der: &[u8],
        edge: EdgeId,
        ttl: Duration,
    ) -> Result<IssuedCertificate, PkiError> {
        let key = key_of_request(csr_der)?;
        let name = SpiffeId::Edge(self.deployment.clone(), edge);
        self.issue(&key, &name, ExtendedKeyUsagePurpose::ClientAuth, ttl)
    }

    /// Makes a key and a certificate for the manager itself.
    ///
    /// # Errors
    ///
    /// Fails if the cryptography refuses.
    pub fn issue_manager(&self, ttl: Duration) -> Result<ManagerCertificate, PkiError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let name = SpiffeId::Manager(self.deployment.clone());
        let issued = self.issue(&key, &name, ExtendedKeyUsagePurpose::ServerAuth, ttl)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(ManagerCertificate { key, issued })
    }

    fn issue(
        &self,
        key: &impl PublicKeyData,
        name: &SpiffeId,
        usage: ExtendedKeyUsagePurpose,
        ttl: Duration,
    ) -> Result<IssuedCertificate, PkiError> {
        let now = self.clock.now();
        let mut params = CertificateParams::default();
        params.serial_number = Some(random_serial());
        params.not_before = offset(now - BACKDATE);
        params.not_after = offset(now + ttl);
        params.distinguished_name = DistinguishedName::new();
        params.subject_alt_names = vec![SanType::URI(name.to_string().try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let leaf: CertificateDer<'static> = params.signed_by(key, &self.issuer)?.into();
        let facts = CertificateFacts::read(&leaf)?;
        Ok(IssuedCertificate {
            chain: vec![leaf],
            ca: self.certificate.clone(),
            serial: facts.serial,
            not_before: facts.not_before,
            not_after: facts.not_after,
        })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("deployment", &self.deployment)
            .field("pin", &self.pin)
            .finish_non_exhaustive()
    }
}

/// A certificate that the authority has signed.
#[derive(Clone, Debug)]
pub struct IssuedCertificate {
    /// Leaf first, DER.
    pub chain: Vec<CertificateDer<'static>>,
    /// The authority's certificate, DER.
    pub ca: CertificateDer<'static>,
    /// Serial number, lower-case hex.
    pub serial: String,
    /// Not valid before.
    pub not_before: Timestamp,
    /// Not valid after.
    pub not_after: Timestamp,
}

/// The manager's own certificate with its key.
#[derive(Debug)]
pub struct ManagerCertificate {
    /// PKCS#8; `Debug` hides it.
    pub key: PrivateKeyDer<'static>,
    /// The certificate.
    pub issued: IssuedCertificate,
}

fn ca_name(deployment: &Deployment) -> String {
    format!("spiffe://{deployment}")
}

fn self_signed(
    deployment: &Deployment,
    key: &KeyPair,
    now: Timestamp,
) -> Result<CertificateDer<'static>, PkiError> {
    let pin = Pin::of_spki(&key.subject_public_key_info());
    let mut params = CertificateParams::default();
    params.serial_number = Some(random_serial());
    params.not_before = offset(now - BACKDATE);
    params.not_after = offset(now + CA_LIFE);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.subject_alt_names = vec![SanType::URI(ca_name(deployment).try_into()?)];
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, deployment.as_str());
    // The key is part of the name, so that another authority of the same name is told apart as what it is.
    subject.push(DnType::CommonName, format!("Steadyhand authority {}", hex::encode(&pin.0[..8])));
    params.distinguished_name = subject;
    Ok(params.self_signed(key)?.into())
}

fn read_key(pem: &[u8]) -> Result<KeyPair, String> {
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(|error| error.to_string())?;
    KeyPair::try_from(&der).map_err(|error| error.to_string())
}

fn random_serial() -> SerialNumber {
    let mut bytes: [u8; 16] = rand::random();
    // Positive, and never shorter than 16 bytes.
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    SerialNumber::from_slice(&bytes)
}

fn offset(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at.timestamp()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn key_of_request(csr_der: &[u8]) -> Result<SubjectPublicKeyInfo, PkiError> {
    let bad = |reason| PkiError::BadRequest { reason };
    if csr_der.len() > MAX_REQUEST_BYTES {
        return Err(bad("it is too large"));
    }
    let (rest, request) =
        X509CertificationRequest::from_der(csr_der).map_err(|_| bad("it can't be parsed as PKCS#10"))?;
    if !rest.is_empty() {
        return Err(bad("bytes follow after its end"));
    }
    request.verify_signature().map_err(|_| bad("it isn't signed with the key that it carries"))?;
    let key = SubjectPublicKeyInfo::from_der(request.certification_request_info.subject_pki.raw)
        .map_err(|_| bad("its key is of an unknown kind"))?;
    let algorithm = key.algorithm();
    if algorithm != &rcgen::PKCS_ECDSA_P256_SHA256 && algorithm != &rcgen::PKCS_ED25519 {
        return Err(bad("its key is neither ECDSA P-256 nor Ed25519"));
    }
    Ok(key)
}

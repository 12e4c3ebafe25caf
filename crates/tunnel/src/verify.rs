//! Who is at the other end: verification of certificates at both ends, on top of webpki.
//!
//! Both verifiers note what the other end presented, so that a refusal can be told precisely.

use crate::pki::CertificateFacts;
use crate::spiffe::{Deployment, SpiffeId};
use crate::token::Pin;
use model::{Clock, Timestamp};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));

/// The one cryptography provider.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    PROVIDER.clone()
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    PROVIDER.signature_verification_algorithms
}

/// Gives rustls our clock, so that a test can move it.
#[derive(Debug)]
pub(crate) struct RustlsClock(pub(crate) Arc<dyn Clock>);

impl TimeProvider for RustlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(unix(self.0.now()))
    }
}

pub(crate) fn unix(at: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.timestamp()).unwrap_or(0)))
}

/// What the other end presented, trusted or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Presented>>);

/// A certificate that was presented in a handshake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presented {
    /// What it says, if it could be read.
    pub(crate) facts: Option<CertificateFacts>,
    /// This deployment's authority signed it, whether or not it is valid now.
    pub(crate) signed_by_us: bool,
    /// The authority under which the handshake was accepted, where that wasn't known before.
    pub(crate) ca: Option<Vec<u8>>,
}

impl Seen {
    pub(crate) fn get(&self) -> Presented {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce(&mut Presented)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Roots that hold one authority.
pub(crate) fn roots(ca: &CertificateDer<'_>) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone().into_owned())?;
    Ok(Arc::new(roots))
}

/// Accepts edges of one deployment.
#[derive(Debug)]
pub(crate) struct EdgeVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    deployment: Deployment,
    seen: Seen,
}

impl EdgeVerifier {
    pub(crate) fn new(inner: Arc<dyn ClientCertVerifier>, deployment: Deployment, seen: Seen) -> Self {
        Self { inner, deployment, seen }
    }

    /// The part that is the same for all handshakes.
    pub(crate) fn chain_verifier(ca: &CertificateDer<'_>) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        WebPkiClientVerifier::builder_with_provider(roots(ca)?, provider())
            .build()
            .map_err(|error| Error::General(error.to_string()))
    }
}

impl ClientCertVerifier for EdgeVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // None: an edge has one certificate, and one of another deployment should be shown rather than held back.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let facts = CertificateFacts::read(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        self.seen.note(|seen| seen.facts = Some(facts.clone()));
        // The signature is checked at a time when the certificate was valid: a stranger's certificate is one, whatever
        // its dates, and an own one that ran out may be reported under its name.
        let inside = UnixTime::since_unix_epoch(Duration::from_secs(
            u64::try_from(facts.not_after.timestamp() - 1).unwrap_or(0),
        ));
        self.inner.verify_client_cert(end_entity, intermediates, inside).map_err(as_unknown_issuer)?;
        self.seen.note(|seen| seen.signed_by_us = true);
        let verified =
            self.inner.verify_client_cert(end_entity, intermediates, now).map_err(as_unknown_issuer)?;
        if !facts.for_clients_only {
            return Err(CertificateError::InvalidPurpose.into());
        }
        match &facts.name {
            Some(SpiffeId::Edge(deployment, _)) if *deployment == self.deployment => Ok(verified),
            _ => Err(CertificateError::NotValidForName.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// How an edge knows its manager.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// By the authority that it got at enrolment.
    Authority(CertificateDer<'static>, Deployment),
    /// By the pin of a join token, on first contact: the chain must carry the authority's certificate.
    Pin(Pin),
}

/// Accepts the manager of one deployment.
#[derive(Debug)]
pub(crate) struct ManagerVerifier {
    trust: Trust,
    seen: Seen,
}

impl ManagerVerifier {
    pub(crate) fn new(trust: Trust, seen: Seen) -> Self {
        Self { trust, seen }
    }

    fn authority(&self, intermediates: &[CertificateDer<'_>]) -> Result<CertificateDer<'static>, Error> {
        match &self.trust {
            Trust::Authority(ca, _) => Ok(ca.clone()),
            Trust::Pin(pin) => intermediates
                .iter()
                .find(|der| crate::pki::spki_of(der).is_some_and(|spki| Pin::of_spki(&spki) == *pin))
                .map(|der| der.clone().into_owned())
                .ok_or_else(|| CertificateError::UnknownIssuer.into()),
        }
    }
}

impl ServerCertVerifier for ManagerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let facts = CertificateFacts::read(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        self.seen.note(|seen| seen.facts = Some(facts.clone()));
        let ca = self.authority(intermediates)?;
        let parsed = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &*roots(&ca)?,
            intermediates,
            now,
            algorithms().all,
        )
        .map_err(as_unknown_issuer)?;
        if !facts.for_servers_only {
            return Err(CertificateError::InvalidPurpose.into());
        }
        let right = match (&facts.name, &self.trust) {
            (Some(SpiffeId::Manager(found)), Trust::Authority(_, wanted)) => found == wanted,
            (Some(SpiffeId::Manager(_)), Trust::Pin(_)) => true,
            _ => false,
        };
        if !right {
            return Err(CertificateError::NotValidForName.into());
        }
        self.seen.note(|seen| seen.ca = Some(ca.to_vec()));
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

/// A signature that doesn't fit the authority means that another authority made it.
fn as_unknown_issuer(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => CertificateError::UnknownIssuer.into(),
        other => other,
    }
}

/// Whether the authority signed this client's certificate, at whatever time.
pub(crate) fn was_issued_to_client(
    ca: &CertificateDer<'_>,
    certificate: &CertificateDer<'_>,
    facts: &CertificateFacts,
) -> bool {
    let inside = unix(facts.not_after - Duration::from_secs(1));
    EdgeVerifier::chain_verifier(ca)
        .is_ok_and(|verifier| verifier.verify_client_cert(certificate, &[], inside).is_ok())
}

/// Whether the certificate's key made this signature.
pub(crate) fn signed_with(certificate: &CertificateDer<'_>, message: &[u8], signature: &[u8]) -> bool {
    use x509_parser::prelude::{FromDer as _, X509Certificate};
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
    let key = &parsed.public_key().subject_public_key.data;
    [SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ED25519].into_iter().any(|wanted| {
        algorithms()
            .mapping
            .iter()
            .filter(|(scheme, _)| *scheme == wanted)
            .flat_map(|(_, algorithms)| *algorithms)
            .any(|algorithm| algorithm.verify_signature(key, message, signature).is_ok())
    })
}

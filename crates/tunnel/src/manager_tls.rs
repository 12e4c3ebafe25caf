//! The manager's TLS: its own certificate, renewed in place, and a configuration for each of the two protocols.

use crate::pki::{Authority, PkiError};
use crate::verify::{EdgeVerifier, RustlsClock, Seen, provider};
use arc_swap::ArcSwap;
use model::{Clock, Timestamp};
use proto::{ALPN_EDGE, ALPN_ENROLL};
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use std::sync::Arc;
use std::time::Duration;

/// How long a certificate of the manager's own lives. It is made anew at two thirds of that, and at every start.
const MANAGER_TTL: Duration = Duration::from_secs(30 * 86_400);

/// The manager's TLS configurations. Whatever is swapped in here applies to the next handshake.
#[derive(Debug)]
pub struct ManagerTls {
    current: ArcSwap<Current>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Current {
    authority: Arc<Authority>,
    chain_verifier: Arc<dyn ClientCertVerifier>,
    certificate: Arc<OneCertificate>,
    renew_at: Timestamp,
}

impl ManagerTls {
    /// Makes a certificate for the manager and the configurations around it.
    ///
    /// # Errors
    ///
    /// Fails if the cryptography refuses.
    pub fn new(authority: Arc<Authority>, clock: Arc<dyn Clock>) -> Result<Self, PkiError> {
        let current = Current::new(authority, &clock)?;
        Ok(Self { current: ArcSwap::from_pointee(current), clock })
    }

    /// The authority that signs and is trusted.
    pub fn authority(&self) -> Arc<Authority> {
        self.current.load().authority.clone()
    }

    /// Puts another authority in place. Connections that are up stay up.
    ///
    /// # Errors
    ///
    /// Fails if the cryptography refuses.
    pub fn swap_authority(&self, authority: Arc<Authority>) -> Result<(), PkiError> {
        self.current.store(Arc::new(Current::new(authority, &self.clock)?));
        Ok(())
    }

    fn fresh(&self) -> Result<Arc<Current>, PkiError> {
        let current = self.current.load_full();
        if self.clock.now() < current.renew_at {
            return Ok(current);
        }
        let renewed = Arc::new(Current::new(current.authority.clone(), &self.clock)?);
        // Another handshake may have renewed it at the same time: either is good, but a swapped authority stays.
        let before = self.current.compare_and_swap(&current, renewed.clone());
        Ok(if Arc::ptr_eq(&before, &current) { renewed } else { arc_swap::Guard::into_inner(before) })
    }

    /// For edges: both ends show certificates. `seen` will tell what the edge presented.
    pub(crate) fn edge_config(&self, seen: Seen) -> Result<Arc<ServerConfig>, PkiError> {
        let current = self.fresh()?;
        let deployment = current.authority.deployment().clone();
        let verifier = EdgeVerifier::new(current.chain_verifier.clone(), deployment, seen);
        self.config(&current, Arc::new(verifier), ALPN_EDGE)
    }

    /// For enrolment: only the manager shows a certificate.
    pub(crate) fn enroll_config(&self) -> Result<Arc<ServerConfig>, PkiError> {
        let current = self.fresh()?;
        self.config(&current, WebPkiClientVerifier::no_client_auth(), ALPN_ENROLL)
    }

    fn config(
        &self,
        current: &Current,
        verifier: Arc<dyn ClientCertVerifier>,
        alpn: &[u8],
    ) -> Result<Arc<ServerConfig>, PkiError> {
        let mut config =
            ServerConfig::builder_with_details(provider(), Arc::new(RustlsClock(self.clock.clone())))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(refused)?
                .with_client_cert_verifier(verifier)
                .with_cert_resolver(current.certificate.clone());
        config.alpn_protocols = vec![alpn.to_vec()];
        // A resumed session would skip verification and keep an old identity.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

impl Current {
    fn new(authority: Arc<Authority>, clock: &Arc<dyn Clock>) -> Result<Self, PkiError> {
        let own = authority.issue_manager(MANAGER_TTL)?;
        let mut chain = own.issued.chain;
        // An edge that joins knows the authority by a pin only, so the chain carries it.
        chain.push(own.issued.ca);
        let key = CertifiedKey::from_der(chain, own.key, &provider()).map_err(refused)?;
        Ok(Self {
            chain_verifier: EdgeVerifier::chain_verifier(authority.certificate()).map_err(refused)?,
            certificate: Arc::new(OneCertificate(Arc::new(key))),
            renew_at: clock.now() + MANAGER_TTL * 2 / 3,
            authority,
        })
    }
}

fn refused(error: rustls::Error) -> PkiError {
    PkiError::BadCertificate { reason: error.to_string() }
}

/// The same certificate for whoever asks.
#[derive(Debug)]
struct OneCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for OneCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

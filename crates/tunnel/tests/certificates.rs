//! Certificates that aren't good: both ends say precisely why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use model::{Clock, EdgeId};
use proto::ALPN_EDGE;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use support::{DAY, Manager, MovedClock, dial_error, identity_of, within};
use tokio::net::{TcpListener, TcpStream};
use tunnel::pki::{Authority, EdgeIdentity};
use tunnel::{HandshakeReason, ManagerRefusal, TunnelError};

#[tokio::test]
async fn an_expired_certificate_is_told_to_both_sides() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let identity = manager.identity(4, DAY);
    manager.clock.forward(DAY * 2);

    let error = dial_error(&manager.dial_config(), &identity, &clock).await;
    assert!(matches!(error, TunnelError::OwnExpired { .. }), "{error}");
    let failure = manager.failure().await;
    assert!(matches!(failure.reason, HandshakeReason::Expired { .. }), "{failure}");
    assert_eq!(failure.claimed.as_ref().unwrap().edge, Some(EdgeId(4)));
    assert!(failure.to_string().starts_with("edge 4 at 127.0.0.1:"), "{failure}");
    assert!(failure.to_string().contains("its certificate ran out at"), "{failure}");
}

#[tokio::test]
async fn a_certificate_from_the_future_means_that_the_clocks_differ() {
    let mut manager = Manager::start().await;
    let edge_clock: Arc<dyn Clock> = Arc::new(MovedClock::default());
    let identity = manager.identity(4, DAY * 10);
    manager.clock.back(DAY);
    // The manager's own certificate is made with the clock that it has now.
    manager.tls.swap_authority(manager.authority.clone()).unwrap();

    let error = dial_error(&manager.dial_config(), &identity, &edge_clock).await;
    assert!(matches!(error, TunnelError::ClocksDiffer { .. }), "{error}");
    let failure = manager.failure().await;
    assert!(matches!(failure.reason, HandshakeReason::NotYetValid { .. }), "{failure}");
}

#[tokio::test]
async fn an_edge_whose_clock_is_late_says_that_its_clock_is_late() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(4, DAY);
    let late = MovedClock::default();
    late.back(DAY);
    let late: Arc<dyn Clock> = Arc::new(late);

    let error = dial_error(&manager.dial_config(), &identity, &late).await;
    assert!(matches!(error, TunnelError::ManagerNotYetValid { .. }), "{error}");
    assert!(error.to_string().contains("this host's clock is late"), "{error}");
    assert_eq!(manager.failure().await.reason, HandshakeReason::ManagerRefused(ManagerRefusal::Clock));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_told_to_both_sides() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    // Same deployment name, other key. The edge was told to trust this manager, so that only its certificate is wrong.
    let other = Authority::in_memory("test", clock.clone()).unwrap();
    let foreign = with_ca(&identity_of(&other, 4, DAY), manager.authority.certificate());

    let error = dial_error(&manager.dial_config(), &foreign, &clock).await;
    assert!(matches!(error, TunnelError::UnknownToManager), "{error}");
    let failure = manager.failure().await;
    assert_eq!(failure.reason, HandshakeReason::ForeignAuthority);
    assert_eq!(failure.claimed.as_ref().unwrap().edge, None, "a stranger's claim isn't believed");
    assert!(failure.to_string().contains("claims to be spiffe://test/edge/4"), "{failure}");
}

#[tokio::test]
async fn an_edge_of_another_manager_refuses_this_one() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let other = Authority::in_memory("test", clock.clone()).unwrap();

    let error = dial_error(&manager.dial_config(), &identity_of(&other, 4, DAY), &clock).await;
    assert!(matches!(error, TunnelError::ForeignManager { .. }), "{error}");
    assert_eq!(
        manager.failure().await.reason,
        HandshakeReason::ManagerRefused(ManagerRefusal::UnknownAuthority)
    );
}

#[tokio::test]
async fn an_edge_without_a_certificate_is_told_to_enrol() {
    let mut manager = Manager::start().await;
    let config = trusting_client().with_no_client_auth();
    let error = raw_client(&manager, config).await.unwrap_err();
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    assert_eq!(tls, Some(&rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired)));
    let failure = manager.failure().await;
    assert_eq!(failure.reason, HandshakeReason::NoCertificate);
    assert!(failure.to_string().contains("it has to be enrolled first"), "{failure}");
}

#[tokio::test]
async fn the_managers_own_certificate_does_not_pass_for_an_edges() {
    let mut manager = Manager::start().await;
    let own = manager.authority.issue_manager(DAY).unwrap();
    let config = trusting_client().with_client_auth_cert(own.issued.chain, own.key).unwrap();
    raw_client(&manager, config).await.unwrap_err();
    assert_eq!(manager.failure().await.reason, HandshakeReason::WrongUsage);
}

#[tokio::test]
async fn an_edge_can_not_play_the_manager_for_another_edge() {
    let manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let (chain, key) = parts(&manager.identity(1, DAY));
    let mut config = rustls::ServerConfig::builder_with_provider(ring())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![ALPN_EDGE.to_vec()];
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let played = tokio::spawn(async move {
        let (connection, _) = socket.accept().await.unwrap();
        tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(connection).await.map(|_| ())
    });

    let error = dial_error(&manager.dial_config_to(address), &manager.identity(2, DAY), &clock).await;
    let TunnelError::NotTheManager { found, .. } = &error else { panic!("{error}") };
    assert_eq!(found, "spiffe://test/edge/1");
    played.await.unwrap().expect_err("edge 2 must not speak to it");
}

#[tokio::test]
async fn the_manager_renews_its_own_certificate_in_place() {
    let mut manager = Manager::start().await;
    let identity = manager.identity(1, DAY * 200);
    for _ in 0..6 {
        manager.connect(&identity, None).await;
        manager.clock.forward(DAY * 25);
    }
}

#[tokio::test]
async fn another_protocol_is_refused_with_its_name() {
    let mut manager = Manager::start().await;
    let mut config = trusting_client().with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let error = raw_client(&manager, config).await.unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    assert_eq!(manager.failure().await.reason, HandshakeReason::WrongProtocol(vec!["http/1.1".to_owned()]));
}

#[tokio::test]
async fn no_session_is_ever_resumed() {
    let manager = Manager::start().await;
    let (chain, key) = parts(&manager.identity(1, DAY));
    let mut config = trusting_client().with_client_auth_cert(chain, key).unwrap();
    config.resumption = rustls::client::Resumption::in_memory_sessions(16);
    config.alpn_protocols = vec![ALPN_EDGE.to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let mut manager = manager;
    for _ in 0..3 {
        let socket = TcpStream::connect(manager.address).await.unwrap();
        let mut stream = connector.connect("localhost".try_into().unwrap(), socket).await.unwrap();
        let accepted = manager.listener.accept().await.unwrap();
        let clock: Arc<dyn Clock> = manager.clock.clone();
        let _opened = tunnel::open(accepted, &manager.settings, &clock).await.unwrap();
        // The manager's first word comes after any ticket would have.
        let mut first = [0; 24];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut first).await.unwrap();
        assert_eq!(&first, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let session = stream.get_ref().1;
        assert_eq!(session.handshake_kind(), Some(rustls::HandshakeKind::Full));
        assert_eq!(session.tls13_tickets_received(), 0);
    }
}

fn ring() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Key and chain as the identity's file holds them.
fn parts(identity: &EdgeIdentity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    identity.store(&path).unwrap();
    let pem = std::fs::read(&path).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(&pem).unwrap()];
    (chain, PrivateKeyDer::from_pem_slice(&pem).unwrap())
}

/// The same identity with another authority to trust.
fn with_ca(identity: &EdgeIdentity, ca: &[u8]) -> EdgeIdentity {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    identity.store(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let keep = text.rfind("-----BEGIN").unwrap();
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, ca);
    let replaced =
        format!("{}-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n", &text[..keep]);
    std::fs::write(&path, replaced).unwrap();
    EdgeIdentity::load(&path).unwrap().unwrap()
}

type Builder = rustls::ConfigBuilder<rustls::ClientConfig, rustls::client::WantsClientCert>;

/// A client that trusts whoever answers.
fn trusting_client() -> Builder {
    rustls::ClientConfig::builder_with_provider(ring())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAll))
}

/// Connects and waits for the manager's first word, which with TLS 1.3 is where a client learns that it was refused.
async fn raw_client(manager: &Manager, mut config: rustls::ClientConfig) -> std::io::Result<()> {
    if config.alpn_protocols.is_empty() {
        config.alpn_protocols = vec![ALPN_EDGE.to_vec()];
    }
    within(std::time::Duration::from_secs(10), async {
        let socket = TcpStream::connect(manager.address).await?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect("localhost".try_into().unwrap(), socket).await?;
        tokio::io::AsyncReadExt::read_u8(&mut stream).await.map(|_| ())
    })
    .await
}

#[derive(Debug)]
struct TrustAll;

impl rustls::client::danger::ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        ring().signature_verification_algorithms.supported_schemes()
    }
}

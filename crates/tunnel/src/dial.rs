//! The edge's end: dialling the manager.

use crate::error::{Circumstances, TunnelError, explain};
use crate::io::{Activity, Watched, prepare};
use crate::pki::EdgeIdentity;
use crate::proxy::{Address, Proxy, connect};
use crate::settings::Settings;
use crate::verify::{ManagerVerifier, RustlsClock, Seen, Trust, provider};
use model::{Clock, Timestamp};
use proto::ALPN_EDGE;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How to reach a manager.
#[derive(Clone, Debug)]
pub struct DialConfig {
    /// The manager's tunnel address.
    pub address: Address,
    /// The HTTP proxy on the way, if there is one.
    pub proxy: Option<Proxy>,
    /// Times and sizes.
    pub settings: Settings,
}

impl DialConfig {
    /// Straight to `address`, with the default times and sizes.
    pub fn new(address: Address) -> Self {
        Self { address, proxy: None, settings: Settings::default() }
    }
}

type EdgeIo = BufReader<TlsStream<Watched<TcpStream>>>;

/// A connection that the manager has accepted; served with [`crate::serve`].
pub struct EdgeLink {
    pub(crate) io: EdgeIo,
    pub(crate) activity: Activity,
    pub(crate) not_after: Timestamp,
    pub(crate) settings: Settings,
}

impl std::fmt::Debug for EdgeLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EdgeLink").field("not_after", &self.not_after).finish_non_exhaustive()
    }
}

impl EdgeLink {
    /// When the certificate that opened this connection runs out, and the connection with it.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }
}

/// Connects to the manager as `identity`. Returns when the manager has accepted the edge's certificate and begun to
/// speak; what it thinks of the edge itself, it says by calling `Refuse`.
///
/// Cancel safe: dropped before its end, it leaves nothing behind.
///
/// # Errors
///
/// Fails with a sentence for the operator of the host.
pub async fn dial(
    config: &DialConfig,
    identity: &EdgeIdentity,
    clock: &Arc<dyn Clock>,
) -> Result<EdgeLink, TunnelError> {
    let trust = Trust::Authority(identity.ca().clone(), identity.deployment().clone());
    let handshake = Handshake { config, trust, identity: Some(identity), alpn: ALPN_EDGE, clock };
    let (stream, seen) = handshake.run().await?;
    let mut io = BufReader::with_capacity(4 * 1024, stream);
    let limit = config.settings.accept_timeout;
    let address = config.address.to_string();
    match timeout(limit, io.fill_buf()).await {
        Err(_) => return Err(TunnelError::HandshakeTimeout { address, limit }),
        Ok(Ok([])) => return Err(TunnelError::ClosedEarly { address }),
        Ok(Ok(_first_bytes)) => {}
        Ok(Err(error)) => return Err(handshake.explain(&error, &seen)),
    }
    let activity = io.get_ref().get_ref().0.activity().clone();
    Ok(EdgeLink { io, activity, not_after: identity.not_after(), settings: config.settings.clone() })
}

/// One TLS handshake with a manager.
pub(crate) struct Handshake<'a> {
    pub(crate) config: &'a DialConfig,
    pub(crate) trust: Trust,
    pub(crate) identity: Option<&'a EdgeIdentity>,
    pub(crate) alpn: &'static [u8],
    pub(crate) clock: &'a Arc<dyn Clock>,
}

impl Handshake<'_> {
    /// Connects; also returns what the manager presented.
    pub(crate) async fn run(&self) -> Result<(TlsStream<Watched<TcpStream>>, Seen), TunnelError> {
        let limit = self.config.settings.handshake_timeout;
        match timeout(limit, self.handshake()).await {
            Ok(result) => result,
            Err(_) => Err(TunnelError::HandshakeTimeout { address: self.config.address.to_string(), limit }),
        }
    }

    async fn handshake(&self) -> Result<(TlsStream<Watched<TcpStream>>, Seen), TunnelError> {
        let seen = Seen::default();
        let tls = self.tls_config(seen.clone()).map_err(|error| self.tls_error(&error))?;
        let socket = connect(&self.config.address, self.config.proxy.as_ref()).await?;
        let socket = prepare(socket, &self.config.settings);
        let host = self.config.address.host();
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TunnelError::BadAddress { address: self.config.address.to_string() })?;
        let stream = TlsConnector::from(Arc::new(tls))
            .connect(name, socket)
            .await
            .map_err(|error| self.explain(&error, &seen))?;
        if stream.get_ref().1.alpn_protocol() != Some(self.alpn) {
            return Err(TunnelError::NotATunnel { address: self.config.address.to_string() });
        }
        Ok((stream, seen))
    }

    fn tls_config(&self, seen: Seen) -> Result<ClientConfig, rustls::Error> {
        let verifier = Arc::new(ManagerVerifier::new(self.trust.clone(), seen));
        let builder =
            ClientConfig::builder_with_details(provider(), Arc::new(RustlsClock(self.clock.clone())))
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .dangerous()
                .with_custom_certificate_verifier(verifier);
        let mut config = match self.identity {
            Some(identity) => builder.with_client_auth_cert(identity.chain().to_vec(), identity.key_der())?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![self.alpn.to_vec()];
        // A resumed session would skip verification and keep an old identity.
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    fn tls_error(&self, error: &rustls::Error) -> TunnelError {
        TunnelError::Tls { address: self.config.address.to_string(), reason: error.to_string() }
    }

    pub(crate) fn explain(&self, error: &std::io::Error, seen: &Seen) -> TunnelError {
        explain(
            error,
            &Circumstances {
                address: &self.config.address.to_string(),
                trust: &self.trust,
                own: self.identity.map(EdgeIdentity::facts),
                presented: seen.get(),
                now: self.clock.now(),
            },
        )
    }
}

//! The manager's end: one port for edges and for enrolment.

use crate::bounds::{AddressSlot, AddressSlots, LineLimit};
use crate::handshake::{Claimed, HandshakeFailure, HandshakeReason, reason_of};
use crate::io::{Activity, Watched, prepare};
use crate::manager_tls::ManagerTls;
use crate::settings::Settings;
use crate::spiffe::SpiffeId;
use crate::verify::{Presented, Seen};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use model::{Clock, EdgeId, Timestamp};
use proto::{ALPN_EDGE, ALPN_ENROLL};
use rustls::server::Acceptor;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::{StartHandshake, TlsStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::body::Body;
use tower_service::Service;

/// A TLS record that says that none of the offered protocols is spoken here.
const NO_APPLICATION_PROTOCOL: [u8; 7] = [21, 3, 3, 0, 2, 2, 120];
/// How long an enrolment connection may last.
const ENROLL_LIMIT: Duration = Duration::from_secs(30);
/// How long a refused peer gets to read why.
const LINGER: Duration = Duration::from_secs(1);

/// Where a request of the enrolment service comes from; an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);

/// Is told of every handshake that failed.
pub type OnFailure = Arc<dyn Fn(HandshakeFailure) + Send + Sync>;

/// What a listener needs beside its socket.
pub struct ListenerConfig {
    /// Certificates.
    pub tls: Arc<ManagerTls>,
    /// For the times in failures.
    pub clock: Arc<dyn Clock>,
    /// Times and sizes.
    pub settings: Settings,
    /// Handshakes at once; more wait in the kernel's queue.
    pub max_handshakes: usize,
    /// Handshakes at once from one address (IPv6: one /64); more are closed, so that nobody can take all of them.
    pub max_handshakes_per_address: usize,
    /// Enrolment connections at once; more are closed.
    pub max_enrollments: usize,
    /// Is told of every handshake that failed.
    pub on_failure: OnFailure,
}

impl ListenerConfig {
    /// The usual limits; failures go to the log, a flood of them as a few lines and a count.
    pub fn new(tls: Arc<ManagerTls>, clock: Arc<dyn Clock>) -> Self {
        let lines = LineLimit::new(Instant::now());
        let on_failure: OnFailure =
            Arc::new(move |failure: HandshakeFailure| match lines.admit(Instant::now()) {
                Some(0) => tracing::warn!(peer = %failure.peer, "{failure}"),
                Some(unsaid) => {
                    tracing::warn!(peer = %failure.peer, unsaid, "{failure}; as many before it were left out")
                }
                None => {}
            });
        Self {
            tls,
            clock,
            settings: Settings::default(),
            max_handshakes: 256,
            max_handshakes_per_address: 64,
            max_enrollments: 64,
            on_failure,
        }
    }
}

/// An edge that proved who it is. Whether it is revoked or a clone isn't decided yet.
pub struct EdgeStream {
    /// Who it is, from its certificate.
    pub edge: EdgeId,
    /// Serial number of its certificate, lower-case hex.
    pub serial: String,
    /// When its certificate runs out, and the connection with it.
    pub not_after: Timestamp,
    /// The certificate, DER.
    pub certificate: Vec<u8>,
    /// Where it comes from.
    pub peer: SocketAddr,
    pub(crate) io: TlsStream<Watched<TcpStream>>,
    pub(crate) activity: Activity,
}

impl fmt::Debug for EdgeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeStream")
            .field("edge", &self.edge)
            .field("serial", &self.serial)
            .field("not_after", &self.not_after)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// Accepts edges, and serves enrolment beside them. Dropped, it stops listening; connections that were handed out stay.
#[derive(Debug)]
pub struct Listener {
    edges: mpsc::Receiver<EdgeStream>,
    address: SocketAddr,
    _stop: DropGuard,
}

impl Listener {
    /// Begins to accept on `socket`. `enrollment` is a tonic `EnrollmentServer`; its requests carry a [`PeerAddress`].
    ///
    /// # Errors
    ///
    /// Fails if the socket has no address.
    pub fn start<S>(socket: TcpListener, config: ListenerConfig, enrollment: S) -> io::Result<Self>
    where
        S: Service<http::Request<Incoming>, Response = http::Response<Body>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        let address = socket.local_addr()?;
        let stop = CancellationToken::new();
        let (sender, edges) = mpsc::channel(64);
        let accepting = Accepting {
            handshakes: Arc::new(Semaphore::new(config.max_handshakes)),
            addresses: AddressSlots::new(config.max_handshakes_per_address),
            enrollments: Arc::new(Semaphore::new(config.max_enrollments)),
            config,
            enrollment,
            edges: sender,
            stop: stop.clone(),
        };
        tokio::spawn(async move {
            accepting.stop.clone().run_until_cancelled(Arc::new(accepting).run(socket)).await
        });
        Ok(Self { edges, address, _stop: stop.drop_guard() })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next edge that proved who it is; `None` if the listener stopped. Cancel safe.
    pub async fn accept(&mut self) -> Option<EdgeStream> {
        self.edges.recv().await
    }
}

struct Accepting<S> {
    config: ListenerConfig,
    enrollment: S,
    edges: mpsc::Sender<EdgeStream>,
    handshakes: Arc<Semaphore>,
    addresses: AddressSlots,
    enrollments: Arc<Semaphore>,
    stop: CancellationToken,
}

enum Accepted {
    Edge(Box<EdgeStream>),
    Enrollment(Box<TlsStream<Watched<TcpStream>>>),
}

impl<S> Accepting<S>
where
    S: Service<http::Request<Incoming>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    async fn run(self: Arc<Self>, socket: TcpListener) {
        loop {
            let Ok(permit) = self.handshakes.clone().acquire_owned().await else { return };
            let (connection, peer) = match socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: spinning would make it worse.
                    tracing::warn!(%error, "can't accept a connection on the tunnel's port");
                    sleep(Duration::from_millis(200)).await;
                    continue;
                }
            };
            let Some(slot) = self.addresses.take(peer.ip()) else {
                self.turn_away(peer);
                continue;
            };
            let this = self.clone();
            tokio::spawn(async move {
                let accepted =
                    this.stop.run_until_cancelled(this.handshake(connection, peer, slot)).await.flatten();
                match accepted {
                    Some(Accepted::Edge(stream)) => {
                        // Closed only when the listener is gone. The permit is held: who isn't taken up slows the rest.
                        let _ = this.edges.send(*stream).await;
                        drop(permit);
                    }
                    Some(Accepted::Enrollment(stream)) => {
                        drop(permit);
                        this.serve_enrollment(*stream, peer).await;
                    }
                    None => {}
                }
            });
        }
    }

    /// Reports a connection that is closed because its address has enough handshakes under way.
    fn turn_away(&self, peer: SocketAddr) {
        (self.config.on_failure)(HandshakeFailure {
            peer,
            at: self.config.clock.now(),
            claimed: None,
            reason: HandshakeReason::TooMany(self.config.max_handshakes_per_address),
        });
    }

    /// One handshake, within its time. A failure is reported here.
    async fn handshake(
        &self,
        connection: TcpStream,
        peer: SocketAddr,
        _slot: AddressSlot,
    ) -> Option<Accepted> {
        let seen = Seen::default();
        let limit = self.config.settings.handshake_timeout;
        let result = timeout(limit, self.negotiate(connection, peer, &seen)).await;
        let (reason, refused) = match result {
            Ok(Ok(accepted)) => return Some(accepted),
            Ok(Err(failed)) => *failed,
            Err(_) => (HandshakeReason::TooSlow(limit), None),
        };
        let presented: Presented = seen.get();
        (self.config.on_failure)(HandshakeFailure {
            peer,
            at: self.config.clock.now(),
            claimed: Claimed::from_presented(&presented),
            reason,
        });
        if let Some(mut io) = refused {
            // Closing a socket with unread bytes would throw away the alert that tells the other end why.
            let _ = io.shutdown().await;
            let mut rest = [0; 1024];
            let _ = timeout(LINGER, async { while io.read(&mut rest).await.is_ok_and(|count| count > 0) {} })
                .await;
        }
        None
    }

    async fn negotiate(
        &self,
        connection: TcpStream,
        peer: SocketAddr,
        seen: &Seen,
    ) -> Result<Accepted, Failed> {
        let io = prepare(connection, &self.config.settings);
        let acceptor = LazyConfigAcceptor::new(Acceptor::default(), io);
        let mut acceptor = std::pin::pin!(acceptor);
        let start = match acceptor.as_mut().await {
            Ok(start) => start,
            Err(error) => return Err(self.failed(&error, seen, acceptor.take_io())),
        };
        let offered: Vec<Vec<u8>> = start
            .client_hello()
            .alpn()
            .map(|offered| offered.map(<[u8]>::to_vec).collect())
            .unwrap_or_default();
        let offers = |protocol: &[u8]| offered.iter().any(|offer| offer == protocol);
        let (config, wanted) = if offers(ALPN_EDGE) {
            (self.config.tls.edge_config(seen.clone()), ALPN_EDGE)
        } else if offers(ALPN_ENROLL) {
            (self.config.tls.enroll_config(), ALPN_ENROLL)
        } else {
            return Err(wrong_protocol(start, &offered).await);
        };
        let config = config.map_err(|error| Box::new((HandshakeReason::Other(error.to_string()), None)))?;
        let stream = match start.into_stream(config).into_fallible().await {
            Ok(stream) => stream,
            Err((error, io)) => return Err(self.failed(&error, seen, Some(io))),
        };
        if stream.get_ref().1.alpn_protocol() != Some(wanted) {
            return Err(Box::new((HandshakeReason::WrongProtocol(Vec::new()), None)));
        }
        if wanted == ALPN_ENROLL {
            return Ok(Accepted::Enrollment(Box::new(stream)));
        }
        let (socket, session) = stream.get_ref();
        let activity = socket.activity().clone();
        let certificate =
            session.peer_certificates().and_then(|chain| chain.first()).map(|leaf| leaf.to_vec());
        match (certificate, seen.get().facts) {
            (Some(certificate), Some(facts)) => match facts.name {
                Some(SpiffeId::Edge(_, edge)) => Ok(Accepted::Edge(Box::new(EdgeStream {
                    edge,
                    serial: facts.serial,
                    not_after: facts.not_after,
                    certificate,
                    peer,
                    io: stream,
                    activity,
                }))),
                _ => Err(Box::new((HandshakeReason::WrongName, None))),
            },
            _ => Err(Box::new((HandshakeReason::NoCertificate, None))),
        }
    }

    fn failed(&self, error: &io::Error, seen: &Seen, io: Option<Watched<TcpStream>>) -> Failed {
        Box::new((reason_of(error, &seen.get(), self.config.clock.now()), io))
    }

    async fn serve_enrollment(&self, stream: TlsStream<Watched<TcpStream>>, peer: SocketAddr) {
        let Ok(_permit) = self.enrollments.try_acquire() else {
            tracing::warn!(%peer, "too many enrolments at once, closing one");
            return;
        };
        let service = WithPeer { inner: self.enrollment.clone(), peer: PeerAddress(peer) };
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(4)
            .max_send_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        match self.stop.run_until_cancelled(timeout(ENROLL_LIMIT, connection)).await {
            Some(Ok(Err(error))) => tracing::debug!(%peer, %error, "an enrolment connection broke"),
            Some(Err(_)) => tracing::debug!(%peer, "an enrolment connection lasted too long and was closed"),
            _ => {}
        }
    }
}

type Failed = Box<(HandshakeReason, Option<Watched<TcpStream>>)>;

/// Says so in a TLS alert, which rustls would do only for a client that offers protocols at all.
async fn wrong_protocol(start: StartHandshake<Watched<TcpStream>>, offered: &[Vec<u8>]) -> Failed {
    let names = offered
        .iter()
        .take(4)
        .map(|name| name.escape_ascii().to_string().chars().take(32).collect())
        .collect();
    let mut io = start.io;
    let _ = io.write_all(&NO_APPLICATION_PROTOCOL).await;
    Box::new((HandshakeReason::WrongProtocol(names), Some(io)))
}

/// Tells the enrolment service where a request comes from.
#[derive(Clone)]
struct WithPeer<S> {
    inner: S,
    peer: PeerAddress,
}

impl<S: Service<http::Request<Incoming>>> Service<http::Request<Incoming>> for WithPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Incoming>) -> S::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}

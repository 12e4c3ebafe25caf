//! A manager's and an edge's ends over real TLS on loopback, with a small edge service behind them.
#![allow(dead_code, unused_imports, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod edge_service;
mod network;

pub use edge_service::{TestEdge, byte_at, execute, read_all};
pub use network::{ConnectProxy, Direction, Relay};

use futures::future::BoxFuture;
use model::{Clock, EdgeId, SystemClock, Timestamp};
use proto::v1::enrollment_server::{Enrollment, EnrollmentServer};
use proto::v1::{EnrollRequest, EnrollResponse, RejoinRequest};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tunnel::pki::{Authority, EdgeIdentity, EdgeKey, IssuedCertificate, verify_rejoin};
use tunnel::{
    ConnectionHandle, DialConfig, EdgeClient, Ended, HandshakeFailure, JoinToken, Listener, ListenerConfig,
    ManagerTls, Settings, TunnelError, dial, enroll, open, secret_digest_of, serve,
};

pub const DAY: Duration = Duration::from_secs(86_400);

/// The machine's clock, moved.
#[derive(Debug, Default)]
pub struct MovedClock(AtomicI64);

impl MovedClock {
    pub fn forward(&self, by: Duration) {
        self.0.fetch_add(by.as_secs() as i64, Ordering::SeqCst);
    }

    pub fn back(&self, by: Duration) {
        self.0.fetch_sub(by.as_secs() as i64, Ordering::SeqCst);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + chrono::TimeDelta::seconds(self.0.load(Ordering::SeqCst))
    }
}

/// Times short enough for a test.
pub fn quick() -> Settings {
    Settings {
        ping_interval: Duration::from_millis(500),
        quiet_limit: Duration::from_secs(2),
        handshake_timeout: Duration::from_secs(5),
        accept_timeout: Duration::from_secs(5),
        ..Settings::default()
    }
}

/// What the test's enrolment service keeps.
pub struct Tokens {
    authority: Arc<Authority>,
    open: Mutex<HashMap<[u8; 32], EdgeId>>,
    rejoin_allowed: Mutex<bool>,
    clock: Arc<MovedClock>,
}

impl Tokens {
    pub fn allow_rejoin(&self) {
        *self.rejoin_allowed.lock().unwrap() = true;
    }

    fn answer(&self, csr: &[u8], edge: EdgeId) -> Result<Response<EnrollResponse>, Status> {
        let issued = self.authority.issue_edge(csr, edge, DAY).map_err(|error| tunnel::status_of(&error))?;
        Ok(Response::new(EnrollResponse {
            edge_id: edge.0,
            certificate_chain_der: issued.chain.iter().map(|der| der.to_vec()).collect(),
            ca_der: issued.ca.to_vec(),
            deployment: self.authority.deployment().to_string(),
        }))
    }
}

#[tonic::async_trait]
impl Enrollment for Tokens {
    async fn enroll(&self, request: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        assert!(request.extensions().get::<tunnel::PeerAddress>().is_some());
        let request = request.into_inner();
        let known =
            secret_digest_of(&request.token).and_then(|digest| self.open.lock().unwrap().remove(&digest));
        let edge = known.ok_or_else(|| Status::permission_denied("the token is not accepted"))?;
        self.answer(&request.csr_der, edge)
    }

    async fn rejoin(&self, request: Request<RejoinRequest>) -> Result<Response<EnrollResponse>, Status> {
        let request = request.into_inner();
        let proof = verify_rejoin(&self.authority, &request, self.clock.now())
            .map_err(|error| tunnel::status_of(&error))?;
        if !*self.rejoin_allowed.lock().unwrap() {
            return Err(Status::permission_denied("the proof of the old key doesn't hold"));
        }
        self.answer(&request.csr_der, proof.edge)
    }
}

/// A manager's end: authority, port, tokens.
pub struct Manager {
    pub authority: Arc<Authority>,
    pub tls: Arc<ManagerTls>,
    pub clock: Arc<MovedClock>,
    pub tokens: Arc<Tokens>,
    pub address: SocketAddr,
    pub settings: Settings,
    pub listener: Listener,
    pub failures: mpsc::UnboundedReceiver<HandshakeFailure>,
}

impl Manager {
    pub async fn start() -> Self {
        Self::with(quick(), 64).await
    }

    pub async fn with(settings: Settings, max_handshakes: usize) -> Self {
        let clock = Arc::new(MovedClock::default());
        let authority = Arc::new(Authority::in_memory("test", clock.clone()).unwrap());
        let tls = Arc::new(ManagerTls::new(authority.clone(), clock.clone()).unwrap());
        let (failed, failures) = mpsc::unbounded_channel();
        let mut config = ListenerConfig::new(tls.clone(), clock.clone());
        config.settings = settings.clone();
        config.max_handshakes = max_handshakes;
        config.on_failure = Arc::new(move |failure| {
            let _ = failed.send(failure);
        });
        let tokens = Arc::new(Tokens {
            authority: authority.clone(),
            open: Mutex::default(),
            rejoin_allowed: Mutex::new(false),
            clock: clock.clone(),
        });
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listener = Listener::start(socket, config, EnrollmentServer::from_arc(tokens.clone())).unwrap();
        let address = listener.local_addr();
        Self { authority, tls, clock, tokens, address, settings, listener, failures }
    }

    pub fn dial_config(&self) -> DialConfig {
        self.dial_config_to(self.address)
    }

    pub fn dial_config_to(&self, address: SocketAddr) -> DialConfig {
        let mut config = DialConfig::new(address.to_string().parse().unwrap());
        config.settings = self.settings.clone();
        config
    }

    pub fn token(&self, edge: i64) -> JoinToken {
        let token = JoinToken::generate(self.authority.spki_pin());
        self.tokens.open.lock().unwrap().insert(token.secret_digest(), EdgeId(edge));
        token
    }

    pub async fn enrolled(&self, edge: i64) -> EdgeIdentity {
        let clock: Arc<dyn Clock> = self.clock.clone();
        enroll(&self.dial_config(), &self.token(edge), "host-under-test", &clock).await.unwrap()
    }

    /// An identity that the authority signed directly, with another life.
    pub fn identity(&self, edge: i64, ttl: Duration) -> EdgeIdentity {
        identity_of(&self.authority, edge, ttl)
    }

    pub async fn failure(&mut self) -> HandshakeFailure {
        within(Duration::from_secs(10), self.failures.recv()).await.unwrap()
    }

    /// Connects an edge, through `address` if it isn't straight.
    pub async fn connect(&mut self, identity: &EdgeIdentity, via: Option<SocketAddr>) -> Connected {
        let config = self.dial_config_to(via.unwrap_or(self.address));
        self.connect_with(identity, &config).await
    }

    pub async fn connect_with(&mut self, identity: &EdgeIdentity, config: &DialConfig) -> Connected {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let manager_clock = clock.clone();
        let accept = async {
            let stream = self.listener.accept().await.unwrap();
            let edge = stream.edge;
            let (client, handle) = open(stream, &self.settings, &manager_clock).await.unwrap();
            (edge, client, handle)
        };
        let (link, (edge, client, handle)) =
            within(Duration::from_secs(20), async { tokio::join!(dial(config, identity, &clock), accept) })
                .await;
        let link = link.unwrap();
        let service = TestEdge::default();
        let server = service.server();
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let served = tokio::spawn(async move { serve(link, server, &clock, &stop).await });
        Connected { edge, client, handle, service, served, shutdown }
    }
}

/// Signs an identity without a connection.
pub fn identity_of(authority: &Authority, edge: i64, ttl: Duration) -> EdgeIdentity {
    let key = EdgeKey::generate().unwrap();
    let issued: IssuedCertificate = authority.issue_edge(&key.request().unwrap(), EdgeId(edge), ttl).unwrap();
    let chain = issued.chain.iter().map(|der| der.to_vec()).collect();
    EdgeIdentity::assemble(key, chain, issued.ca.to_vec()).unwrap()
}

/// Both ends of one connection.
pub struct Connected {
    pub edge: EdgeId,
    pub client: EdgeClient,
    pub handle: ConnectionHandle,
    pub service: TestEdge,
    pub served: JoinHandle<Ended>,
    pub shutdown: CancellationToken,
}

/// Dials and gives the error, for cases that must fail.
pub async fn dial_error(config: &DialConfig, identity: &EdgeIdentity, clock: &Arc<dyn Clock>) -> TunnelError {
    within(Duration::from_secs(20), dial(config, identity, clock)).await.unwrap_err()
}

/// Fails the test instead of hanging.
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("not done within {limit:?}"))
}

/// Waits until `check` holds, looking again whenever something may have changed.
pub fn eventually<'a>(limit: Duration, mut check: impl FnMut() -> bool + Send + 'a) -> BoxFuture<'a, ()> {
    Box::pin(within(limit, async move {
        while !check() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }))
}

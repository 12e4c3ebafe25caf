//! A call through the reversed tunnel to a real edge, without gate and audit.

use crate::echo::{Echo, KEY};
use crate::sample::Sample;
use anyhow::{Context, Result, ensure};
use edge::{DataDir, EdgeConfig, Options};
use model::{CallId, Clock, EdgeId, SystemClock};
use proto::v1::enrollment_server::{Enrollment, EnrollmentServer};
use proto::v1::execute_event::Event;
use proto::v1::{EnrollRequest, EnrollResponse, ExecuteRequest, RejoinRequest};
use skill::Capability;
use skills::Registry;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};
use tunnel::pki::{Authority, EdgeIdentity, EdgeKey};
use tunnel::{ConnectionHandle, EdgeClient, Listener, ListenerConfig, ManagerTls, Settings, open};

const DAY: Duration = Duration::from_secs(86_400);

struct Closed;

#[tonic::async_trait]
impl Enrollment for Closed {
    async fn enroll(&self, _request: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        Err(Status::unavailable("identities are made directly"))
    }

    async fn rejoin(&self, _request: Request<RejoinRequest>) -> Result<Response<EnrollResponse>, Status> {
        Err(Status::unavailable("identities are made directly"))
    }
}

/// A connected edge.
pub struct Tunnelled {
    client: EdgeClient,
    definition_hash: String,
    _connection: ConnectionHandle,
    _listener: Listener,
    _edge: DropGuard,
}

impl Tunnelled {
    /// Starts both ends.
    ///
    /// # Errors
    ///
    /// Fails if they can't connect.
    pub async fn start(folder: &Path) -> Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let authority = Arc::new(Authority::in_memory("bench", Arc::clone(&clock))?);
        let tls = Arc::new(ManagerTls::new(Arc::clone(&authority), Arc::clone(&clock))?);
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let config = ListenerConfig::new(tls, Arc::clone(&clock));
        let mut listener = Listener::start(socket, config, EnrollmentServer::new(Closed))?;

        let dir = DataDir::new(folder);
        std::fs::create_dir_all(folder)?;
        let key = EdgeKey::generate()?;
        let issued = authority.issue_edge(&key.request()?, EdgeId(1), DAY)?;
        let chain = issued.chain.iter().map(|der| der.to_vec()).collect();
        EdgeIdentity::assemble(key, chain, issued.ca.to_vec())?.store(&dir.identity())?;
        let stop = spawn_edge(dir, folder, &address.to_string());

        let stream = listener.accept().await.context("the listener ended")?;
        let (client, connection) = open(stream, &Settings::default(), &clock)
            .await
            .map_err(|ended| anyhow::anyhow!("the connection ended: {ended}"))?;
        let definition_hash = Capability::of_skill::<Echo>().hash().to_owned();
        Ok(Self { client, definition_hash, _connection: connection, _listener: listener, _edge: stop })
    }

    /// Times calls.
    ///
    /// # Errors
    ///
    /// Fails with the first call that does.
    pub async fn measure(&self, calls: usize, at_once: usize) -> Result<Sample> {
        Sample::of(calls, at_once, || {
            let mut client = self.client.clone();
            let request = ExecuteRequest {
                call_id: CallId::generate().to_string(),
                skill: KEY.to_owned(),
                args_json: "{\"word\":\"word\"}".to_owned(),
                class: "safe".to_owned(),
                definition_hash: self.definition_hash.clone(),
                deadline_ms: 10_000,
                origin: "api".to_owned(),
                ..ExecuteRequest::default()
            };
            async move {
                let mut events = client.execute(request).await?.into_inner();
                while let Some(event) = events.message().await? {
                    if let Some(Event::Outcome(outcome)) = event.event {
                        ensure!(outcome.state == "succeeded", "{}", outcome.error);
                        return Ok(());
                    }
                }
                anyhow::bail!("the call had no outcome")
            }
        })
        .await
    }
}

/// Runs an edge with the echo skill until the guard is dropped.
pub fn spawn_edge(dir: DataDir, folder: &Path, manager: &str) -> DropGuard {
    let mut config = EdgeConfig::default();
    manager.clone_into(&mut config.tunnel.manager);
    let mut options = Options::new(config, folder.join("edge.toml"), dir);
    options.registry = Registry::builtin().with(Echo);
    let stop = CancellationToken::new();
    tokio::spawn(edge::run(options, stop.clone()));
    stop.drop_guard()
}

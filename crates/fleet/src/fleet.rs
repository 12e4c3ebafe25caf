//! The fleet itself: its parts, its start, and what people do to hosts.

use crate::connection::take_up;
use crate::enrollment::Enrollment;
use crate::hosts::{Host, Hosts};
use crate::token::{check_labels, is_legal_name};
use crate::{FleetError, HostView, Labels};
use gate::{FinishedCall, Recorder};
use model::{CallState, Clock, EdgeId, Timestamp};
use proto::v1::enrollment_server::EnrollmentServer;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use storage::calls::CallFilter;
use storage::{Actor, Storage};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::{CancellationToken, DropGuard};
use tunnel::pki::Authority;
use tunnel::{HandshakeFailure, Listener, ListenerConfig, ManagerTls, Settings};

/// How the fleet behaves.
#[derive(Clone, Debug)]
pub struct FleetConfig {
    /// How long a certificate of an edge lives.
    pub cert_ttl: Duration,
    /// The address that edges are told to dial, HOST:PORT; the listener's own if there is none.
    pub public_address: Option<String>,
    /// Times and sizes of the tunnel.
    pub settings: Settings,
    /// Connections that are being brought up at once.
    pub max_bring_ups: usize,
    /// Connections that wait for that; more are sent away with a time to come back.
    pub max_waiting: usize,
    /// How long bringing up one may take.
    pub bring_up_limit: Duration,
}

impl Default for FleetConfig {
    fn default() -> Self {
        Self {
            cert_ttl: Duration::from_secs(24 * 3600),
            public_address: None,
            settings: Settings::default(),
            max_bring_ups: 64,
            max_waiting: 512,
            bring_up_limit: Duration::from_secs(30),
        }
    }
}

/// What the fleet works with.
#[derive(Clone, Debug)]
pub struct FleetParts {
    /// Who is enrolled, and the calls.
    pub storage: Storage,
    /// Signs certificates.
    pub authority: Arc<Authority>,
    /// Puts the end of calls on record whose connection was lost.
    pub recorder: Recorder,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

/// The fleet. Cheap to clone; when the last clone is dropped, it stops listening and all connections end.
#[derive(Clone, Debug)]
pub struct Fleet {
    inner: Arc<Inner>,
    _stop: Arc<DropGuard>,
}

/// Failed handshakes that are remembered.
const MAX_FAILURES: usize = 32;

/// How often those that are connected are written down as seen.
const SEEN_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: FleetConfig,
    pub(crate) parts: FleetParts,
    pub(crate) hosts: Hosts,
    pub(crate) bring_ups: Semaphore,
    pub(crate) waiting: AtomicU64,
    /// Connections that are up, draining ones too.
    pub(crate) open: AtomicU64,
    pub(crate) stop: CancellationToken,
    address: SocketAddr,
    generations: AtomicU64,
    changes: broadcast::Sender<EdgeId>,
    failures: Mutex<VecDeque<HandshakeFailure>>,
}

impl Fleet {
    /// Begins to listen for edges on `socket`. To be called before any call is admitted: calls that an earlier manager
    /// left running become `unknown`, so that their edges are asked.
    ///
    /// # Errors
    ///
    /// Fails if the hosts can't be read, the manager's certificate can't be made, or the socket has no address.
    pub async fn start(
        config: FleetConfig,
        parts: FleetParts,
        socket: TcpListener,
    ) -> Result<Self, FleetError> {
        let tls = Arc::new(ManagerTls::new(Arc::clone(&parts.authority), Arc::clone(&parts.clock))?);
        // Before the first edge is back and is asked about them.
        parts.storage.calls().settle_left_running().await?;
        let records = parts.storage.edges().list().await?;
        let mut certificates = HashMap::new();
        for record in &records {
            if let Some(certificate) = parts.storage.edges().latest_certificate(record.id).await? {
                certificates.insert(record.id, certificate);
            }
        }
        let stop = CancellationToken::new();
        let inner = Arc::new(Inner {
            hosts: Hosts::load(records, certificates),
            bring_ups: Semaphore::new(config.max_bring_ups),
            waiting: AtomicU64::new(0),
            open: AtomicU64::new(0),
            stop: stop.clone(),
            address: socket.local_addr().map_err(FleetError::Listen)?,
            generations: AtomicU64::new(1),
            changes: broadcast::channel(1024).0,
            failures: Mutex::default(),
            config,
            parts,
        });
        let mut listening = ListenerConfig::new(tls, Arc::clone(&inner.parts.clock));
        listening.settings = inner.config.settings.clone();
        let heard = Arc::downgrade(&inner);
        listening.on_failure = Arc::new(move |failure| {
            tracing::warn!(peer = %failure.peer, "{failure}");
            if let Some(inner) = heard.upgrade() {
                inner.handshake_failed(failure);
            }
        });
        let service = EnrollmentServer::new(Enrollment::new(Arc::clone(&inner)))
            .max_decoding_message_size(proto::MAX_MESSAGE_BYTES);
        let mut listener = Listener::start(socket, listening, service).map_err(FleetError::Listen)?;
        let accepting = Arc::clone(&inner);
        tokio::spawn(async move {
            let accept = async {
                while let Some(stream) = listener.accept().await {
                    let (inner, stop) = (Arc::clone(&accepting), accepting.stop.clone());
                    tokio::spawn(async move { stop.run_until_cancelled(take_up(inner, stream)).await });
                }
            };
            accepting.stop.run_until_cancelled(accept).await;
            accepting.close_all();
        });
        tokio::spawn(note_seen(Arc::clone(&inner)));
        let changes = inner.parts.storage.call_changes();
        tokio::spawn(crate::resolve::follow_calls(Arc::clone(&inner), changes));
        Ok(Self { inner, _stop: Arc::new(stop.drop_guard()) })
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.address
    }

    /// Whether edges can still dial in.
    pub fn is_listening(&self) -> bool {
        !self.inner.stop.is_cancelled()
    }

    /// The address that edges are told to dial.
    pub fn public_address(&self) -> String {
        self.inner.public_address()
    }

    /// Stops listening, ends all connections and writes down who was there.
    pub async fn stop(&self) {
        let connected = self.inner.connected();
        self.inner.stop.cancel();
        self.inner.close_all();
        if let Err(error) = self.inner.parts.storage.edges().seen(connected).await {
            tracing::warn!(%error, "could not note who was connected");
        }
    }

    /// Hosts that have changed: connected, gone, renamed, loaded otherwise. A slow receiver misses some and is told.
    pub fn changes(&self) -> broadcast::Receiver<EdgeId> {
        self.inner.changes.subscribe()
    }

    /// All hosts, by id.
    pub fn hosts(&self) -> Vec<HostView> {
        let (now, freezes) = (self.inner.now(), self.inner.parts.storage.freezes().current());
        self.inner.hosts.read().values().map(|host| HostView::of(host, now, &freezes)).collect()
    }

    /// One host.
    pub fn host(&self, id: EdgeId) -> Option<HostView> {
        let (now, freezes) = (self.inner.now(), self.inner.parts.storage.freezes().current());
        self.inner.hosts.with(id, |host| HostView::of(host, now, &freezes))
    }

    /// The last handshakes that failed, newest last: those that can't be told to be any host's, too.
    pub fn failed_handshakes(&self) -> Vec<HandshakeFailure> {
        self.inner.failures.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// How many connections are up, those that drain included.
    pub fn open_connections(&self) -> u64 {
        self.inner.open.load(Ordering::Relaxed)
    }

    /// Renames a host.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host, or the name is another one's or none at all.
    pub async fn rename(&self, id: EdgeId, name: &str, by: Actor) -> Result<(), FleetError> {
        if !is_legal_name(name) {
            return Err(FleetError::BadName);
        }
        self.inner.known(id)?;
        self.inner.parts.storage.edges().rename(id, name.to_owned(), by).await?;
        self.inner.reload(id).await
    }

    /// Replaces a host's labels.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host, or the labels are too many or too long.
    pub async fn set_labels(&self, id: EdgeId, labels: Labels, by: Actor) -> Result<(), FleetError> {
        check_labels(&labels)?;
        self.inner.known(id)?;
        self.inner.parts.storage.edges().set_labels(id, labels, by).await?;
        self.inner.reload(id).await
    }

    /// Voids a host's certificates and ends its connection.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host.
    pub async fn revoke(&self, id: EdgeId, by: Actor) -> Result<(), FleetError> {
        self.shut_out(id, false, by).await
    }

    /// Voids a host's certificates, ends its connection and takes it off the lists.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host.
    pub async fn remove(&self, id: EdgeId, by: Actor) -> Result<(), FleetError> {
        self.shut_out(id, true, by).await
    }

    async fn shut_out(&self, id: EdgeId, delete: bool, by: Actor) -> Result<(), FleetError> {
        let inner = &self.inner;
        inner.known(id)?;
        inner.parts.storage.edges().revoke(id, delete, by).await?;
        if delete {
            let live = inner.hosts.write().remove(&id).and_then(|host| host.live);
            if let Some(live) = live {
                crate::connection::refuse_and_close(
                    &live.client,
                    &live.handle,
                    "removed by an administrator",
                )
                .await;
            }
            inner.changed(id);
        } else {
            inner.reload(id).await?;
            inner
                .send_away(id, "revoked by an administrator; to let this host back in, enrol it again")
                .await;
        }
        inner.forget_unknown(id, "the host was revoked before it could tell how the call ended").await;
        Ok(())
    }

    /// Lets a host whose certificate ran out prove its old key for a new one, for an hour.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host, or it is revoked.
    pub async fn allow_rejoin(&self, id: EdgeId, by: Actor) -> Result<Timestamp, FleetError> {
        self.inner.known(id)?;
        let until = self.inner.now() + Duration::from_secs(3600);
        self.inner.parts.storage.edges().allow_rejoin(id, until, by).await?;
        self.inner.reload(id).await?;
        Ok(until)
    }

    /// Chooses between the instances of a quarantined host. The others' certificate is voided when the chosen one is
    /// back.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host, it isn't quarantined, or `keep` is none of its instances.
    pub async fn resolve_quarantine(&self, id: EdgeId, keep: &str, by: Actor) -> Result<(), FleetError> {
        self.inner.known(id)?;
        self.inner.parts.storage.edges().resolve_quarantine(id, keep.to_owned(), by).await?;
        self.inner.reload(id).await
    }

    /// Gives a connected host a new certificate now, instead of at two thirds of the old one's life.
    ///
    /// # Errors
    ///
    /// Fails if the host isn't connected or doesn't take it.
    pub async fn renew(&self, id: EdgeId) -> Result<(), FleetError> {
        let name = self.inner.known(id)?;
        let live = self.inner.hosts.live(id).ok_or(FleetError::Offline { name })?;
        crate::renew::renew(&self.inner, id, &live.client, "asked for").await.map(drop)
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    pub(crate) fn public_address(&self) -> String {
        self.config.public_address.clone().unwrap_or_else(|| self.address.to_string())
    }

    pub(crate) fn next_generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn changed(&self, id: EdgeId) {
        // Nobody listens: fine.
        let _ = self.changes.send(id);
    }

    /// The name of a host that is there.
    pub(crate) fn known(&self, id: EdgeId) -> Result<String, FleetError> {
        self.hosts.with(id, |host| host.record.name.clone()).ok_or(FleetError::NotFound(id))
    }

    /// Reads a host's record again.
    pub(crate) async fn reload(&self, id: EdgeId) -> Result<(), FleetError> {
        match self.parts.storage.edges().find(id).await? {
            Some(record) => self.hosts.put(record),
            None => drop(self.hosts.write().remove(&id)),
        }
        self.changed(id);
        Ok(())
    }

    fn connected(&self) -> Vec<EdgeId> {
        let hosts = self.hosts.read();
        hosts.iter().filter(|(_, host)| host.live.is_some()).map(|(id, _)| *id).collect()
    }

    fn close_all(&self) {
        for host in self.hosts.write().values_mut() {
            if let Some(live) = host.live.take() {
                live.handle.close("the manager is stopping");
            }
        }
    }

    /// Tells a connected host why, and ends its connection.
    pub(crate) async fn send_away(&self, id: EdgeId, reason: &str) {
        let live = self.hosts.change(id, |host: &mut Host| host.live.take()).flatten();
        if let Some(live) = live {
            crate::connection::refuse_and_close(&live.client, &live.handle, reason).await;
        }
        self.changed(id);
    }

    fn handshake_failed(&self, failure: HandshakeFailure) {
        if let Some(edge) = failure.claimed.as_ref().and_then(|claimed| claimed.edge) {
            self.hosts.change(edge, |host| host.problem = Some(failure.reason.to_string()));
            self.changed(edge);
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push_back(failure);
        while failures.len() > MAX_FAILURES {
            failures.pop_front();
        }
    }

    /// Ends the calls of a host that will never tell how they ended.
    async fn forget_unknown(&self, id: EdgeId, why: &str) {
        let filter = CallFilter { edge: Some(id), state: Some(CallState::Unknown), ..CallFilter::default() };
        let rows = match self.parts.storage.calls().list(&filter, None, 1000).await {
            Ok(rows) => rows,
            Err(error) => return tracing::error!(%error, edge.id = %id, "unknown calls can't be read"),
        };
        for row in rows {
            let end = FinishedCall::without_result(
                CallState::Failed,
                format!("outcome lost, effect possible: {why}"),
            );
            if let Err(error) = self.parts.recorder.finish(row.id, end).await {
                tracing::error!(%error, call.id = %row.id, "the end of a call can't be put on record");
            }
        }
    }
}

/// Writes down from time to time who is there, so that "last seen" is true after a crash.
async fn note_seen(inner: Arc<Inner>) {
    let mut ticks = tokio::time::interval(SEEN_INTERVAL);
    while inner.stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let connected = inner.connected();
        if connected.is_empty() {
            continue;
        }
        if let Err(error) = inner.parts.storage.edges().seen(connected).await {
            tracing::warn!(%error, "could not note who is connected");
        }
    }
}

//! The running agent: dials, serves, and dials again.

use crate::boot::{HostFacts, boot_id};
use crate::describe::Descriptions;
use crate::execute::Runner;
use crate::own::OwnPlaces;
use crate::packs::{self, Packs};
use crate::refusals::{RefusalRecord, RefusedCall};
use crate::renew::Identity;
use crate::service::{Link, Refused, Service, blocking};
use crate::signed::Signing;
use crate::state::{ConnectionPhase, Durable, DurableState, LastConnection};
use crate::{DataDir, EdgeConfig, EdgeError};
use admission::{
    Admission, Approvals, EvidenceVerifier, Journal, JournalOptions, Ledger, Limits, LocalCalls, LocalRoot,
    Nonces, Parts, Unwatched, Watcher,
};
use arc_swap::ArcSwap;
use model::{Class, Clock, EdgeId};
use proto::MAX_MESSAGE_BYTES;
use proto::v1::DescribeResponse;
use proto::v1::edge_server::EdgeServer;
use sandbox::Children;
use signing::Pins;
use skill::Host;
use skill::sandbox::{NoChildren, Sandbox};
use skills::{RealHost, RealHostConfig, Registry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tunnel::pki::EdgeIdentity;
use tunnel::{Backoff, DialConfig, EdgeLink, Ended, TunnelError};

/// What belongs to the agent beside its binary, its configuration and its directory.
const OWN_PLACES: &[&str] = &[
    "/etc/steadyhand",
    "/etc/systemd/system/steadyhand-edge.service",
    "/etc/systemd/system/steadyhand-edge.service.d",
    "/usr/lib/systemd/system/steadyhand-edge.service",
    "/usr/lib/steadyhand",
];

/// What an edge is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its configuration.
    pub config: EdgeConfig,
    /// Where the configuration is, so that skills can't read it.
    pub config_path: PathBuf,
    /// Where it keeps its key and its state.
    pub dir: DataDir,
    /// What it can do.
    pub registry: Registry,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What runs child processes. Default: nothing does.
    pub sandbox: Arc<dyn Sandbox>,
    /// Times and sizes of the tunnel.
    pub tunnel: tunnel::Settings,
    /// Is told of every step of the journal.
    pub watcher: Arc<dyn Watcher>,
    /// The host's boot, in place of what its kernel says. For tests, which can't boot it.
    pub boot_id: Option<String>,
}

impl Options {
    /// An edge with the built-in skills on this machine.
    pub fn new(config: EdgeConfig, config_path: PathBuf, dir: DataDir) -> Self {
        Self {
            registry: config.skills.tools.registry(),
            config,
            config_path,
            dir,
            clock: Arc::new(model::SystemClock),
            sandbox: Arc::new(NoChildren),
            tunnel: tunnel::Settings::default(),
            watcher: Arc::new(Unwatched),
            boot_id: None,
        }
    }

    /// Lets skills start child processes, held as the configuration says. This tries the sandbox, in processes of its
    /// own; the program that calls it must be its own helper (see [`sandbox::helper`]).
    ///
    /// # Errors
    ///
    /// Fails if the configuration names a backend that can't be used here.
    pub fn with_children(mut self) -> Result<Self, EdgeError> {
        let children = self.children()?;
        tracing::info!(backend = children.backend().as_str(), "child processes are held");
        self.sandbox = Arc::new(children);
        Ok(self)
    }

    /// The sandbox, tried.
    pub(crate) fn children(&self) -> Result<Children, EdgeError> {
        let binary = std::fs::canonicalize("/proc/self/exe").ok();
        let places = OWN_PLACES.iter().map(PathBuf::from).chain(self.config.packs.dirs.clone());
        let own = binary.into_iter().chain(places).chain(self.config.security.sop.files());
        let own_secrets = [self.dir.path(), self.config_path.as_path()];
        let config = self.config.security.children(
            own.filter(|path| path.exists()).collect(),
            own_secrets.iter().filter_map(|path| std::path::absolute(path).ok()).collect(),
        );
        Ok(Children::new(config)?)
    }

    /// The machine, with the configuration's rules around it.
    pub(crate) fn host(&self) -> Arc<dyn Host> {
        let keys = self.config.security.sop.files();
        let own = OwnPlaces::find(&self.dir, &self.config_path).with(&self.config.packs.dirs).with(&keys);
        let closed = [self.dir.path().to_owned(), self.config_path.clone()].into_iter().chain(keys);
        let config = RealHostConfig {
            files: self.config.file_rules(closed),
            addresses: self.config.address_rules(),
            changes: self.config.change_rules(own),
            ..RealHostConfig::default()
        };
        Arc::new(RealHost::new(config, Arc::clone(&self.clock)))
    }

    /// The calls that root makes on this host without the manager.
    pub(crate) fn local_calls(&self) -> LocalCalls {
        LocalCalls::new(self.dir.local(), self.boot_id())
    }

    fn boot_id(&self) -> String {
        self.boot_id.clone().unwrap_or_else(|| boot_id(self.host().as_ref()))
    }

    /// The running edge's journal.
    fn journal(&self) -> Journal {
        Journal::open(JournalOptions {
            watcher: Arc::clone(&self.watcher),
            ..JournalOptions::new(self.dir.journal(), self.boot_id(), Arc::clone(&self.clock))
        })
    }

    /// The door for what the host itself asks for, and what runs behind it.
    pub(crate) fn local_runner(&self, journal: Journal) -> Result<Runner, EdgeError> {
        self.runner(journal, Arc::new(LocalRoot), Nonces::default())
    }

    /// What judges the evidence of the manager's calls, from this host's own configuration and memory.
    fn approvals(&self, pins: Pins, edge: EdgeId, nonces: Nonces, ledger: Arc<Ledger>) -> Approvals {
        Approvals {
            proof: self.config.security.proof(),
            pins,
            labels: self.config.labels.clone(),
            edge,
            clock: Arc::clone(&self.clock),
            nonces,
            ledger,
        }
    }

    /// The door and what runs behind it.
    fn runner(
        &self,
        journal: Journal,
        verifier: Arc<dyn EvidenceVerifier>,
        nonces: Nonces,
    ) -> Result<Runner, EdgeError> {
        let host = self.host();
        let catalogue = self.registry.catalogue()?;
        let registry = Arc::new(ArcSwap::from_pointee(self.registry.clone()));
        let (known, machine) = (Arc::clone(&registry), Arc::clone(&host));
        let unmet = Arc::new(move |key: &str| {
            known.load().get(key).map(|skill| skill.unmet(machine.as_ref())).unwrap_or_default()
        });
        let limits = Limits {
            max_running: self.config.limits.max_running,
            max_timeout: self.config.limits.max_timeout,
            max_result_bytes: self.config.limits.remembered_bytes,
            ..Limits::default()
        };
        let parts = Parts {
            verifier,
            holds_read_only: self.sandbox.holds_read_only(),
            journal,
            nonces,
            ..Parts::new(catalogue, unmet, limits)
        };
        let sandbox = Arc::clone(&self.sandbox);
        Ok(Runner::new(Admission::of(parts), registry, host, sandbox))
    }
}

/// Runs the edge until `shutdown` is cancelled. What goes wrong with the connection is logged and tried again.
///
/// # Errors
///
/// Fails at the start only: not enrolled, no manager configured, a file that can't be used, or an edge that already
/// runs on the directory.
pub async fn run(options: Options, shutdown: CancellationToken) -> Result<(), EdgeError> {
    Packs::check(&options)?;
    options.dir.create()?;
    let _lock = options.dir.lock()?;
    let identity = Identity::load(options.dir.clone())?;
    let mut dial = options.config.dial()?;
    dial.settings = options.tunnel.clone();
    let durable = DurableState::load(options.dir.clone())?;
    let pins = options.config.pins().map_err(|problems| EdgeError::Config {
        path: options.config_path.clone(),
        problem: problems.join("; "),
    })?;
    let signing = Signing::new(&options.config, &pins, Ledger::open(options.dir.signed()));
    let nonces = Nonces::default();
    let approvals =
        options.approvals(pins, identity.current().edge(), nonces.clone(), Arc::clone(&signing.ledger));
    let runner = Arc::new(options.runner(options.journal(), Arc::new(approvals), nonces)?);
    packs::sweep_local(&options.dir);
    let packs = Arc::new(Packs::new(&options));
    // Watched first, so that nothing happens between the loading and the watching.
    let watch = packs::watch(&packs);
    packs::put_in_place(&packs, &runner).await;
    runner.admission().freeze(durable.get().frozen);
    let facts = HostFacts::read(runner.host());
    let instance_id = uuid::Uuid::new_v4().to_string();
    tracing::info!(edge.id = %identity.current().edge(), manager = %dial.address, instance = instance_id, "edge starts");
    let agent = Arc::new(Agent {
        descriptions: Descriptions::new(facts, instance_id, signing),
        refusals: RefusalRecord::open(&options.dir),
        packs,
        local: options.local_calls(),
        runner,
        durable: Arc::new(durable),
        identity,
        dial,
        dir: options.dir,
        clock: options.clock,
        waits: (options.config.tunnel.reconnect_min, options.config.tunnel.reconnect_max),
    });
    let following = packs::follow(watch, Arc::clone(&agent.packs), Arc::clone(&agent.runner));
    let _following = AbortOnDropHandle::new(tokio::spawn(following));
    shutdown.run_until_cancelled(Arc::clone(&agent).stay_connected()).await;
    agent.note(ConnectionPhase::Ended, "the edge was stopped".to_owned()).await;
    tracing::info!("edge stops");
    Ok(())
}

/// The running agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) runner: Arc<Runner>,
    pub(crate) local: LocalCalls,
    pub(crate) identity: Identity,
    descriptions: Descriptions,
    refusals: RefusalRecord,
    packs: Arc<Packs>,
    durable: Arc<DurableState>,
    dial: DialConfig,
    dir: DataDir,
    clock: Arc<dyn Clock>,
    waits: (Duration, Duration),
}

/// One connection that is being served. Dropped, it is closed.
struct Serving {
    serial: String,
    link: Arc<Link>,
    since: Instant,
    task: AbortOnDropHandle<Ended>,
}

impl Agent {
    pub(crate) fn describe(&self) -> DescribeResponse {
        let (revision, packs) = (self.revision(), packs::descriptions(&self.packs.loaded()));
        let said = self.descriptions.describe(&self.runner, self.durable.get());
        DescribeResponse { packs, revision, ..said }
    }

    pub(crate) fn revision(&self) -> u64 {
        // Both only rise.
        self.packs.generation() + self.descriptions.revision(&self.runner, self.durable.get())
    }

    /// Changes the durable state before the manager is answered.
    pub(crate) async fn keep(
        &self,
        change: impl FnOnce(&mut Durable) + Send + 'static,
    ) -> Result<(), Status> {
        let durable = Arc::clone(&self.durable);
        blocking(move || durable.change(change)).await?.map_err(|error| {
            tracing::error!(%error, "the state can't be kept");
            Status::resource_exhausted(format!("the edge can't keep what it is told: {error}"))
        })
    }

    /// Puts a call that was refused for its evidence on this host's own record and into its log.
    pub(crate) async fn record_refused(
        self: &Arc<Self>,
        call_id: String,
        skill: String,
        class: Option<Class>,
        reason: String,
    ) {
        let refused = RefusedCall { at: self.clock.now(), call_id, skill, class, reason };
        tracing::warn!(%refused, "call refused for its evidence");
        let agent = Arc::clone(self);
        // A defect there has been logged; the call is refused all the same.
        let _ = tokio::task::spawn_blocking(move || agent.refusals.add(refused)).await;
    }

    async fn note(&self, phase: ConnectionPhase, detail: String) {
        let last = LastConnection { at: self.clock.now(), phase, detail };
        let dir = self.dir.clone();
        // It only helps people; `store` logs why it failed.
        let _ = tokio::task::spawn_blocking(move || last.store(&dir)).await;
    }

    /// Keeps one connection up. A renewed certificate gets a second one, and the first drains.
    async fn stay_connected(self: Arc<Self>) {
        let mut backoff = Backoff::new(self.waits.0, self.waits.1);
        let mut draining: Vec<AbortOnDropHandle<Ended>> = Vec::new();
        let mut before: Option<Serving> = None;
        loop {
            draining.retain(|task| !task.is_finished());
            let identity = self.identity.current();
            let wait = match tunnel::dial(&self.dial, &identity, &self.clock).await {
                Ok(link) => {
                    if let Some(old) = before.take() {
                        old.link.drain.cancel();
                        draining.push(old.task);
                    }
                    let mut serving = self.serve(link, &identity);
                    self.note(ConnectionPhase::Connected, format!("connected to {}", self.dial.address))
                        .await;
                    tracing::info!(manager = %self.dial.address, "connected");
                    let ended = tokio::select! {
                        ended = &mut serving.task => ended,
                        () = self.identity.replaced_since(&serving.serial) => {
                            before = Some(serving);
                            continue;
                        }
                    };
                    let ended = ended.unwrap_or_else(|error| Ended::Broken(error.to_string()));
                    backoff.connection_ended(serving.since.elapsed());
                    self.after_end(&mut backoff, &ended, serving.link.refused()).await
                }
                Err(error) => self.after_failure(&mut backoff, &identity, error).await,
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.identity.replaced_since(identity.serial()) => {}
            }
        }
    }

    fn serve(self: &Arc<Self>, link: EdgeLink, identity: &EdgeIdentity) -> Serving {
        let state = Arc::new(Link::default());
        let service = EdgeServer::new(Service { agent: Arc::clone(self), link: Arc::clone(&state) })
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let (clock, drain) = (Arc::clone(&self.clock), state.drain.clone());
        let task = tokio::spawn(async move { tunnel::serve(link, service, &clock, &drain).await });
        Serving {
            serial: identity.serial().to_owned(),
            link: state,
            since: Instant::now(),
            task: AbortOnDropHandle::new(task),
        }
    }

    async fn after_end(&self, backoff: &mut Backoff, ended: &Ended, refused: Option<Refused>) -> Duration {
        let random = rand::random();
        match refused {
            Some(Refused { reason, retry_after }) => {
                let wait = backoff.refused(retry_after, random);
                tracing::warn!(reason, wait_ms = wait.as_millis() as u64, "the manager refused this edge");
                self.note(ConnectionPhase::Refused, format!("the manager refused this edge: {reason}")).await;
                wait
            }
            None => {
                let wait = backoff.next(random);
                tracing::warn!(reason = %ended, wait_ms = wait.as_millis() as u64, "tunnel lost, reconnecting");
                self.note(ConnectionPhase::Ended, format!("the connection ended: {ended}")).await;
                wait
            }
        }
    }

    async fn after_failure(
        &self,
        backoff: &mut Backoff,
        identity: &EdgeIdentity,
        error: TunnelError,
    ) -> Duration {
        let error = match error {
            // The old key may still be worth a new certificate, if an administrator says so.
            TunnelError::OwnExpired { .. } => match tunnel::rejoin(&self.dial, identity, &self.clock).await {
                Ok(fresh) => match self.identity.replace(fresh) {
                    Ok(()) => return Duration::ZERO,
                    Err(error) => error.into(),
                },
                Err(TunnelError::RejoinRefused) => error,
                Err(other) => other,
            },
            other => other,
        };
        let wait = backoff.next(rand::random());
        let detail = chain(&error);
        tracing::warn!(error = detail, wait_ms = wait.as_millis() as u64, "no connection to the manager");
        self.note(ConnectionPhase::Failed, detail).await;
        wait
    }
}

/// An error with everything behind it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(&format!(": {source}"));
        cause = source.source();
    }
    text
}

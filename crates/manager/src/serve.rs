//! `steadyhand serve`: puts the parts together, starts them in order, and stops them in the opposite one.

use crate::config::Config;
use crate::notify::Notifier;
use crate::packs::OwnPacks;
use crate::{catalogue, listen, models, telemetry};
use agent::{Agent, AgentConfig, AgentParts, Inventory};
use anyhow::Context as _;
use api::access::effective_mode;
use api::auth::first_admin;
use api::auth::password::{HashCost, Hasher};
use api::{ApiConfig, AppParts, AppState, ReadinessCheck};
use arc_swap::ArcSwap;
use executor::{Executor, ExecutorParts};
use fleet::{Fleet, FleetConfig, FleetParts};
use gate::{Gate, GateParts, HostDirectory, HostFacts, ProbeRules, Recorder, Redactor};
use metrics_exporter_prometheus::PrometheusHandle;
use model::{Clock, SystemClock};
use skill::Catalogue;
use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::{MasterKey, Storage};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tunnel::pki::Authority;

/// Names this installation in certificates. Two installations differ by their authorities' keys.
const DEPLOYMENT: &str = "steadyhand";

/// How long turns and requests may take to end when the manager stops.
const GRACE: Duration = Duration::from_secs(8);

/// Runs the manager until SIGTERM or SIGINT.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let telemetry = telemetry::start(&config.telemetry)?;
    let metrics = telemetry::metrics()?;
    // Asked for before anything starts, so that a signal is never lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let manager = start(config, metrics).await?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM, stopping"),
        _ = interrupt.recv() => tracing::info!("SIGINT, stopping"),
    }
    manager.stop().await;
    telemetry.stop().await;
    Ok(())
}

/// A manager that runs.
struct Manager {
    storage: Storage,
    fleet: Fleet,
    agent: Agent,
    console: listen::Console,
    following: JoinHandle<()>,
    shutdown: CancellationToken,
    address_file: std::path::PathBuf,
}

/// What several parts share.
struct Base {
    storage: Storage,
    clock: Arc<dyn Clock>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    redactor: Arc<Redactor>,
}

async fn start(config: Config, metrics: PrometheusHandle) -> anyhow::Result<Manager> {
    let base = open(&config).await?;
    let hasher = Hasher::new(HashCost::default())?;
    let first_password = first_admin::create(&base.storage, &hasher).await?;
    // Both sockets are taken before anything runs: a port in use is told at once.
    let tunnel = TcpListener::bind(config.tunnel.listen)
        .await
        .with_context(|| format!("the tunnel can't listen on {}", config.tunnel.listen))?;
    let console = std::net::TcpListener::bind(config.http.listen)
        .with_context(|| format!("the console can't listen on {}", config.http.listen))?;
    let console_address = console.local_addr()?;

    // Before edges come back: what they tell of calls finds rows that wait for it.
    base.storage.calls().settle_left_running().await?;
    let fleet = start_fleet(&config, &base, tunnel).await?;
    let compiled_in = base.catalogue.load_full();
    let gate = make_gate(&config, &base, &fleet, console_address.port());
    let left = gate.recover().await?;
    let executor = Executor::new(ExecutorParts {
        gate: Arc::new(gate),
        storage: base.storage.clone(),
        hosts: Arc::new(fleet.clone()),
        dispatcher: Arc::new(fleet.clone()),
        tools: tools::ALL.to_vec(),
    });
    let packs = OwnPacks::start(&config, executor.clone(), compiled_in)
        .await
        .context("the packs beside the manager can't be put in place")?;
    let books = Arc::new(models::book(base.storage.clone(), config.models.clone()));
    let api_config = api_config(&config);
    let mode = effective_mode(&base.storage, &api_config).await?;
    let agent = Agent::new(AgentParts {
        storage: base.storage.clone(),
        executor: executor.clone(),
        catalogue: Arc::clone(&base.catalogue),
        hosts: Arc::new(inventory(&fleet)),
        models: Arc::clone(&books) as Arc<dyn agent::ModelDirectory>,
        redactor: Arc::clone(&base.redactor),
        clock: Arc::clone(&base.clock),
        config: AgentConfig { access: mode, limits: config.chat.limits.clone() },
    });
    let shutdown = CancellationToken::new();
    let following = packs.follow(shutdown.clone())?;
    let app = AppState::new(AppParts {
        storage: base.storage.clone(),
        executor: executor.clone(),
        fleet: fleet.clone(),
        agent: agent.clone(),
        catalogue: base.catalogue,
        models: books,
        hasher,
        metrics: Some(metrics),
        checks: vec![("certificate_authority", authority_check(&config.storage.dir.join("ca")))],
        shutdown: shutdown.clone(),
        config: api_config,
    });
    let scheme = if config.http.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{console_address}");
    let shown = config.http.public_url.as_ref().map_or(url.as_str(), |public| public.as_str());
    if let Some(notifier) = Notifier::new(&config.security.notify, shown, base.storage.clone())? {
        notifier.follow(shutdown.clone());
    }
    let address_file = config.storage.console_address();
    let cli_token = first_admin::new_cli_token(&base.storage).await?;
    write_private(&config.storage.cli_token(), &cli_token)?;
    write_private(&address_file, &url)?;
    let console =
        listen::start(console, config.http.tls.as_ref(), api::router(&app), shutdown.clone()).await?;
    let waiting = executor.recover().await?;
    let turns = agent.recover().await?;
    tracing::info!(calls = left.len(), waiting, turns, "took over what an earlier process left");
    announce(first_password.as_deref(), &fleet, &url)?;
    Ok(Manager { storage: base.storage, fleet, agent, console, following, shutdown, address_file })
}

async fn open(config: &Config) -> anyhow::Result<Base> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let dir = &config.storage.dir;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| format!("the data directory {} can't be made", dir.display()))?;
    let keys =
        MasterKey::load_or_create(&config.storage.master_key()).context("the key file can't be used")?;
    let path = config.storage.database();
    let storage = Storage::open(&path, Arc::clone(&clock), keys.clone())
        .await
        .with_context(|| format!("the database {} can't be opened", path.display()))?;
    let redactor =
        Redactor::new(keys, &config.security.redaction_patterns).context("security.redaction.patterns")?;
    let catalogue = Arc::new(ArcSwap::from_pointee(catalogue::compiled_in()?));
    Ok(Base { storage, clock, catalogue, redactor: Arc::new(redactor) })
}

async fn start_fleet(config: &Config, base: &Base, socket: TcpListener) -> anyhow::Result<Fleet> {
    let folder = config.storage.dir.join("ca");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let authority = Authority::load_or_create(&folder, DEPLOYMENT, Arc::clone(&base.clock))
        .context("the certificate authority can't be used")?;
    let parts = FleetParts {
        storage: base.storage.clone(),
        authority: Arc::new(authority),
        recorder: Recorder::new(base.storage.clone(), Arc::clone(&base.redactor)),
        clock: Arc::clone(&base.clock),
    };
    let settings = FleetConfig {
        cert_ttl: config.tunnel.cert_ttl,
        public_address: config.tunnel.public_address.clone(),
        ..FleetConfig::default()
    };
    Ok(Fleet::start(settings, parts, socket).await?)
}

fn make_gate(config: &Config, base: &Base, fleet: &Fleet, console_port: u16) -> Gate {
    Gate::new(GateParts {
        storage: base.storage.clone(),
        catalogue: Arc::clone(&base.catalogue),
        policy: config.security.tool_policy.clone(),
        redactor: Arc::clone(&base.redactor),
        hosts: Arc::new(fleet.clone()) as Arc<dyn HostDirectory>,
        probes: ProbeRules {
            allow: config.security.probes_allow.clone(),
            own_ports: vec![console_port, fleet.local_addr().port()],
            own_hosts: own_hosts(config),
        },
        limits: config.security.limits,
        approvals: config.security.approval,
        signing: config.security.signing.clone(),
    })
}

/// The manager's own names: probes from any host never go to its ports there.
fn own_hosts(config: &Config) -> Vec<String> {
    let mut hosts: Vec<String> = [config.http.listen.ip(), config.tunnel.listen.ip()]
        .iter()
        .filter(|address| !address.is_unspecified())
        .map(IpAddr::to_string)
        .collect();
    let public = config.tunnel.public_address.as_deref().and_then(|address| address.rsplit_once(':'));
    hosts.extend(public.map(|(host, _)| host.to_owned()));
    hosts.extend(config.http.public_url.as_ref().and_then(|url| url.host_str().map(str::to_owned)));
    hosts
}

/// A host is the manager's own machine if its edge is connected from it.
fn inventory(fleet: &Fleet) -> Inventory<impl Fn(&HostFacts) -> bool + Send + Sync + use<>> {
    let known = fleet.clone();
    Inventory::new(Arc::new(fleet.clone()), move |facts: &HostFacts| {
        known.host(facts.id).and_then(|host| host.address).is_some_and(|address| is_loopback(&address))
    })
}

fn is_loopback(address: &str) -> bool {
    let socket = address.parse::<std::net::SocketAddr>().map(|address| address.ip());
    socket.or_else(|_| address.parse()).is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
}

fn api_config(config: &Config) -> ApiConfig {
    ApiConfig {
        secure_cookies: config.http.is_secure(),
        allowed_hosts: config.http.host_names(),
        trusted_proxies: config.http.trusted_proxies.clone(),
        idle_timeout: config.http.idle_timeout,
        absolute_timeout: config.http.absolute_timeout,
        pinned_access: config.chat.pinned_access,
        default_access: config.chat.access_mode,
        ..ApiConfig::default()
    }
}

/// The authority signs from memory; what can be lost while we run is its key, and with it the next start.
fn authority_check(folder: &Path) -> ReadinessCheck {
    let (key, certificate) = (folder.join("ca.key"), folder.join("ca.crt"));
    Arc::new(move || {
        [&key, &certificate]
            .into_iter()
            .find_map(|path| fs::File::open(path).err())
            .map(|error| format!("its files can't be read: {error}"))
    })
}

fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let made = path.with_extension("new");
    let write = || -> io::Result<()> {
        let _ = fs::remove_file(&made);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        fs::rename(&made, path)
    };
    write().with_context(|| format!("{} can't be written", path.display()))
}

/// Says on standard output what scripts wait for. The order and the words are part of the interface.
fn announce(first_password: Option<&str>, fleet: &Fleet, url: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(password) = first_password {
        writeln!(out, "first password for {}: {password}", first_admin::FIRST_NAME)?;
    }
    writeln!(out, "tunnel: {}", fleet.local_addr())?;
    writeln!(out, "console: {url}")?;
    out.flush()?;
    Ok(())
}

impl Manager {
    async fn stop(self) {
        // Event streams end and no request is taken any more; those at work get a moment.
        self.shutdown.cancel();
        let _ = fs::remove_file(&self.address_file);
        self.console.stop(GRACE).await;
        if tokio::time::timeout(GRACE, self.agent.idle()).await.is_err() {
            tracing::warn!("turns are still at work; the next start closes them");
        }
        self.fleet.stop().await;
        // It ends with the shutdown; the database is to outlive it.
        let _ = self.following.await;
        self.storage.close().await;
    }
}

//! The same call through the one door: gate, durable row, tunnel, durable end.

use crate::echo::{Echo, KEY};
use crate::sample::Sample;
use crate::tunnelled::spawn_edge;
use anyhow::{Context, Result, ensure};
use arc_swap::ArcSwap;
use edge::{DataDir, EdgeConfig};
use executor::{Executor, ExecutorParts};
use fleet::{Fleet, FleetConfig, FleetParts, Labels};
use gate::{
    CallLimits, CallRequest, Gate, GateParts, HostState, Narrowing, Principal, ProbeRules, Recorder,
    Redactor, Taint, ToolPolicy,
};
use model::{CallId, CallState, Clock, EdgeId, Origin, Role, Roles, Scope, SystemClock, UserId};
use serde_json::json;
use skill::{Capability, Catalogue};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::{Actor, MasterKey, Storage};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tunnel::pki::Authority;

/// A manager's inside with one edge.
pub struct Audited {
    executor: Executor,
    storage: Storage,
    edge: EdgeId,
    fleet: Fleet,
    _edge: DropGuard,
}

impl Audited {
    /// Starts it and waits until the edge is online.
    ///
    /// # Errors
    ///
    /// Fails if a part can't start.
    pub async fn start(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let key = MasterKey::from_bytes([7; 32]);
        let redactor = Arc::new(Redactor::new(key.clone(), &[])?);
        let storage = Storage::open(&folder.join("bench.db"), Arc::clone(&clock), key).await?;
        let authority = Arc::new(Authority::in_memory("bench", Arc::clone(&clock))?);
        let recorder = Recorder::new(storage.clone(), Arc::clone(&redactor));
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        let parts = FleetParts { storage: storage.clone(), authority, recorder, clock: Arc::clone(&clock) };
        let fleet = Fleet::start(FleetConfig::default(), parts, socket).await?;
        let catalogue = Catalogue::new([Arc::new(Capability::of_skill::<Echo>())])?;
        let gate = Arc::new(Gate::new(GateParts {
            storage: storage.clone(),
            catalogue: Arc::new(ArcSwap::from_pointee(catalogue)),
            policy: ToolPolicy::default(),
            redactor,
            hosts: Arc::new(fleet.clone()),
            probes: ProbeRules::default(),
            limits: CallLimits {
                per_person_hour: 0,
                per_tool_hour: 0,
                per_edge_hour: 0,
                per_person_at_once: 0,
                per_tool_at_once: 0,
                per_edge_at_once: 0,
                ..CallLimits::default()
            },
            approvals: gate::ApprovalRules::default(),
            signing: gate::SigningPins::default(),
        }));
        let executor = Executor::new(ExecutorParts {
            gate,
            storage: storage.clone(),
            hosts: Arc::new(fleet.clone()),
            dispatcher: Arc::new(fleet.clone()),
            tools: Vec::new(),
        });

        let mut changes = fleet.changes();
        let token =
            fleet.create_token(Labels::new(), Duration::from_secs(600), UserId(1), Actor::System).await?;
        let dir = DataDir::new(folder.join("edge"));
        let mut config = EdgeConfig::default();
        config.tunnel.manager = fleet.local_addr().to_string();
        let config_path = folder.join("edge").join("edge.toml");
        let edge = edge::enroll(&config, &config_path, &dir, &token.token.parse()?, "bench", &clock).await?;
        let guard = spawn_edge(dir, folder, &config.tunnel.manager);
        while !fleet.host(edge).is_some_and(|host| host.state == HostState::Online) {
            changes.recv().await.context("the fleet ended")?;
        }
        Ok(Self { executor, storage, edge, fleet, _edge: guard })
    }

    /// Times calls.
    ///
    /// # Errors
    ///
    /// Fails with the first call that does.
    pub async fn measure(&self, calls: usize, at_once: usize) -> Result<Sample> {
        Sample::of(calls, at_once, || async {
            let outcome = self.executor.request(self.request(), CancellationToken::new()).await?;
            ensure!(outcome.state == CallState::Succeeded, "{:?}", outcome.error);
            Ok(())
        })
        .await
    }

    fn request(&self) -> CallRequest {
        CallRequest {
            call_id: CallId::generate(),
            scope: Scope::Host,
            key: KEY.to_owned(),
            edge: Some(self.edge),
            args: json!({"word": "word"}),
            caller: Principal::person_at_browser(UserId(1), Roles::new([Role::Operator])),
            origin: Origin::Api,
            session: None,
            turn: None,
            parent: None,
            timeout: None,
            taint: Taint::default(),
            narrowing: Narrowing::All,
            sop: None,
        }
    }

    /// Ends it.
    pub async fn stop(self) {
        self.fleet.stop().await;
        self.storage.close().await;
    }
}

//! A real manager side (storage, gate, fleet, listener) and real edges in this process, over real TLS on port 0.

#![allow(dead_code, reason = "each test file uses its part of it")]

pub mod proxy;
pub mod skills;

use edge::{DataDir, EdgeConfig, Options};
use fleet::{Fleet, FleetConfig, FleetParts, HostView, Labels};
use gate::{
    Admission, AdmittedCall, CallLimits, CallRequest, Decider, Dispatched, FinishedCall, Gate, GateParts,
    HostDispatcher as _, HostState, Narrowing, Principal, ProbeRules, Recorder, Redactor, Ruled, Ruling,
    Start, Taint, ToolPolicy,
};
use model::{
    ApprovalDecision, CallId, CallState, Clock, EdgeId, Origin, Role, Roles, Scope, SystemClock, Timestamp,
    UserId,
};
use serde_json::Value;
use skill::Catalogue;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storage::users::{NewUser, UserKind};
use storage::{Actor, MasterKey, Storage};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tunnel::pki::Authority;

/// No condition of these tests takes longer, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(120);

/// A clock that tests move forward.
#[derive(Debug, Default)]
pub struct TestClock(Mutex<Duration>);

impl TestClock {
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + *self.0.lock().unwrap()
    }
}

/// A manager and one host of skills that wait to be let go, connected through a proxy.
pub struct Scene {
    pub manager: Manager,
    pub edge: TestEdge,
    pub held: Arc<skills::Held>,
    pub proxy: proxy::Proxy,
    pub dir: tempfile::TempDir,
}

impl Scene {
    /// Starts them; the host is online.
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let manager = Manager::start(dir.path()).await;
        let proxy = proxy::Proxy::start(manager.address()).await;
        let held = Arc::new(skills::Held::default());
        let edge = manager.enroll(skills::registry(&held), proxy.address()).await;
        manager.wait_for(edge.id, |host| host.state == HostState::Online).await;
        Self { manager, edge, held, proxy, dir }
    }

    /// Lets a change through as approved, and waits for its end while `meanwhile` goes on, which begins when it runs.
    pub async fn change(
        &self,
        cancel: CancellationToken,
        meanwhile: impl FnOnce(&Self),
    ) -> (AdmittedCall, Dispatched) {
        let call = self.manager.admit_approved(self.edge.id, "test_hold_change", serde_json::json!({})).await;
        let (ended, ()) = tokio::join!(self.manager.run(&call, cancel), async {
            self.held.wait_started().await;
            meanwhile(self);
        });
        (call, ended)
    }
}

/// The manager's side.
pub struct Manager {
    pub fleet: Fleet,
    pub gate: Gate,
    pub storage: Storage,
    pub clock: Arc<TestClock>,
    dir: PathBuf,
}

impl Manager {
    pub async fn start(dir: &Path) -> Self {
        Self::start_on(dir, 0, Arc::new(TestClock::default())).await
    }

    pub async fn start_on(dir: &Path, port: u16, clock: Arc<TestClock>) -> Self {
        let shared: Arc<dyn Clock> = clock.clone();
        let keys = MasterKey::from_bytes([7; 32]);
        let storage = Storage::open(&dir.join("db"), shared.clone(), keys.clone()).await.unwrap();
        let redactor = Arc::new(Redactor::new(keys, &[]).unwrap());
        let recorder = Recorder::new(storage.clone(), redactor.clone());
        let authority =
            Arc::new(Authority::load_or_create(&dir.join("pki"), "test", shared.clone()).unwrap());
        let socket = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let parts = FleetParts { storage: storage.clone(), authority, recorder, clock: shared };
        let fleet = Fleet::start(FleetConfig::default(), parts, socket).await.unwrap();
        let catalogue =
            Catalogue::new(::skills::capabilities().into_iter().chain(skills::capabilities())).unwrap();
        let gate = Gate::new(GateParts {
            storage: storage.clone(),
            catalogue: Arc::new(arc_swap::ArcSwap::from_pointee(catalogue)),
            policy: ToolPolicy::default(),
            redactor,
            hosts: Arc::new(fleet.clone()),
            probes: ProbeRules::default(),
            limits: CallLimits::default(),
            approvals: gate::ApprovalRules::default(),
            signing: gate::SigningPins::default(),
        });
        gate.recover().await.unwrap();
        let admin = NewUser {
            name: "admin".to_owned(),
            display_name: "Ann".to_owned(),
            kind: UserKind::Person,
            roles: Roles::new([Role::Admin]),
            password_hash: None,
            must_change_password: false,
        };
        storage.users().create_first(admin).await.unwrap();
        Self { fleet, gate, storage, clock, dir: dir.to_owned() }
    }

    pub fn address(&self) -> String {
        self.fleet.local_addr().to_string()
    }

    /// Ends this manager and starts another one on its directory and port.
    pub async fn restart(self) -> Self {
        self.restart_after(|_| {}).await
    }

    /// As [`Manager::restart`]; `meanwhile` gets the directory.
    pub async fn restart_after(self, meanwhile: impl FnOnce(&Path)) -> Self {
        let port = self.fleet.local_addr().port();
        let (dir, clock) = (self.dir.clone(), self.clock.clone());
        self.fleet.stop().await;
        let Self { fleet, gate, storage, .. } = self;
        drop((fleet, gate));
        storage.close().await;
        meanwhile(&dir);
        Self::start_on(&dir, port, clock).await
    }

    pub async fn token(&self) -> String {
        let labels = Labels::from([("env".to_owned(), "test".to_owned())]);
        let ttl = Duration::from_secs(600);
        self.fleet.create_token(labels, ttl, UserId(1), Actor::User(UserId(1))).await.unwrap().token
    }

    /// Enrols a host and starts its edge.
    pub async fn add_edge(&self, registry: ::skills::Registry) -> TestEdge {
        let edge = self.enroll(registry, &self.address()).await;
        self.wait_for(edge.id, |host| host.state == HostState::Online).await;
        edge
    }

    /// Enrols a host through `address` and starts its edge.
    pub async fn enroll(&self, registry: ::skills::Registry, address: &str) -> TestEdge {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EdgeConfig::default();
        config.tunnel.manager = address.to_owned();
        config.tunnel.reconnect_min = Duration::from_millis(20);
        config.tunnel.reconnect_max = Duration::from_millis(200);
        let config_path = folder.path().join("edge.toml");
        let dir = DataDir::new(folder.path().join("data"));
        let clock: Arc<dyn Clock> = self.clock.clone();
        let token = self.token().await.parse().unwrap();
        let id = edge::enroll(&config, &config_path, &dir, &token, "web-1", &clock).await.unwrap();
        let options = Options { registry, clock, ..Options::new(config, config_path, dir) };
        let mut edge = TestEdge { id, options, folder: Arc::new(folder), running: None };
        edge.start();
        edge
    }

    /// Waits until a host looks as wanted.
    pub async fn wait_for(&self, id: EdgeId, wanted: impl Fn(&HostView) -> bool) -> HostView {
        let mut changes = self.fleet.changes();
        let wait = async {
            loop {
                if let Some(host) = self.fleet.host(id).filter(|host| wanted(host)) {
                    return host;
                }
                // A lagging receiver looks again, too.
                let _ = changes.recv().await;
            }
        };
        let host = tokio::time::timeout(LIMIT, wait).await;
        host.unwrap_or_else(|_| panic!("the host never got there: {:?}", self.fleet.host(id)))
    }

    /// Waits until fleet-wide facts are as wanted.
    pub async fn wait_until(&self, wanted: impl Fn(&Fleet) -> bool) {
        let mut changes = self.fleet.changes();
        let wait = async {
            while !wanted(&self.fleet) {
                let _ = changes.recv().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("the fleet never got there");
    }

    pub async fn try_admit(&self, edge: EdgeId, key: &str, args: Value) -> Admission {
        self.gate.admit(request(edge, key, args)).await.unwrap()
    }

    /// Asks for a call that changes something, approves it, and starts it.
    pub async fn admit_approved(&self, edge: EdgeId, key: &str, args: Value) -> AdmittedCall {
        let waiting = match self.try_admit(edge, key, args).await {
            Admission::Waiting(waiting) => waiting,
            other => panic!("nobody was asked: {other:?}"),
        };
        let admin = Decider {
            user: UserId(1),
            name: "admin".to_owned(),
            roles: Roles::new([Role::Admin]),
            by_token: false,
        };
        let ruling = Ruling { decision: ApprovalDecision::AllowOnce, note: None, grant: None };
        let ruled = self.gate.decide_approval(&admin, waiting.approval_id, ruling).await.unwrap();
        assert!(matches!(ruled, Ruled::Done(_)), "{ruled:?}");
        loop {
            match self.gate.admit_approved(waiting.call_id).await.unwrap() {
                Start::Admitted(call) => return *call,
                // As the executor does.
                Start::HostAway(_) => {
                    self.wait_for(edge, |host| host.state == HostState::Online).await;
                }
                other => panic!("it did not start: {other:?}"),
            }
        }
    }

    /// Waits until a call is final.
    pub async fn wait_for_final(&self, id: CallId) -> storage::calls::CallRow {
        let mut changes = self.storage.call_changes();
        let wait = async {
            loop {
                let row = self.storage.calls().find(id).await.unwrap().unwrap();
                if row.state.is_final() {
                    return row;
                }
                let _ = changes.recv().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("the call never ended")
    }

    /// Waits until an edge has forgotten its calls up to a number.
    pub async fn wait_until_acknowledged(&self, edge: EdgeId, seq: u64) {
        let wait = async {
            while self.storage.edges().find(edge).await.unwrap().unwrap().acknowledged_through < seq {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("it was never acknowledged");
    }

    /// Sends a call to its host, and puts nothing on record.
    pub async fn fleet_dispatch(&self, call: &AdmittedCall) -> Dispatched {
        self.fleet.dispatch(call, CancellationToken::new()).await
    }

    /// Sees to it that the rows of calls are what the audit chain says.
    pub async fn verify_audit(&self) {
        let found = self.storage.audit().verify().await.unwrap();
        assert!(found.ok, "{:?}", found.problem);
    }

    pub async fn admit(&self, edge: EdgeId, key: &str, args: Value) -> AdmittedCall {
        match self.try_admit(edge, key, args).await {
            Admission::Admitted(call) => *call,
            other => panic!("it was not admitted: {other:?}"),
        }
    }

    /// Dispatches a call and puts its end on record, as the executor does.
    pub async fn run(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched {
        let ended = self.fleet.dispatch(call, cancel).await;
        let finished = FinishedCall {
            state: ended.state,
            result: ended.result.clone(),
            error: ended.error.clone(),
            error_kind: ended.error_kind,
            sandbox: None,
            duration: None,
            keep_result: true,
            actor: Actor::System,
        };
        self.gate.finish(call, finished).await.unwrap();
        ended
    }

    /// Waits until a call is on record as wanted.
    pub async fn wait_for_call(&self, id: CallId, wanted: CallState) -> storage::calls::CallRow {
        let mut changes = self.storage.call_changes();
        let wait = async {
            loop {
                let row = self.storage.calls().find(id).await.unwrap().unwrap();
                if row.state == wanted {
                    return row;
                }
                let _ = changes.recv().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("the call never got there")
    }
}

fn request(edge: EdgeId, key: &str, args: Value) -> CallRequest {
    CallRequest {
        call_id: CallId::generate(),
        scope: Scope::Host,
        key: key.to_owned(),
        edge: Some(edge),
        args,
        caller: Principal::person_at_browser(UserId(1), Roles::new([Role::Admin])),
        origin: Origin::Api,
        session: None,
        turn: None,
        parent: None,
        timeout: Some(Duration::from_secs(300)),
        taint: Taint::default(),
        narrowing: Narrowing::All,
        sop: None,
    }
}

/// A real edge in this process.
pub struct TestEdge {
    pub id: EdgeId,
    pub options: Options,
    folder: Arc<tempfile::TempDir>,
    running: Option<(CancellationToken, JoinHandle<Result<(), edge::EdgeError>>)>,
}

impl TestEdge {
    pub fn start(&mut self) {
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(edge::run(self.options.clone(), shutdown.clone()));
        self.running = Some((shutdown, task));
    }

    pub async fn stop(&mut self) {
        if let Some((shutdown, task)) = self.running.take() {
            shutdown.cancel();
            task.await.unwrap().unwrap();
        }
    }

    /// Copies the directory, as cloning the machine would.
    pub fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("data");
        std::fs::create_dir(&dir).unwrap();
        for file in std::fs::read_dir(self.options.dir.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), dir.join(file.file_name())).unwrap();
        }
        let options = Options { dir: DataDir::new(dir), ..self.options.clone() };
        Self { id: self.id, options, folder: Arc::new(folder), running: None }
    }

    /// What `doctor` says here.
    pub async fn doctor(&self) -> String {
        let path = self.options.config_path.clone();
        edge::doctor::examine(&path, &self.options.dir, &self.options.clock).await.to_string()
    }
}

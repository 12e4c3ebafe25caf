use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use executor::{Executor, ExecutorParts};
use gate::{
    AdmittedCall, ApprovalRules, CallLimits, CallRequest, Challenge, Dispatched, Gate, GateParts,
    HostDirectory, HostDispatcher, HostFacts, HostState, Narrowing, Principal, ProbeRules, RawToolPolicy,
    Redactor, SkillFacts, Taint, ToolPolicy,
};
use model::{
    CallId, CallState, Class, Clock, EdgeId, Origin, Role, Roles, Scope, SystemClock, Timestamp, UserId,
};
use serde_json::Value;
use skill::{Catalogue, Metadata, SkillError, SkillErrorKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storage::{MasterKey, Storage};
use tokio::sync::{Notify, broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use tools::{Tool, ToolContext};

/// What the scripted hosts do with a call.
pub enum Script {
    /// Answer at once.
    Answer(Dispatched),
    /// Tell that the call has come, then wait until told to stop, then say so.
    UntilStopped(oneshot::Sender<()>),
    /// Tell that the call has come, then wait; answer with success even when told to stop.
    SucceedWhenStopped(oneshot::Sender<()>),
    /// Panic.
    Panic,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub args: Value,
    /// What the row said when the call came.
    pub state: Option<CallState>,
    /// What people have signed.
    pub evidence: Option<Vec<u8>>,
}

/// Hosts that do what the test says, and remember what came.
pub struct ScriptedHosts {
    storage: Storage,
    scripts: Mutex<Vec<Script>>,
    pub seen: Mutex<Vec<Seen>>,
    pub facts: Mutex<BTreeMap<EdgeId, HostFacts>>,
    nonces: Mutex<u64>,
    changed: broadcast::Sender<EdgeId>,
}

pub fn ok(result: &str) -> Dispatched {
    Dispatched {
        state: CallState::Succeeded,
        result: Some(Bytes::copy_from_slice(result.as_bytes())),
        error: None,
        error_kind: None,
        sandbox: Some("none".to_owned()),
        edge_class: Some(Class::Safe),
    }
}

pub fn failed(error: &str) -> Dispatched {
    Dispatched {
        state: CallState::Failed,
        result: None,
        error: Some(error.to_owned()),
        error_kind: Some(SkillErrorKind::NotFound),
        sandbox: None,
        edge_class: None,
    }
}

#[async_trait]
impl HostDispatcher for ScriptedHosts {
    async fn dispatch(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched {
        // Through a connection that sees only what is committed.
        let state = self.storage.calls().find(call.call_id()).await.unwrap().map(|row| row.state);
        let evidence = call.evidence().map(<[u8]>::to_vec);
        self.seen.lock().unwrap().push(Seen { args: call.args().clone(), state, evidence });
        let script = self.scripts.lock().unwrap().pop();
        match script {
            None => ok("{}"),
            Some(Script::Answer(answer)) => answer,
            Some(Script::UntilStopped(came)) => {
                let _ = came.send(());
                cancel.cancelled().await;
                Dispatched { state: CallState::Cancelled, ..failed("stopped on the host") }
            }
            Some(Script::SucceedWhenStopped(came)) => {
                let _ = came.send(());
                cancel.cancelled().await;
                ok("\"just in time\"")
            }
            Some(Script::Panic) => panic!("a defect in the dispatcher"),
        }
    }

    async fn challenge(&self, edge: EdgeId) -> Result<Challenge, String> {
        let instance = self.host(edge).and_then(|host| host.instance).ok_or("it is away")?;
        let mut given = self.nonces.lock().unwrap();
        *given += 1;
        Ok(Challenge { nonce: format!("{:064x}", *given), instance })
    }
}

impl HostDirectory for ScriptedHosts {
    fn host(&self, id: EdgeId) -> Option<HostFacts> {
        self.facts.lock().unwrap().get(&id).cloned()
    }

    fn hosts(&self) -> Vec<HostFacts> {
        self.facts.lock().unwrap().values().cloned().collect()
    }

    fn changes(&self) -> Option<broadcast::Receiver<EdgeId>> {
        Some(self.changed.subscribe())
    }
}

pub struct Door {
    pub executor: Executor,
    pub gate: Arc<Gate>,
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    pub storage: Storage,
    pub hosts: Arc<ScriptedHosts>,
    pub folder: tempfile::TempDir,
}

#[derive(Default)]
pub struct Setup {
    pub policy: RawToolPolicy,
    pub probes: ProbeRules,
    pub limits: CallLimits,
    pub approvals: ApprovalRules,
    pub signing: gate::SigningPins,
    pub tools: Vec<&'static dyn Tool>,
}

pub async fn open(setup: Setup) -> Door {
    let folder = tempfile::tempdir().unwrap();
    open_in(folder, setup).await
}

pub async fn open_in(folder: tempfile::TempDir, setup: Setup) -> Door {
    let keys = MasterKey::from_bytes([5; 32]);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let storage = Storage::open(&folder.path().join("test.db"), clock, keys.clone()).await.unwrap();
    let mut bodies = tools::ALL.to_vec();
    bodies.extend(&setup.tools);
    let mut entries = skills::capabilities();
    entries.extend(bodies.iter().map(|tool| tools::capability_of(*tool).unwrap()));
    let catalogue = Catalogue::new(entries).unwrap();
    let known: Vec<String> = catalogue.iter().map(|entry| entry.definition().key.clone()).collect();
    let policy = ToolPolicy::parse(&setup.policy, known.iter().map(String::as_str)).unwrap();
    let facts = (1..=4).map(|id| (EdgeId(id), host(id, &catalogue))).collect();
    let hosts = Arc::new(ScriptedHosts {
        storage: storage.clone(),
        scripts: Mutex::default(),
        seen: Mutex::default(),
        facts: Mutex::new(facts),
        nonces: Mutex::default(),
        changed: broadcast::channel(16).0,
    });
    let catalogue = Arc::new(ArcSwap::from_pointee(catalogue));
    let gate = Arc::new(Gate::new(GateParts {
        storage: storage.clone(),
        catalogue: Arc::clone(&catalogue),
        policy,
        redactor: Arc::new(Redactor::new(keys, &[]).unwrap()),
        hosts: Arc::clone(&hosts) as _,
        probes: setup.probes,
        limits: setup.limits,
        approvals: setup.approvals,
        signing: setup.signing,
    }));
    let executor = Executor::new(ExecutorParts {
        gate: Arc::clone(&gate),
        storage: storage.clone(),
        hosts: Arc::clone(&hosts) as _,
        dispatcher: Arc::clone(&hosts) as _,
        tools: bodies,
    });
    let door = Door { executor, gate, catalogue, storage, hosts, folder };
    door.furnish().await;
    door
}

/// Rules under which nobody ever decides in time.
pub fn nobody_decides() -> ApprovalRules {
    ApprovalRules { decide_by: Duration::from_millis(30), ..ApprovalRules::default() }
}

/// The accounts of these tests: an operator who asks, and people of each role.
pub const PEOPLE: [(i64, &str, Role); 6] = [
    (1, "Ann", Role::Admin),
    (5, "Vic", Role::Viewer),
    (6, "Ola", Role::Operator),
    (7, "Ada", Role::Operator),
    (8, "Bea", Role::Approver),
    (9, "Adm", Role::Admin),
];

/// Hosts 1 and 2 are online, 3 is offline, 4 is online and lacks a journal.
fn host(id: i64, catalogue: &Catalogue) -> HostFacts {
    let skills = catalogue
        .iter()
        .filter(|entry| entry.definition().scope == Scope::Host)
        .map(|entry| {
            let unmet = if id == 4 && entry.definition().key == "read_journal" {
                vec!["a systemd journal".to_owned()]
            } else {
                Vec::new()
            };
            let facts = SkillFacts {
                class: entry.definition().class,
                definition_hash: entry.hash().to_owned(),
                unmet,
            };
            (entry.definition().key.clone(), facts)
        })
        .collect();
    HostFacts {
        id: EdgeId(id),
        name: format!("web-{id}"),
        hostname: None,
        labels: BTreeMap::new(),
        state: if id == 3 { HostState::Offline } else { HostState::Online },
        state_reason: None,
        os: None,
        arch: None,
        version: None,
        connected_at: None,
        last_seen_at: Timestamp::from_timestamp(1_900_000_000, 0),
        skills: Some(skills),
        signing: None,
        instance: Some("first".to_owned()),
    }
}

impl Door {
    /// What the hosts do next, in this order.
    pub fn script(&self, scripts: impl IntoIterator<Item = Script>) {
        let mut scripts: Vec<Script> = scripts.into_iter().collect();
        scripts.reverse();
        *self.hosts.scripts.lock().unwrap() = scripts;
    }

    /// Makes the rows that calls refer to, once.
    async fn furnish(&self) {
        let people = PEOPLE.map(|(id, name, role)| {
            format!(
                "INSERT OR IGNORE INTO users (id, name, display_name, kind, roles, created_at, password_changed_at) \
                 VALUES ({id}, '{}', '{name}', 'person', '[\"{role}\"]', 0, 0)",
                name.to_lowercase()
            )
        });
        let hosts = (1..=4).map(|id| {
            format!(
                "INSERT OR IGNORE INTO edges (id, name, hostname, labels, state, created_at) \
                 VALUES ({id}, 'web-{id}', 'web-{id}', '{{}}', 'active', 0)"
            )
        });
        for text in people.into_iter().chain(hosts) {
            self.sql(text).await;
        }
    }

    /// Changes the database behind everybody's back.
    pub async fn sql(&self, text: impl Into<String>) {
        let text = text.into();
        self.storage
            .write(move |conn| {
                Box::pin(
                    async move { Ok(sqlx::query(sqlx::AssertSqlSafe(text)).execute(conn).await.map(drop)?) },
                )
            })
            .await
            .unwrap();
    }

    pub fn change_host(&self, id: i64, change: impl FnOnce(&mut HostFacts)) {
        change(self.hosts.facts.lock().unwrap().get_mut(&EdgeId(id)).unwrap());
        let _ = self.hosts.changed.send(EdgeId(id));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.hosts.seen.lock().unwrap().clone()
    }

    pub async fn run(&self, request: CallRequest) -> executor::CallOutcome {
        self.executor.request(request, CancellationToken::new()).await.unwrap()
    }

    pub async fn row(&self, id: CallId) -> storage::calls::CallRow {
        self.storage.calls().find(id).await.unwrap().unwrap()
    }

    pub async fn audit_kinds(&self, id: CallId) -> Vec<String> {
        self.storage.audit().of_call(id).await.unwrap().into_iter().map(|row| row.kind).collect()
    }
}

pub fn person(role: Role) -> Principal {
    Principal::person_at_browser(UserId(7), Roles::new([role]))
}

pub fn model_for(role: Role) -> Principal {
    Principal::model_for(UserId(7), Roles::new([role]))
}

pub fn on_host(edge: i64, key: &str, args: Value) -> CallRequest {
    CallRequest {
        call_id: CallId::generate(),
        scope: Scope::Host,
        key: key.to_owned(),
        edge: Some(EdgeId(edge)),
        args,
        caller: person(Role::Operator),
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

pub fn in_manager(key: &str, args: Value) -> CallRequest {
    CallRequest { scope: Scope::Manager, edge: None, ..on_host(1, key, args) }
}

/// A tool that waits until it is dropped, or panics, as its arguments say.
pub struct TestTool {
    pub entered: Notify,
}

const TEST_TOOL: Metadata = Metadata {
    key: "test_tool",
    name: "Test tool",
    description: "Does what its argument says",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "test",
    result_preview: "",
    prerequisites: &[],
};

impl TestTool {
    pub fn leaked() -> &'static Self {
        Box::leak(Box::new(Self { entered: Notify::new() }))
    }
}

#[async_trait]
impl Tool for TestTool {
    fn metadata(&self) -> &'static Metadata {
        &const { TEST_TOOL }
    }

    fn params(&self) -> Value {
        serde_json::json!({
            "type": "object", "properties": {"action": {"enum": ["wait", "panic", "fail", "large"]}},
            "required": ["action"], "additionalProperties": false,
        })
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    async fn run(&self, _cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        self.entered.notify_one();
        match call.args()["action"].as_str() {
            Some("panic") => panic!("a defect in the tool"),
            Some("fail") => {
                Err(SkillError::new(SkillErrorKind::NotFound, "no such thing; password=hunter2x"))
            }
            Some("large") => Ok(Value::String("line with words\n".repeat(20_000))),
            _ => std::future::pending().await,
        }
    }
}

pub const SHORT: Duration = Duration::from_millis(50);

/// A tool whose classing has a defect.
#[derive(Default)]
pub struct Unclassable {
    pub ran: std::sync::atomic::AtomicBool,
}

static UNCLASSABLE: Metadata =
    Metadata { key: "unclassable", name: "Unclassable", description: "Can't be classed", ..TEST_TOOL };

impl Unclassable {
    pub fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }
}

#[async_trait]
impl Tool for Unclassable {
    fn metadata(&self) -> &'static Metadata {
        &UNCLASSABLE
    }

    fn params(&self) -> Value {
        serde_json::json!({"type": "object", "additionalProperties": false})
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| panic!("a defect in the classing")
    }

    async fn run(&self, _cx: &ToolContext, _call: &AdmittedCall) -> Result<Value, SkillError> {
        self.ran.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(Value::Null)
    }
}

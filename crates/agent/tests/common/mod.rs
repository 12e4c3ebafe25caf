//! A whole agent over a real database, gate and executor; only the model and the hosts are scripted.
#![allow(dead_code, reason = "each test file uses a part of it")]

use agent::{
    AccessMode, Agent, AgentConfig, AgentParts, Inventory, Limits, ModelDirectory, ModelUnavailable,
    SubmitTurn,
};
use arc_swap::ArcSwap;
use async_trait::async_trait;
use executor::{Executor, ExecutorParts};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gate::{
    AdmittedCall, ApprovalRules, CallLimits, Decider, Dispatched, Gate, GateParts, HostDirectory,
    HostDispatcher, HostFacts, HostState, ProbeRules, Redactor, Ruled, Ruling, Taint, ToolPolicy,
};
use llm::{
    Completion, Finish, LlmError, Message, ModelEvent, ModelLabel, ModelRequest, Provider, ToolCall, Usage,
};
use model::{
    ApprovalDecision, CallState, Class, Clock, EdgeId, Role, Roles, Scope, SessionId, SystemClock, TurnId,
    UserId,
};
use serde_json::{Value, json};
use skill::{Capability, Catalogue, Definition, Metadata, SkillErrorKind, Source};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storage::approvals::ApprovalFilter;
use storage::chats::TurnEvent;
use storage::{MasterKey, Storage};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub const ADA: UserId = UserId(7);
pub const BOB: UserId = UserId(8);
pub const BEA: UserId = UserId(9);
const PATIENCE: Duration = Duration::from_secs(60);

/// What the scripted model does with one request.
pub enum Step {
    /// Answers.
    Say(&'static str),
    /// Says something and asks for calls.
    Call(&'static str, Vec<ToolCall>),
    /// Streams exactly this.
    Stream(Vec<Result<ModelEvent, LlmError>>),
    /// Streams this, then nothing until it is stopped.
    Hang(Vec<ModelEvent>),
}

type Script = Box<dyn Fn(usize, &ModelRequest) -> Step + Send + Sync>;

/// A model that follows a script.
pub struct ScriptedModel {
    script: Script,
    pub requests: Mutex<Vec<ModelRequest>>,
    pub asked: Notify,
}

impl ScriptedModel {
    pub fn new(script: impl Fn(usize, &ModelRequest) -> Step + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { script: Box::new(script), requests: Mutex::new(Vec::new()), asked: Notify::new() })
    }

    pub fn seen(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

struct Handle(Arc<ScriptedModel>);

impl Provider for Handle {
    fn label(&self) -> ModelLabel {
        ModelLabel { provider: "scripted".to_owned(), model: "m".to_owned(), builtin: false }
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        assert_valid(&request.messages);
        let number = {
            let mut requests = self.0.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        self.0.asked.notify_one();
        let (events, hangs) = match (self.0.script)(number, &request) {
            Step::Say(text) => (answer(text, Vec::new()), false),
            Step::Call(text, calls) => (answer(text, calls), false),
            Step::Stream(events) => (events, false),
            Step::Hang(events) => (events.into_iter().map(Ok).collect(), true),
        };
        let tail = stream::once(async move {
            if hangs {
                cancel.cancelled().await;
                Some(Err(LlmError::Cancelled))
            } else {
                None
            }
        });
        stream::iter(events).chain(tail.filter_map(|item| async { item })).boxed()
    }
}

/// The stream of a whole answer, word by word.
pub fn answer(text: &str, calls: Vec<ToolCall>) -> Vec<Result<ModelEvent, LlmError>> {
    let mut events: Vec<_> =
        text.split_inclusive(' ').map(|word| Ok(ModelEvent::TextDelta(word.to_owned()))).collect();
    for (index, call) in calls.iter().enumerate() {
        events.push(Ok(ModelEvent::CallStarted { index, name: call.name.clone() }));
    }
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    events.push(Ok(ModelEvent::Completed(Completion {
        text: text.to_owned(),
        calls,
        finish,
        usage,
        ..Completion::default()
    })));
    events
}

/// A call as a model asks for it. The ids repeat, as with many servers.
pub fn call(name: &str, args: Value) -> ToolCall {
    ToolCall { id: "call_0".to_owned(), name: name.to_owned(), args: Ok(args) }
}

/// What every provider wants of a conversation.
pub fn assert_valid(messages: &[Message]) {
    let mut rest = messages.iter();
    while let Some(message) = rest.next() {
        match message {
            Message::Assistant { calls, .. } => {
                for call in calls {
                    match rest.next() {
                        Some(Message::Tool { call_id, .. }) => assert_eq!(call_id, &call.id),
                        other => panic!("{call:?} is followed by {other:?}"),
                    }
                }
            }
            Message::Tool { .. } => panic!("a result of nothing: {message:?}"),
            Message::User { .. } => {}
        }
    }
}

struct Models(Arc<ScriptedModel>);

#[async_trait]
impl ModelDirectory for Models {
    async fn provider_for(&self, session_model: Option<&str>) -> Result<Arc<dyn Provider>, ModelUnavailable> {
        match session_model {
            Some("gone") => Err(ModelUnavailable("there is no model `gone`".to_owned())),
            _ => Ok(Arc::new(Handle(Arc::clone(&self.0)))),
        }
    }
}

/// What a scripted host does with one call.
pub enum Act {
    Result(Value),
    Fail(SkillErrorKind, &'static str),
    /// Nothing until it is stopped.
    Hang,
    /// Waits for this many calls to be there.
    Together(usize),
}

type HostScript = Box<dyn Fn(&str, &Value) -> Act + Send + Sync>;

/// One call as a host got it.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub key: String,
    pub edge: Option<EdgeId>,
    pub args: Value,
    pub taint: Taint,
    pub user: UserId,
}

/// Hosts that follow a script.
pub struct ScriptedHosts {
    script: HostScript,
    pub calls: Mutex<Vec<Dispatch>>,
    pub arrived: Notify,
    gathering: tokio::sync::watch::Sender<usize>,
}

impl ScriptedHosts {
    pub fn new(script: impl Fn(&str, &Value) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            calls: Mutex::new(Vec::new()),
            arrived: Notify::new(),
            gathering: tokio::sync::watch::Sender::new(0),
        })
    }

    pub fn seen(&self) -> Vec<Dispatch> {
        self.calls.lock().unwrap().clone()
    }
}

struct HostHandle(Arc<ScriptedHosts>);

fn dispatched(state: CallState, result: Option<&Value>, error: Option<(SkillErrorKind, &str)>) -> Dispatched {
    Dispatched {
        state,
        result: result.map(|value| value.to_string().into_bytes().into()),
        error: error.map(|(_, text)| text.to_owned()),
        error_kind: error.map(|(kind, _)| kind),
        sandbox: None,
        edge_class: Some(Class::Safe),
    }
}

#[async_trait]
impl HostDispatcher for HostHandle {
    async fn dispatch(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched {
        let hosts = &self.0;
        hosts.calls.lock().unwrap().push(Dispatch {
            key: call.key().to_owned(),
            edge: call.edge(),
            args: call.args().clone(),
            taint: call.request().taint.clone(),
            user: call.principal().user,
        });
        hosts.arrived.notify_one();
        match (hosts.script)(call.key(), call.args()) {
            Act::Result(value) => dispatched(CallState::Succeeded, Some(&value), None),
            Act::Fail(kind, text) => dispatched(CallState::Failed, None, Some((kind, text))),
            Act::Hang => {
                cancel.cancelled().await;
                dispatched(
                    CallState::Cancelled,
                    None,
                    Some((SkillErrorKind::Cancelled, "stopped on the host")),
                )
            }
            Act::Together(count) => {
                hosts.gathering.send_modify(|here| *here += 1);
                hosts.gathering.subscribe().wait_for(|here| *here >= count).await.unwrap();
                dispatched(CallState::Succeeded, Some(&json!({"together": true})), None)
            }
        }
    }
}

struct Directory;

impl HostDirectory for Directory {
    fn host(&self, id: EdgeId) -> Option<HostFacts> {
        self.hosts().into_iter().find(|host| host.id == id)
    }

    fn hosts(&self) -> Vec<HostFacts> {
        [(1, "web-1"), (2, "db-1")]
            .map(|(id, name)| HostFacts {
                id: EdgeId(id),
                name: name.to_owned(),
                hostname: None,
                labels: BTreeMap::new(),
                state: HostState::Online,
                state_reason: None,
                os: None,
                arch: None,
                version: None,
                connected_at: None,
                last_seen_at: None,
                skills: None,
                signing: None,
                instance: None,
            })
            .to_vec()
    }
}

fn capability(key: &'static str, class: Class) -> Arc<Capability> {
    let metadata = Metadata {
        key,
        name: key,
        description: "for tests",
        class,
        scope: Scope::Host,
        category: "test",
        result_preview: "",
        prerequisites: &[],
    };
    let params = json!({"type": "object", "properties": {"n": {"type": "integer"}, "unit": {"type": "string"}}, "additionalProperties": false});
    Arc::new(Capability::new(Definition::new(&metadata, params), |_| Class::Safe, Source::Builtin).unwrap())
}

/// Makes the accounts and the hosts that calls refer to, once.
async fn furnish(storage: &Storage) {
    let account = |id: UserId, name: &str, role: Role| {
        format!(
            "INSERT OR IGNORE INTO users (id, name, display_name, kind, roles, created_at, password_changed_at) \
             VALUES ({id}, '{}', '{name}', 'person', '[\"{role}\"]', 0, 0)",
            name.to_lowercase()
        )
    };
    let host = |id: i64, name: &str| {
        format!(
            "INSERT OR IGNORE INTO edges (id, name, hostname, labels, state, created_at) \
             VALUES ({id}, '{name}', '{name}', '{{}}', 'active', 0)"
        )
    };
    for text in [
        account(ADA, "Ada", Role::Operator),
        account(BEA, "Bea", Role::Approver),
        host(1, "web-1"),
        host(2, "db-1"),
    ] {
        storage
            .write(move |conn| {
                Box::pin(
                    async move { Ok(sqlx::query(sqlx::AssertSqlSafe(text)).execute(conn).await.map(drop)?) },
                )
            })
            .await
            .unwrap();
    }
}

/// Everything around one database.
pub struct World {
    pub agent: Agent,
    pub gate: Arc<Gate>,
    pub storage: Storage,
    pub model: Arc<ScriptedModel>,
    pub hosts: Arc<ScriptedHosts>,
    limits: Limits,
    rules: ApprovalRules,
    folder: Arc<tempfile::TempDir>,
}

impl World {
    pub async fn new(model: Arc<ScriptedModel>, hosts: Arc<ScriptedHosts>) -> Self {
        Self::with_limits(model, hosts, Limits::default()).await
    }

    pub async fn with_limits(model: Arc<ScriptedModel>, hosts: Arc<ScriptedHosts>, limits: Limits) -> Self {
        Self::with_rules(model, hosts, limits, ApprovalRules::default()).await
    }

    pub async fn with_rules(
        model: Arc<ScriptedModel>,
        hosts: Arc<ScriptedHosts>,
        limits: Limits,
        rules: ApprovalRules,
    ) -> Self {
        Self::open(Arc::new(tempfile::tempdir().unwrap()), model, hosts, limits, rules).await
    }

    async fn open(
        folder: Arc<tempfile::TempDir>,
        model: Arc<ScriptedModel>,
        hosts: Arc<ScriptedHosts>,
        limits: Limits,
        rules: ApprovalRules,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let keys = MasterKey::from_bytes([7; 32]);
        let storage =
            Storage::open(&folder.path().join("db"), Arc::clone(&clock), keys.clone()).await.unwrap();
        let catalogue = Catalogue::new([
            capability("host_load", Class::Safe),
            capability("read_journal", Class::Safe),
            capability("restart_service", Class::Mutating),
        ])
        .unwrap();
        let catalogue = Arc::new(ArcSwap::from_pointee(catalogue));
        let redactor = Arc::new(Redactor::new(keys, &[]).unwrap());
        let gate = Arc::new(Gate::new(GateParts {
            storage: storage.clone(),
            catalogue: Arc::clone(&catalogue),
            policy: ToolPolicy::default(),
            redactor: Arc::clone(&redactor),
            hosts: Arc::new(Directory),
            probes: ProbeRules::default(),
            limits: CallLimits::default(),
            approvals: rules,
            signing: gate::SigningPins::default(),
        }));
        gate.recover().await.unwrap();
        let executor = Executor::new(ExecutorParts {
            gate: Arc::clone(&gate),
            storage: storage.clone(),
            hosts: Arc::new(Directory),
            dispatcher: Arc::new(HostHandle(Arc::clone(&hosts))),
            tools: Vec::new(),
        });
        let agent = Agent::new(AgentParts {
            storage: storage.clone(),
            executor: executor.clone(),
            catalogue,
            hosts: Arc::new(Inventory::new(Arc::new(Directory), |host| host.id == EdgeId(1))),
            models: Arc::new(Models(Arc::clone(&model))),
            redactor,
            clock,
            config: AgentConfig { access: AccessMode::AllUsers, limits: limits.clone() },
        });
        furnish(&storage).await;
        executor.recover().await.unwrap();
        agent.recover().await.unwrap();
        Self { agent, gate, storage, model, hosts, limits, rules, folder }
    }

    /// Decides on the one call that waits.
    pub async fn decide(&self, decision: ApprovalDecision, note: Option<&str>) {
        let filter = ApprovalFilter { pending: Some(true), person: None };
        let waiting = self.storage.approvals().list(&filter, None, 10).await.unwrap();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        let bea = Decider {
            user: BEA,
            name: "bea".to_owned(),
            roles: Roles::new([Role::Approver]),
            by_token: false,
        };
        let ruling = Ruling { decision, note: note.map(str::to_owned), grant: None };
        let ruled = self.gate.decide_approval(&bea, waiting[0].id, ruling).await.unwrap();
        assert!(matches!(ruled, Ruled::Done(_)), "{ruled:?}");
    }

    /// Waits until a turn asks whether a call may run.
    pub async fn asked(&self, session: SessionId, turn: TurnId) -> Vec<TurnEvent> {
        self.until(session, turn, |events| events.iter().any(|event| event.kind == "chat.approval.v1")).await
    }

    /// Kills the process: nothing more is written. Then another one starts on the same database.
    pub async fn crash(self, model: Arc<ScriptedModel>, hosts: Arc<ScriptedHosts>) -> Self {
        self.storage.close().await;
        let Self { agent, folder, limits, rules, .. } = self;
        drop(agent);
        Self::open(folder, model, hosts, limits, rules).await
    }

    pub async fn session(&self) -> SessionId {
        self.storage.chats().create(ADA, "", None).await.unwrap().id
    }

    pub fn turn(session: SessionId, text: &str) -> SubmitTurn {
        SubmitTurn {
            session,
            user: ADA,
            user_name: "Ada".to_owned(),
            roles: Roles::new([Role::Operator]),
            token: None,
            text: text.to_owned(),
        }
    }

    pub async fn submit(&self, session: SessionId, text: &str) -> TurnId {
        self.agent.submit(Self::turn(session, text)).await.unwrap()
    }

    /// Asks and waits for the end.
    pub async fn ask(&self, session: SessionId, text: &str) -> Vec<TurnEvent> {
        let turn = self.submit(session, text).await;
        self.finished(session, turn).await
    }

    /// Waits for the end of a turn and returns its events.
    pub async fn finished(&self, session: SessionId, turn: TurnId) -> Vec<TurnEvent> {
        self.until(session, turn, |events| events.iter().any(|event| event.kind == "chat.turn-finished.v1"))
            .await
    }

    /// Waits until a turn's events are as wanted, and returns them.
    pub async fn until(
        &self,
        session: SessionId,
        turn: TurnId,
        wanted: impl Fn(&[TurnEvent]) -> bool,
    ) -> Vec<TurnEvent> {
        let mut changes = self.agent.events();
        let work = async {
            loop {
                changes.borrow_and_update();
                let events = self.events_of(session, turn).await;
                if wanted(&events) {
                    return events;
                }
                changes.changed().await.unwrap();
            }
        };
        timeout(PATIENCE, work).await.expect("the turn came to its end")
    }

    pub async fn events(&self, session: SessionId) -> Vec<TurnEvent> {
        self.storage.chats().session_events(session, ADA, 0, 10_000).await.unwrap()
    }

    pub async fn events_of(&self, session: SessionId, turn: TurnId) -> Vec<TurnEvent> {
        self.events(session).await.into_iter().filter(|event| event.turn_id == Some(turn)).collect()
    }
}

/// The kinds of events, in order.
pub fn kinds(events: &[TurnEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// The payloads of one kind.
pub fn payloads<'a>(events: &'a [TurnEvent], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event.kind == kind).map(|event| &event.payload).collect()
}

/// How a turn ended, and why.
pub fn outcome(events: &[TurnEvent]) -> (String, String) {
    let payload = payloads(events, "chat.turn-finished.v1")[0];
    let word = |field: &str| payload[field].as_str().unwrap_or_default().to_owned();
    (word("outcome"), word("reason"))
}

/// The states in which calls ended, in the order of the events.
pub fn states(events: &[TurnEvent]) -> Vec<&str> {
    payloads(events, "chat.tool-result.v1").iter().map(|payload| payload["state"].as_str().unwrap()).collect()
}

/// The tool results in a request, as text.
pub fn results(request: &ModelRequest) -> Vec<(bool, String)> {
    request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, is_error, .. } => Some((*is_error, content.clone())),
            _ => None,
        })
        .collect()
}

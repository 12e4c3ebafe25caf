//! The real router over a real database, gate, executor, fleet and agent, called in process, with a clock that tests
//! move.

#![allow(dead_code, reason = "each test file uses a part of it")]

use agent::{AccessMode, Agent, AgentConfig, AgentParts, Inventory};
use api::auth::first_admin;
use api::auth::password::{HashCost, Hasher};
use api::auth::throttle::ThrottleLimits;
use api::models::ModelBook;
use api::{ApiConfig, AppParts, AppState};
use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use executor::{Executor, ExecutorParts};
use fleet::{Fleet, FleetConfig, FleetParts};
use gate::{
    CallLimits, Gate, GateParts, ProbeRules, RawToolPolicy, Recorder, Redactor, SigningPins, ToolPolicy,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use llm::builtin::Builtin;
use model::{Clock, Role, Roles, Timestamp};
use serde_json::{Value, json};
use skill::Catalogue;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storage::users::{NewUser, UserKind, UserOutcome};
use storage::{Actor, MasterKey, Storage};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tunnel::pki::Authority;

/// The password of every account that tests make.
pub const PASSWORD: &str = "correct horse battery";

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct MovedClock(Mutex<Timestamp>);

impl MovedClock {
    fn new() -> Self {
        Self(Mutex::new(Timestamp::from_timestamp(1_790_000_000, 0).unwrap()))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A manager in this process.
pub struct TestApi {
    pub storage: Storage,
    pub clock: Arc<MovedClock>,
    pub state: AppState,
    pub fleet: Fleet,
    pub first_password: String,
    router: Router,
    _folder: tempfile::TempDir,
}

/// Where a request comes from.
const HERE: &str = "127.0.0.1:40000";

impl TestApi {
    /// Starts one as a fresh installation does, with chat open to everybody.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts one with another configuration.
    pub async fn start_with(change: impl FnOnce(&mut ApiConfig)) -> Self {
        Self::start_as(change, ToolPolicy::default(), SigningPins::default(), &[]).await
    }

    /// Starts one that knows hosts, which aren't connected: their names, and the value of their label `env`. Their ids
    /// count from 1.
    pub async fn start_with_hosts(hosts: &[(&str, &str)]) -> Self {
        Self::start_as(|_| {}, ToolPolicy::default(), SigningPins::default(), hosts).await
    }

    /// Starts one in which calls of `tool` need the approval of a person.
    pub async fn start_supervised(tool: &str) -> Self {
        let raw = RawToolPolicy {
            tools: [(tool.to_owned(), "supervised".to_owned())].into(),
            ..RawToolPolicy::default()
        };
        Self::start_as(|_| {}, ToolPolicy::parse(&raw, [tool]).unwrap(), SigningPins::default(), &[]).await
    }

    /// Starts one that trusts these keys in signed documents.
    pub async fn start_trusting(pins: SigningPins) -> Self {
        Self::start_as(|_| {}, ToolPolicy::default(), pins, &[]).await
    }

    async fn start_as(
        change: impl FnOnce(&mut ApiConfig),
        policy: ToolPolicy,
        signing: SigningPins,
        hosts: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(MovedClock::new());
        let keys = MasterKey::from_bytes([7; 32]);
        let shared: Arc<dyn Clock> = clock.clone();
        let storage =
            Storage::open(&folder.path().join("test.db"), Arc::clone(&shared), keys.clone()).await.unwrap();
        let hasher = Hasher::new(HashCost { memory_kib: 8, passes: 1 }).unwrap();
        let first_password = first_admin::create(&storage, &hasher).await.unwrap().unwrap();
        let redactor = Arc::new(Redactor::new(keys, &[]).unwrap());
        for (name, env) in hosts {
            let text = format!(
                "INSERT INTO edges (name, hostname, labels, state, created_at) \
                 VALUES ('{name}', '{name}', '{{\"env\":\"{env}\"}}', 'active', 0)"
            );
            storage
                .write(move |conn| {
                    Box::pin(async move {
                        Ok(sqlx::query(sqlx::AssertSqlSafe(text)).execute(conn).await.map(drop)?)
                    })
                })
                .await
                .unwrap();
        }
        let fleet = start_fleet(&storage, &redactor, &shared, folder.path()).await;
        let entries = skills::capabilities().into_iter().chain(tools::capabilities().unwrap());
        let catalogue = Arc::new(ArcSwap::from_pointee(Catalogue::new(entries).unwrap()));
        let gate = Gate::new(GateParts {
            storage: storage.clone(),
            catalogue: Arc::clone(&catalogue),
            policy,
            redactor: Arc::clone(&redactor),
            hosts: Arc::new(fleet.clone()),
            probes: ProbeRules::default(),
            limits: CallLimits::default(),
            approvals: gate::ApprovalRules::default(),
            signing,
        });
        let executor = Executor::new(ExecutorParts {
            gate: Arc::new(gate),
            storage: storage.clone(),
            hosts: Arc::new(fleet.clone()),
            dispatcher: Arc::new(fleet.clone()),
            tools: tools::ALL.to_vec(),
        });
        let no_network = Box::new(|_: &str, _, _: &str, _: &str, _| Err("tests use no network".to_owned()));
        let models = Arc::new(ModelBook::new(storage.clone(), Vec::new(), Arc::new(Builtin), no_network));
        let agent = Agent::new(AgentParts {
            storage: storage.clone(),
            executor: executor.clone(),
            catalogue: Arc::clone(&catalogue),
            hosts: Arc::new(Inventory::new(Arc::new(fleet.clone()), |_| false)),
            models: models.clone(),
            redactor,
            clock: shared,
            config: AgentConfig { access: AccessMode::AllUsers, ..AgentConfig::default() },
        });
        let mut config = ApiConfig {
            allowed_hosts: ["localhost", "127.0.0.1"].map(str::to_owned).to_vec(),
            default_access: AccessMode::AllUsers,
            throttle: ThrottleLimits::default(),
            ..ApiConfig::default()
        };
        change(&mut config);
        let state = AppState::new(AppParts {
            storage: storage.clone(),
            executor,
            fleet: fleet.clone(),
            agent,
            catalogue,
            models,
            hasher,
            metrics: None,
            checks: Vec::new(),
            shutdown: CancellationToken::new(),
            config,
        });
        let router = api::router(&state);
        Self { storage, clock, state, fleet, first_password, router, _folder: folder }
    }

    /// Makes an account with [`PASSWORD`], which need not be changed.
    pub async fn account(&self, name: &str, role: Role) -> i64 {
        let new = NewUser {
            name: name.to_owned(),
            display_name: name.to_owned(),
            kind: UserKind::Person,
            roles: Roles::new([role]),
            password_hash: Some(self.state.hasher.hash(PASSWORD.to_owned()).await.unwrap()),
            must_change_password: false,
        };
        match self.storage.users().create(new, Actor::System).await.unwrap() {
            UserOutcome::Done(user) => user.id.0,
            other => panic!("the account {name} could not be made: {other:?}"),
        }
    }

    /// Somebody who isn't signed in.
    pub fn anonymous(&self) -> Client<'_> {
        Client { api: self, headers: HeaderMap::new() }
    }

    /// Signs in with a password.
    pub async fn sign_in(&self, name: &str, password: &str) -> Client<'_> {
        let answer =
            self.anonymous().post("/api/v1/sign-in", json!({"name": name, "password": password})).await;
        assert_eq!(answer.status, StatusCode::OK, "{name} can't sign in: {}", answer.body);
        self.client_of(&answer)
    }

    /// The client that a successful sign-in makes.
    pub fn client_of(&self, answer: &Answer) -> Client<'_> {
        let mut headers = HeaderMap::new();
        headers.insert("cookie", answer.cookie().parse().unwrap());
        headers.insert("x-steadyhand-csrf", answer.body["csrf_token"].as_str().unwrap().parse().unwrap());
        Client { api: self, headers }
    }

    /// Makes an account of this role and signs in as it.
    pub async fn signed_in(&self, name: &str, role: Role) -> Client<'_> {
        self.account(name, role).await;
        self.sign_in(name, PASSWORD).await
    }

    /// Somebody who presents a token.
    pub fn with_token(&self, token: &str) -> Client<'_> {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        Client { api: self, headers }
    }

    /// Sends a request as it is.
    pub async fn raw(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }
}

async fn start_fleet(
    storage: &Storage,
    redactor: &Arc<Redactor>,
    clock: &Arc<dyn Clock>,
    folder: &std::path::Path,
) -> Fleet {
    let authority = Authority::load_or_create(folder, "test", Arc::clone(clock)).unwrap();
    let parts = FleetParts {
        storage: storage.clone(),
        authority: Arc::new(authority),
        recorder: Recorder::new(storage.clone(), Arc::clone(redactor)),
        clock: Arc::clone(clock),
    };
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Fleet::start(FleetConfig::default(), parts, socket).await.unwrap()
}

/// Somebody who sends requests.
#[derive(Clone)]
pub struct Client<'a> {
    api: &'a TestApi,
    pub headers: HeaderMap,
}

/// What came back, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    /// The body as JSON, or null.
    pub body: Value,
}

impl Answer {
    /// `name=value` of the cookie that was set.
    pub fn cookie(&self) -> String {
        let cookie = self.headers.get("set-cookie").expect("no cookie was set").to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    /// The last part of a problem's URN.
    pub fn problem(&self) -> &str {
        self.body["type"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default()
    }
}

impl Client<'_> {
    /// The request that this client would send.
    pub fn request(&self, method: Method, path: &str, body: Option<Value>) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost:7180");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let address: SocketAddr = HERE.parse().unwrap();
        let request = request.extension(ConnectInfo(address));
        match body {
            None => request.body(Body::empty()).unwrap(),
            Some(body) => {
                request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
            }
        }
    }

    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let response = self.api.raw(self.request(method, path, body)).await;
        read(response).await
    }

    /// Only the status; the body isn't read.
    pub async fn status(&self, method: Method, path: &str) -> StatusCode {
        self.api.raw(self.request(method, path, None)).await.status()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// Opens the event stream.
    pub async fn events(&self, after: Option<i64>) -> Events {
        let path = after
            .map_or_else(|| "/api/v1/events".to_owned(), |after| format!("/api/v1/events?after={after}"));
        let response = self.api.raw(self.request(Method::GET, &path, None)).await;
        assert_eq!(response.status(), StatusCode::OK);
        Events { body: response.into_body(), text: String::new() }
    }
}

/// Reads a response to its end.
pub async fn read(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status: parts.status, headers: parts.headers, text, body }
}

/// An open event stream.
pub struct Events {
    body: Body,
    text: String,
}

/// One event.
#[derive(Debug)]
pub struct LiveEvent {
    pub id: Option<i64>,
    pub kind: String,
    pub data: Value,
}

impl Events {
    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    block.lines().find_map(|line| Some(line.strip_prefix(name)?.trim_start().to_owned()))
                };
                if let Some(data) = field("data:") {
                    return Some(LiveEvent {
                        id: field("id:").and_then(|id| id.parse().ok()),
                        kind: field("event:").unwrap_or_default(),
                        data: serde_json::from_str(&data).unwrap(),
                    });
                }
                continue;
            }
            let frame = self.body.frame().await?.unwrap();
            if let Ok(data) = frame.into_data() {
                self.text.push_str(&String::from_utf8_lossy(&data));
            }
        }
    }

    /// The next event of this kind.
    pub async fn next_of(&mut self, kind: &str) -> LiveEvent {
        loop {
            let event = self.next().await.expect("the stream ended");
            if event.kind == kind {
                return event;
            }
        }
    }
}

use model::{
    CallId, CallState, Class, Clock, EdgeId, Origin, PolicyDecision, Scope, SessionId, Timestamp, UserId,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use storage::calls::{CallEnd, NewCall};
use storage::{Actor, MasterKey, Storage};

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp_micros(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub struct Database {
    pub storage: Storage,
    pub clock: Arc<TestClock>,
    pub folder: tempfile::TempDir,
}

pub const KEY: [u8; 32] = [3; 32];

pub async fn open() -> Database {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock(AtomicI64::new(1_900_000_000_000_000)));
    let storage = open_file(&folder, &clock).await;
    Database { storage, clock, folder }
}

async fn open_file(folder: &tempfile::TempDir, clock: &Arc<TestClock>) -> Storage {
    Storage::open(&folder.path().join("test.db"), Arc::clone(clock) as _, MasterKey::from_bytes(KEY))
        .await
        .unwrap()
}

impl Database {
    /// The same file, as another process opens it.
    pub async fn open_again(&self) -> Storage {
        open_file(&self.folder, &self.clock).await
    }

    /// A connection beside the product, as somebody with the file has.
    pub async fn outside(&self) -> sqlx::SqliteConnection {
        use sqlx::Connection;
        let path = self.folder.path().join("test.db");
        sqlx::SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.unwrap()
    }
}

pub fn new_call(tool: &str) -> NewCall {
    NewCall {
        id: CallId::generate(),
        session: None,
        turn: None,
        parent: None,
        tool: tool.to_owned(),
        class: Class::Safe,
        scope: Scope::Host,
        args_redacted: json!({"path": "/etc/hosts"}),
        args_exact: json!({"path": "/etc/hosts"}),
        definition_hash: "hash".to_owned(),
        state: CallState::Running,
        error: None,
        edge: Some(EdgeId(1)),
        edge_name: Some("web-1".to_owned()),
        caller: UserId(1),
        caller_role: "operator".to_owned(),
        on_behalf_of: None,
        token: None,
        origin: Origin::Api,
        policy: PolicyDecision::Allow,
        deadline: None,
        approval: None,
    }
}

pub fn model_call(tool: &str, owner: UserId, session: SessionId) -> NewCall {
    NewCall {
        session: Some(session),
        caller: UserId::SYSTEM,
        caller_role: "system".to_owned(),
        on_behalf_of: Some(owner),
        origin: Origin::Chat,
        ..new_call(tool)
    }
}

pub fn end(state: CallState, result: Option<&str>) -> CallEnd {
    CallEnd {
        state,
        result: result.map(str::to_owned),
        keep_result: true,
        error: (state != CallState::Succeeded).then(|| format!("ended as {state}")),
        error_kind: None,
        sandbox: None,
        duration: Some(Duration::from_millis(12)),
        actor: Actor::Edge(EdgeId(1)),
    }
}

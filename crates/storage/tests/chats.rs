//! Chats and turns as their users meet them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use model::{Clock, Role, Roles, SessionId, Timestamp, TurnId, UserId};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storage::chats::{NewEvent, SessionChange, SessionCursor, TurnEvent};
use storage::turns::{Lease, NewMessage, NewTurn, TurnWrite};
use storage::{MasterKey, Storage, StorageError};
use uuid::Uuid;

const ADA: UserId = UserId(1);
const BOB: UserId = UserId(2);
const LEASE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct TestClock(Mutex<Timestamp>);

impl TestClock {
    fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct World {
    storage: Storage,
    clock: Arc<TestClock>,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let start = Timestamp::from_timestamp_micros(1_700_000_000_000_000).unwrap();
        let clock = Arc::new(TestClock(Mutex::new(start)));
        let time = Arc::clone(&clock) as Arc<dyn Clock>;
        let keys = MasterKey::from_bytes([7; 32]);
        let storage = Storage::open(&folder.path().join("db"), time, keys).await.unwrap();
        Self { storage, clock, _folder: folder }
    }

    async fn session(&self) -> SessionId {
        self.storage.chats().create(ADA, "", None).await.unwrap().id
    }

    async fn begin(&self, session: SessionId, user: UserId, worker: Uuid) -> Result<Lease, StorageError> {
        let new = NewTurn {
            id: TurnId::generate(),
            session,
            user,
            roles: Roles::new([Role::Viewer]),
            token: None,
            worker,
            lease: LEASE,
            message: NewMessage { id: Uuid::now_v7(), body: json!({"text": "hi"}), untrusted: false },
            events: vec![event("chat.user-message.v1", json!({"text": "hi"}))],
            title: "hi".to_owned(),
        };
        self.storage.turns().begin(new).await
    }

    async fn write(
        &self,
        lease: Lease,
        events: Vec<NewEvent>,
        drop_deltas_of: Option<Uuid>,
    ) -> Result<Option<i64>, StorageError> {
        let write = TurnWrite { events, drop_deltas_of, ..TurnWrite::default() };
        self.storage.turns().write(lease, write).await
    }

    async fn finish(&self, lease: Lease) {
        let write = TurnWrite { finish: Some(("answered", None)), ..TurnWrite::default() };
        self.storage.turns().write(lease, write).await.unwrap();
    }

    async fn events(&self, session: SessionId) -> Vec<TurnEvent> {
        self.storage.chats().session_events(session, ADA, 0, 1_000).await.unwrap()
    }
}

fn event(kind: &'static str, payload: Value) -> NewEvent {
    NewEvent { kind, payload, delta_of: None }
}

fn delta(message: Uuid, text: &str) -> NewEvent {
    NewEvent { kind: "chat.text-delta.v1", payload: json!({ "text": text }), delta_of: Some(message) }
}

fn kinds(events: &[TurnEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[tokio::test]
async fn a_finished_message_replaces_its_deltas_and_ids_keep_rising() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
    world.write(lease, vec![delta(first, "a"), delta(first, "b")], None).await.unwrap();
    let before = world.storage.chats().last_event_id().await.unwrap();
    let whole = event("chat.message.v1", json!({"text": "ab"}));
    let last = world.write(lease, vec![whole], Some(first)).await.unwrap();
    assert!(last.unwrap() > before);
    world.write(lease, vec![delta(second, "c")], None).await.unwrap();
    world.finish(lease).await;

    let events = world.events(session).await;
    assert_eq!(
        kinds(&events),
        [
            "session.updated.v1",
            "chat.user-message.v1",
            "session.updated.v1",
            "chat.message.v1",
            "chat.text-delta.v1",
            "chat.turn-finished.v1",
        ]
    );
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id && pair[0].seq < pair[1].seq));
    assert_eq!(world.storage.turns().unfinished_messages(lease.turn).await.unwrap(), [second]);
}

#[tokio::test]
async fn the_last_id_is_not_used_again_after_its_delta_was_dropped() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    let message = Uuid::now_v7();
    let dropped = world.write(lease, vec![delta(message, "a")], None).await.unwrap().unwrap();
    world.write(lease, Vec::new(), Some(message)).await.unwrap();
    let next = world.write(lease, vec![event("chat.notice.v1", json!({}))], None).await.unwrap().unwrap();
    assert!(next > dropped);
}

#[tokio::test]
async fn a_chat_has_one_turn_at_work() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    assert!(matches!(world.begin(session, ADA, Uuid::new_v4()).await, Err(StorageError::Conflict { .. })));
    assert!(matches!(world.storage.chats().delete(session, ADA).await, Err(StorageError::Conflict { .. })));
    world.finish(lease).await;
    world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    assert_eq!(world.storage.chats().history(session).await.unwrap().len(), 2);
}

#[tokio::test]
async fn nothing_is_written_for_a_turn_that_ended_or_was_taken_over() {
    let world = World::new().await;
    let session = world.session().await;
    let turns = world.storage.turns();
    let old = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    let worker = Uuid::new_v4();
    assert!(turns.take_over(worker, false, LEASE).await.unwrap().is_empty(), "its lease holds");
    world.clock.advance(LEASE + Duration::from_secs(1));
    let taken = turns.take_over(worker, false, LEASE).await.unwrap();
    assert_eq!((taken[0].id, taken[0].epoch), (old.turn, 2));

    let count = world.events(session).await.len();
    let late = world.write(old, vec![event("x", json!({}))], None).await;
    assert!(matches!(late, Err(StorageError::Conflict { .. })));
    assert!(!turns.renew(old, LEASE).await.unwrap());
    assert_eq!(world.events(session).await.len(), count);

    let new = Lease { turn: old.turn, epoch: 2 };
    assert!(turns.renew(new, LEASE).await.unwrap());
    world.finish(new).await;
    let late = world.write(new, vec![event("x", json!({}))], None).await;
    assert!(matches!(late, Err(StorageError::Conflict { .. })));
}

#[tokio::test]
async fn a_sole_worker_takes_over_at_once_but_never_from_itself() {
    let world = World::new().await;
    let session = world.session().await;
    let worker = Uuid::new_v4();
    world.begin(session, ADA, worker).await.unwrap();
    assert!(world.storage.turns().take_over(worker, true, LEASE).await.unwrap().is_empty());
    assert_eq!(world.storage.turns().take_over(Uuid::new_v4(), true, LEASE).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_chat_is_its_owners_alone() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    let chats = world.storage.chats();
    assert_eq!(chats.find(session, BOB).await.unwrap(), None);
    assert_eq!(chats.change(session, BOB, SessionChange::default()).await.unwrap(), None);
    assert!(!chats.delete(session, BOB).await.unwrap());
    assert!(chats.session_events(session, BOB, 0, 10).await.unwrap().is_empty());
    assert!(chats.events(BOB, 0, 10).await.unwrap().is_empty());
    assert!(chats.list(BOB, None, 10).await.unwrap().is_empty());
    assert!(matches!(world.begin(session, BOB, Uuid::new_v4()).await, Err(StorageError::NotFound { .. })));
    assert!(!world.storage.turns().request_stop(lease.turn, BOB).await.unwrap());
    assert!(world.storage.turns().request_stop(lease.turn, ADA).await.unwrap());
    assert!(world.storage.turns().find(lease.turn).await.unwrap().unwrap().stop_requested);
}

#[tokio::test]
async fn lists_are_paged_by_last_change() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.session().await);
        world.clock.advance(Duration::from_secs(1));
    }
    let change =
        SessionChange { title: Some("first".to_owned()), pinned: Some(true), ..SessionChange::default() };
    let changed = world.storage.chats().change(ids[0], ADA, change).await.unwrap().unwrap();
    assert_eq!((changed.title.as_str(), changed.pinned), ("first", true));
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = world.storage.chats().list(ADA, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(SessionCursor { updated_at: last.updated_at, id: last.id });
        seen.extend(page.iter().map(|session| session.id));
    }
    assert_eq!(seen, [ids[0], ids[4], ids[3], ids[2], ids[1]]);
}

#[tokio::test]
async fn deleting_a_chat_deletes_what_was_said_in_it() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    world.finish(lease).await;
    assert!(world.storage.chats().delete(session, ADA).await.unwrap());
    assert!(world.storage.chats().history(session).await.unwrap().is_empty());
    assert!(world.events(session).await.is_empty());
    assert_eq!(world.storage.turns().find(lease.turn).await.unwrap(), None);
}

#[tokio::test]
async fn the_end_of_a_turn_tells_its_sums() {
    let world = World::new().await;
    let session = world.session().await;
    let lease = world.begin(session, ADA, Uuid::new_v4()).await.unwrap();
    world.clock.advance(Duration::from_millis(1_500));
    for _ in 0..2 {
        let write =
            TurnWrite { input_tokens: 10, output_tokens: 3, request_begins: true, ..TurnWrite::default() };
        world.storage.turns().write(lease, write).await.unwrap();
    }
    let write = TurnWrite { finish: Some(("failed", Some("no".to_owned()))), ..TurnWrite::default() };
    world.storage.turns().write(lease, write).await.unwrap();
    let last = world.events(session).await.pop().unwrap();
    assert_eq!(
        serde_json::to_value(&last).unwrap(),
        json!({
            "id": last.id, "session_id": session, "turn_id": lease.turn, "seq": last.seq,
            "kind": "chat.turn-finished.v1", "at": "2023-11-14T22:13:21.500Z",
            "payload": {
                "outcome": "failed", "reason": "no", "usage": {"input_tokens": 20, "output_tokens": 6},
                "duration_ms": 1500,
            },
        })
    );
}

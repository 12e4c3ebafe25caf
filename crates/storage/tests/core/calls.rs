use super::support::{end, model_call, new_call, open};
use futures::TryStreamExt;
use model::{
    CallId, CallState, Class, Classify, EdgeId, ErrorKind, Origin, Scope, SessionId, TurnId, UserId,
};
use serde_json::json;
use std::time::Duration;
use storage::calls::{CallCursor, CallFilter, NewCall, Settled, TurnLease};
use storage::{MasterKey, Storage, StorageError};

#[tokio::test]
async fn of_a_hundred_finishers_one_wins_and_only_its_result_is_kept() {
    let database = open().await;
    let call = new_call("read_file");
    let id = call.id;
    database.storage.calls().create(call, None).await.unwrap();
    let finishers: Vec<_> = (0..100)
        .map(|number| {
            let storage = database.storage.clone();
            tokio::spawn(async move {
                let state = if number % 2 == 0 { CallState::Succeeded } else { CallState::Cancelled };
                let settled =
                    storage.calls().finish(id, end(state, Some(&number.to_string()))).await.unwrap();
                (number, state, settled)
            })
        })
        .collect();
    let mut winners = Vec::new();
    let mut told = Vec::new();
    for finisher in finishers {
        match finisher.await.unwrap() {
            (number, state, Settled::Done) => winners.push((number, state)),
            (_, _, Settled::Before(state)) => told.push(state),
        }
    }
    assert_eq!(winners.len(), 1);
    let (number, state) = winners[0];
    assert!(told.iter().all(|before| *before == state));
    let row = database.storage.calls().find(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.duration_ms), (state, Some(12)));
    assert_eq!(database.storage.calls().result_text(id).await.unwrap(), Some(number.to_string()));
    let kinds: Vec<String> =
        database.storage.audit().of_call(id).await.unwrap().into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["call.admitted", "call.finished"]);
}

#[tokio::test]
async fn exact_arguments_are_encrypted_while_the_call_runs_and_gone_after_it() {
    let database = open().await;
    let call = NewCall {
        args_exact: json!({"url": "https://u:hunter2@x"}),
        args_redacted: json!({"url": "https://u:[redacted:url-password:0000]@x"}),
        ..new_call("probe_http")
    };
    let (id, exact) = (call.id, call.args_exact.clone());
    database.storage.calls().create(call, None).await.unwrap();
    assert_eq!(database.storage.calls().exact_args(id).await.unwrap(), Some(exact));
    for name in ["test.db", "test.db-wal"] {
        let bytes = std::fs::read(database.folder.path().join(name)).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{name}");
    }
    let path = database.folder.path().join("test.db");
    let stranger =
        Storage::open(&path, database.clock.clone(), MasterKey::from_bytes([4; 32])).await.unwrap();
    assert!(matches!(stranger.calls().exact_args(id).await, Err(StorageError::Sealed)));
    database.storage.calls().finish(id, end(CallState::Succeeded, Some("1"))).await.unwrap();
    assert_eq!(database.storage.calls().exact_args(id).await.unwrap(), None);
}

#[tokio::test]
async fn equal_arguments_of_two_calls_have_different_digests() {
    let database = open().await;
    let (one, two) = (new_call("read_file"), new_call("read_file"));
    let ids = [one.id, two.id];
    database.storage.calls().create(one, None).await.unwrap();
    database.storage.calls().create(two, None).await.unwrap();
    let digest = |id| {
        let storage = database.storage.clone();
        async move { storage.calls().find(id).await.unwrap().unwrap().args_digest }
    };
    let digests = [digest(ids[0]).await, digest(ids[1]).await];
    assert_ne!(digests[0], digests[1]);
    assert_ne!(digests[0], model::canonical::digest(&json!({"path": "/etc/hosts"})));
    assert_eq!(digests[0].len(), 64);
}

#[tokio::test]
async fn an_unknown_call_changes_once_more_and_that_is_on_record() {
    let database = open().await;
    let call = new_call("read_file");
    let id = call.id;
    let calls = database.storage.calls();
    calls.create(call, None).await.unwrap();
    assert_eq!(calls.finish(id, end(CallState::Unknown, None)).await.unwrap(), Settled::Done);
    assert_eq!(
        calls.finish(id, end(CallState::Unknown, None)).await.unwrap(),
        Settled::Before(CallState::Unknown)
    );
    assert!(calls.exact_args(id).await.unwrap().is_some());
    assert_eq!(calls.finish(id, end(CallState::Succeeded, Some("{}"))).await.unwrap(), Settled::Done);
    assert_eq!(
        calls.finish(id, end(CallState::Failed, None)).await.unwrap(),
        Settled::Before(CallState::Succeeded)
    );
    let kinds: Vec<String> =
        database.storage.audit().of_call(id).await.unwrap().into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["call.admitted", "call.unknown", "call.resolved"]);
    let row = calls.find(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.error), (CallState::Succeeded, None));
}

#[tokio::test]
async fn a_call_can_not_end_as_something_that_is_no_end() {
    let database = open().await;
    let call = new_call("read_file");
    let id = call.id;
    database.storage.calls().create(call, None).await.unwrap();
    assert!(database.storage.calls().finish(id, end(CallState::Queued, None)).await.is_err());
    let missing = database.storage.calls().finish(CallId::generate(), end(CallState::Failed, None)).await;
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_a_dead_manager_left_running_is_settled_once() {
    let database = open().await;
    let on_host = new_call("read_file");
    let in_manager = NewCall { scope: Scope::Manager, edge: None, ..new_call("query_edges") };
    let ended = new_call("host_load");
    let ids = (on_host.id, in_manager.id, ended.id);
    let calls = database.storage.calls();
    for call in [on_host, in_manager, ended] {
        calls.create(call, None).await.unwrap();
    }
    calls.finish(ids.2, end(CallState::Succeeded, Some("1"))).await.unwrap();
    assert_eq!(calls.settle_left_running().await.unwrap(), [ids.0, ids.1]);
    assert_eq!(calls.find(ids.0).await.unwrap().unwrap().state, CallState::Unknown);
    assert_eq!(calls.find(ids.1).await.unwrap().unwrap().state, CallState::Failed);
    assert_eq!(calls.find(ids.2).await.unwrap().unwrap().state, CallState::Succeeded);
    assert!(calls.settle_left_running().await.unwrap().is_empty());
    assert!(database.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn an_id_is_used_once() {
    let database = open().await;
    let call = new_call("read_file");
    database.storage.calls().create(call.clone(), None).await.unwrap();
    let error = database.storage.calls().create(call, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn a_worker_that_lost_its_turn_starts_no_call() {
    let database = open().await;
    let turn = TurnId::generate();
    let session = SessionId::generate();
    let id = turn.0;
    database
        .storage
        .write(move |conn| {
            Box::pin(async move {
                sqlx::query("INSERT INTO sessions (id, owner_id, created_at, updated_at) VALUES ($1, 1, 0, 0)")
                    .bind(session.0)
                    .execute(&mut *conn)
                    .await?;
                sqlx::query(
                    "INSERT INTO turns (id, session_id, user_id, roles, state, worker, epoch, lease_until, started_at)
                     VALUES ($1, $2, 1, '[]', 'running', x'00', 7, 0, 0)",
                )
                .bind(id)
                .bind(session.0)
                .execute(&mut *conn)
                .await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    let stale = new_call("read_file");
    let stale_id = stale.id;
    let error = database.storage.calls().create(stale, Some(TurnLease { turn, epoch: 6 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(database.storage.calls().find(stale_id).await.unwrap().is_none());
    assert!(database.storage.audit().of_call(stale_id).await.unwrap().is_empty());
    database.storage.calls().create(new_call("read_file"), Some(TurnLease { turn, epoch: 7 })).await.unwrap();
}

#[tokio::test]
async fn a_large_result_is_stored_whole_and_read_in_windows() {
    let database = open().await;
    let call = new_call("read_file");
    let id = call.id;
    database.storage.calls().create(call, None).await.unwrap();
    let text = serde_json::to_string(&"0123456789".repeat(100_000)).unwrap();
    database.storage.calls().finish(id, end(CallState::Succeeded, Some(&text))).await.unwrap();
    let row = database.storage.calls().find(id).await.unwrap().unwrap();
    assert_eq!(row.result_bytes, text.len() as u64);
    assert_eq!(row.result_digest, Some(model::canonical::sha256_hex(text.as_bytes())));
    assert_eq!(database.storage.calls().result_text(id).await.unwrap().as_deref(), Some(text.as_str()));
    let artifact = row.result_artifact.unwrap();
    let artifacts = database.storage.artifacts();
    for (offset, limit) in
        [(0, 10), (262_140, 20), (262_144, 524_288), (999_990, 1_000), (2_000_000, 5), (0, u64::MAX)]
    {
        let window = artifacts.window(artifact, offset, limit).await.unwrap();
        let start = (offset as usize).min(text.len());
        let stop = start.saturating_add(limit.min(usize::MAX as u64) as usize).min(text.len());
        assert!(window == text.as_bytes()[start..stop], "{offset} {limit}");
    }
    assert_eq!(artifacts.read(uuid::Uuid::nil()).await.unwrap(), None);
}

#[tokio::test]
async fn a_result_that_is_not_kept_leaves_its_size_and_digest() {
    let database = open().await;
    let call = new_call("read_result");
    let id = call.id;
    database.storage.calls().create(call, None).await.unwrap();
    let ended = storage::calls::CallEnd { keep_result: false, ..end(CallState::Succeeded, Some("\"page\"")) };
    database.storage.calls().finish(id, ended).await.unwrap();
    let row = database.storage.calls().find(id).await.unwrap().unwrap();
    assert_eq!((row.result_bytes, row.result_digest.is_some()), (6, true));
    assert_eq!(database.storage.calls().result_text(id).await.unwrap(), None);
}

#[tokio::test]
async fn each_filter_narrows_the_list() {
    let database = open().await;
    let session = SessionId::generate();
    let parent = CallId::generate();
    let calls = database.storage.calls();
    let by_person = new_call("read_file");
    let by_model = model_call("probe_tcp", UserId(2), session);
    let refused = NewCall {
        state: CallState::Refused,
        class: Class::Dangerous,
        error: Some("100% forbidden".to_owned()),
        edge: Some(EdgeId(9)),
        edge_name: Some("db_1".to_owned()),
        parent: Some(parent),
        args_redacted: json!({"reason": "kernel_update"}),
        ..new_call("reboot_host")
    };
    let ids = [by_person.id, by_model.id, refused.id];
    let mut times = Vec::new();
    for call in [by_person, by_model, refused] {
        database.clock.advance(Duration::from_secs(10));
        times.push(database.storage.now());
        calls.create(call, None).await.unwrap();
    }
    let all = CallFilter::default;
    let text = |part: &str| CallFilter { text: Some(part.to_owned()), ..all() };
    for (filter, expected) in [
        (all(), vec![2, 1, 0]),
        (CallFilter { tool: Some("probe_tcp".to_owned()), ..all() }, vec![1]),
        (CallFilter { class: Some(Class::Dangerous), ..all() }, vec![2]),
        (CallFilter { state: Some(CallState::Running), ..all() }, vec![1, 0]),
        (CallFilter { edge: Some(EdgeId(9)), ..all() }, vec![2]),
        (CallFilter { person: Some(UserId(2)), ..all() }, vec![1]),
        (CallFilter { person: Some(UserId(1)), ..all() }, vec![2, 0]),
        (CallFilter { session: Some(session), ..all() }, vec![1]),
        (CallFilter { parent: Some(parent), ..all() }, vec![2]),
        (CallFilter { origin: Some(Origin::Chat), ..all() }, vec![1]),
        (CallFilter { from: Some(times[1]), ..all() }, vec![2, 1]),
        (CallFilter { to: Some(times[1]), ..all() }, vec![0]),
        (text("KERNEL_update"), vec![2]),
        (text("100%"), vec![2]),
        (text("100_"), vec![]),
        (text("db_1"), vec![2]),
        (text("probe"), vec![1]),
        (CallFilter { class: Some(Class::Safe), origin: Some(Origin::Api), ..all() }, vec![0]),
    ] {
        let rows = calls.list(&filter, None, 10).await.unwrap();
        let found: Vec<usize> =
            rows.iter().map(|row| ids.iter().position(|id| *id == row.id).unwrap()).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn pages_and_the_export_hold_every_call_once_even_at_one_moment() {
    let database = open().await;
    let calls = database.storage.calls();
    for number in 0..25 {
        if number % 10 == 0 {
            database.clock.advance(Duration::from_secs(1));
        }
        calls.create(new_call("read_file"), None).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = calls.list(&CallFilter::default(), cursor, 7).await.unwrap();
        let Some(last) = page.last() else { break };
        // The text form is what a client sends back.
        cursor = Some(CallCursor::after(last).to_string().parse().unwrap());
        seen.extend(page.iter().map(|row| row.id));
    }
    let exported: Vec<CallId> =
        calls.export(&CallFilter::default()).map_ok(|row| row.id).try_collect().await.unwrap();
    assert_eq!(seen.len(), 25);
    assert_eq!(seen, exported);
    assert_eq!(seen.iter().collect::<std::collections::HashSet<_>>().len(), 25);
    assert!("17.nonsense".parse::<CallCursor>().is_err());
}

#[tokio::test]
async fn density_counts_calls_and_failures_per_stretch_and_keeps_empty_ones() {
    let database = open().await;
    let from = database.storage.now();
    let calls = database.storage.calls();
    for (minutes, state) in [(0, CallState::Running), (1, CallState::Refused), (25, CallState::Running)] {
        let call = NewCall { state, ..new_call("read_file") };
        let at = from + Duration::from_secs(minutes * 60);
        database.clock.advance((at - database.storage.now()).to_std().unwrap());
        calls.create(call, None).await.unwrap();
    }
    let to = from + Duration::from_secs(30 * 60);
    let buckets = calls.density(&CallFilter::default(), from, to, 3).await.unwrap();
    let counts: Vec<(u64, u64)> = buckets.iter().map(|bucket| (bucket.count, bucket.failed)).collect();
    assert_eq!(counts, [(2, 1), (0, 0), (1, 0)]);
    assert_eq!(buckets[1].from, from + Duration::from_secs(600));
}

#[tokio::test]
async fn changes_are_told_after_they_are_durable() {
    let database = open().await;
    let mut changes = database.storage.call_changes();
    let call = model_call("read_file", UserId(5), SessionId::generate());
    let id = call.id;
    database.storage.calls().create(call, None).await.unwrap();
    database.storage.calls().finish(id, end(CallState::Succeeded, None)).await.unwrap();
    database.storage.calls().finish(id, end(CallState::Failed, None)).await.unwrap();
    let told: Vec<_> =
        std::iter::from_fn(|| changes.try_recv().ok()).map(|c| (c.call_id, c.state, c.person)).collect();
    assert_eq!(told, [(id, CallState::Running, UserId(5)), (id, CallState::Succeeded, UserId(5))]);
}

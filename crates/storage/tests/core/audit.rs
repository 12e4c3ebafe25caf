use super::support;
use model::{CallId, CallState, EdgeId, UserId};
use serde_json::json;
use sqlx::Executor;
use storage::audit::{AuditFilter, Verification};
use storage::{Actor, AuditEntry};
use support::{Database, end, new_call};

fn entry(kind: &'static str, number: usize) -> AuditEntry {
    AuditEntry { kind, call_id: None, actor: Actor::User(UserId(1)), payload: json!({"number": number}) }
}

async fn with_rows(rows: usize) -> Database {
    let database = support::open().await;
    for number in 0..rows {
        database.storage.audit().record(entry("test.entry", number)).await.unwrap();
    }
    database
}

/// Changes the file as somebody does who has it: the triggers are no obstacle to them.
async fn tamper(database: &Database, sql: &'static str) -> Verification {
    let mut outside = database.outside().await;
    outside.execute("DROP TRIGGER audit_log_is_append_only_update").await.unwrap();
    outside.execute("DROP TRIGGER audit_log_is_append_only_delete").await.unwrap();
    outside.execute(sql).await.unwrap();
    database.storage.audit().verify().await.unwrap()
}

#[tokio::test]
async fn an_untouched_chain_is_right_from_its_first_row() {
    let database = with_rows(50).await;
    let found = database.storage.audit().verify().await.unwrap();
    assert_eq!(found, Verification { ok: true, rows: 51, through_seq: 51, calls: 0, problem: None });
    let first = database.storage.audit().list(&AuditFilter::default(), Some(2), 10).await.unwrap();
    assert_eq!((first[0].seq, first[0].kind.as_str()), (1, "chain.started"));
}

#[tokio::test]
async fn rows_can_not_be_changed_or_deleted() {
    let database = with_rows(1).await;
    for sql in [
        "UPDATE audit_log SET kind = 'other'",
        "DELETE FROM audit_log",
        "REPLACE INTO audit_log SELECT chain_id, seq, at, 'other', call_id, actor, payload, prev_hash, row_hash FROM audit_log",
    ] {
        let result = database
            .storage
            .write(move |conn| Box::pin(async move { Ok(sqlx::query(sql).execute(conn).await.map(drop)?) }))
            .await;
        let error = format!("{:?}", result.unwrap_err());
        assert!(error.contains("append-only"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn every_kind_of_tampering_is_found_and_located() {
    for (sql, through, problem) in [
        ("UPDATE audit_log SET payload = '{\"number\":7}' WHERE seq = 5", 4, "row 5 was changed"),
        ("UPDATE audit_log SET at = at + 1 WHERE seq = 5", 4, "row 5 was changed"),
        ("UPDATE audit_log SET actor = '{\"kind\":\"system\"}' WHERE seq = 5", 4, "row 5 was changed"),
        (
            "UPDATE audit_log SET call_id = x'00112233445566778899aabbccddeeff' WHERE seq = 5",
            4,
            "row 5 was changed",
        ),
        ("UPDATE audit_log SET kind = 'a' WHERE seq = 1", 0, "row 1 was changed"),
        ("DELETE FROM audit_log WHERE seq = 5", 4, "row 5 is missing"),
        ("DELETE FROM audit_log WHERE seq >= 9", 8, "ends at row 8, but row 11"),
        ("UPDATE audit_log SET row_hash = zeroblob(32) WHERE seq = 11", 10, "row 11 was changed"),
        (
            "UPDATE audit_log SET seq = CASE seq WHEN 5 THEN -6 WHEN 6 THEN -5 END WHERE seq IN (5, 6); UPDATE audit_log SET seq = -seq WHERE seq < 0",
            4,
            "row 5 does not continue",
        ),
    ] {
        let database = with_rows(10).await;
        let found = tamper(&database, sql).await;
        assert!(!found.ok, "{sql}");
        assert_eq!(found.through_seq, through, "{sql}: {found:?}");
        assert!(found.problem.as_ref().unwrap().contains(problem), "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn an_entry_is_there_exactly_when_its_job_was_committed() {
    let database = with_rows(0).await;
    let now = database.storage.now();
    let failed: Result<(), _> = database
        .storage
        .write(move |conn| {
            Box::pin(async move {
                storage::audit::append(conn, now, entry("test.undone", 1)).await?;
                Err(storage::StorageError::conflict("no"))
            })
        })
        .await;
    failed.unwrap_err();
    database.storage.audit().record(entry("test.done", 2)).await.unwrap();
    let rows = database.storage.audit().list(&AuditFilter::default(), None, 10).await.unwrap();
    let kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["test.done", "chain.started"]);
    assert!(database.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn concurrent_entries_make_one_chain() {
    let database = with_rows(0).await;
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let storage = database.storage.clone();
            tokio::spawn(async move { storage.audit().record(entry("test.entry", number)).await.unwrap() })
        })
        .collect();
    let mut seqs = Vec::new();
    for task in tasks {
        seqs.push(task.await.unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (2..=65).collect::<Vec<i64>>());
    assert!(database.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_job_that_fails_among_others_leaves_no_gap_in_the_chain() {
    let database = with_rows(0).await;
    let now = database.storage.now();
    let jobs = (0..60usize).map(|number| {
        let storage = database.storage.clone();
        async move {
            let written = storage.write(move |conn| {
                Box::pin(async move {
                    storage::audit::append(conn, now, entry("test.entry", number)).await?;
                    if number % 3 == 0 { Err(storage::StorageError::conflict("no")) } else { Ok(()) }
                })
            });
            written.await.is_ok()
        }
    });
    let kept = futures::future::join_all(jobs).await.into_iter().filter(|kept| *kept).count();
    assert_eq!(kept, 40);
    let stats = database.storage.stats();
    assert!(stats.commits < stats.jobs, "some were written together: {stats:?}");
    let rows = database.storage.audit().list(&AuditFilter::default(), None, 100).await.unwrap();
    let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=41).rev().collect::<Vec<i64>>());
    assert!(database.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn two_processes_that_append_to_one_database_make_one_chain() {
    let database = with_rows(0).await;
    let other = database.open_again().await;
    for number in 0..5 {
        database.storage.audit().record(entry("test.one", number)).await.unwrap();
        other.audit().record(entry("test.other", number)).await.unwrap();
    }
    let found = database.storage.audit().verify().await.unwrap();
    assert!(found.ok, "{found:?}");
    assert_eq!(found.through_seq, 11);
}

#[tokio::test]
async fn the_list_is_narrowed_by_kind_call_and_time_and_goes_page_by_page() {
    let database = support::open().await;
    let call = CallId::generate();
    let audit = database.storage.audit();
    audit.record(entry("user.signed_in", 0)).await.unwrap();
    database.clock.advance(std::time::Duration::from_secs(60));
    let later = database.storage.now();
    let of_call = AuditEntry {
        kind: "call.finished",
        call_id: Some(call),
        actor: Actor::Edge(EdgeId(4)),
        payload: json!({"z": 1, "a": 2}),
    };
    audit.record(of_call).await.unwrap();
    audit.record(entry("callback.made", 0)).await.unwrap();

    let kinds = |filter: AuditFilter| async move {
        let rows = audit.list(&filter, None, 10).await.unwrap();
        rows.into_iter().map(|row| row.kind).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(AuditFilter { kind: Some("call.".to_owned()), ..AuditFilter::default() }).await,
        ["call.finished"]
    );
    assert_eq!(kinds(AuditFilter { kind: Some("call".to_owned()), ..AuditFilter::default() }).await, [""; 0]);
    assert_eq!(kinds(AuditFilter { call: Some(call), ..AuditFilter::default() }).await, ["call.finished"]);
    assert_eq!(
        kinds(AuditFilter { from: Some(later), ..AuditFilter::default() }).await,
        ["callback.made", "call.finished"]
    );
    assert_eq!(
        kinds(AuditFilter { to: Some(later), ..AuditFilter::default() }).await,
        ["user.signed_in", "chain.started"]
    );
    let rows = audit.of_call(call).await.unwrap();
    assert_eq!(
        (rows[0].actor.clone(), rows[0].payload.clone()),
        (json!({"id": 4, "kind": "edge"}), json!({"a": 2, "z": 1}))
    );
    let second = audit.list(&AuditFilter::default(), Some(rows[0].seq), 1).await.unwrap();
    assert_eq!(second[0].kind, "user.signed_in");
}

/// Two calls that ended and one that was refused.
async fn with_calls() -> (Database, CallId) {
    let database = support::open().await;
    let calls = database.storage.calls();
    let (one, mut refused, large) = (new_call("read_file"), new_call("bash"), new_call("host_load"));
    refused.state = CallState::Refused;
    refused.error = Some("not allowed".to_owned());
    let (first, third) = (one.id, large.id);
    for call in [one, refused, large] {
        calls.create(call, None).await.unwrap();
    }
    calls.finish(first, end(CallState::Succeeded, Some("{\"load1\":0.5}"))).await.unwrap();
    let text = serde_json::to_string(&"x".repeat(300_000)).unwrap();
    calls.finish(third, end(CallState::Succeeded, Some(&text))).await.unwrap();
    (database, first)
}

#[tokio::test]
async fn rows_of_calls_that_are_as_the_chain_says_are_counted() {
    let (database, _) = with_calls().await;
    let found = database.storage.audit().verify().await.unwrap();
    assert_eq!((found.ok, found.calls, &found.problem), (true, 3, &None));
}

#[tokio::test]
async fn a_row_that_was_changed_only_in_the_projection_is_found_and_named() {
    for (sql, column) in [
        ("UPDATE chat_tool_calls SET status = 'failed' WHERE tool_name = 'read_file'", "`status`"),
        ("UPDATE chat_tool_calls SET tool_name = 'host_load' WHERE tool_name = 'read_file'", "`tool_name`"),
        ("UPDATE chat_tool_calls SET caller_user_id = 9 WHERE tool_name = 'read_file'", "`caller_user_id`"),
        ("UPDATE chat_tool_calls SET device_id = 2 WHERE tool_name = 'read_file'", "`device_id`"),
        ("UPDATE chat_tool_calls SET device_seq = 2 WHERE tool_name = 'read_file'", "`device_seq`"),
        (
            "UPDATE chat_tool_calls SET cancel_requested_at = 2 WHERE tool_name = 'read_file'",
            "`cancel_requested_at`",
        ),
        ("UPDATE chat_tool_calls SET token_id = 2 WHERE tool_name = 'read_file'", "`token_id`"),
        (
            "UPDATE chat_tool_calls SET args_json = '{\"path\":\"/x\"}' WHERE tool_name = 'read_file'",
            "`args_json`",
        ),
        ("UPDATE chat_tool_calls SET result_json = '{}' WHERE tool_name = 'read_file'", "`result_json`"),
        ("UPDATE chat_tool_calls SET duration_ms = 1 WHERE tool_name = 'read_file'", "`duration_ms`"),
    ] {
        let (database, call) = with_calls().await;
        database.outside().await.execute(sql).await.unwrap();
        let found = database.storage.audit().verify().await.unwrap();
        let problem = found.problem.unwrap();
        assert!(
            !found.ok && problem.contains(&call.to_string()) && problem.contains(column),
            "{sql}: {problem}"
        );
    }
}

#[tokio::test]
async fn calls_that_only_one_of_both_knows_and_changed_large_results_are_found() {
    for (sql, part) in [
        (
            "DELETE FROM chat_tool_calls WHERE tool_name = 'bash'",
            "is in the chain, but not in chat_tool_calls",
        ),
        (
            "INSERT INTO chat_tool_calls (id, tool_name, class, scope, args_json, args_digest, definition_hash, status, \
             created_at, caller_user_id, caller_role, origin, policy_decision) \
             VALUES (x'00112233445566778899aabbccddeeff', 't', 'safe', 'host', '{}', '', '', 'failed', 1, 1, 'admin', 'api', 'allow')",
            "the chain knows nothing of it",
        ),
        ("UPDATE artifact_pieces SET data = x'00' WHERE position = 1", "its stored result isn't the one"),
        ("UPDATE chat_tool_calls SET error = NULL WHERE tool_name = 'bash'", "`error`"),
    ] {
        let (database, _) = with_calls().await;
        database.outside().await.execute(sql).await.unwrap();
        let found = database.storage.audit().verify().await.unwrap();
        let problem = found.problem.unwrap();
        assert!(!found.ok && problem.contains(part), "{sql}: {problem}");
    }
}

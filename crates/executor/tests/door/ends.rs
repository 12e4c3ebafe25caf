use super::support::{Door, SHORT, Script, Setup, TestTool, failed, in_manager, ok, on_host, open, open_in};
use executor::CallOutcome;
use gate::{Admission, CallRequest, Dispatched, FinishedCall};
use model::{CallState, Class};
use serde_json::json;
use skill::SkillErrorKind;
use storage::calls::Settled;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Starts a call and waits until the host has it.
async fn start(
    door: &Door,
    request: CallRequest,
    script: impl FnOnce(oneshot::Sender<()>) -> Script,
) -> (JoinHandle<CallOutcome>, CancellationToken) {
    let (came, here) = oneshot::channel();
    door.script([script(came)]);
    let (executor, cancel) = (door.executor.clone(), CancellationToken::new());
    let token = cancel.clone();
    let task = tokio::spawn(async move { executor.request(request, token).await.unwrap() });
    here.await.unwrap();
    (task, cancel)
}

/// Waits until the call has ended.
async fn ended(door: &Door, id: model::CallId) -> CallState {
    let mut changes = door.executor.changes();
    loop {
        let state = door.row(id).await.state;
        if state != CallState::Running {
            return state;
        }
        changes.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_host_that_answers_with_an_error_makes_the_call_failed() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(failed("no such unit"))]);
    let outcome = door.run(on_host(1, "service_status", json!({"service": "nope"}))).await;
    assert_eq!((outcome.state, outcome.error_kind), (CallState::Failed, Some(SkillErrorKind::NotFound)));
    assert_eq!(door.row(outcome.call_id).await.error_kind.as_deref(), Some("not_found"));
}

#[tokio::test]
async fn an_answer_that_is_no_json_makes_the_call_failed() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(ok("{\"half\":"))]);
    let outcome = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!((outcome.state, outcome.result), (CallState::Failed, None));
    assert!(outcome.error.unwrap().contains("not JSON"));
}

#[tokio::test]
async fn an_answer_that_is_no_end_makes_the_call_failed() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(Dispatched { state: CallState::Queued, ..ok("1") })]);
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Failed);
}

#[tokio::test]
async fn a_stopped_call_is_stopped_on_its_host_and_ends_as_cancelled() {
    let door = open(Setup::default()).await;
    let (task, cancel) = start(&door, on_host(1, "host_load", json!({})), Script::UntilStopped).await;
    cancel.cancel();
    let outcome = task.await.unwrap();
    assert_eq!(
        (outcome.state, outcome.error.as_deref()),
        (CallState::Cancelled, Some("The call was stopped."))
    );
}

#[tokio::test]
async fn a_call_can_be_stopped_by_its_id() {
    let door = open(Setup::default()).await;
    let request = on_host(1, "host_load", json!({}));
    let id = request.call_id;
    let (task, _cancel) = start(&door, request, Script::UntilStopped).await;
    assert!(door.executor.cancel(id));
    assert_eq!(task.await.unwrap().state, CallState::Cancelled);
    assert!(!door.executor.cancel(id), "it runs no more");
}

#[tokio::test]
async fn a_call_that_ended_well_just_before_it_was_stopped_succeeded() {
    let door = open(Setup::default()).await;
    let (task, cancel) = start(&door, on_host(1, "host_load", json!({})), Script::SucceedWhenStopped).await;
    cancel.cancel();
    assert_eq!(task.await.unwrap().state, CallState::Succeeded);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped_and_timed_out() {
    let door = open(Setup::default()).await;
    let request = CallRequest { timeout: Some(SHORT), ..on_host(1, "host_load", json!({})) };
    let (task, _cancel) = start(&door, request, Script::UntilStopped).await;
    let outcome = task.await.unwrap();
    assert_eq!((outcome.state, outcome.error_kind), (CallState::TimedOut, Some(SkillErrorKind::Timeout)));
}

#[tokio::test]
async fn a_panic_on_the_way_to_the_host_ends_the_row() {
    let door = open(Setup::default()).await;
    door.script([Script::Panic]);
    let outcome = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!(outcome.state, CallState::Failed);
    assert_eq!(door.row(outcome.call_id).await.state, CallState::Failed);
}

#[tokio::test]
async fn a_safe_call_that_nobody_waits_for_is_stopped_and_its_row_is_ended() {
    let door = open(Setup::default()).await;
    let request = on_host(1, "host_load", json!({}));
    let id = request.call_id;
    let (task, _cancel) = start(&door, request, Script::UntilStopped).await;
    task.abort();
    assert_eq!(ended(&door, id).await, CallState::Cancelled);
    assert_eq!(
        door.row(id).await.error.as_deref(),
        Some("The call was stopped because nobody waits for it any more.")
    );
}

#[tokio::test]
async fn a_tool_ends_truthfully_however_it_ends() {
    let tool = TestTool::leaked();
    let door = open(Setup { tools: vec![tool], ..Setup::default() }).await;
    let panicked = door.run(in_manager("test_tool", json!({"action": "panic"}))).await;
    assert_eq!(panicked.state, CallState::Failed);
    assert!(panicked.error.unwrap().contains("a defect"));

    let failed = door.run(in_manager("test_tool", json!({"action": "fail"}))).await;
    assert_eq!((failed.state, failed.error_kind), (CallState::Failed, Some(SkillErrorKind::NotFound)));
    assert!(failed.error.unwrap().starts_with("no such thing; password=[redacted:password:"));

    let slow = CallRequest { timeout: Some(SHORT), ..in_manager("test_tool", json!({"action": "wait"})) };
    assert_eq!(door.run(slow).await.state, CallState::TimedOut);
}

#[tokio::test]
async fn a_tool_that_waits_can_be_stopped() {
    let tool = TestTool::leaked();
    let door = open(Setup { tools: vec![tool], ..Setup::default() }).await;
    let request = in_manager("test_tool", json!({"action": "wait"}));
    let (executor, id) = (door.executor.clone(), request.call_id);
    let task =
        tokio::spawn(async move { executor.request(request, CancellationToken::new()).await.unwrap() });
    tool.entered.notified().await;
    assert!(door.executor.cancel(id));
    assert_eq!(task.await.unwrap().state, CallState::Cancelled);
}

#[tokio::test]
async fn what_was_running_when_the_manager_died_is_settled_at_the_next_start() {
    let door = open(Setup::default()).await;
    let on_host = on_host(1, "host_load", json!({}));
    let in_manager = in_manager("query_edges", json!({}));
    let ids = (on_host.call_id, in_manager.call_id);
    // Admitted, and then the process is gone: nothing else of the manager ever runs.
    for request in [on_host, in_manager] {
        let Admission::Admitted(call) = door.gate.admit(request).await.unwrap() else { unreachable!() };
        drop(call);
    }
    let Door { folder, storage, .. } = door;
    storage.close().await;

    let door = open_in(folder, Setup::default()).await;
    assert_eq!(door.gate.recover().await.unwrap(), [ids.0, ids.1]);
    assert_eq!(door.row(ids.0).await.state, CallState::Unknown);
    assert_eq!(door.row(ids.1).await.state, CallState::Failed);

    // The host is back and tells.
    let told = FinishedCall {
        result: Some("{\"load\":1}".into()),
        error: None,
        ..FinishedCall::without_result(CallState::Succeeded, "")
    };
    let recorded = door.gate.recorder().finish(ids.0, told).await.unwrap();
    assert_eq!((recorded.settled, recorded.state), (Settled::Done, CallState::Succeeded));
    assert_eq!(door.audit_kinds(ids.0).await, ["call.admitted", "call.unknown", "call.resolved"]);
    assert!(door.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn of_a_hundred_ways_to_end_a_call_one_is_on_record() {
    let door = open(Setup::default()).await;
    let request = on_host(1, "host_load", json!({}));
    let id = request.call_id;
    let Admission::Admitted(call) = door.gate.admit(request).await.unwrap() else { unreachable!() };
    assert_eq!(call.class(), Class::Safe);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let recorder = door.gate.recorder().clone();
            tokio::spawn(async move {
                recorder.finish(id, FinishedCall::without_result(CallState::Failed, "x")).await
            })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        winners += usize::from(task.await.unwrap().unwrap().settled == Settled::Done);
    }
    assert_eq!(winners, 1);
}

/// Lets the database grow no further, and fills what is left of it.
async fn fill(storage: &storage::Storage) {
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(storage.read()).await.unwrap();
    grow_to(storage, pages + 1).await;
    for bytes in [4000, 400, 40, 1] {
        let payload = || serde_json::json!({"fill": "x".repeat(bytes)});
        let entry = || storage::AuditEntry {
            kind: "test.fill",
            call_id: None,
            actor: storage::Actor::System,
            payload: payload(),
        };
        while storage.audit().record(entry()).await.is_ok() {}
    }
}

/// Sets how many pages the database may have.
async fn grow_to(storage: &storage::Storage, pages: i64) {
    let sql = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    let set = storage
        .write(move |conn| Box::pin(async move { Ok(sqlx::query(sql).execute(conn).await.map(drop)?) }));
    set.await.unwrap();
}

#[tokio::test]
async fn with_a_full_disk_nothing_runs_and_with_space_again_everything_goes_on() {
    let door = open(Setup::default()).await;
    fill(&door.storage).await;
    let request = on_host(1, "read_file", serde_json::json!({"path": "/etc/hosts"}));
    let failed = door.executor.request(request.clone(), CancellationToken::new()).await;
    assert!(matches!(failed, Err(gate::GateError::Record { .. })), "{failed:?}");
    assert!(door.seen().is_empty(), "a call ran that isn't on record");
    grow_to(&door.storage, i64::from(i32::MAX)).await;
    assert_eq!(door.run(request).await.state, CallState::Succeeded);
    assert!(door.storage.audit().verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_call_whose_end_finds_a_full_disk_is_told_as_unknown_and_recorded_when_there_is_space() {
    let door = open(Setup::default()).await;
    let (came, has_come) = oneshot::channel();
    door.script([Script::SucceedWhenStopped(came)]);
    let request = on_host(1, "read_file", serde_json::json!({"path": "/etc/hosts"}));
    let (id, cancel) = (request.call_id, CancellationToken::new());
    let call = tokio::spawn({
        let (executor, cancel) = (door.executor.clone(), cancel.clone());
        async move { executor.request(request, cancel).await.unwrap() }
    });
    has_come.await.unwrap();
    fill(&door.storage).await;
    let mut changes = door.storage.call_changes();
    cancel.cancel();
    let told = call.await.unwrap();
    assert_eq!((told.state, told.result), (CallState::Unknown, None));
    grow_to(&door.storage, i64::from(i32::MAX)).await;
    assert_eq!(changes.recv().await.unwrap().state, CallState::Succeeded);
    assert_eq!(door.row(id).await.state, CallState::Succeeded);
    assert!(door.storage.audit().verify().await.unwrap().ok);
}

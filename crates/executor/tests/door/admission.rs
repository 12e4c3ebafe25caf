use super::support::{
    Door, Script, Setup, in_manager, model_for, nobody_decides, ok, on_host, open, open_in, person,
};
use gate::{CallLimits, HostState, Narrowing, Principal, ProbeRules, RawToolPolicy, Taint};
use model::{CallId, CallState, Class, Classify, ErrorKind, PolicyDecision, Role, Roles, UserId};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_row_is_durable_and_running_before_the_host_hears_of_the_call() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(ok("{\"n\":1}"))]);
    let outcome = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!((outcome.state, outcome.result), (CallState::Succeeded, Some(json!({"n": 1}))));
    let seen = door.seen();
    assert_eq!((seen.len(), seen[0].state), (1, Some(CallState::Running)));
    let row = door.row(outcome.call_id).await;
    assert_eq!(
        (row.state, row.policy, row.class),
        (CallState::Succeeded, PolicyDecision::Allow, Class::Safe)
    );
    assert_eq!((row.edge_name.as_deref(), row.sandbox.as_deref()), (Some("web-1"), Some("none")));
    assert_eq!((row.caller, row.caller_role.as_str()), (UserId(7), "operator"));
    assert_eq!(door.audit_kinds(outcome.call_id).await, ["call.admitted", "call.finished"]);
}

#[tokio::test]
async fn when_the_row_can_not_be_written_nothing_is_dispatched() {
    let door = open(Setup::default()).await;
    door.storage.close().await;
    let result = door.executor.request(on_host(1, "host_load", json!({})), CancellationToken::new()).await;
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(door.seen().is_empty());
}

#[tokio::test]
async fn when_only_the_audit_entry_can_not_be_written_nothing_is_dispatched_either() {
    let door = open(Setup::default()).await;
    door.storage
        .write(|conn| {
            Box::pin(async move {
                let trigger =
                    "CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END";
                Ok(sqlx::query(trigger).execute(conn).await.map(drop)?)
            })
        })
        .await
        .unwrap();
    let request = on_host(1, "host_load", json!({}));
    let id = request.call_id;
    assert!(door.executor.request(request, CancellationToken::new()).await.is_err());
    assert!(door.seen().is_empty());
    assert!(door.storage.calls().find(id).await.unwrap().is_none(), "no row without its entry");
}

#[tokio::test]
async fn an_id_is_run_once() {
    let door = open(Setup::default()).await;
    let request = on_host(1, "host_load", json!({}));
    door.run(request.clone()).await;
    let again = door.executor.request(request, CancellationToken::new()).await;
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(door.seen().len(), 1);
}

#[tokio::test]
async fn each_refusal_is_on_record_with_precise_words_and_runs_nothing() {
    let door = open(Setup {
        policy: RawToolPolicy {
            default: None,
            groups: [("files".to_owned(), "deny".to_owned())].into(),
            tools: BTreeMap::new(),
        },
        probes: ProbeRules { own_ports: vec![7443], ..ProbeRules::default() },
        ..Setup::default()
    })
    .await;
    door.change_host(2, |host| {
        host.state = HostState::Quarantined;
        host.state_reason = Some("two hosts claim to be it".to_owned());
    });
    let narrowed = Narrowing::Only(BTreeSet::from(["probe_tcp".to_owned()]));
    let nobody = Principal { roles: Roles::default(), ..person(Role::Viewer) };
    let restart = json!({"service": "nginx", "reason": "it hangs"});
    for (request, policy, words) in [
        (
            on_host(1, "host_laod", json!({})),
            PolicyDecision::Deny,
            "There is no tool `host_laod`; did you mean `host_load`?",
        ),
        (on_host(9, "host_load", json!({})), PolicyDecision::Deny, "There is no host with the id 9"),
        (
            on_host(3, "host_load", json!({})),
            PolicyDecision::Deny,
            "Host `web-3` (edge 3) is offline; last seen 2030-03-17",
        ),
        (
            on_host(2, "host_load", json!({})),
            PolicyDecision::Deny,
            "is quarantined: two hosts claim to be it; an admin",
        ),
        (
            on_host(4, "read_journal", json!({})),
            PolicyDecision::Deny,
            "`read_journal` can't run on host `web-4` (edge 4), which lacks a systemd journal",
        ),
        (
            on_host(1, "tail_file", json!({"path": "/var/log/syslog"})),
            PolicyDecision::Deny,
            "The configuration denies `tail_file`",
        ),
        (
            gate::CallRequest { caller: person(Role::Viewer), ..on_host(1, "restart_service", restart) },
            PolicyDecision::Deny,
            "needs the role operator",
        ),
        (on_host(1, "reboot_host", json!({"reason": "kernel"})), PolicyDecision::Supervised, "two people"),
        (
            gate::CallRequest { caller: nobody, ..on_host(1, "host_load", json!({})) },
            PolicyDecision::Deny,
            "needs the role viewer",
        ),
        (
            gate::CallRequest { narrowing: narrowed, ..on_host(1, "host_load", json!({})) },
            PolicyDecision::Deny,
            "switched off for this chat",
        ),
        (
            on_host(1, "probe_tcp", json!({"target": "169.254.169.254:80"})),
            PolicyDecision::Deny,
            "cloud metadata",
        ),
        (
            on_host(1, "probe_tcp", json!({"target": "127.0.0.1:7443"})),
            PolicyDecision::Deny,
            "where Steadyhand itself listens",
        ),
    ] {
        let shown = format!("{} {}", request.key, request.args);
        let outcome = door.run(request).await;
        assert_eq!(outcome.state, CallState::Refused, "{shown}: {outcome:?}");
        let error = outcome.error.unwrap();
        assert!(error.contains(words), "{shown}: {error}");
        let row = door.row(outcome.call_id).await;
        assert_eq!(
            (row.state, row.error.as_deref(), row.policy),
            (CallState::Refused, Some(error.as_str()), policy)
        );
        assert!(row.finished_at.is_some() && row.started_at.is_none());
        assert_eq!(door.audit_kinds(outcome.call_id).await, ["call.refused"]);
    }
    assert!(door.seen().is_empty());
}

#[tokio::test]
async fn bad_arguments_are_told_with_the_schema_and_are_on_record() {
    let door = open(Setup::default()).await;
    for (request, words) in [
        (on_host(1, "probe_tcp", json!({"target": "a:1", "count": 99})), "count"),
        (on_host(1, "probe_tcp", json!({"traget": "a:1"})), "target"),
        (on_host(1, "probe_tcp", json!([1])), "object"),
        (gate::CallRequest { edge: None, ..on_host(1, "host_load", json!({})) }, "`edge_id` is required"),
        (
            gate::CallRequest { edge: Some(model::EdgeId(1)), ..in_manager("query_edges", json!({})) },
            "takes no `edge_id`",
        ),
        (
            on_host(1, "read_file", json!({"path": "/x/[redacted:password:12ab]"})),
            "stands for a hidden secret",
        ),
    ] {
        let outcome = door.run(request).await;
        assert_eq!(outcome.state, CallState::Invalid, "{outcome:?}");
        assert!(outcome.error.as_ref().unwrap().contains(words), "{outcome:?}");
        assert!(outcome.schema.unwrap()["properties"].is_object());
        assert_eq!(door.audit_kinds(outcome.call_id).await, ["call.invalid"]);
    }
    let of_model =
        gate::CallRequest { caller: model_for(Role::Operator), ..on_host(1, "probe_tcp", json!({})) };
    let schema = door.run(of_model).await.schema.unwrap();
    assert_eq!(schema["required"][0], "edge_id", "a model is shown the schema that it knows");
    assert!(door.seen().is_empty());
}

#[tokio::test]
async fn after_untrusted_text_a_model_may_probe_only_named_places() {
    let door = open(Setup {
        probes: ProbeRules { allow: vec!["*.corp.example".to_owned()], ..ProbeRules::default() },
        approvals: nobody_decides(),
        ..Setup::default()
    })
    .await;
    let taint = Taint { untrusted: true, named_places: vec!["shop.example.com".to_owned()] };
    let tainted = |target: &str| gate::CallRequest {
        caller: model_for(Role::Admin),
        taint: taint.clone(),
        ..on_host(1, "probe_tcp", json!({"target": target}))
    };
    for target in ["shop.example.com:443", "web-2:22", "api.corp.example:80", "localhost:5432"] {
        assert_eq!(door.run(tainted(target)).await.state, CallState::Succeeded, "{target}");
    }
    let asked = door.run(tainted("collect.evil.example:443")).await;
    assert_eq!(asked.state, CallState::Expired);
    let why = door.approval(asked.call_id).await.why;
    assert!(why.contains("`collect.evil.example`, which neither the operator"), "{why}");
    assert_eq!(door.row(asked.call_id).await.policy, PolicyDecision::Supervised);
    let by_person = gate::CallRequest { caller: person(Role::Viewer), ..tainted("collect.evil.example:443") };
    assert_eq!(
        door.run(by_person).await.state,
        CallState::Succeeded,
        "whom a person names, the person has named"
    );
    let metadata = door.run(tainted("169.254.169.254:80")).await;
    assert_eq!(
        (metadata.state, door.row(metadata.call_id).await.policy),
        (CallState::Refused, PolicyDecision::Deny)
    );
}

#[tokio::test]
async fn an_edge_that_classes_a_skill_higher_is_believed() {
    let door = open(Setup { approvals: nobody_decides(), ..Setup::default() }).await;
    door.change_host(1, |host| {
        host.skills.as_mut().unwrap().get_mut("host_load").unwrap().class = Class::Mutating;
    });
    let outcome = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!(outcome.state, CallState::Expired);
    assert!(door.seen().is_empty());
    assert_eq!(door.row(outcome.call_id).await.class, Class::Mutating);
}

#[tokio::test]
async fn a_models_call_is_the_systems_on_behalf_of_the_owner() {
    let door = open(Setup::default()).await;
    let request = gate::CallRequest { caller: model_for(Role::Viewer), ..on_host(1, "host_load", json!({})) };
    let outcome = door.run(request).await;
    let row = door.row(outcome.call_id).await;
    assert_eq!(
        (row.caller, row.caller_role.as_str(), row.on_behalf_of),
        (UserId(0), "system", Some(UserId(7)))
    );
}

#[tokio::test]
async fn a_limit_that_is_reached_is_a_refusal_that_names_it() {
    let door = open(Setup {
        limits: CallLimits { per_person_hour: 2, ..CallLimits::default() },
        ..Setup::default()
    })
    .await;
    door.run(on_host(1, "host_load", json!({}))).await;
    door.run(on_host(1, "host_load", json!({}))).await;
    let third = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!(third.state, CallState::Refused);
    let error = third.error.unwrap();
    assert!(
        error.starts_with("At most 2 calls of one person are allowed per hour; try again in about "),
        "{error}"
    );
    assert!(error.ends_with(" UTC)."), "{error}");
    let Door { folder, storage, .. } = door;
    storage.close().await;
    let again = open_in(
        folder,
        Setup { limits: CallLimits { per_person_hour: 2, ..CallLimits::default() }, ..Setup::default() },
    )
    .await;
    again.gate.recover().await.unwrap();
    let after_restart = again.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!(after_restart.state, CallState::Refused, "a restart doesn't reset the hour");
}

#[tokio::test]
async fn the_hour_of_a_host_counts_the_calls_of_everybody_there_and_outlives_a_restart() {
    let limits = CallLimits { per_edge_hour: 2, ..CallLimits::default() };
    let door = open(Setup { limits, ..Setup::default() }).await;
    // A fan-out counts on each of its hosts.
    let batch = in_manager("host_load", json!({"edge_ids": [1, 2]}));
    assert_eq!(door.run(batch).await.state, CallState::Succeeded);
    let other = gate::CallRequest {
        caller: Principal::person_at_browser(UserId(6), Roles::new([Role::Operator])),
        ..on_host(1, "host_sockets", json!({}))
    };
    assert_eq!(door.run(other.clone()).await.state, CallState::Succeeded);
    let third = gate::CallRequest { call_id: CallId::generate(), ..other };
    let refused = door.run(third.clone()).await;
    assert_eq!(refused.state, CallState::Refused);
    let error = refused.error.unwrap();
    assert!(error.starts_with("At most 2 calls on this host are allowed per hour; try again in"), "{error}");
    let said = door.gate.explain(on_host(1, "host_load", json!({}))).await.unwrap();
    assert_eq!((said.fate, said.rule), (gate::Fate::Deny, gate::Rule::Limits));
    assert!(said.reason.contains("calls on this host are allowed per hour"), "{}", said.reason);
    assert_eq!(door.run(on_host(2, "host_load", json!({}))).await.state, CallState::Succeeded);
    let Door { folder, storage, .. } = door;
    storage.close().await;
    let again = open_in(folder, Setup { limits, ..Setup::default() }).await;
    again.gate.recover().await.unwrap();
    let third = gate::CallRequest { call_id: CallId::generate(), ..third };
    assert_eq!(again.run(third).await.state, CallState::Refused, "a restart doesn't reset the hour");
}

#[tokio::test]
async fn only_so_many_calls_run_on_one_host_at_once() {
    let limits = CallLimits { per_edge_at_once: 1, ..CallLimits::default() };
    let door = open(Setup { limits, ..Setup::default() }).await;
    let (came, here) = tokio::sync::oneshot::channel();
    door.script([Script::UntilStopped(came)]);
    let first = on_host(1, "host_load", json!({}));
    let id = first.call_id;
    let executor = door.executor.clone();
    let running = tokio::spawn(async move { executor.request(first, Default::default()).await });
    here.await.unwrap();
    let second = door.run(on_host(1, "host_load", json!({}))).await;
    assert_eq!(
        second.error.as_deref(),
        Some("At most 1 calls on this host may run at once; one has to end first.")
    );
    assert_eq!(door.run(on_host(2, "host_load", json!({}))).await.state, CallState::Succeeded);
    assert!(door.executor.cancel(id));
    running.await.unwrap().unwrap();
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Succeeded);
}

#[tokio::test]
async fn what_is_logged_of_an_admitted_call_holds_no_arguments() {
    let door = open(Setup::default()).await;
    let request = on_host(1, "probe_http", json!({"url": "http://ann:hunter2x@shop.example.com/"}));
    let admission = door.gate.admit(request).await.unwrap();
    let shown = format!("{admission:?}");
    assert!(shown.contains("probe_http") && !shown.contains("hunter2x"), "{shown}");
}

#[tokio::test]
async fn secrets_are_hidden_in_row_audit_and_result_but_the_host_gets_the_exact_arguments() {
    let door = open(Setup::default()).await;
    door.script([Script::Answer(ok("{\"text\":\"DB_PASSWORD=hunter2x\\nok\"}"))]);
    let url = "http://ann:hunter2x@shop.example.com/";
    let outcome = door.run(on_host(1, "probe_http", json!({"url": url}))).await;
    assert_eq!(door.seen()[0].args["url"], url);
    let row = door.row(outcome.call_id).await;
    let audit = door.storage.audit().of_call(outcome.call_id).await.unwrap();
    let stored = door.storage.calls().result_text(outcome.call_id).await.unwrap().unwrap();
    let everything = format!("{row:?} {audit:?} {stored} {outcome:?}");
    assert!(!everything.contains("hunter2x"), "{everything}");
    assert!(stored.contains("DB_PASSWORD=[redacted:password:"), "{stored}");
}

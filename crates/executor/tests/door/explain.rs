use super::support::{Setup, in_manager, model_for, on_host, open, person};
use gate::{CallLimits, CallRequest, Fate, Narrowing, ProbeRules, RawToolPolicy, Taint};
use model::{CallId, CallState, Class, Role};
use serde_json::json;
use storage::calls::{CallFilter, CallRow};

/// What really became of a call.
fn fate_of(row: &CallRow) -> Fate {
    match row.state {
        CallState::Succeeded => Fate::Run,
        CallState::Invalid => Fate::Invalid,
        CallState::AwaitingApproval => Fate::Ask,
        CallState::Refused => Fate::Deny,
        other => panic!("{} ended as {other}", row.tool),
    }
}

fn policy() -> RawToolPolicy {
    let own =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    RawToolPolicy {
        default: None,
        groups: own(&[("files", "supervised"), ("hardware", "deny")]),
        tools: own(&[("tail_file", "allow"), ("host_sockets", "deny")]),
    }
}

/// Calls, what is to become of each, and the rule that says so.
fn calls() -> Vec<(CallRequest, Fate, &'static str)> {
    let by = |role, request| CallRequest { caller: person(role), ..request };
    let of_model = |request| CallRequest {
        caller: model_for(Role::Operator),
        taint: Taint { untrusted: true, named_places: Vec::new() },
        ..request
    };
    let probe = |host: &str| on_host(1, "probe_tcp", json!({"target": format!("{host}:443")}));
    let bash = |command: &str| on_host(1, "bash", json!({"command": command}));
    vec![
        (on_host(1, "host_load", json!({})), Fate::Run, "class = safe"),
        (in_manager("query_edges", json!({})), Fate::Run, "class = safe"),
        (
            on_host(1, "tail_file", json!({"path": "/var/log/syslog"})),
            Fate::Run,
            "security.tool_policy.tools.tail_file = allow",
        ),
        (
            on_host(1, "read_file", json!({"path": "/etc/hosts"})),
            Fate::Ask,
            "security.tool_policy.groups.files = supervised",
        ),
        (on_host(1, "host_sockets", json!({})), Fate::Deny, "security.tool_policy.tools.host_sockets = deny"),
        (
            on_host(1, "reboot_host", json!({"reason": "a new kernel"})),
            Fate::Deny,
            "security.tool_policy.groups.hardware = deny",
        ),
        (on_host(1, "host_laod", json!({})), Fate::Deny, "catalogue"),
        (on_host(1, "tail_file", json!({"path": 7})), Fate::Invalid, "arguments"),
        (in_manager("host_load", json!({"edges": "all", "more": 1})), Fate::Invalid, "arguments"),
        (on_host(3, "host_load", json!({})), Fate::Deny, "host"),
        (on_host(9, "host_load", json!({})), Fate::Deny, "host"),
        (on_host(4, "read_journal", json!({})), Fate::Deny, "prerequisites"),
        (probe("169.254.169.254"), Fate::Deny, "security.probes"),
        (probe("elsewhere.example"), Fate::Run, "class = safe"),
        (of_model(probe("elsewhere.example")), Fate::Ask, "untrusted text"),
        (
            CallRequest {
                narrowing: Narrowing::Only(Default::default()),
                ..on_host(1, "host_load", json!({}))
            },
            Fate::Deny,
            "tools of the chat",
        ),
        (bash("uptime"), Fate::Run, "class = safe"),
        (bash("systemctl restart nginx"), Fate::Ask, "class = mutating"),
        (by(Role::Viewer, bash("systemctl restart nginx")), Fate::Deny, "role = operator"),
        (by(Role::Viewer, bash("uptime")), Fate::Run, "class = safe"),
        (bash("rm -rf /"), Fate::Deny, "procedure"),
        (
            on_host(1, "restart_service", json!({"service": "nginx.service", "reason": "it hangs"})),
            Fate::Ask,
            "class = mutating",
        ),
    ]
}

#[tokio::test]
async fn what_is_explained_is_what_then_happens() {
    let door = open(Setup { policy: policy(), ..Setup::default() }).await;
    for (request, fate, rule) in calls() {
        let said =
            door.gate.explain(CallRequest { call_id: CallId::generate(), ..request.clone() }).await.unwrap();
        let what = format!("{} {} on {:?}: {said:?}", request.key, request.args, request.edge);
        assert_eq!((said.fate, said.rule.to_string().as_str()), (fate, rule), "{what}");
        assert_eq!(said.approvers.is_some(), fate == Fate::Ask, "{what}");
        assert!(!said.reason.is_empty(), "{what}");
        let mut waiting = door.storage.call_changes();
        let id = request.call_id;
        let executor = door.executor.clone();
        let call = tokio::spawn(async move { executor.request(request, Default::default()).await });
        // A call that asks a person waits, and is looked at while it does.
        while waiting.recv().await.unwrap().call_id != id {}
        if fate != Fate::Ask {
            call.await.unwrap().unwrap();
        }
        let row = door.row(id).await;
        assert_eq!((fate_of(&row), row.class), (fate, said.class), "{what}");
        if row.state == CallState::Refused || row.state == CallState::Invalid {
            assert_eq!(row.error.as_deref(), Some(said.reason.as_str()), "{what}");
        }
    }
}

#[tokio::test]
async fn an_explanation_leaves_no_trace_and_counts_towards_no_limit() {
    let limits = CallLimits { per_person_hour: 1, ..CallLimits::default() };
    let door = open(Setup { limits, ..Setup::default() }).await;
    for _ in 0..3 {
        assert_eq!(door.gate.explain(on_host(1, "host_load", json!({}))).await.unwrap().fate, Fate::Run);
    }
    let audited = door.storage.audit().verify().await.unwrap().rows;
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Succeeded);
    let said = door.gate.explain(on_host(1, "host_load", json!({}))).await.unwrap();
    assert_eq!((said.fate, said.rule.to_string().as_str()), (Fate::Deny, "security.limits"));
    assert!(said.reason.contains("per hour"), "{}", said.reason);
    let rows = door.storage.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(door.storage.audit().verify().await.unwrap().rows, audited + 2, "admitted and finished");
}

#[tokio::test]
async fn the_class_is_explained_part_by_part() {
    let door = open(Setup::default()).await;
    let command = "ls /tmp; rm -r /srv/x && echo done";
    let said = door.gate.explain(on_host(1, "bash", json!({"command": command}))).await.unwrap();
    assert_eq!(said.class, Class::Mutating);
    let parts: Vec<&str> = said
        .class_reasons
        .iter()
        .map(|reason| &command[reason.start.unwrap() as usize..reason.end.unwrap() as usize])
        .collect();
    assert!(parts.iter().any(|part| part.starts_with("rm")), "{parts:?}");
    assert!(!parts.iter().any(|part| part.starts_with("ls")), "only what makes it so: {parts:?}");

    let said = door
        .gate
        .explain(on_host(1, "restart_service", json!({"service": "nginx.service", "reason": "it hangs"})))
        .await
        .unwrap();
    assert_eq!(said.class_reasons[0].text, "`restart_service` is mutating by its definition.");

    door.change_host(1, |host| {
        let skills = host.skills.as_mut().unwrap();
        skills.get_mut("bash").unwrap().class = Class::Mutating;
    });
    let said = door.gate.explain(on_host(1, "bash", json!({"command": "uptime"}))).await.unwrap();
    assert_eq!(said.class, Class::Mutating);
    assert_eq!(said.class_reasons.last().unwrap().text, "Host `web-1` says that `bash` is mutating there.");
}

#[tokio::test]
async fn where_probes_may_always_go_counts_in_an_explanation_too() {
    let probes = ProbeRules { allow: vec!["*.example".to_owned()], ..ProbeRules::default() };
    let door = open(Setup { probes, ..Setup::default() }).await;
    let request = on_host(1, "probe_tcp", json!({"target": "elsewhere.example:443"}));
    let taint = Taint { untrusted: true, named_places: Vec::new() };
    let said =
        door.gate.explain(CallRequest { caller: model_for(Role::Operator), taint, ..request }).await.unwrap();
    assert_eq!(said.fate, Fate::Run);
}

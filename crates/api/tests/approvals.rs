//! Approvals and grants at the API: who sees what, who decides, and that of many decisions one counts. Looking at the
//! inventory is under supervision here, so that calls wait without any host.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use http::{Method, StatusCode};
use model::Role;
use serde_json::{Value, json};
use support::{Answer, Client, TestApi};

/// Holds something that redaction hides.
const ASKED_FOR: &str = "password=hunter2hunter2";

/// Asks for a call and doesn't wait for its end; returns it and the path of its approval.
async fn ask(client: &Client<'_>) -> (Value, String) {
    let call = json!({"tool": "query_edges", "args": {"name": ASKED_FOR}, "wait": false});
    let waiting = client.post("/api/v1/calls", call).await;
    assert_eq!((waiting.status, &waiting.body["state"]), (StatusCode::ACCEPTED, &json!("awaiting_approval")));
    let path = format!("/api/v1/approvals/{}", waiting.body["approval_id"].as_str().unwrap());
    (waiting.body, path)
}

async fn decide(client: &Client<'_>, approval: &str, decision: &str) -> Answer {
    client.post(&format!("{approval}/decision"), json!({"decision": decision})).await
}

/// Waits until a call is final.
async fn end_of(client: &Client<'_>, call: &Value) -> Value {
    let mut events = client.events(None).await;
    let path = format!("/api/v1/calls/{}", call["id"].as_str().unwrap());
    loop {
        let now = client.get(&path).await.body;
        if !["awaiting_approval", "running"].contains(&now["state"].as_str().unwrap()) {
            return now;
        }
        events.next_of("calls.changed.v1").await;
    }
}

#[tokio::test]
async fn a_waiting_call_is_shown_with_everything_that_a_decision_needs_and_runs_once_it_is_allowed() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let carol = api.signed_in("carol", Role::Approver).await;
    let (call, approval) = ask(&ann).await;

    let shown = carol.get(&approval).await.body;
    assert_eq!(shown["call_id"], call["id"]);
    assert_eq!((&shown["tool"], &shown["scope"]), (&json!("query_edges"), &json!("manager")));
    assert_eq!((&shown["state"], &shown["call_state"]), (&json!("pending"), &json!("awaiting_approval")));
    assert_eq!(shown["requested_by"]["name"], "ann");
    assert_eq!((&shown["has_hidden"], &shown["by_model"]), (&json!(true), &json!(false)));
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    assert!(shown["why"].as_str().unwrap().contains("under supervision"), "{shown}");
    assert_eq!(
        shown["reasons"],
        json!([
            {"text": "`query_edges` is safe by its definition.", "start": null, "end": null},
        ])
    );
    assert_eq!((&shown["may_decide"], &shown["may_not_because"]), (&json!(true), &Value::Null));
    for empty in ["session_id", "edge_id", "decided_at", "decided_by", "decision", "note", "valid_until"] {
        assert_eq!(shown.get(empty), Some(&Value::Null), "{empty} is there and null");
    }

    let decided = decide(&carol, &approval, "allow_once").await;
    assert_eq!(decided.status, StatusCode::OK, "{}", decided.text);
    assert_eq!(
        (&decided.body["state"], &decided.body["decided_by"]["name"]),
        (&json!("approved"), &json!("carol"))
    );
    assert_eq!(end_of(&ann, &call).await["state"], "succeeded");
    let list = |state: &'static str| {
        let carol = &carol;
        async move { carol.get(&format!("/api/v1/approvals?state={state}")).await.body["items"].clone() }
    };
    assert_eq!(list("pending").await, json!([]));
    assert_eq!(list("decided").await[0]["call_state"], "succeeded");
}

#[tokio::test]
async fn each_caller_sees_and_decides_what_they_may_and_a_guessed_id_tells_nothing() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let (_, approval) = ask(&ann).await;
    let made = ann.post("/api/v1/tokens", json!({"name": "bot", "scopes": ["read", "call", "admin"]})).await;
    let token = api.with_token(made.body["token"].as_str().unwrap());
    for (client, sees, count, refused) in [
        (&api.signed_in("vera", Role::Viewer).await, false, 0, StatusCode::NOT_FOUND),
        (&api.signed_in("oskar", Role::Operator).await, false, 0, StatusCode::NOT_FOUND),
        (&api.signed_in("root", Role::Admin).await, true, 0, StatusCode::FORBIDDEN),
        (&token, true, 0, StatusCode::FORBIDDEN),
        (&api.signed_in("carol", Role::Approver).await, true, 1, StatusCode::OK),
        (&ann, true, 1, StatusCode::OK),
    ] {
        let list = client.get("/api/v1/approvals").await.body["items"].as_array().unwrap().len();
        assert_eq!(list, usize::from(sees), "{refused}");
        assert_eq!(client.get("/api/v1/approvals/count").await.body, json!({"pending": count}));
        let one = client.get(&approval).await;
        assert_eq!(one.status, if sees { StatusCode::OK } else { StatusCode::NOT_FOUND });
        if sees {
            assert_eq!(one.body["may_decide"], json!(count == 1), "{}", one.text);
            assert_eq!(one.body["may_not_because"].is_string(), count == 0, "{}", one.text);
        }
        assert_eq!(client.post(&format!("{approval}/reveal"), json!({})).await.status, refused);
        if refused != StatusCode::OK {
            assert_eq!(decide(client, &approval, "allow_once").await.status, refused);
        }
    }
    // A viewer who asks can't answer.
    let vera = api.sign_in("vera", support::PASSWORD).await;
    let (_, own) = ask(&vera).await;
    let refused = decide(&vera, &own, "allow_once").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body["detail"].as_str().unwrap().contains("role approver"), "{}", refused.text);
    // What was asked for through a token isn't for its owner to allow.
    let (_, of_token) = ask(&token).await;
    assert_eq!(decide(&ann, &of_token, "allow_once").await.status, StatusCode::FORBIDDEN);
    assert_eq!(ann.get(&of_token).await.body["token_name"], "bot");
}

#[tokio::test]
async fn exact_arguments_are_shown_only_to_who_may_decide_and_that_is_on_record() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let carol = api.signed_in("carol", Role::Approver).await;
    let admin = api.signed_in("root", Role::Admin).await;
    let (call, approval) = ask(&ann).await;
    let reveal = format!("{approval}/reveal");
    assert_eq!(ann.post(&reveal, json!({})).await.status, StatusCode::FORBIDDEN);
    assert_eq!(carol.post(&reveal, json!({})).await.body, json!({"args": {"name": ASKED_FOR}}));
    let audit = admin.get("/api/v1/audit?kind=approval.revealed").await.body;
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "the refused attempt revealed nothing");
    assert_eq!(audit["items"][0]["call_id"], call["id"]);
    decide(&carol, &approval, "deny").await;
    assert_eq!(carol.post(&reveal, json!({})).await.status, StatusCode::CONFLICT, "they are gone");
}

#[tokio::test]
async fn of_many_deciders_one_wins_and_the_others_are_shown_the_winner() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let (call, approval) = ask(&ann).await;
    let mut clients = Vec::new();
    for number in 0..10 {
        clients.push(api.signed_in(&format!("approver{number}"), Role::Approver).await);
    }
    let attempts = clients.iter().map(|client| decide(client, &approval, "allow_once"));
    let answers = futures::future::join_all(attempts).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == StatusCode::OK);
    assert_eq!(won.len(), 1);
    let winner = &won[0].body["decided_by"];
    for answer in lost {
        assert_eq!((answer.status, answer.problem()), (StatusCode::CONFLICT, "conflict"), "{}", answer.text);
        assert_eq!(&answer.body["approval"]["decided_by"], winner);
        assert_eq!(answer.body["approval"]["may_decide"], false);
    }
    assert_eq!(end_of(&ann, &call).await["state"], "succeeded");
}

#[tokio::test]
async fn who_waits_for_the_end_gets_it_with_the_reason_of_a_denial() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let carol = api.signed_in("carol", Role::Approver).await;
    let mut events = carol.events(None).await;
    let denying = async {
        let asked = events.next_of("approval.changed.v1").await.data;
        assert_eq!(asked["state"], "pending");
        let path = format!("/api/v1/approvals/{}/decision", asked["approval_id"].as_str().unwrap());
        carol.post(&path, json!({"decision": "deny", "note": "not on a Friday"})).await
    };
    let call = ann.post("/api/v1/calls", json!({"tool": "query_edges"}));
    let (ended, denied) = tokio::join!(call, denying);
    assert_eq!((denied.status, ended.status), (StatusCode::OK, StatusCode::OK));
    assert_eq!(ended.body["state"], "denied");
    let error = ended.body["error"].as_str().unwrap();
    assert!(error.contains("carol") && error.contains("not on a Friday"), "{error}");
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_its_call_waiting_and_cancelling_withdraws_it() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let mut events = ann.events(None).await;
    let call = ann.post("/api/v1/calls", json!({"tool": "query_edges"}));
    let asked = tokio::select! {
        ended = call => panic!("it ended: {}", ended.text),
        asked = events.next_of("approval.changed.v1") => asked.data,
    };
    let approval = format!("/api/v1/approvals/{}", asked["approval_id"].as_str().unwrap());
    assert_eq!(ann.get(&approval).await.body["state"], "pending");
    assert_eq!(decide(&ann, &approval, "allow_once").await.status, StatusCode::OK);
    assert_eq!(end_of(&ann, &json!({"id": asked["call_id"]})).await["state"], "succeeded");

    let (call, approval) = ask(&ann).await;
    let cancel = format!("/api/v1/calls/{}/cancel", call["id"].as_str().unwrap());
    assert_eq!(ann.post(&cancel, json!({})).await.status, StatusCode::ACCEPTED);
    assert_eq!(ann.get(&approval).await.body["state"], "withdrawn");
    assert_eq!(end_of(&ann, &call).await["state"], "cancelled");
    let late = decide(&ann, &approval, "allow_once").await;
    assert_eq!((late.status, &late.body["approval"]["state"]), (StatusCode::CONFLICT, &json!("withdrawn")));
}

#[tokio::test]
async fn hints_of_approvals_reach_only_who_may_see_them() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let bob = api.signed_in("bob", Role::Operator).await;
    let carol = api.signed_in("carol", Role::Approver).await;
    let (mut of_ann, mut of_bob, mut of_carol) =
        (ann.events(None).await, bob.events(None).await, carol.events(None).await);
    let (call, _) = ask(&ann).await;
    for events in [&mut of_ann, &mut of_carol] {
        assert_eq!(events.next_of("approval.changed.v1").await.data["call_id"], call["id"]);
    }
    bob.send(Method::PUT, "/api/v1/freeze", Some(json!({"frozen": true}))).await;
    loop {
        let event = of_bob.next().await.unwrap();
        assert_ne!(event.kind, "approval.changed.v1");
        if event.kind == "freeze.changed.v1" {
            break;
        }
    }
}

#[tokio::test]
async fn a_grant_lets_the_next_call_run_until_it_is_taken_back() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let bob = api.signed_in("bob", Role::Viewer).await;
    let (call, approval) = ask(&ann).await;
    let wish = |grant: Value| json!({"decision": "allow_always", "grant": grant});
    let path = format!("{approval}/decision");
    for wrong in [
        json!({"edges": "labels", "arguments": "any"}),
        json!({"edges": "any", "arguments": "any", "expires_in_hours": 9000}),
        json!({"edges": "any", "arguments": "any", "uses": 0}),
        json!({"edges": "any", "arguments": "any", "labels": {"env": "test"}}),
    ] {
        let answer = ann.post(&path, wish(wrong)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    }
    let answer = ann.post(&path, wish(json!({"edges": "any", "arguments": "any", "uses": 5}))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(end_of(&ann, &call).await["state"], "succeeded");

    let granted = ann.post("/api/v1/calls", json!({"tool": "query_edges", "args": {"name": "web"}})).await;
    assert_eq!(granted.body["state"], "succeeded", "{}", granted.text);
    let grants = ann.get("/api/v1/grants").await.body["items"].clone();
    assert_eq!(grants.as_array().unwrap().len(), 1);
    let grant = &grants[0];
    assert_eq!(granted.body["approval_id"], grant["id"]);
    assert_eq!(
        (&grant["state"], &grant["uses"], &grant["uses_left"]),
        (&json!("active"), &json!(1), &json!(4))
    );
    assert_eq!((&grant["person"]["name"], &grant["created_by"]["name"]), (&json!("ann"), &json!("ann")));
    let said = ann.post("/api/v1/policy/explain", json!({"tool": "query_edges"})).await.body;
    assert_eq!((&said["decision"], &said["rule"]), (&json!("run"), &json!("grant")));
    assert_eq!(said["approval"]["grant_id"], grant["id"]);

    assert_eq!(bob.get("/api/v1/grants").await.body["items"], json!([]));
    let path = format!("/api/v1/grants/{}", grant["id"].as_str().unwrap());
    assert_eq!(bob.delete(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(ann.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(ann.get("/api/v1/grants").await.body["items"][0]["state"], "revoked");
    let said = ann.post("/api/v1/policy/explain", json!({"tool": "query_edges"})).await.body;
    assert_eq!((&said["decision"], &said["approval"]["grant_id"]), (&json!("ask"), &Value::Null));
}

#[tokio::test]
async fn the_list_is_read_page_by_page() {
    let api = TestApi::start_supervised("query_edges").await;
    let ann = api.signed_in("ann", Role::Operator).await;
    for _ in 0..5 {
        ask(&ann).await;
    }
    let (mut seen, mut path) = (std::collections::BTreeSet::new(), "/api/v1/approvals?limit=2".to_owned());
    loop {
        let page = ann.get(&path).await.body;
        for item in page["items"].as_array().unwrap() {
            assert!(seen.insert(item["id"].as_str().unwrap().to_owned()), "twice");
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/approvals?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5);
    let foreign = ann.get("/api/v1/approvals?cursor=eHg").await;
    assert_eq!(foreign.status, StatusCode::BAD_REQUEST);
}

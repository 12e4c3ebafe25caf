//! What holds for every request: problems, headers, hosts, pages, secrets, the stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use model::Role;
use serde_json::{Value, json};
use support::{PASSWORD, TestApi, read};

#[tokio::test]
async fn errors_are_problem_details_with_the_requests_id() {
    let api = TestApi::start().await;
    let client = api.signed_in("ann", Role::Viewer).await;
    for (path, status) in [
        ("/api/v1/nothing", StatusCode::NOT_FOUND),
        ("/api/v1/hosts/7", StatusCode::NOT_FOUND),
        ("/api/v1/hosts/seven", StatusCode::NOT_FOUND),
        ("/api/v1/hosts?limit=0", StatusCode::BAD_REQUEST),
        ("/api/v1/hosts?cursor=%25", StatusCode::BAD_REQUEST),
        ("/api/v1/calls?class=nice", StatusCode::BAD_REQUEST),
        ("/api/v1/users", StatusCode::FORBIDDEN),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(answer.body["status"], status.as_u16());
        assert_eq!(answer.body["instance"], path.split('?').next().unwrap());
        assert_eq!(answer.body["request_id"], answer.headers["x-request-id"].to_str().unwrap());
        assert!(!answer.body["detail"].as_str().unwrap().is_empty());
    }
    let wrong = client.send(Method::DELETE, "/api/v1/hosts", None).await;
    assert_eq!((wrong.status, wrong.problem()), (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed"));
}

#[tokio::test]
async fn bodies_are_checked_and_bounded() {
    let api = TestApi::start().await;
    let client = api.signed_in("ann", Role::Admin).await;
    let unknown = client.post("/api/v1/sessions", json!({"titel": "x"})).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    assert!(unknown.body["detail"].as_str().unwrap().contains("titel"), "{}", unknown.text);
    let large = client.post("/api/v1/sessions", json!({"title": "x".repeat(2 * 1024 * 1024)})).await;
    assert_eq!((large.status, large.problem()), (StatusCode::PAYLOAD_TOO_LARGE, "too-large"));
    let mut request = client.request(Method::POST, "/api/v1/sessions", Some(json!({})));
    request.headers_mut().remove("content-type");
    let untyped = read(api.raw(request).await).await;
    assert_eq!(untyped.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn every_response_forbids_what_the_console_does_not_need() {
    let api = TestApi::start().await;
    for path in ["/", "/hosts", "/api/v1/me", "/healthz", "/assets/none.js"] {
        let answer = api.anonymous().get(path).await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    }
    assert_eq!(api.anonymous().get("/api/v1/me").await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn unknown_pages_are_the_consoles_and_missing_files_are_not() {
    let api = TestApi::start().await;
    let page = api.anonymous().get("/admin/audit").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert_eq!(api.anonymous().get("/assets/none.js").await.status, StatusCode::NOT_FOUND);

    let mut again = api.anonymous();
    again.headers.insert("if-none-match", page.headers["etag"].clone());
    let unchanged = again.get("/admin/audit").await;
    assert_eq!((unchanged.status, unchanged.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
}

#[tokio::test]
async fn a_name_that_is_not_ours_is_refused() {
    let api = TestApi::start().await;
    for (host, status) in [
        ("localhost:7180", StatusCode::OK),
        ("127.0.0.1", StatusCode::OK),
        ("rebound.evil.example:7180", StatusCode::MISDIRECTED_REQUEST),
        ("localhost.evil.example", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let request = Request::builder().uri("/healthz").header("host", host).body(Body::empty()).unwrap();
        assert_eq!(api.raw(request).await.status(), status, "{host}");
    }
}

#[tokio::test]
async fn readiness_tries_the_parts_and_metrics_are_for_this_machine_only() {
    let api = TestApi::start().await;
    let ready = api.anonymous().get("/readyz").await;
    assert_eq!(ready.status, StatusCode::OK, "{}", ready.text);
    assert_eq!(ready.body["ready"], true);

    let mut proxied = api.anonymous();
    proxied.headers.insert("x-forwarded-for", "192.0.2.1".parse().unwrap());
    assert_eq!(proxied.get("/metrics").await.status, StatusCode::UNAUTHORIZED);

    api.storage.close().await;
    api.clock.advance(std::time::Duration::from_secs(5));
}

#[tokio::test]
async fn lists_are_read_page_by_page_without_gaps_or_doubles() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    for number in 0..7 {
        api.account(&format!("user{number}"), Role::Viewer).await;
        admin.post("/api/v1/sessions", json!({"title": format!("chat {number}")})).await;
        admin.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    }
    for (path, expected) in
        [("/api/v1/users", 9), ("/api/v1/sessions", 7), ("/api/v1/calls", 7), ("/api/v1/audit?kind=user.", 9)]
    {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let glue = if path.contains('?') { '&' } else { '?' };
            let page = admin.get(&format!("{path}{glue}limit=2{cursor}")).await;
            let items = page.body["items"].as_array().unwrap();
            assert!(items.len() <= 2);
            let key = |item: &Value| item.get("id").or(item.get("seq")).unwrap().to_string();
            seen.extend(items.iter().map(key));
            match page.body["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let total = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((total, seen.len()), (expected, expected), "{path}");
    }
}

#[tokio::test]
async fn keys_and_passwords_come_back_in_no_response_and_are_not_in_the_audit() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    let key = "sk-a-key-that-nobody-may-see";
    let made = admin
        .post("/api/v1/models", json!({"name": "mine", "kind": "openai_chat", "model": "m", "api_key": key}))
        .await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    assert_eq!(made.body["has_key"], true);
    let user = json!({"name": "bob", "roles": ["viewer"], "password": "a first password for bob"});
    let user = admin.post("/api/v1/users", user).await;
    assert_eq!(user.status, StatusCode::CREATED, "{}", user.text);
    for path in ["/api/v1/models", "/api/v1/users", "/api/v1/audit?limit=200", "/api/v1/me"] {
        let text = admin.get(path).await.text;
        for secret in [key, "a first password for bob", PASSWORD, "argon2", &api.first_password] {
            assert!(!text.contains(secret), "{path} tells {secret}");
        }
    }
    let moved = json!({"base_url": "http://127.0.0.1:9/v1"});
    let moved = admin.send(Method::PATCH, "/api/v1/models/mine", Some(moved)).await;
    assert_eq!(moved.body["errors"][0]["at"], "/api_key", "a kept key must not go to another address");
}

#[tokio::test]
async fn security_relevant_changes_are_in_the_audit_and_the_chain_is_whole() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    let id = api.account("ann", Role::Viewer).await;
    admin.send(Method::PATCH, &format!("/api/v1/users/{id}"), Some(json!({"roles": ["operator"]}))).await;
    admin.send(Method::PUT, "/api/v1/settings/access", Some(json!({"mode": "admins"}))).await;
    let token = admin.post("/api/v1/tokens", json!({"name": "t", "scopes": ["read"]})).await;
    admin.delete(&format!("/api/v1/tokens/{}", token.body["id"])).await;
    admin.post("/api/v1/enrollment-tokens", json!({"labels": {"role": "web"}})).await;
    admin.post("/api/v1/models/builtin/default", json!({})).await;
    api.anonymous().post("/api/v1/sign-in", json!({"name": "root", "password": "wrong"})).await;
    admin.delete(&format!("/api/v1/users/{id}")).await;

    let rows = admin.get("/api/v1/audit?limit=200").await;
    let kinds: Vec<&str> =
        rows.body["items"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    for kind in [
        "user.created",
        "user.changed",
        "user.deleted",
        "setting.changed",
        "token.created",
        "token.revoked",
        "sign_in.succeeded",
        "sign_in.failed",
    ] {
        assert!(kinds.contains(&kind), "{kind} is not in the audit: {kinds:?}");
    }
    let verified = admin.get("/api/v1/audit/verify").await;
    assert_eq!(verified.body["ok"], true, "{}", verified.text);
}

#[tokio::test]
async fn a_run_is_audited_and_bad_arguments_come_with_the_schema() {
    let api = TestApi::start().await;
    let client = api.signed_in("ann", Role::Viewer).await;
    let call = client.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    assert_eq!((call.status, &call.body["state"]), (StatusCode::OK, &json!("succeeded")), "{}", call.text);
    assert_eq!(call.body["origin"], "api");
    let detail = client.get(&format!("/api/v1/calls/{}", call.body["id"].as_str().unwrap())).await;
    assert!(detail.body["audit"].as_array().unwrap().len() >= 2, "{}", detail.text);
    assert_eq!(detail.body["result"], call.body["result"]);
    let window = client.get(&format!("/api/v1/calls/{}/result", call.body["id"].as_str().unwrap())).await;
    assert_eq!(window.body["total_bytes"], call.body["result_bytes"]);

    let invalid = client.post("/api/v1/calls", json!({"tool": "query_edges", "args": {"nmae": "x"}})).await;
    assert_eq!(invalid.body["state"], "invalid", "{}", invalid.text);
    assert!(invalid.body["schema"]["properties"].is_object());
    let unknown = client.post("/api/v1/calls", json!({"tool": "no_such_tool", "args": {}})).await;
    assert_eq!(unknown.body["state"], "refused", "{}", unknown.text);
    let offline = client.post("/api/v1/calls", json!({"tool": "host_load", "edge_id": 1, "args": {}})).await;
    assert_ne!(offline.body["state"], "succeeded");
}

#[tokio::test]
async fn the_stream_goes_on_where_it_was_left_and_ends_with_the_sign_in() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let bob = api.signed_in("bob", Role::Viewer).await;
    let mut live = ann.events(None).await;
    let first = ann.post("/api/v1/sessions", json!({"title": "one"})).await;
    bob.post("/api/v1/sessions", json!({"title": "somebody else's"})).await;
    let seen = live.next_of("session.updated.v1").await;
    assert_eq!(seen.data["payload"]["title"], "one");
    assert_eq!(seen.data["session_id"], first.body["id"]);

    ann.post("/api/v1/sessions", json!({"title": "two"})).await;
    let mut resumed = ann.events(seen.id).await;
    let missed = resumed.next_of("session.updated.v1").await;
    assert_eq!(missed.data["payload"]["title"], "two", "nothing of others, nothing twice, nothing missed");
    assert!(missed.id > seen.id);

    let mut lost = ann.events(Some(1_000_000)).await;
    assert_eq!(lost.next().await.unwrap().kind, "resync.v1");

    ann.send(Method::POST, "/api/v1/sign-out", None).await;
    while live.next().await.is_some() {}
    while resumed.next().await.is_some() {}
}

#[tokio::test]
async fn calls_of_others_are_told_to_operators_only() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let bob = api.signed_in("bob", Role::Viewer).await;
    let carol = api.signed_in("carol", Role::Operator).await;
    let mut bobs = bob.events(None).await;
    let mut carols = carol.events(None).await;
    let anns = ann.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    let own = bob.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    assert_eq!(carols.next_of("calls.changed.v1").await.data["call_id"], anns.body["id"]);
    assert_eq!(bobs.next_of("calls.changed.v1").await.data["call_id"], own.body["id"]);
}

#[tokio::test]
async fn a_chat_is_its_owners_alone() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let root = api.signed_in("root", Role::Admin).await;
    let session = ann.post("/api/v1/sessions", json!({})).await;
    let path = format!("/api/v1/sessions/{}", session.body["id"].as_str().unwrap());
    assert_eq!(root.get(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(root.get(&format!("{path}/events")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        root.post(&format!("{path}/turns"), json!({"text": "hello"})).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(root.delete(&path).await.status, StatusCode::NOT_FOUND);

    let turn = ann.post(&format!("{path}/turns"), json!({"text": "which hosts are online?"})).await;
    assert_eq!(turn.status, StatusCode::ACCEPTED, "{}", turn.text);
    let mut events = ann.events(Some(0)).await;
    let end = events.next_of("chat.turn-finished.v1").await;
    assert_eq!(end.data["payload"]["outcome"], "answered", "{}", end.data);
    let replay = ann.get(&format!("{path}/events")).await;
    let last = replay.body["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["id"], end.id.unwrap());
}

#[tokio::test]
async fn an_enrolment_token_is_shown_once_and_can_be_taken_back() {
    let api = TestApi::start().await;
    let operator = api.signed_in("olga", Role::Operator).await;
    let made = operator.post("/api/v1/enrollment-tokens", json!({"labels": {"role": "web"}})).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let token = made.body["token"].as_str().unwrap();
    assert!(made.body["command"].as_str().unwrap().contains(token));
    let path = format!("/api/v1/enrollment-tokens/{}", made.body["id"]);
    assert_eq!(operator.get(&path).await.body["state"], "open");
    assert!(!operator.get("/api/v1/enrollment-tokens").await.text.contains(token));
    assert_eq!(operator.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(operator.get(&path).await.body["state"], "revoked");
    let long = operator.post("/api/v1/enrollment-tokens", json!({"ttl_seconds": 3601})).await;
    assert_eq!(long.body["errors"][0]["at"], "/ttl_seconds");
}

#[tokio::test]
async fn what_would_become_of_a_call_is_told_and_nothing_is_put_on_record() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let explain = |body| ann.post("/api/v1/policy/explain", body);
    let said = explain(json!({"tool": "query_edges"})).await;
    assert_eq!(said.status, StatusCode::OK, "{}", said.text);
    assert_eq!((&said.body["decision"], &said.body["rule"]), (&json!("run"), &json!("class = safe")));
    assert_eq!(said.body["approval"], Value::Null);
    let said = explain(json!({"tool": "host_load", "args": {}, "edge_id": 7})).await;
    assert_eq!((&said.body["decision"], &said.body["rule"]), (&json!("deny"), &json!("host")));
    let said = explain(json!({"tool": "query_edges", "args": {"nonsense": 1}})).await;
    assert_eq!((&said.body["decision"], &said.body["rule"]), (&json!("invalid"), &json!("arguments")));
    assert!(ann.get("/api/v1/calls").await.body["items"].as_array().unwrap().is_empty());
}

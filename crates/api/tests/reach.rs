//! Accounts that are restricted to hosts, at the API: what each role sees, and what guessed ids answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use http::{Method, StatusCode};
use model::Role;
use serde_json::{Value, json};
use support::{Client, TestApi};

/// Hosts 1 and 2 are in staging, 3 in production.
async fn start() -> TestApi {
    TestApi::start_with_hosts(&[("web-1", "staging"), ("web-2", "staging"), ("db-1", "prod")]).await
}

async fn restrict(admin: &Client<'_>, id: &Value, hosts: Value) {
    let answer =
        admin.send(Method::PATCH, &format!("/api/v1/users/{id}"), Some(json!({"hosts": hosts}))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
}

async fn my_id(client: &Client<'_>) -> Value {
    client.get("/api/v1/me").await.body["user"]["id"].clone()
}

fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().filter_map(|item| item["name"].as_str()).collect()
}

/// Asks for a call on a host and waits until it is on record. None of the hosts is connected, so it is refused.
async fn call_on(client: &Client<'_>, edge: i64) -> Value {
    let body = json!({"tool": "host_load", "edge_id": edge, "args": {}});
    let answer = client.post("/api/v1/calls", body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    answer.body
}

#[tokio::test]
async fn each_role_sees_and_touches_only_the_hosts_within_reach_and_guessed_ids_tell_nothing() {
    let api = start().await;
    let root = api.signed_in("root", Role::Admin).await;
    for role in [Role::Viewer, Role::Operator, Role::Approver, Role::Admin] {
        let client = api.signed_in(&format!("some-{role}"), role).await;
        let id = my_id(&client).await;
        assert_eq!(names(&client.get("/api/v1/hosts").await.body), ["web-1", "web-2", "db-1"], "{role}");
        for (hosts, seen) in [
            (json!({"edge_ids": [1]}), vec!["web-1"]),
            (json!({"labels": ["env=staging"]}), vec!["web-1", "web-2"]),
            (json!({"edge_ids": [1], "labels": ["env=prod"]}), vec!["web-1", "db-1"]),
            (json!({"labels": ["env=none"]}), vec![]),
            (json!({}), vec!["web-1", "web-2", "db-1"]),
        ] {
            restrict(&root, &id, hosts.clone()).await;
            assert_eq!(names(&client.get("/api/v1/hosts").await.body), seen, "{role} {hosts}");
            let capabilities = client.get("/api/v1/capabilities").await.body;
            let load = capabilities["items"].as_array().unwrap().iter();
            let load =
                load.filter(|it| it["key"] == "host_load" && it["scope"] == "host").collect::<Vec<_>>();
            assert_eq!(load[0]["hosts"].as_array().unwrap().len(), seen.len(), "{role} {hosts}");
        }
        restrict(&root, &id, json!({"edge_ids": [1]})).await;
        // Another host answers as one that isn't there, whatever is asked of it; what the role forbids stays forbidden.
        for (method, path, body) in [
            (Method::GET, "/api/v1/hosts/ID", None),
            (Method::PATCH, "/api/v1/hosts/ID", Some(json!({"labels": {"env": "staging"}}))),
            (Method::PUT, "/api/v1/hosts/ID/read-only", Some(json!({"read_only": true}))),
            (Method::POST, "/api/v1/hosts/ID/revoke", None),
            (Method::POST, "/api/v1/hosts/ID/allow-rejoin", None),
            (Method::POST, "/api/v1/hosts/ID/resolve", Some(json!({"keep_instance": "x"}))),
            (Method::DELETE, "/api/v1/hosts/ID", None),
        ] {
            let there = client.send(method.clone(), &path.replace("ID", "3"), body.clone()).await;
            let nowhere = client.send(method.clone(), &path.replace("ID", "99"), body).await;
            assert_eq!(there.status, nowhere.status, "{role} {method} {path}");
            assert_eq!(there.body["detail"], nowhere.body["detail"], "{role} {method} {path}");
            assert!(!there.status.is_success(), "{role} {method} {path}");
        }
        let own = client.get("/api/v1/hosts/1").await;
        assert_eq!((own.status, &own.body["name"]), (StatusCode::OK, &json!("web-1")));
        let refused = call_on(&client, 3).await;
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("restricted to hosts 1"), "{role}: {error}");
        assert_eq!(refused["edge_name"], json!(null));
        let within = call_on(&client, 1).await;
        assert!(within["error"].as_str().unwrap().contains("web-1"), "{role}: {within}");
    }
    assert_eq!(
        names(&root.get("/api/v1/hosts").await.body),
        ["web-1", "web-2", "db-1"],
        "nothing was changed"
    );
}

#[tokio::test]
async fn calls_of_others_are_seen_only_on_hosts_within_reach_in_every_list() {
    let api = start().await;
    let root = api.signed_in("root", Role::Admin).await;
    let olga = api.signed_in("olga", Role::Operator).await;
    let mut calls = Vec::new();
    for edge in [1, 3] {
        calls.push(call_on(&root, edge).await["id"].as_str().unwrap().to_owned());
    }
    let beside = root.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    let beside = beside.body["id"].as_str().unwrap().to_owned();
    assert_eq!(olga.get("/api/v1/calls").await.body["items"].as_array().unwrap().len(), 3);

    restrict(&root, &my_id(&olga).await, json!({"labels": ["env=staging"]})).await;
    let listed = olga.get("/api/v1/calls").await.body;
    let listed: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(listed, [calls[0].as_str()]);
    for (id, status) in
        [(&calls[0], StatusCode::OK), (&calls[1], StatusCode::NOT_FOUND), (&beside, StatusCode::NOT_FOUND)]
    {
        for path in ["", "/result"] {
            let found = olga.get(&format!("/api/v1/calls/{id}{path}")).await;
            // The first has no result.
            let expected = if path.is_empty() { status } else { StatusCode::NOT_FOUND };
            assert_eq!(found.status, expected, "{id}{path}: {}", found.text);
        }
        let stopped = olga.post(&format!("/api/v1/calls/{id}/cancel"), json!({})).await;
        assert!(!stopped.status.is_success(), "{}", stopped.text);
    }
    let export = olga.get("/api/v1/audit/export?format=jsonl").await.text;
    assert!(export.contains("web-1") && !export.contains("db-1"), "{export}");
    // The strip counts up to now, and this clock stands still.
    api.clock.advance(std::time::Duration::from_secs(1));
    let counted = olga.get("/api/v1/audit/density").await.body;
    let count: i64 = counted.as_array().unwrap().iter().filter_map(|bucket| bucket["count"].as_i64()).sum();
    assert_eq!(count, 1);
    let chain = olga.get("/api/v1/audit").await.text;
    assert!(!chain.contains("db-1"), "{chain}");

    // A token of hers has no more.
    let made = olga.post("/api/v1/tokens", json!({"name": "ci", "scopes": ["read", "call"]})).await;
    let token = api.with_token(made.body["token"].as_str().unwrap());
    assert_eq!(names(&token.get("/api/v1/hosts").await.body), ["web-1", "web-2"]);
    assert!(
        call_on(&token, 3).await["error"].as_str().unwrap().contains("restricted to hosts with env=staging")
    );
}

#[tokio::test]
async fn only_an_admin_restricts_and_what_makes_no_sense_is_refused_where_it_stands() {
    let api = start().await;
    let root = api.signed_in("root", Role::Admin).await;
    let olga = api.signed_in("olga", Role::Operator).await;
    let path = format!("/api/v1/users/{}", my_id(&olga).await);
    let patch = async |client: &Client<'_>, hosts: Value| {
        client.send(Method::PATCH, &path, Some(json!({"hosts": hosts}))).await
    };
    assert_eq!(patch(&olga, json!({"edge_ids": [1]})).await.status, StatusCode::FORBIDDEN);
    for (hosts, at) in [
        (json!({"edge_ids": [9]}), "/hosts/edge_ids"),
        (json!({"labels": ["env"]}), "/hosts/labels"),
        (json!({"labels": vec!["a=b"; 1_001]}), "/hosts"),
    ] {
        let refused = patch(&root, hosts).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
        assert_eq!(refused.body["errors"][0]["at"], at);
    }
    let done = patch(&root, json!({"edge_ids": [2, 1], "labels": ["role=web, env=prod"]})).await;
    assert_eq!(done.body["hosts"], json!({"edge_ids": [1, 2], "labels": ["env=prod,role=web"]}));
    assert_eq!(olga.get("/api/v1/hosts").await.status, StatusCode::OK, "it ends no sign-in");
    let row = root.get("/api/v1/audit?kind=user.changed").await.body["items"][0].clone();
    assert_eq!(row["payload"]["hosts"]["edges"], json!([1, 2]), "{row}");

    // Restricted to hosts, an admin still administers, and so lifts it again.
    let own = format!("/api/v1/users/{}", my_id(&root).await);
    root.send(Method::PATCH, &own, Some(json!({"hosts": {"edge_ids": [3]}}))).await;
    assert_eq!(names(&root.get("/api/v1/hosts").await.body), ["db-1"]);
    let lifted = root.send(Method::PATCH, &own, Some(json!({"hosts": {}}))).await;
    assert_eq!(lifted.status, StatusCode::OK, "{}", lifted.text);
    assert_eq!(names(&root.get("/api/v1/hosts").await.body).len(), 3);
}

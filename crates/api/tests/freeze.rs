//! The switch that stops all changes, at the API: who may, what is shown, what is put on record.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use http::{Method, StatusCode};
use model::Role;
use serde_json::{Value, json};
use support::{Answer, Client, TestApi};

async fn put(client: &Client<'_>, body: Value) -> Answer {
    client.send(Method::PUT, "/api/v1/freeze", Some(body)).await
}

#[tokio::test]
async fn an_operator_stops_all_changes_and_only_an_admin_allows_them_again() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    let operator = api.signed_in("oskar", Role::Operator).await;
    let viewer = api.signed_in("vera", Role::Viewer).await;
    let mut events = viewer.events(None).await;

    assert_eq!(put(&viewer, json!({"frozen": true})).await.status, StatusCode::FORBIDDEN);
    let frozen = put(&operator, json!({"frozen": true, "reason": "  password=hunter2hunter2 leaked "})).await;
    assert_eq!(frozen.status, StatusCode::OK, "{}", frozen.text);
    assert_eq!((&frozen.body["frozen"], &frozen.body["by"]["name"]), (&json!(true), &json!("oskar")));
    assert!(!frozen.text.contains("hunter2"), "a secret in a reason is hidden: {}", frozen.text);
    assert_eq!(events.next_of("freeze.changed.v1").await.data, json!({"frozen": true}));
    assert_eq!(viewer.get("/api/v1/freeze").await.body, frozen.body, "everybody sees it");

    let again = put(&operator, json!({"frozen": false})).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN);
    assert_eq!(again.body["detail"], "only an admin may allow changes again");
    let allowed = put(&admin, json!({"frozen": false})).await;
    assert_eq!(allowed.body, json!({"frozen": false, "since": null, "by": null, "reason": null}));
    assert_eq!(events.next_of("freeze.changed.v1").await.data, json!({"frozen": false}));

    let audit = admin.get("/api/v1/audit?kind=freeze.").await;
    let kinds: Vec<&str> =
        audit.body["items"].as_array().unwrap().iter().filter_map(|row| row["kind"].as_str()).collect();
    assert_eq!(kinds, ["freeze.off", "freeze.on"]);
}

#[tokio::test]
async fn a_token_needs_the_scope_and_a_reason_is_one_short_line() {
    let api = TestApi::start().await;
    let operator = api.signed_in("oskar", Role::Operator).await;
    for (scope, status) in [("read", StatusCode::FORBIDDEN), ("hosts", StatusCode::OK)] {
        let made = operator.post("/api/v1/tokens", json!({"name": scope, "scopes": [scope]})).await;
        let client = api.with_token(made.body["token"].as_str().unwrap());
        assert_eq!(put(&client, json!({"frozen": true})).await.status, status, "{scope}");
    }
    for reason in ["two\nlines".to_owned(), "x".repeat(501)] {
        let refused = put(&operator, json!({"frozen": true, "reason": reason})).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        assert_eq!(refused.body["errors"][0]["at"], "/reason");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_can_not_be_read_only() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    let path = "/api/v1/hosts/7/read-only";
    let answer = admin.send(Method::PUT, path, Some(json!({"read_only": true}))).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.text);
    let operator = api.signed_in("oskar", Role::Operator).await;
    let answer = operator.send(Method::PUT, path, Some(json!({"read_only": true}))).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

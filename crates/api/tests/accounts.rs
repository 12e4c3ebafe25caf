//! Signing in and what protects it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use agent::AccessMode;
use http::{Method, StatusCode};
use model::Role;
use serde_json::json;
use std::time::Duration;
use support::{PASSWORD, TestApi};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn the_first_password_works_once_and_must_be_changed() {
    let api = TestApi::start().await;
    let first = api.sign_in("admin", &api.first_password).await;
    let refused = first.get("/api/v1/hosts").await;
    assert_eq!((refused.status, refused.problem()), (StatusCode::FORBIDDEN, "must-change-password"));

    let changed = first
        .post("/api/v1/me/password", json!({"current": api.first_password, "new": "my own long password"}))
        .await;

    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    assert_eq!(changed.body["user"]["must_change_password"], false);
    assert_eq!(api.client_of(&changed).get("/api/v1/hosts").await.status, StatusCode::OK);
    assert_eq!(
        first.get("/api/v1/me").await.status,
        StatusCode::UNAUTHORIZED,
        "the old cookie must have ended"
    );
    let again = api
        .anonymous()
        .post("/api/v1/sign-in", json!({"name": "admin", "password": api.first_password}))
        .await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_new_password_must_be_long_and_not_the_name_and_another_one() {
    let api = TestApi::start().await;
    let client = api.signed_in("hong-gildong", Role::Viewer).await;
    for new in ["short", "hong-gildong", PASSWORD, "aaaaaaaaaaaaaaaaaaaa"] {
        let answer = client.post("/api/v1/me/password", json!({"current": PASSWORD, "new": new})).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{new}: {}", answer.text);
        assert_eq!(answer.body["errors"][0]["at"], "/new");
    }
    let wrong =
        client.post("/api/v1/me/password", json!({"current": "wrong", "new": "my own long password"})).await;
    assert_eq!(wrong.body["errors"][0]["at"], "/current");
}

#[tokio::test]
async fn each_sign_in_gets_a_new_cookie_and_ends_the_one_that_was_brought_along() {
    let api = TestApi::start().await;
    let first = api.signed_in("ann", Role::Viewer).await;
    let again = first.post("/api/v1/sign-in", json!({"name": "ann", "password": PASSWORD})).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.text);
    assert_ne!(first.headers["cookie"], again.cookie().as_str());
    assert_eq!(first.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(api.client_of(&again).get("/api/v1/me").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_cookie_that_somebody_planted_is_not_taken_over() {
    let api = TestApi::start().await;
    api.account("ann", Role::Viewer).await;
    let mut planted = api.anonymous();
    planted.headers.insert("cookie", "steadyhand_session=planted-by-an-attacker".parse().unwrap());
    let answer = planted.post("/api/v1/sign-in", json!({"name": "ann", "password": PASSWORD})).await;
    assert!(!answer.cookie().contains("planted"));
    assert_eq!(planted.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_cookie_is_out_of_reach_for_scripts_and_other_sites() {
    let api = TestApi::start_with(|config| config.secure_cookies = true).await;
    api.account("ann", Role::Viewer).await;
    let answer = api.anonymous().post("/api/v1/sign-in", json!({"name": "ann", "password": PASSWORD})).await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
        assert!(cookie.contains(part), "{cookie} lacks {part}");
    }
}

#[tokio::test]
async fn a_sign_in_ends_when_it_is_idle_and_at_the_latest_after_a_week() {
    let api = TestApi::start().await;
    let client = api.signed_in("ann", Role::Viewer).await;
    for _ in 0..13 {
        api.clock.advance(11 * HOUR);
        assert_eq!(client.get("/api/v1/me").await.status, StatusCode::OK);
    }
    for _ in 0..3 {
        api.clock.advance(11 * HOUR);
        client.get("/api/v1/me").await;
    }
    assert_eq!(client.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED, "a week has passed");

    let idle = api.sign_in("ann", PASSWORD).await;
    api.clock.advance(12 * HOUR);
    assert_eq!(idle.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED, "12 hours idle");
}

#[tokio::test]
async fn signing_out_ends_the_sign_in_on_the_server_too() {
    let api = TestApi::start().await;
    let client = api.signed_in("ann", Role::Viewer).await;
    let answer = client.send(Method::POST, "/api/v1/sign-out", None).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(client.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_wrong_name_and_a_wrong_password_are_answered_alike() {
    let api = TestApi::start().await;
    api.account("ann", Role::Viewer).await;
    let mut seen = Vec::new();
    for name in ["ann", "nobody", "cli"] {
        let answer =
            api.anonymous().post("/api/v1/sign-in", json!({"name": name, "password": "wrong"})).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        let mut body = answer.body;
        body["request_id"] = json!("");
        let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        names.sort();
        seen.push((body, names));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
}

#[tokio::test]
async fn guessing_is_slowed_down_for_known_and_unknown_names_alike() {
    let api = TestApi::start().await;
    api.account("ann", Role::Viewer).await;
    for name in ["ann", "nobody"] {
        for _ in 0..10 {
            let answer =
                api.anonymous().post("/api/v1/sign-in", json!({"name": name, "password": "wrong"})).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        }
        let answer =
            api.anonymous().post("/api/v1/sign-in", json!({"name": name, "password": PASSWORD})).await;
        assert_eq!((answer.status, answer.problem()), (StatusCode::TOO_MANY_REQUESTS, "too-many"));
        assert!(answer.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() <= 31);
    }
    api.clock.advance(Duration::from_secs(31));
    api.sign_in("ann", PASSWORD).await;
}

#[tokio::test]
async fn a_disabled_and_a_deleted_account_are_shut_out_at_once_with_their_tokens() {
    let api = TestApi::start().await;
    let admin = api.signed_in("root", Role::Admin).await;
    let id = api.account("ann", Role::Viewer).await;
    let ann = api.sign_in("ann", PASSWORD).await;
    let token = ann.post("/api/v1/tokens", json!({"name": "ci", "scopes": ["read"]})).await;
    let token = api.with_token(token.body["token"].as_str().unwrap());
    assert_eq!(token.get("/api/v1/hosts").await.status, StatusCode::OK);

    let path = format!("/api/v1/users/{id}");
    let changed = admin.send(Method::PATCH, &path, Some(json!({"disabled": true}))).await;

    assert_eq!(changed.body["disabled"], true, "{}", changed.text);
    assert_eq!(ann.get("/api/v1/me").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(token.get("/api/v1/hosts").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(admin.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(admin.delete(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_last_admin_can_neither_leave_nor_be_demoted() {
    let api = TestApi::start().await;
    let admin = api.sign_in("admin", &api.first_password).await;
    let changed = admin
        .post("/api/v1/me/password", json!({"current": api.first_password, "new": "my own long password"}))
        .await;
    let id = changed.body["user"]["id"].as_i64().unwrap();
    let admin = api.client_of(&changed);
    let path = format!("/api/v1/users/{id}");
    assert_eq!(admin.delete(&path).await.status, StatusCode::CONFLICT);
    for change in [json!({"roles": ["viewer"]}), json!({"disabled": true})] {
        assert_eq!(admin.send(Method::PATCH, &path, Some(change)).await.status, StatusCode::CONFLICT);
    }
}

#[tokio::test]
async fn a_token_is_shown_once_expires_and_can_be_revoked() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let made =
        ann.post("/api/v1/tokens", json!({"name": "ci", "scopes": ["read"], "expires_in_days": 1})).await;
    let secret = made.body["token"].as_str().unwrap().to_owned();
    let token = api.with_token(&secret);
    assert_eq!(token.get("/api/v1/hosts").await.status, StatusCode::OK);

    let list = ann.get("/api/v1/tokens").await;
    assert!(!list.text.contains(&secret), "the list shows the token");
    assert!(list.body["items"][0]["last_used_at"].is_string());

    api.clock.advance(25 * HOUR);
    assert_eq!(token.get("/api/v1/hosts").await.status, StatusCode::UNAUTHORIZED);

    let ann = api.sign_in("ann", PASSWORD).await;
    let made = ann.post("/api/v1/tokens", json!({"name": "other", "scopes": ["read"]})).await;
    let token = api.with_token(made.body["token"].as_str().unwrap());
    let path = format!("/api/v1/tokens/{}", made.body["id"]);
    assert_eq!(ann.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(token.get("/api/v1/hosts").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn chat_is_off_until_an_admin_opens_it_and_a_pin_wins() {
    let api = TestApi::start_with(|config| config.default_access = AccessMode::Off).await;
    let admin = api.signed_in("root", Role::Admin).await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let refused = ann.post("/api/v1/sessions", json!({})).await;
    assert_eq!((refused.status, refused.problem()), (StatusCode::FORBIDDEN, "chat-off"));

    let opened = admin.send(Method::PUT, "/api/v1/settings/access", Some(json!({"mode": "all-users"}))).await;

    assert_eq!(opened.status, StatusCode::OK, "{}", opened.text);
    assert_eq!(ann.post("/api/v1/sessions", json!({})).await.status, StatusCode::CREATED);
    assert_eq!(ann.get("/api/v1/me").await.body["access"]["may_chat"], true);

    let pinned = TestApi::start_with(|config| config.pinned_access = Some(AccessMode::Admins)).await;
    let admin = pinned.signed_in("root", Role::Admin).await;
    let ann = pinned.signed_in("ann", Role::Viewer).await;
    let answer = admin.send(Method::PUT, "/api/v1/settings/access", Some(json!({"mode": "all-users"}))).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(ann.post("/api/v1/sessions", json!({})).await.status, StatusCode::FORBIDDEN);
    assert_eq!(admin.post("/api/v1/sessions", json!({})).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn a_call_through_a_token_is_on_record_as_its_owners_via_that_token() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Operator).await;
    let made =
        ann.post("/api/v1/tokens", json!({"name": "deploy bot", "scopes": ["read", "call", "chat"]})).await;
    let via = json!({"id": made.body["id"], "name": "deploy bot"});
    let token = api.with_token(made.body["token"].as_str().unwrap());

    let call = token.post("/api/v1/calls", json!({"tool": "query_edges"})).await;
    assert_eq!(call.body["state"], "succeeded", "{}", call.text);
    assert_eq!(call.body["token"], via);
    let detail = ann.get(&format!("/api/v1/calls/{}", call.body["id"].as_str().unwrap())).await;
    assert_eq!((&detail.body["token"], &detail.body["caller"]["name"]), (&via, &json!("ann")));
    let received = &detail.body["audit"][0];
    assert_eq!(received["actor"]["kind"], "token");
    assert_eq!(received["actor"]["id"], made.body["id"]);
    assert_eq!(received["payload"]["token_name"], "deploy bot");

    // A model's call in a turn that was asked for through it names it, too; what ann asks at her browser doesn't.
    let by_browser = ann.post("/api/v1/calls", json!({"tool": "query_edges"})).await;
    assert!(by_browser.body["token"].is_null(), "{}", by_browser.text);
    let chat = token.post("/api/v1/sessions", json!({})).await;
    let chat = chat.body["id"].as_str().unwrap().to_owned();
    let turn = token.post(&format!("/api/v1/sessions/{chat}/turns"), json!({"text": "/query_edges"})).await;
    assert_eq!(turn.status, StatusCode::ACCEPTED, "{}", turn.text);
    api.state.agent.idle().await;
    let calls = ann.get(&format!("/api/v1/calls?session={chat}")).await;
    assert_eq!(calls.body["items"][0]["token"], via, "{}", calls.text);

    // Scopes and revocation still hold.
    let narrow = ann.post("/api/v1/tokens", json!({"name": "look", "scopes": ["read"]})).await;
    let narrow = api.with_token(narrow.body["token"].as_str().unwrap());
    assert_eq!(
        narrow.post("/api/v1/calls", json!({"tool": "query_edges"})).await.status,
        StatusCode::FORBIDDEN
    );
    ann.delete(&format!("/api/v1/tokens/{}", made.body["id"])).await;
    assert_eq!(
        token.post("/api/v1/calls", json!({"tool": "query_edges"})).await.status,
        StatusCode::UNAUTHORIZED
    );
}

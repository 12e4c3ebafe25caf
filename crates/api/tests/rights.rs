//! Every route against every kind of caller. The routes and what they need are read from the OpenAPI document, so a
//! new route can't be forgotten here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use http::{Method, StatusCode};
use model::Role;
use serde_json::{Value, json};
use support::{Client, TestApi};

/// One operation of the document.
#[derive(Debug)]
struct Operation {
    method: Method,
    path: String,
    /// Who may with a cookie: nobody needs to sign in, anybody signed in, or this role.
    cookie: Cookie,
    /// Who may with a token: no token, any, or this scope.
    token: Token,
}

#[derive(Debug, PartialEq, Eq)]
enum Cookie {
    NotNeeded,
    Anybody,
    Role(Role),
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Never,
    Any,
    Scope(String),
}

fn operations() -> Vec<Operation> {
    let document: Value = serde_json::from_str(&api::openapi_json()).unwrap();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            let words = |scheme: &str| security.iter().find_map(|need| need.get(scheme)).cloned();
            let first = |value: &Value| value[0].as_str().map(str::to_owned);
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                // Ids that name nothing: a caller who may is told so, and nothing is changed.
                path: path
                    .replace("{id}", "00000000-0000-7000-8000-000000000000")
                    .replace("{name}", "nothing")
                    .replace("{version}", "1"),
                cookie: match words("cookie") {
                    None => Cookie::NotNeeded,
                    Some(need) => {
                        first(&need).map_or(Cookie::Anybody, |word| Cookie::Role(word.parse().unwrap()))
                    }
                },
                token: match words("token") {
                    None => Token::Never,
                    Some(need) => first(&need).map_or(Token::Any, Token::Scope),
                },
            });
        }
    }
    operations
}

/// Whether the answer is that of a route whose rule let the caller through.
async fn is_let_through(client: &Client<'_>, operation: &Operation) -> bool {
    let body = (operation.method != Method::GET).then(|| json!({"no such field": true}));
    // The event stream never ends; its status is all that is asked for.
    if operation.path == "/api/v1/events" {
        return client.status(operation.method.clone(), &operation.path).await == StatusCode::OK;
    }
    let status = client.send(operation.method.clone(), &operation.path, body).await;
    assert!(!status.status.is_server_error(), "{operation:?}: {}", status.text);
    let refused = matches!(status.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if refused {
        let kind = status.problem();
        assert!(
            ["unauthenticated", "forbidden", "must-change-password"].contains(&kind),
            "{operation:?} is refused for another reason: {}",
            status.text
        );
    }
    !refused
}

fn may(operation: &Operation, role: Role) -> bool {
    match &operation.cookie {
        Cookie::NotNeeded | Cookie::Anybody => true,
        Cookie::Role(needed) => model::Roles::new([role]).include(*needed),
    }
}

/// What ends the caller's own sign-in is tried last.
fn in_order(mut operations: Vec<Operation>) -> Vec<Operation> {
    operations.sort_by_key(|operation| operation.path.ends_with("/sign-out"));
    operations
}

#[tokio::test]
async fn nobody_reaches_anything_but_the_sign_in() {
    let api = TestApi::start().await;
    for operation in operations() {
        // A wrong body tells nothing of the password, so the sign-in lets it through to be refused as invalid.
        let through = is_let_through(&api.anonymous(), &operation).await;
        assert_eq!(through, operation.cookie == Cookie::NotNeeded, "{operation:?}");
    }
}

#[tokio::test]
async fn each_role_reaches_what_the_document_says() {
    let api = TestApi::start().await;
    for role in Role::ALL {
        let client = api.signed_in(&format!("the-{role}"), *role).await;
        for operation in in_order(operations()) {
            let through = is_let_through(&client, &operation).await;
            assert_eq!(through, may(&operation, *role), "{role} at {operation:?}");
        }
    }
}

#[tokio::test]
async fn who_must_change_the_password_can_do_only_that() {
    let api = TestApi::start().await;
    let client = api.sign_in("admin", &api.first_password).await;
    for operation in in_order(operations()) {
        let through = is_let_through(&client, &operation).await;
        let allowed = matches!(operation.cookie, Cookie::NotNeeded | Cookie::Anybody);
        assert_eq!(through, allowed, "{operation:?}");
    }
}

#[tokio::test]
async fn a_token_reaches_what_its_one_scope_says_and_never_more_than_its_owner() {
    let api = TestApi::start().await;
    for role in [Role::Admin, Role::Viewer] {
        let owner = api.signed_in(&format!("owner-{role}"), role).await;
        for scope in ["read", "chat", "call", "hosts", "admin", "approvals:sign"] {
            let made = owner.post("/api/v1/tokens", json!({"name": scope, "scopes": [scope]})).await;
            let client = api.with_token(made.body["token"].as_str().unwrap());
            for operation in operations() {
                let through = is_let_through(&client, &operation).await;
                let allowed = operation.cookie == Cookie::NotNeeded
                    || match &operation.token {
                        Token::Never => false,
                        Token::Any => true,
                        Token::Scope(needed) => needed == scope && may(&operation, role),
                    };
                assert_eq!(through, allowed, "{role}'s token for {scope} at {operation:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cookie_without_the_csrf_token_changes_nothing() {
    let api = TestApi::start().await;
    let mut client = api.signed_in("ann", Role::Admin).await;
    client.headers.remove("x-steadyhand-csrf");
    for operation in operations() {
        if operation.method == Method::GET || operation.cookie == Cookie::NotNeeded {
            continue;
        }
        for forged in [None, Some("forged")] {
            let mut client = client.clone();
            if let Some(forged) = forged {
                client.headers.insert("x-steadyhand-csrf", forged.parse().unwrap());
            }
            let answer = client.send(operation.method.clone(), &operation.path, Some(json!({}))).await;
            assert_eq!((answer.status, answer.problem()), (StatusCode::FORBIDDEN, "csrf"), "{operation:?}");
        }
    }
}

#[tokio::test]
async fn another_site_changes_nothing_even_with_everything_right() {
    let api = TestApi::start().await;
    let mut client = api.signed_in("ann", Role::Admin).await;
    client.headers.insert("origin", "http://evil.example".parse().unwrap());
    for operation in operations().iter().filter(|operation| operation.method != Method::GET) {
        let answer = client.send(operation.method.clone(), &operation.path, Some(json!({}))).await;
        assert_eq!((answer.status, answer.problem()), (StatusCode::FORBIDDEN, "cross-site"), "{operation:?}");
    }
}

#[tokio::test]
async fn viewers_see_their_own_calls_and_operators_all() {
    let api = TestApi::start().await;
    let ann = api.signed_in("ann", Role::Viewer).await;
    let bob = api.signed_in("bob", Role::Viewer).await;
    let carol = api.signed_in("carol", Role::Operator).await;
    let call = ann.post("/api/v1/calls", json!({"tool": "query_edges", "args": {}})).await;
    assert_eq!(call.body["state"], "succeeded", "{}", call.text);
    let path = format!("/api/v1/calls/{}", call.body["id"].as_str().unwrap());
    assert_eq!(ann.get(&path).await.status, StatusCode::OK);
    assert_eq!(bob.get(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(carol.get(&path).await.status, StatusCode::OK);
    for (client, seen) in [(&ann, 1), (&bob, 0), (&carol, 1)] {
        let list = client.get("/api/v1/calls").await;
        assert_eq!(list.body["items"].as_array().unwrap().len(), seen);
        let lines = client.get("/api/v1/audit/export?format=jsonl").await;
        assert_eq!(lines.text.lines().count(), seen);
    }
}

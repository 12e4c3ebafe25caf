//! The committed OpenAPI document is that of the code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[test]
fn the_committed_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed.trim_end() == api::openapi_json(),
        "docs/openapi.json is old; write it anew: cargo run -p manager -- openapi > docs/openapi.json"
    );
}

#[test]
fn every_operation_says_who_may_and_has_a_name_of_its_own() {
    let document: serde_json::Value = serde_json::from_str(&api::openapi_json()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["security"].is_array(), "{method} {path} has no `security`");
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "two operations are called {name}");
        }
    }
}

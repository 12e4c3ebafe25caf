//! Procedures, the list of approvers and offered keys over the API: who may, what is refused, and what is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gate::SigningPins;
use http::StatusCode;
use model::Role;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _, RSA_PSS_SHA256, RsaKeyPair};
use serde_json::{Value, json};
use signing::{RootKey, SopKey};
use support::TestApi;

const SOP: &str = include_str!("../../signing/fixtures/reboot-web.toml");
const SOP_KEY: &str = include_str!("../../signing/fixtures/sop.pub.pem");

fn key() -> Ed25519KeyPair {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()
}

fn spki(key: &Ed25519KeyPair) -> Vec<u8> {
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    [prefix.as_slice(), key.public_key().as_ref()].concat()
}

fn pins(root: &Ed25519KeyPair) -> SigningPins {
    SigningPins {
        sop_keys: vec![SopKey::from_pem(SOP_KEY).unwrap()],
        approver_root: Some(RootKey::from_base64(&STANDARD.encode(root.public_key())).unwrap()),
        relying_party: None,
    }
}

/// The body of an import of a procedure, signed by the key that is trusted.
fn import(text: &str, dry_run: bool) -> Value {
    let key = RsaKeyPair::from_pkcs8(include_bytes!("../../signing/fixtures/sop.pkcs8.der")).unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PSS_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    json!({"document": STANDARD.encode(text), "signature": STANDARD.encode(signature), "dry_run": dry_run})
}

fn list(root: &Ed25519KeyPair, version: u64, lines: &str) -> Value {
    let text = format!("version = {version}\nexpires = 2100-01-01T00:00:00Z\n{lines}");
    let signature = root.sign(text.as_bytes());
    json!({"document": STANDARD.encode(&text), "signature": STANDARD.encode(signature)})
}

#[tokio::test]
async fn an_admin_imports_procedures_after_a_look_at_what_changes() {
    let api = TestApi::start_trusting(pins(&key())).await;
    let admin = api.signed_in("ann", Role::Admin).await;
    let dry = admin.post("/api/v1/sops", import(SOP, true)).await;
    assert_eq!(
        (dry.status, &dry.body["diff"], &dry.body["version"]),
        (StatusCode::OK, &Value::Null, &json!(3))
    );
    assert_eq!(admin.get("/api/v1/sops").await.body["items"], json!([]), "a dry run keeps nothing");

    let viewer = api.signed_in("vera", Role::Viewer).await;
    let mut events = viewer.events(None).await;
    let first = admin.post("/api/v1/sops", import(SOP, false)).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.text);
    events.next_of("signing.changed.v1").await;
    assert_eq!(first.body["imported_by"]["name"], "ann");
    assert_eq!(first.body["steps"][0]["labels"], json!({"role": "web"}));
    let same = admin.post("/api/v1/sops", import(SOP, false)).await;
    assert_eq!(same.status, StatusCode::CONFLICT, "{}", same.text);

    let next = SOP.replace("version = 3", "version = 4").replace("maximum_runs = 5", "maximum_runs = 9");
    let dry = admin.post("/api/v1/sops", import(&next, true)).await;
    let diff = dry.body["diff"].as_str().unwrap();
    assert!(diff.contains("-maximum_runs = 5\n+maximum_runs = 9"), "{diff}");
    admin.post("/api/v1/sops", import(&next, false)).await;
    let listed = admin.get("/api/v1/sops").await.body["items"].clone();
    assert_eq!((&listed[0]["version"], &listed[1]["state"]), (&json!(4), &json!("superseded")));
    assert!(listed[0]["document"].as_str().unwrap().contains("maximum_runs = 9"));

    let mut forged = import(SOP, false);
    forged["document"] = json!(STANDARD.encode(SOP.replace("maximum_runs = 5", "maximum_runs = 6")));
    let refused = admin.post("/api/v1/sops", forged).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.text.contains("none of the pinned keys"), "{}", refused.text);

    events.next_of("signing.changed.v1").await;
    assert_eq!(admin.delete("/api/v1/sops/reboot-web/4").await.status, StatusCode::NO_CONTENT);
    events.next_of("signing.changed.v1").await;
    let listed = admin.get("/api/v1/sops").await.body["items"].clone();
    assert_eq!((&listed[0]["state"], &listed[0]["revoked_by"]["name"]), (&json!("revoked"), &json!("ann")));
    assert_eq!(listed[1]["state"], "revoked", "the version before it doesn't count again");
    assert_eq!(admin.delete("/api/v1/sops/reboot-web/9").await.status, StatusCode::NOT_FOUND);
    let operator = api.signed_in("olga", Role::Operator).await;
    assert_eq!(operator.post("/api/v1/sops", import(&next, false)).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_key_that_is_offered_counts_once_a_newer_list_names_it() {
    let root = key();
    let api = TestApi::start_trusting(pins(&root)).await;
    let admin = api.signed_in("ann", Role::Admin).await;
    let bea = api.signed_in("bea", Role::Approver).await;
    let own = key();
    let offer = json!({"kind": "ed25519", "public": STANDARD.encode(spki(&own)), "label": "at \"home\""});
    let offered = bea.post("/api/v1/account/approver-keys", offer.clone()).await;
    assert_eq!(
        (offered.status, &offered.body["listed"]),
        (StatusCode::CREATED, &json!(false)),
        "{}",
        offered.text
    );
    assert_eq!(bea.post("/api/v1/account/approver-keys", offer).await.status, StatusCode::CONFLICT);
    let wrong = json!({"kind": "ed25519", "public": STANDARD.encode([1, 2, 3]), "label": "x"});
    assert_eq!(bea.post("/api/v1/account/approver-keys", wrong).await.status, StatusCode::BAD_REQUEST);

    let lines = offered.body["toml"].as_str().unwrap();
    assert_eq!(admin.post("/api/v1/approvers", list(&key(), 1, lines)).await.status, StatusCode::BAD_REQUEST);
    let imported = admin.post("/api/v1/approvers", list(&root, 2, lines)).await;
    assert_eq!(imported.status, StatusCode::OK, "{}", imported.text);
    let listed = &imported.body["list"]["people"][0];
    assert_eq!((&listed["person"], &listed["keys"][0]["label"]), (&json!("bea"), &json!("at \"home\"")));
    for version in [1, 2] {
        let again = admin.post("/api/v1/approvers", list(&root, version, lines)).await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.text);
    }
    let mine = bea.get("/api/v1/account/approver-keys").await;
    assert_eq!(mine.body["items"][0]["listed"], true);
    assert_eq!(admin.get("/api/v1/approvers/offers").await.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(bea.get("/api/v1/approvers/offers").await.status, StatusCode::FORBIDDEN);

    let path = format!("/api/v1/account/approver-keys/{}", offered.body["id"].as_str().unwrap());
    assert_eq!(admin.delete(&path).await.status, StatusCode::NOT_FOUND, "it isn't hers");
    assert_eq!(bea.delete(&path).await.status, StatusCode::NO_CONTENT);
    let shown = bea.get("/api/v1/approvers").await;
    assert_eq!(shown.body["list"]["version"], 2, "the list holds until a newer one takes its place");
}

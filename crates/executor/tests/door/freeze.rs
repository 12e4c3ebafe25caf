use super::support::{Setup, in_manager, on_host, open, open_in};
use gate::{CallRequest, Fate, Rule};
use model::{CallState, EdgeId, PolicyDecision, UserId};
use serde_json::json;
use storage::Actor;

const ANN: UserId = UserId(7);

fn restart(edge: i64) -> CallRequest {
    on_host(edge, "restart_service", json!({"service": "nginx.service", "reason": "it hangs"}))
}

#[tokio::test]
async fn while_changes_are_frozen_only_safe_calls_start_and_the_refusal_says_who_and_why() {
    let door = open(Setup::default()).await;
    let actor = Actor::User(ANN);
    door.storage.freezes().freeze(Some("a bad deploy.".to_owned()), ANN, actor).await.unwrap();
    let refused = door.run(restart(1)).await;
    let error = refused.error.unwrap();
    assert_eq!(refused.state, CallState::Refused);
    assert!(error.starts_with("Changes are frozen since 20"), "{error}");
    assert!(error.ends_with("by Ada: a bad deploy. Only safe calls run."), "{error}");
    let row = door.row(refused.call_id).await;
    assert_eq!(row.policy, PolicyDecision::Deny);
    assert_eq!(door.gate.explain(restart(1)).await.unwrap().rule, Rule::Freeze);
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Succeeded);
    assert_eq!(door.run(in_manager("query_edges", json!({}))).await.state, CallState::Succeeded);

    // What nobody may do at all isn't told as if it could be done later.
    let viewer = CallRequest { caller: super::support::person(model::Role::Viewer), ..restart(1) };
    assert_eq!(door.gate.explain(viewer).await.unwrap().rule.to_string(), "role = operator");
    door.storage.freezes().unfreeze(ANN, actor).await.unwrap();
    assert_eq!(door.gate.explain(restart(1)).await.unwrap().fate, Fate::Ask);
}

#[tokio::test]
async fn a_read_only_host_takes_no_changes_and_the_others_do() {
    let door = open(Setup::default()).await;
    door.storage.freezes().set_read_only(EdgeId(1), true, ANN, Actor::User(ANN)).await.unwrap();
    let said = door.gate.explain(restart(1)).await.unwrap();
    assert_eq!((said.fate, &said.rule), (Fate::Deny, &Rule::ReadOnly));
    assert!(said.reason.starts_with("Host `web-1` (edge 1) is read-only since 20"), "{}", said.reason);
    assert_eq!(door.gate.explain(restart(2)).await.unwrap().fate, Fate::Ask);
    assert_eq!(door.gate.explain(on_host(1, "host_load", json!({}))).await.unwrap().fate, Fate::Run);
    let unknown = door.storage.freezes().set_read_only(EdgeId(9), true, ANN, Actor::User(ANN)).await;
    assert!(unknown.unwrap_err().to_string().contains("host 9"));
}

#[tokio::test]
async fn a_freeze_survives_a_restart_and_each_change_is_audited_once() {
    let door = open(Setup::default()).await;
    let (freezes, actor) = (door.storage.freezes(), Actor::User(ANN));
    freezes.freeze(Some("first".to_owned()), ANN, actor).await.unwrap();
    freezes.freeze(Some("second".to_owned()), UserId(8), Actor::User(UserId(8))).await.unwrap();
    freezes.set_read_only(EdgeId(1), true, ANN, actor).await.unwrap();
    freezes.set_read_only(EdgeId(1), true, ANN, actor).await.unwrap();
    let before = freezes.current();
    assert_eq!(before.everywhere.as_ref().unwrap().reason.as_deref(), Some("first"), "the first one counts");
    door.storage.close().await;

    let door = open_in(door.folder, Setup::default()).await;
    let freezes = door.storage.freezes();
    assert_eq!(freezes.current(), before);
    assert_eq!(door.gate.explain(restart(2)).await.unwrap().rule, Rule::Freeze);
    freezes.unfreeze(ANN, actor).await.unwrap();
    freezes.unfreeze(ANN, actor).await.unwrap();
    assert_eq!(door.gate.explain(restart(2)).await.unwrap().fate, Fate::Ask);
    assert_eq!(door.gate.explain(restart(1)).await.unwrap().rule, Rule::ReadOnly);
    freezes.set_read_only(EdgeId(1), false, ANN, actor).await.unwrap();

    let filter = storage::audit::AuditFilter::default();
    let rows = door.storage.audit().list(&filter, None, 50).await.unwrap();
    let mut kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    kinds.retain(|kind| kind.starts_with("freeze.") || kind.starts_with("host."));
    kinds.sort_unstable();
    assert_eq!(kinds, ["freeze.off", "freeze.on", "host.read_only", "host.read_only"]);
    assert!(door.storage.audit().verify().await.unwrap().ok);
}

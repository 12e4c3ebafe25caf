//! People who are restricted to hosts: what they and their models may ask for, decide and learn of.

use super::approvals::{allow, decider, restart};
use super::support::{Door, Setup, in_manager, on_host, open};
use gate::approvals::{GrantWish, Revealed, WishedArguments, WishedEdges};
use gate::{CallRequest, Fate, Principal, Ruled, Ruling, Start};
use model::{ApprovalDecision, CallId, CallState, EdgeId, Reach, Role, Roles, UserId};
use serde_json::json;
use storage::Actor;
use storage::calls::CallToken;
use storage::users::UserChange;

impl Door {
    async fn restrict(&self, user: i64, edges: &[i64], labels: &[&str]) {
        let reach = Reach {
            edges: edges.iter().copied().map(EdgeId).collect(),
            labels: labels.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let change = UserChange { reach: Some(reach), ..UserChange::default() };
        self.storage.users().change(UserId(user), change, Actor::System).await.unwrap();
    }
}

/// The operator Ada (7), in each of the ways in which she may ask.
fn ways() -> Vec<(&'static str, Principal)> {
    let roles = Roles::new([Role::Operator]);
    let person = Principal::person_at_browser(UserId(7), roles.clone());
    let token = Some(CallToken { id: 3, name: "ci".to_owned() });
    vec![
        ("herself", person.clone()),
        ("through a token", Principal { token, ..person }),
        ("through a model", Principal::model_for(UserId(7), roles)),
    ]
}

#[tokio::test]
async fn a_host_out_of_reach_is_as_if_it_were_not_there_whoever_asks_for_the_person() {
    let door = open(Setup::default()).await;
    door.change_host(2, |host| drop(host.labels.insert("env".to_owned(), "staging".to_owned())));
    door.restrict(7, &[1], &["env=staging"]).await;
    for (way, caller) in ways() {
        for (edge, runs) in [(1, true), (2, true), (4, false), (9, false)] {
            let request = CallRequest { caller: caller.clone(), ..on_host(edge, "host_load", json!({})) };
            let said = door.gate.explain(request.clone()).await.unwrap();
            let outcome = door.run(request).await;
            let row = door.row(outcome.call_id).await;
            if runs {
                assert_eq!((outcome.state, said.fate), (CallState::Succeeded, Fate::Run), "{way} on {edge}");
                continue;
            }
            assert_eq!((row.state, said.fate), (CallState::Refused, Fate::Deny), "{way} on {edge}");
            assert_eq!(
                row.error.as_deref(),
                Some(
                    format!(
                        "There is no host with the id {edge} among those that the account behind this call may use: \
                         it is restricted to hosts 1 and those with env=staging. query_edges lists them."
                    )
                    .as_str()
                )
            );
            assert_eq!(row.edge_name, None, "a guessed id tells no name");
            assert_eq!(said.rule.to_string(), "hosts of the account");
            assert_eq!(door.audit_kinds(row.id).await, ["call.refused"]);
        }
    }
    // The same call of somebody who isn't restricted.
    let ola = Principal::person_at_browser(UserId(6), Roles::new([Role::Operator]));
    let outcome = door.run(CallRequest { caller: ola, ..on_host(4, "host_load", json!({})) }).await;
    assert_eq!(outcome.state, CallState::Succeeded);
}

#[tokio::test]
async fn tools_see_and_reach_only_the_hosts_of_the_person_behind_the_call() {
    let door = open(Setup::default()).await;
    door.restrict(7, &[1], &[]).await;
    let listed = door.run(in_manager("query_edges", json!({}))).await.result.unwrap();
    assert_eq!((&listed["total"], &listed["hosts"][0]["name"]), (&json!(1), &json!("web-1")));
    let batch = door.run(in_manager("host_load", json!({"edge_ids": [1, 2]}))).await.result.unwrap();
    assert_eq!((&batch["succeeded"], &batch["failed"]), (&json!(1), &json!(1)), "{batch}");
    assert_eq!(batch["hosts"][1]["name"], json!(null));
    assert!(batch["hosts"][1]["error"].as_str().unwrap().contains("restricted to hosts 1"), "{batch}");
    assert_eq!(door.seen().len(), 1);
}

#[tokio::test]
async fn who_does_not_reach_the_host_neither_sees_nor_decides_on_calls_there() {
    let door = open(Setup::default()).await;
    door.restrict(8, &[2], &[]).await;
    let approval = door.only_asked(restart()).await;
    let bea = decider(8);
    assert!(!door.gate.may_see_approval(&bea, &approval));
    assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::NotFound));
    assert!(matches!(door.gate.reveal_approval(&bea, approval.id).await.unwrap(), Revealed::NotFound));
    assert_eq!(door.gate.count_decidable(&bea).await.unwrap(), 0);

    door.restrict(8, &[1], &[]).await;
    assert_eq!(door.gate.count_decidable(&bea).await.unwrap(), 1);
    // What she allows goes no further than she does.
    let wide = |edges| Ruling {
        decision: ApprovalDecision::AllowAlways,
        note: None,
        grant: Some(GrantWish { edges, arguments: WishedArguments::Exact, ..GrantWish::default() }),
    };
    let Ruled::Invalid(reason) = door.decide(8, approval.id, wide(WishedEdges::Any)).await else {
        panic!("a grant for every host was given")
    };
    assert!(reason.contains("restricted to hosts 1"), "{reason}");
    assert!(matches!(door.decide(8, approval.id, wide(WishedEdges::This)).await, Ruled::Done(_)));
}

#[tokio::test]
async fn a_restriction_that_comes_after_the_approval_stops_the_call_and_no_grant_covers_it() {
    let door = open(Setup::default()).await;
    let asked = door.only_asked(restart()).await;
    let again = door.only_asked(CallRequest { call_id: CallId::generate(), ..restart() }).await;
    let chat = Ruling { decision: ApprovalDecision::AllowAlways, note: None, grant: None };
    assert!(matches!(door.decide(8, asked.id, chat).await, Ruled::Done(_)));
    door.restrict(7, &[2], &[]).await;
    let Start::Rejected(rejection) = door.gate.admit_approved(asked.call.id).await.unwrap() else {
        panic!("it started")
    };
    assert!(rejection.reason.contains("restricted to hosts 2"), "{}", rejection.reason);
    let covered = CallRequest { call_id: CallId::generate(), ..restart() };
    assert_eq!(door.run(covered).await.state, CallState::Refused);
    // Nor does she decide on her own call there.
    let Ruled::Forbidden(reason) = door.decide(7, again.id, allow()).await else { panic!("she decided") };
    assert!(reason.contains("restricted to hosts 2"), "{reason}");
    assert!(door.seen().is_empty());
}

#[tokio::test]
async fn restrictions_outlive_a_restart_and_end_when_they_are_lifted() {
    let door = open(Setup::default()).await;
    door.restrict(7, &[2], &[]).await;
    let door = door.crash(Setup::default()).await;
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Refused);
    door.restrict(7, &[], &[]).await;
    assert_eq!(door.run(on_host(1, "host_load", json!({}))).await.state, CallState::Succeeded);
}

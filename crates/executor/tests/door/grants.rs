//! Standing approvals: what they cover, and what they don't.

use super::approvals::{allow, decider, restart};
use super::support::{Door, Setup, model_for, on_host, open};
use gate::approvals::{GrantWish, Revoked, WishedArguments, WishedEdges};
use gate::{Admission, ApprovalRules, CallRequest, Principal, Ruled, Ruling, Taint};
use model::{
    ApprovalDecision, CallId, CallState, Class, EdgeId, GrantId, GrantState, Role, Roles, SessionId, UserId,
};
use serde_json::json;
use skill::{Capability, Catalogue, Definition};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::calls::CallToken;
use storage::grants::Grant;
use tokio_util::sync::CancellationToken;

fn always(grant: GrantWish) -> Ruling {
    Ruling { decision: ApprovalDecision::AllowAlways, note: None, grant: Some(grant) }
}

impl Door {
    /// Asks for a call, allows it and what the ruling says, and runs it.
    async fn grant(&self, request: CallRequest, ruling: Ruling) -> Grant {
        let (outcome, approval) = self.ask(request).await;
        let ruled = self.decide(8, approval.id, ruling).await;
        assert!(matches!(ruled, Ruled::Done(_)), "{ruled:?}");
        assert_eq!(outcome.await.unwrap().state, CallState::Succeeded);
        let grants = self.storage.grants().list(None, None, 1).await.unwrap();
        assert_eq!(grants[0].approval, approval.id);
        grants.into_iter().next().unwrap()
    }

    /// Whether a call runs without anybody being asked; if it isn't, why although there is a grant.
    async fn is_covered(&self, request: CallRequest) -> Result<(), Option<String>> {
        let request = CallRequest { call_id: CallId::generate(), ..request };
        let call = request.call_id;
        match self.gate.admit(request).await.unwrap() {
            Admission::Admitted(admitted) => {
                assert_eq!(admitted.seq().is_some(), admitted.class() > Class::Safe);
                Ok(())
            }
            Admission::Waiting(_) => Err(self.approval(call).await.grant_note),
            Admission::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }
}

fn other_service() -> CallRequest {
    on_host(1, "restart_service", json!({"service": "redis", "reason": "it hangs"}))
}

#[tokio::test]
async fn a_call_under_a_grant_runs_at_once_and_row_audit_and_grant_tell_so() {
    let door = open(Setup::default()).await;
    let grant = door.grant(restart(), always(GrantWish::default())).await;
    assert_eq!((grant.person, grant.created_by_name.as_str(), grant.uses), (UserId(7), "Bea", 0));
    let hold = grant.expires_at.unwrap() - grant.created_at;
    assert_eq!(hold.num_hours(), 720);

    let request = CallRequest { call_id: CallId::generate(), ..restart() };
    let call = request.call_id;
    let outcome = door.executor.request(request, CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.state, CallState::Succeeded);
    let row = door.row(call).await;
    assert_eq!((row.approval, row.seq, row.policy.as_str()), (Some(grant.id.0), Some(2), "supervised"));
    assert_eq!(door.audit_kinds(call).await, ["call.admitted", "call.finished"]);
    let used = door.storage.grants().find(grant.id).await.unwrap().unwrap();
    assert_eq!((used.uses, used.last_used_at.is_some()), (1, true));
    assert_eq!(door.gate.grant_state(&used), GrantState::Active);
    door.verify().await;
}

#[tokio::test]
async fn a_grant_covers_exactly_what_it_says() {
    let door = open(Setup::default()).await;
    door.change_host(1, |host| host.labels = BTreeMap::from([("env".to_owned(), "test".to_owned())]));
    door.change_host(4, |host| host.labels = BTreeMap::from([("env".to_owned(), "test".to_owned())]));
    let on = |edge: i64, request: CallRequest| CallRequest { edge: Some(EdgeId(edge)), ..request };
    let of_another = |request: CallRequest| CallRequest {
        caller: Principal::person_at_browser(UserId(6), Roles::new([Role::Operator])),
        ..request
    };
    let labels = WishedEdges::Labels(BTreeMap::from([("env".to_owned(), "test".to_owned())]));
    for (wish, same_args_elsewhere, other_args_here, on_a_labelled_host) in [
        (GrantWish::default(), false, false, false),
        (GrantWish { arguments: WishedArguments::Any, ..GrantWish::default() }, false, true, false),
        (GrantWish { edges: WishedEdges::Any, ..GrantWish::default() }, true, false, true),
        (GrantWish { edges: labels, ..GrantWish::default() }, false, false, true),
    ] {
        let grant = door.grant(restart(), always(wish.clone())).await;
        assert!(door.is_covered(restart()).await.is_ok(), "{wish:?}");
        // A model that acts for the person has the person's grants.
        let of_model = CallRequest { caller: model_for(Role::Operator), ..restart() };
        assert!(door.is_covered(of_model).await.is_ok(), "{wish:?}");
        for (request, expected) in [
            (on(2, restart()), same_args_elsewhere),
            (other_service(), other_args_here),
            (on(4, restart()), on_a_labelled_host),
            (of_another(restart()), false),
            (on_host(1, "kill_process", json!({"pid": 2, "start_time": 1, "reason": "x"})), false),
        ] {
            let shown = format!("{wish:?}: {:?} {} {}", request.edge, request.key, request.args);
            assert_eq!(door.is_covered(request).await, if expected { Ok(()) } else { Err(None) }, "{shown}");
        }
        assert_eq!(door.gate.revoke_grant(&decider(7), grant.id).await.unwrap(), Revoked::Done);
        assert!(door.is_covered(restart()).await.is_err(), "{wish:?}");
    }
    door.verify().await;
}

#[tokio::test]
async fn what_is_allowed_in_a_chat_holds_there_on_that_host_and_for_bash_for_that_command() {
    let door = open(Setup::default()).await;
    let (chat, other) = (SessionId::generate(), SessionId::generate());
    let within = |session, request: CallRequest| CallRequest { session: Some(session), ..request };
    let in_chat = || Ruling { decision: ApprovalDecision::AllowChat, ..allow() };

    let grant = door.grant(within(chat, restart()), in_chat()).await;
    assert_eq!((grant.session, grant.expires_at), (Some(chat), None));
    assert!(door.is_covered(within(chat, other_service())).await.is_ok(), "any arguments");
    assert!(door.is_covered(within(other, restart())).await.is_err());
    assert!(door.is_covered(restart()).await.is_err());
    let elsewhere = CallRequest { edge: Some(EdgeId(2)), ..within(chat, restart()) };
    assert!(door.is_covered(elsewhere).await.is_err());

    let touch =
        |file: &str| within(chat, on_host(1, "bash", json!({"command": format!("touch /tmp/{file}")})));
    door.grant(touch("a"), in_chat()).await;
    assert!(door.is_covered(touch("a")).await.is_ok());
    assert!(door.is_covered(touch("b")).await.is_err(), "only the very command");
}

#[tokio::test]
async fn a_grant_for_bash_names_exact_arguments_and_holds_thirty_days_at_most() {
    let door = open(Setup::default()).await;
    let touch = || on_host(1, "bash", json!({"command": "touch /tmp/a"}));
    let (_, approval) = door.ask(touch()).await;
    for (wish, words) in [
        (GrantWish { arguments: WishedArguments::Any, ..GrantWish::default() }, "exact arguments"),
        (GrantWish { expires_in_hours: Some(721), ..GrantWish::default() }, "1 to 720 hours"),
        (GrantWish { expires_in_hours: Some(0), ..GrantWish::default() }, "1 to 720 hours"),
        (GrantWish { uses: Some(0), ..GrantWish::default() }, "1 to"),
        (GrantWish { edges: WishedEdges::Labels(BTreeMap::new()), ..GrantWish::default() }, "at least one"),
        (
            GrantWish {
                edges: WishedEdges::Labels(BTreeMap::from([("env".to_owned(), "prod".to_owned())])),
                ..GrantWish::default()
            },
            "no label env=prod",
        ),
    ] {
        let ruled = door.decide(8, approval.id, always(wish.clone())).await;
        assert!(matches!(&ruled, Ruled::Invalid(reason) if reason.contains(words)), "{wish:?}: {ruled:?}");
    }
    let grant = door.grant(touch(), always(GrantWish::default())).await;
    assert!(grant.args.is_some());
    assert!(door.is_covered(touch()).await.is_ok());
    assert!(door.is_covered(on_host(1, "bash", json!({"command": "touch /tmp/a "}))).await.is_err());
    // What has become dangerous is covered by nothing.
    let wipe = on_host(1, "bash", json!({"command": "rm -rf /"}));
    assert!(matches!(door.gate.admit(wipe).await.unwrap(), Admission::Rejected(_)));
}

#[tokio::test]
async fn a_counted_grant_is_used_up_even_by_calls_at_once_and_an_old_one_runs_out() {
    let door = open(Setup::default()).await;
    let grant = door.grant(restart(), always(GrantWish { uses: Some(3), ..GrantWish::default() })).await;
    let tries = (0..10).map(|_| door.is_covered(restart()));
    let covered = futures::future::join_all(tries).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(covered, 3);
    let used = door.storage.grants().find(grant.id).await.unwrap().unwrap();
    assert_eq!((used.uses, used.uses_left, door.gate.grant_state(&used)), (3, Some(0), GrantState::UsedUp));

    let grant = door.grant(restart(), always(GrantWish::default())).await;
    door.sql("UPDATE grants SET expires_at = 1 WHERE uses_left IS NULL").await;
    assert!(door.is_covered(restart()).await.is_err());
    let old = door.storage.grants().find(grant.id).await.unwrap().unwrap();
    assert_eq!(door.gate.grant_state(&old), GrantState::Expired);
    door.verify().await;
}

#[tokio::test]
async fn a_changed_definition_voids_a_grant() {
    let door = open(Setup::default()).await;
    let grant = door.grant(restart(), always(GrantWish::default())).await;
    let catalogue = door.catalogue.load_full();
    let entries = catalogue.iter().map(|entry| {
        if entry.definition().key != "restart_service" {
            return Arc::clone(entry);
        }
        let definition = Definition { description: "Other.".to_owned(), ..entry.definition().clone() };
        Arc::new(Capability::new(definition, |_| Class::Mutating, entry.source().clone()).unwrap())
    });
    door.catalogue.store(Arc::new(Catalogue::new(entries.collect::<Vec<_>>()).unwrap()));
    assert_eq!(door.is_covered(restart()).await, Err(None));
    assert_eq!(door.gate.grant_state(&grant), GrantState::Void);
}

#[tokio::test]
async fn after_text_from_outside_and_for_programs_a_person_is_asked_although_there_is_a_grant() {
    let tainted = || CallRequest {
        caller: model_for(Role::Operator),
        taint: Taint { untrusted: true, named_places: Vec::new() },
        ..restart()
    };
    let door = open(Setup::default()).await;
    door.grant(restart(), always(GrantWish::default())).await;
    let note = door.is_covered(tainted()).await.unwrap_err().unwrap();
    assert!(note.contains("text from outside"), "{note}");
    let token = Some(CallToken { id: 3, name: "ci".to_owned() });
    let through_token = CallRequest { caller: Principal { token, ..model_for(Role::Operator) }, ..restart() };
    let note = door.is_covered(through_token.clone()).await.unwrap_err().unwrap();
    assert!(note.contains("API token"), "{note}");
    let (_, approval) = door.ask(CallRequest { call_id: CallId::generate(), ..through_token }).await;
    let ruled = door.decide(8, approval.id, always(GrantWish::default())).await;
    assert!(matches!(&ruled, Ruled::Invalid(reason) if reason.contains("one by one")), "{ruled:?}");

    let approvals = ApprovalRules { grants_after_untrusted: true, ..ApprovalRules::default() };
    let door = open(Setup { approvals, ..Setup::default() }).await;
    door.grant(restart(), always(GrantWish::default())).await;
    assert_eq!(door.is_covered(tainted()).await, Ok(()));
}

#[tokio::test]
async fn a_grant_is_taken_back_by_its_person_an_approver_or_an_admin_and_seen_by_nobody_else() {
    let door = open(Setup::default()).await;
    for (by, expected) in [
        (5, Revoked::NotFound),
        (6, Revoked::NotFound),
        (7, Revoked::Done),
        (8, Revoked::Done),
        (9, Revoked::Done),
    ] {
        let grant = door.grant(restart(), always(GrantWish::default())).await;
        assert_eq!(door.gate.revoke_grant(&decider(by), grant.id).await.unwrap(), expected, "{by}");
        assert_eq!(door.is_covered(restart()).await.is_err(), expected == Revoked::Done, "{by}");
        door.gate.revoke_grant(&decider(8), grant.id).await.unwrap();
        let token = gate::Decider { by_token: true, ..decider(8) };
        assert!(matches!(door.gate.revoke_grant(&token, grant.id).await.unwrap(), Revoked::Forbidden(_)));
    }
    assert_eq!(door.gate.revoke_grant(&decider(8), GrantId::generate()).await.unwrap(), Revoked::NotFound);
    door.verify().await;
}

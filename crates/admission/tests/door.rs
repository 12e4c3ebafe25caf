//! What the edge's door lets through, and what it never does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use admission::{
    AcceptedCall, Admission, ApprovalProof, Approvals, Ended, Evidence, EvidenceVerifier, Journal,
    JournalOptions, Ledger, Limits, Nonces, Parts, Recall, Refusal, RefusalKind, Request,
};
use model::{CallId, CallState, Class, EdgeId, Origin, Scope};
use serde_json::{Value, json};
use signing::{Pins, Proof};
use skill::{Capability, Catalogue, Definition, Metadata, Source};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn capability(key: &'static str, class: Class) -> Arc<Capability> {
    let metadata = Metadata {
        key,
        name: key,
        description: "d",
        class,
        scope: Scope::Host,
        category: "test",
        result_preview: "",
        prerequisites: &[],
    };
    let params =
        json!({"type": "object", "properties": {"harm": {"type": "boolean"}}, "additionalProperties": false});
    let classify = |args: &Value| if args["harm"] == true { Class::Dangerous } else { Class::Safe };
    Arc::new(Capability::new(Definition::new(&metadata, params), classify, Source::Builtin).unwrap())
}

fn catalogue() -> Catalogue {
    Catalogue::new([capability("look", Class::Safe), capability("change", Class::Mutating)]).unwrap()
}

fn parts() -> Parts {
    Parts::new(catalogue(), Arc::new(|_| Vec::new()), Limits::default())
}

fn door() -> Admission {
    Admission::of(parts())
}

fn request(skill: &str, args: Value) -> Request {
    Request {
        call_id: CallId::generate(),
        seq: 0,
        skill: skill.to_owned(),
        args,
        class: Some(Class::Safe),
        definition_hash: catalogue().get(Scope::Host, skill).map(|known| known.hash().to_owned()),
        timeout: Duration::from_secs(10),
        evidence: Evidence::None,
        origin: Origin::Chat,
    }
}

fn refusal(result: Result<(AcceptedCall, admission::Ticket), Refusal>) -> Refusal {
    result.map(|(call, _)| call).expect_err("it was let through")
}

fn succeeded() -> Ended {
    Ended {
        state: CallState::Succeeded,
        error_kind: None,
        error: None,
        result: Some("1".into()),
        result_bytes: 1,
        duration: Duration::ZERO,
        sandbox: None,
    }
}

#[tokio::test]
async fn a_safe_call_is_let_through_with_what_it_was_asked() {
    let asked = request("look", json!({"harm": false}));
    let (call, ticket) = door().accept(asked.clone()).unwrap();
    assert_eq!((call.call_id(), call.skill(), call.args()), (asked.call_id, "look", &asked.args));
    assert_eq!((call.class(), call.origin()), (Class::Safe, Origin::Chat));
    assert_eq!(ticket.call_id(), asked.call_id);
}

#[tokio::test]
async fn each_thing_that_is_wrong_is_refused_for_itself() {
    let changed = Request { definition_hash: Some("0".repeat(64)), ..request("look", json!({})) };
    let sent_as_mutating = Request { class: Some(Class::Mutating), ..request("look", json!({})) };
    for (asked, kind, word) in [
        (request("nothing", json!({})), RefusalKind::UnknownSkill, "nothing"),
        (request("look", json!({"hram": 1})), RefusalKind::InvalidArguments, "hram"),
        (changed, RefusalKind::DefinitionChanged, "versions"),
        (sent_as_mutating, RefusalKind::Evidence, "approval"),
        (request("look", json!({"harm": true})), RefusalKind::Evidence, "two people"),
        (request("change", json!({})), RefusalKind::Evidence, "mutating"),
    ] {
        let refusal = refusal(door().accept(asked));
        assert_eq!(refusal.kind, kind, "{refusal}");
        assert!(refusal.reason.contains(word), "{refusal}");
    }
}

#[tokio::test]
async fn the_managers_word_alone_makes_nothing_harmless() {
    let evidence = Evidence::ManagerApproval { approval_id: "1".to_owned() };
    let asked = Request { evidence, ..request("change", json!({})) };
    assert_eq!(refusal(door().accept(asked)).class, Some(Class::Mutating));
}

/// The verifier of a host that pins no keys.
fn approvals(proof: ApprovalProof) -> Approvals {
    Approvals {
        proof,
        pins: Pins::default(),
        labels: BTreeMap::new(),
        edge: EdgeId(1),
        clock: Arc::new(model::SystemClock),
        nonces: Nonces::default(),
        ledger: Arc::new(Ledger::in_memory()),
    }
}

#[tokio::test]
async fn a_door_that_takes_the_managers_word_still_wants_it_and_for_no_more_than_mutating_calls() {
    let door = |proof| Admission::of(Parts { verifier: Arc::new(approvals(proof)), ..parts() });
    let approved = || Evidence::ManagerApproval { approval_id: model::ApprovalId::generate().to_string() };
    let asked = |harm: bool, evidence| {
        let (skill, args) = if harm { ("look", json!({"harm": true})) } else { ("change", json!({})) };
        Request { evidence, seq: 1, ..request(skill, args) }
    };

    let (call, ticket) = door(ApprovalProof::Manager).accept(asked(false, approved())).unwrap();
    assert_eq!(call.class(), Class::Mutating);
    drop((call, ticket));
    for (proof, harm, evidence, words) in [
        (ApprovalProof::Manager, false, Evidence::None, "the manager names none"),
        (
            ApprovalProof::Manager,
            false,
            Evidence::ManagerApproval { approval_id: "yes".to_owned() },
            "isn't the id",
        ),
        (ApprovalProof::Manager, true, approved(), "dangerous calls are off"),
        (ApprovalProof::Signed, false, approved(), "this host asks for signed approvals"),
        (ApprovalProof::Signed, true, approved(), "dangerous calls are off"),
        (ApprovalProof::Manager, false, Evidence::Signed { evidence: b"{}".to_vec() }, "can't be read"),
    ] {
        let refusal = refusal(door(proof).accept(asked(harm, evidence)));
        assert_eq!(refusal.kind, RefusalKind::Evidence, "{refusal}");
        assert!(refusal.reason.contains(words), "{refusal}");
    }
    // What isn't a file or a command is for the manager's word where only those need more.
    drop(door(ApprovalProof::Mixed).accept(asked(false, approved())).unwrap());
    // Root's own word needs none of it.
    let local = Request::local("change", json!({}), 0, Duration::from_secs(1));
    drop(door(ApprovalProof::Signed).accept(local).unwrap());
}

#[tokio::test]
async fn a_local_call_that_changes_something_is_for_root() {
    let asked = |euid| Request::local("change", json!({}), euid, Duration::from_secs(1));
    assert!(refusal(door().accept(asked(1000))).reason.contains("only root"));
    let (call, _ticket) = door().accept(asked(0)).unwrap();
    assert_eq!((call.class(), call.origin()), (Class::Mutating, Origin::Local));
    // Whoever says "root" from elsewhere isn't here.
    let forged = Request { origin: Origin::Api, ..asked(0) };
    assert_eq!(refusal(door().accept(forged)).kind, RefusalKind::Evidence);
    drop(door().accept(Request::local("look", json!({}), 1000, Duration::from_secs(1))).unwrap());
}

#[tokio::test]
async fn a_skill_whose_needs_are_not_met_does_not_run() {
    let door =
        Admission::new(catalogue(), Arc::new(|_| vec!["a booted systemd".to_owned()]), Limits::default());
    let refusal = refusal(door.accept(request("look", json!({}))));
    assert_eq!(refusal.kind, RefusalKind::Unmet);
    assert!(refusal.reason.contains("a booted systemd"), "{refusal}");
}

#[derive(Debug)]
struct Believes;

impl EvidenceVerifier for Believes {
    fn verify(&self, _request: &Request, _class: Class, _hash: &str) -> Result<Option<Proof>, String> {
        Ok(None)
    }

    fn use_up(&self, _proof: &Proof) -> Result<(), String> {
        Ok(())
    }
}

#[tokio::test]
async fn a_frozen_edge_takes_safe_calls_only() {
    let door = Admission::of(Parts { verifier: Arc::new(Believes), ..parts() });
    let numbered = |seq| Request { seq, ..request("change", json!({})) };
    drop(door.accept(numbered(1)).unwrap());
    door.freeze(true);
    assert_eq!(refusal(door.accept(numbered(2))).kind, RefusalKind::Frozen);
    drop(door.accept(request("look", json!({}))).unwrap());
    door.freeze(false);
    drop(door.accept(numbered(2)).unwrap());
}

#[tokio::test]
async fn one_call_id_runs_once_whether_it_runs_or_has_ended() {
    let door = door();
    let asked = request("look", json!({}));
    let (_, ticket) = door.accept(asked.clone()).unwrap();
    assert_eq!(refusal(door.accept(asked.clone())).kind, RefusalKind::Duplicate);
    assert_eq!(door.recall(asked.call_id, 0).unwrap(), Recall::Running);
    ticket.finish(succeeded());
    assert_eq!(refusal(door.accept(asked.clone())).kind, RefusalKind::Duplicate);
    assert_eq!(door.recall(asked.call_id, 0).unwrap(), Recall::Ended(Box::new(succeeded())));
}

#[test]
fn of_many_deliveries_at_once_one_is_let_through() {
    let door = door();
    let asked = request("look", json!({}));
    let accepted = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| door.accept(asked.clone()).is_ok())).collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|accepted| *accepted).count()
    });
    assert_eq!(accepted, 1);
}

#[tokio::test]
async fn a_call_that_was_asked_about_before_it_came_does_not_start() {
    let door = door();
    let asked = request("look", json!({}));
    assert_eq!(door.recall(asked.call_id, 0).unwrap(), Recall::Absent);
    assert_eq!(refusal(door.accept(asked)).kind, RefusalKind::Tombstone);
}

#[tokio::test]
async fn more_calls_than_the_limit_are_busy_until_one_ends() {
    let limits = Limits { max_running: 2, ..Limits::default() };
    let door = Admission::new(catalogue(), Arc::new(|_| Vec::new()), limits);
    let (_, first) = door.accept(request("look", json!({}))).unwrap();
    let (_, _second) = door.accept(request("look", json!({}))).unwrap();
    let third = request("look", json!({}));
    assert_eq!(refusal(door.accept(third.clone())).kind, RefusalKind::Busy);
    drop(first);
    assert_eq!(door.running(), 1);
    // A busy answer leaves no trace, so the same call may be tried again.
    drop(door.accept(third).unwrap());
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_on_record() {
    let door = door();
    let asked = request("look", json!({}));
    drop(door.accept(asked.clone()).unwrap());
    let Recall::Ended(ended) = door.recall(asked.call_id, 0).unwrap() else { panic!("it is not on record") };
    assert_eq!(ended.state, CallState::Cancelled);
}

#[tokio::test]
async fn no_call_gets_more_time_than_the_host_allows() {
    let limits = Limits { max_timeout: Duration::from_secs(5), ..Limits::default() };
    let door = Admission::new(catalogue(), Arc::new(|_| Vec::new()), limits);
    let (call, _ticket) = door.accept(request("look", json!({}))).unwrap();
    assert!(call.deadline() <= tokio::time::Instant::now() + Duration::from_secs(5));
}

#[tokio::test]
async fn what_no_sandbox_holds_is_not_safe() {
    let catalogue = || {
        let capability = Arc::into_inner(capability("start", Class::Safe)).unwrap().with_subprocess(true);
        Catalogue::new([Arc::new(capability)]).unwrap()
    };
    for (holds_read_only, class) in [(true, Class::Safe), (false, Class::Mutating)] {
        let door = Admission::of(Parts { holds_read_only, catalogue: catalogue(), ..parts() });
        let capability = Arc::clone(door.catalogue().get(Scope::Host, "start").unwrap());
        assert_eq!(door.least_class(&capability), class);
        let (call, _ticket) =
            door.accept(Request::local("start", json!({}), 0, Duration::from_secs(1))).unwrap();
        assert_eq!(call.class(), class);
        let asked = Request { definition_hash: None, ..request("start", json!({})) };
        assert_eq!(door.accept(asked).is_ok(), holds_read_only);
    }
}

/// A door that believes whatever it is told.
fn believing() -> Admission {
    Admission::of(Parts { verifier: Arc::new(Believes), ..parts() })
}

#[tokio::test]
async fn a_change_that_comes_again_is_told_from_another_one_under_its_id() {
    let door = believing();
    let asked = Request { seq: 1, ..request("change", json!({})) };
    let (_, ticket) = door.accept(asked.clone()).unwrap();
    assert!(ticket.is_journaled());
    for other in [
        Request { args: json!({"harm": true}), ..asked.clone() },
        Request { class: Some(Class::Dangerous), ..asked.clone() },
        Request { definition_hash: None, ..asked.clone() },
        Request { skill: "look".to_owned(), ..asked.clone() },
    ] {
        assert_eq!(refusal(door.accept(other)).kind, RefusalKind::Conflict);
    }
    ticket.finish(succeeded());
    // What was decided stays decided, whatever has changed since.
    door.freeze(true);
    assert_eq!(refusal(door.accept(asked.clone())).kind, RefusalKind::Duplicate);
    assert_eq!(door.recall(asked.call_id, 1).unwrap(), Recall::Ended(Box::new(succeeded())));
}

#[tokio::test]
async fn a_change_without_a_number_is_not_let_through() {
    let asked = request("change", json!({}));
    assert!(refusal(believing().accept(asked)).reason.contains("no number"));
}

#[tokio::test]
async fn a_change_that_is_dropped_stays_open_on_record() {
    let door = believing();
    let asked = Request { seq: 1, ..request("change", json!({})) };
    drop(door.accept(asked.clone()).unwrap());
    assert_eq!(door.running(), 0);
    assert_eq!(door.recall(asked.call_id, 1).unwrap(), Recall::Running);
    assert_eq!(refusal(door.accept(asked)).kind, RefusalKind::Duplicate);
}

#[tokio::test]
async fn a_change_that_finds_no_place_may_be_tried_again() {
    let limits = Limits { max_running: 1, ..Limits::default() };
    let door = Admission::of(Parts { verifier: Arc::new(Believes), limits, ..parts() });
    let (_, first) = door.accept(request("look", json!({}))).unwrap();
    let asked = Request { seq: 1, ..request("change", json!({})) };
    assert_eq!(refusal(door.accept(asked.clone())).kind, RefusalKind::Busy);
    drop(first);
    drop(door.accept(asked).unwrap());
}

#[tokio::test]
async fn safe_calls_go_on_while_the_journal_is_unusable() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(model::SystemClock);
    let path = folder.path().join("calls.journal");
    std::fs::write(&path, "nonsense\n").unwrap();
    let journal = Journal::open(JournalOptions::new(path, "boot".to_owned(), clock));
    let door = Admission::of(Parts { verifier: Arc::new(Believes), journal, ..parts() });
    let refusal = refusal(door.accept(Request { seq: 1, ..request("change", json!({})) }));
    assert_eq!(refusal.kind, RefusalKind::Journal);
    assert!(refusal.reason.contains("line 1, at byte 0"), "{refusal}");
    assert_eq!(door.running(), 0);
    drop(door.accept(request("look", json!({}))).unwrap());
}

#[tokio::test]
async fn a_full_journal_forgets_nothing_to_make_room_and_safe_calls_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(model::SystemClock);
    let path = folder.path().join("calls.journal");
    let options = JournalOptions { max_calls: 2, ..JournalOptions::new(path, "boot".to_owned(), clock) };
    let journal = Journal::open(options);
    let door = Admission::of(Parts { verifier: Arc::new(Believes), journal, ..parts() });
    let change = |seq| Request { seq, ..request("change", json!({})) };
    let kept = [change(1), change(2)];
    for asked in &kept {
        door.accept(asked.clone()).unwrap().1.finish(succeeded());
    }

    let third = change(3);
    let refused = refusal(door.accept(third.clone()));
    assert_eq!(refused.kind, RefusalKind::Journal);
    assert!(refused.reason.contains("takes no new change until the manager has"), "{refused}");
    drop(door.accept(request("look", json!({}))).unwrap());
    for asked in &kept {
        assert_eq!(door.recall(asked.call_id, asked.seq).unwrap(), Recall::Ended(Box::new(succeeded())));
        assert_eq!(refusal(door.accept(asked.clone())).kind, RefusalKind::Duplicate);
    }

    door.acknowledge(1).unwrap();
    // What was refused for want of room was not decided.
    door.accept(third).unwrap().1.finish(succeeded());
}

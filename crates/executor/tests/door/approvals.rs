//! Calls that wait for a person: asked, decided, expired, withdrawn, started once; across restarts too.

use super::support::{
    Door, PEOPLE, Script, Setup, in_manager, model_for, nobody_decides, ok, on_host, open, open_in, person,
};
use executor::CallOutcome;
use gate::approvals::{Revealed, WishedArguments};
use gate::{
    Admission, ApprovalRules, CallLimits, CallRequest, Decider, HostState, RawToolPolicy, Ruled, Ruling,
    Start,
};
use model::{
    ApprovalDecision, ApprovalId, ApprovalState, CallId, CallState, Class, Role, Roles, Scope, UserId,
};
use serde_json::json;
use skill::{Capability, Catalogue, Definition};
use std::sync::Arc;
use std::time::Duration;
use storage::approvals::Approval;
use storage::calls::CallToken;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub fn decider(id: i64) -> Decider {
    let (_, name, role) = *PEOPLE.iter().find(|(known, ..)| *known == id).unwrap();
    Decider { user: UserId(id), name: name.to_lowercase(), roles: Roles::new([role]), by_token: false }
}

pub fn allow() -> Ruling {
    Ruling { decision: ApprovalDecision::AllowOnce, note: None, grant: None }
}

pub fn restart() -> CallRequest {
    on_host(1, "restart_service", json!({"service": "nginx", "reason": "it hangs"}))
}

impl Door {
    /// Asks for a call, and waits until people are asked.
    pub async fn ask(&self, request: CallRequest) -> (JoinHandle<CallOutcome>, Approval) {
        self.ask_until(request, CancellationToken::new()).await
    }

    async fn ask_until(
        &self,
        request: CallRequest,
        stop: CancellationToken,
    ) -> (JoinHandle<CallOutcome>, Approval) {
        let mut changes = self.storage.approval_changes();
        let (executor, call) = (self.executor.clone(), request.call_id);
        let outcome = tokio::spawn(async move { executor.request(request, stop).await.unwrap() });
        loop {
            // The parent of a child has its own call.
            let change = changes.recv().await.unwrap();
            if change.state == ApprovalState::Pending {
                let approval = self.approval(change.call_id).await;
                if change.call_id == call || approval.call.parent == Some(call) {
                    return (outcome, approval);
                }
            }
        }
    }

    /// Asks for a call as a manager would that dies right after.
    pub async fn only_asked(&self, request: CallRequest) -> Approval {
        let Admission::Waiting(waiting) = self.gate.admit(request).await.unwrap() else {
            panic!("nobody was asked")
        };
        self.approval(waiting.call_id).await
    }

    pub async fn approval(&self, call: CallId) -> Approval {
        self.storage.approvals().of_call(call).await.unwrap().unwrap()
    }

    pub async fn decide(&self, by: i64, id: ApprovalId, ruling: Ruling) -> Ruled {
        self.gate.decide_approval(&decider(by), id, ruling).await.unwrap()
    }

    pub async fn verify(&self) {
        let found = self.storage.audit().verify().await.unwrap();
        assert!(found.ok, "{:?}", found.problem);
    }

    /// Waits until a call is final.
    pub async fn ended(&self, call: CallId) -> storage::calls::CallRow {
        let mut changes = self.storage.call_changes();
        loop {
            let row = self.row(call).await;
            if row.state.is_final() {
                return row;
            }
            changes.recv().await.unwrap();
        }
    }

    /// Kills the manager and starts another one on its database.
    pub async fn crash(self, setup: Setup) -> Self {
        self.storage.close().await;
        let Self { folder, executor, gate, .. } = self;
        drop((executor, gate));
        let door = open_in(folder, setup).await;
        door.gate.recover().await.unwrap();
        door
    }
}

#[tokio::test]
async fn an_approved_call_runs_once_and_row_and_audit_tell_who_allowed_it() {
    let door = open(Setup::default()).await;
    let (outcome, approval) = door.ask(restart()).await;

    let row = door.row(approval.call.id).await;
    assert_eq!(
        (row.state, row.seq, row.started_at, row.deadline_at),
        (CallState::AwaitingApproval, None, None, None)
    );
    assert!(door.seen().is_empty());
    assert_eq!((approval.tool_label.as_str(), approval.person_name.as_str()), ("Restart a service", "Ada"));
    assert!(approval.why.contains("changes something") && !approval.has_hidden, "{approval:?}");
    assert_eq!((approval.decide_by - approval.asked_at).num_seconds(), 120);

    let Ruled::Done(decided) = door.decide(8, approval.id, allow()).await else {
        panic!("it does not count")
    };
    assert_eq!((decided.state, decided.decided_by_name.as_deref()), (ApprovalState::Approved, Some("Bea")));
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Succeeded, "{outcome:?}");
    assert_eq!(door.seen().len(), 1);
    assert_eq!(door.seen()[0].state, Some(CallState::Running));
    let row = door.row(approval.call.id).await;
    assert_eq!((row.seq, row.approval), (Some(1), Some(approval.id.0)));
    assert_eq!(
        door.audit_kinds(row.id).await,
        ["call.awaiting_approval", "approval.decided", "call.admitted", "call.finished"]
    );
    assert!(matches!(door.gate.admit_approved(row.id).await.unwrap(), Start::Rejected(_)), "it starts once");
    assert_eq!(door.seen().len(), 1);
    door.verify().await;
}

#[tokio::test]
async fn a_denial_tells_who_and_why_without_secrets_and_nothing_runs() {
    let door = open(Setup::default()).await;
    let (outcome, approval) = door.ask(restart()).await;
    let note = "use web-2, and not password=hunter2correct".to_owned();
    let ruling = Ruling { decision: ApprovalDecision::Deny, note: Some(note), grant: None };
    assert!(matches!(door.decide(8, approval.id, ruling).await, Ruled::Done(_)));
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Denied);
    let error = outcome.error.unwrap();
    assert!(error.starts_with("Denied by Bea: use web-2, and not") && !error.contains("hunter2"), "{error}");
    assert!(door.seen().is_empty());
    assert_eq!(door.storage.calls().exact_args(approval.call.id).await.unwrap(), None, "they are forgotten");
    door.verify().await;
}

#[tokio::test]
async fn what_nobody_decides_expires_and_can_not_be_decided_any_more() {
    let door = open(Setup { approvals: nobody_decides(), ..Setup::default() }).await;
    let (outcome, approval) = door.ask(restart()).await;
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Expired, "{outcome:?}");
    assert!(outcome.error.unwrap().contains("Nobody decided"));
    let late = door.decide(8, approval.id, allow()).await;
    assert!(matches!(late, Ruled::Before(ref now) if now.state == ApprovalState::Expired), "{late:?}");
    assert_eq!(
        door.audit_kinds(approval.call.id).await,
        ["call.awaiting_approval", "approval.expired", "call.finished"]
    );
    assert!(door.seen().is_empty());
    door.verify().await;
}

#[tokio::test]
async fn a_stop_withdraws_the_question() {
    let door = open(Setup::default()).await;
    for by_id in [false, true] {
        let stop = CancellationToken::new();
        let (outcome, approval) = door.ask_until(restart(), stop.clone()).await;
        if by_id {
            assert!(door.executor.cancel(approval.call.id));
        } else {
            stop.cancel();
        }
        assert_eq!(outcome.await.unwrap().state, CallState::Cancelled);
        let now = door.approval(approval.call.id).await;
        assert_eq!((now.state, now.call.state), (ApprovalState::Withdrawn, CallState::Cancelled));
        assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Before(_)));
    }
    assert!(door.seen().is_empty());
    door.verify().await;
}

#[tokio::test]
async fn a_decision_counts_although_whoever_asked_has_gone() {
    let door = open(Setup {
        policy: RawToolPolicy {
            tools: [("host_load".to_owned(), "supervised".to_owned())].into(),
            ..RawToolPolicy::default()
        },
        ..Setup::default()
    })
    .await;
    for request in [restart(), on_host(1, "host_load", json!({}))] {
        let (outcome, approval) = door.ask(request).await;
        outcome.abort();
        assert!(outcome.await.unwrap_err().is_cancelled());
        assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
        assert_eq!(door.ended(approval.call.id).await.state, CallState::Succeeded);
    }
    assert_eq!(door.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_who_decide_at_once_one_wins_and_all_others_are_told_who() {
    let door = Arc::new(open(Setup::default()).await);
    let (outcome, approval) = door.ask(restart()).await;
    let deciders: Vec<_> = (0..100)
        .map(|number| {
            let (door, id) = (Arc::clone(&door), approval.id);
            let decision = if number % 2 == 0 { ApprovalDecision::AllowOnce } else { ApprovalDecision::Deny };
            // The approver and the operator whose call it is.
            let by = if number % 3 == 0 { 7 } else { 8 };
            tokio::spawn(
                async move { door.decide(by, id, Ruling { decision, note: None, grant: None }).await },
            )
        })
        .collect();
    let (mut winners, mut others) = (Vec::new(), Vec::new());
    for decider in deciders {
        match decider.await.unwrap() {
            Ruled::Done(approval) => winners.push(approval),
            Ruled::Before(approval) => others.push(approval),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((winners.len(), others.len()), (1, 99));
    let winner = (winners[0].decision, winners[0].decided_by);
    assert!(others.iter().all(|told| (told.decision, told.decided_by) == winner));
    let allowed = winners[0].state == ApprovalState::Approved;
    assert_eq!(outcome.await.unwrap().state == CallState::Succeeded, allowed);
    assert_eq!(door.seen().len(), usize::from(allowed));
    door.verify().await;
}

/// Who may decide: by role, on whose call, by whom it was asked for, and through what the decision comes.
#[tokio::test]
async fn who_may_decide_is_a_table() {
    let token = || Some(CallToken { id: 3, name: "ci".to_owned() });
    let of_model = || CallRequest { caller: model_for(Role::Operator), ..restart() };
    let through_token =
        || CallRequest { caller: gate::Principal { token: token(), ..person(Role::Operator) }, ..restart() };
    for self_approval in [true, false] {
        let approvals = ApprovalRules { self_approval, ..ApprovalRules::default() };
        let door = open(Setup { approvals, ..Setup::default() }).await;
        for (request, by_token) in
            [restart(), of_model(), through_token()].into_iter().flat_map(|r| [(r.clone(), false), (r, true)])
        {
            let asked_by_token = request.caller.token.is_some();
            for (by, expected) in [
                (5, "nothing"),
                (6, "nothing"),
                (7, if self_approval && !asked_by_token { "decides" } else { "sees" }),
                (8, "decides"),
                (9, "sees"),
            ] {
                let expected = if by_token && expected == "decides" { "sees" } else { expected };
                let approval =
                    door.only_asked(CallRequest { call_id: CallId::generate(), ..request.clone() }).await;
                let who = Decider { by_token, ..decider(by) };
                let came = match door.gate.decide_approval(&who, approval.id, allow()).await.unwrap() {
                    Ruled::Done(_) => "decides",
                    Ruled::Forbidden(_) => "sees",
                    Ruled::NotFound => "nothing",
                    other => panic!("{other:?}"),
                };
                let context = format!("self {self_approval}, by {by}, token {by_token}/{asked_by_token}");
                assert_eq!(came, expected, "{context}");
                let revealed = door.gate.reveal_approval(&who, approval.id).await.unwrap();
                assert_eq!(matches!(revealed, Revealed::Args(_)), expected == "decides", "{context}");
                let counted = door.gate.count_decidable(&who).await.unwrap();
                assert_eq!(counted > 0, came != "decides" && expected == "decides", "{context}");
                if came != "decides" {
                    let reason = "the test is done with it".to_owned();
                    door.storage
                        .approvals()
                        .withdraw(approval.call.id, storage::Actor::System, reason)
                        .await
                        .unwrap();
                }
            }
        }
        // Nobody guesses one, whatever the role.
        for by in [5, 6, 7, 8, 9] {
            assert_eq!(door.decide(by, ApprovalId::generate(), allow()).await, Ruled::NotFound);
        }
    }
}

#[tokio::test]
async fn a_viewer_never_approves_their_own_supervised_call() {
    let policy = RawToolPolicy {
        tools: [("host_load".to_owned(), "supervised".to_owned())].into(),
        ..RawToolPolicy::default()
    };
    let door = open(Setup { policy, ..Setup::default() }).await;
    let caller = gate::Principal::person_at_browser(UserId(5), Roles::new([Role::Viewer]));
    let (outcome, approval) = door.ask(CallRequest { caller, ..on_host(1, "host_load", json!({})) }).await;
    assert!(matches!(door.decide(5, approval.id, allow()).await, Ruled::Forbidden(_)));
    assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
    let outcome = outcome.await.unwrap();
    assert_eq!((outcome.state, door.row(approval.call.id).await.seq), (CallState::Succeeded, None));
}

#[tokio::test]
async fn a_pending_question_survives_a_restart_and_its_call_runs_once_after_the_decision() {
    let door = open(Setup::default()).await;
    let (_, approval) = door.ask(restart()).await;
    let door = door.crash(Setup::default()).await;
    assert_eq!(door.executor.recover().await.unwrap(), 1);
    assert_eq!(door.approval(approval.call.id).await, approval, "the card is the same");
    assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
    assert_eq!(door.ended(approval.call.id).await.state, CallState::Succeeded);
    assert_eq!(door.seen().len(), 1);
    assert_eq!(
        door.seen()[0].args,
        json!({"service": "nginx", "reason": "it hangs"}),
        "exactly what was approved"
    );
    door.verify().await;
}

#[tokio::test]
async fn a_call_that_was_approved_before_a_restart_runs_once_after_it_and_one_that_ran_does_not() {
    let door = open(Setup::default()).await;
    let approval = door.only_asked(restart()).await;
    assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
    let left = door.only_asked(restart()).await;
    door.decide(8, left.id, allow()).await;
    let Start::Admitted(_left) = door.gate.admit_approved(left.call.id).await.unwrap() else { panic!() };

    let door = door.crash(Setup::default()).await;
    assert_eq!(door.executor.recover().await.unwrap(), 1);
    assert_eq!(door.ended(approval.call.id).await.state, CallState::Succeeded);
    assert_eq!(door.row(left.call.id).await.state, CallState::Unknown, "it may have run");
    assert_eq!(door.seen().len(), 1);
    let door = door.crash(Setup::default()).await;
    assert_eq!(door.executor.recover().await.unwrap(), 0);
    assert!(door.seen().is_empty());
    door.verify().await;
}

#[tokio::test]
async fn what_expired_while_the_manager_was_away_expires_at_its_start() {
    let door = open(Setup { approvals: nobody_decides(), ..Setup::default() }).await;
    let pending = door.only_asked(restart()).await;
    let door = door.crash(Setup::default()).await;
    door.executor.recover().await.unwrap();
    assert_eq!(door.ended(pending.call.id).await.state, CallState::Expired);

    let approvals = ApprovalRules { valid_for: Duration::from_millis(1), ..ApprovalRules::default() };
    let door = open(Setup { approvals, ..Setup::default() }).await;
    let approved = door.only_asked(restart()).await;
    door.decide(8, approved.id, allow()).await;
    let door = door.crash(Setup::default()).await;
    door.executor.recover().await.unwrap();
    let row = door.ended(approved.call.id).await;
    assert_eq!(row.state, CallState::Expired);
    assert!(row.error.unwrap().contains("had not started when that ran out"));
    assert!(door.seen().is_empty());
}

/// The same catalogue with another description of a skill, and with that another hash.
fn changed(catalogue: &Catalogue, key: &str) -> Catalogue {
    let entries = catalogue.iter().map(|entry| {
        if entry.definition().key != key {
            return Arc::clone(entry);
        }
        let definition = Definition {
            description: "It does something else now.".to_owned(),
            ..entry.definition().clone()
        };
        Arc::new(Capability::new(definition, |_| Class::Mutating, entry.source().clone()).unwrap())
    });
    Catalogue::new(entries.collect::<Vec<_>>()).unwrap()
}

/// Each thing that may change between the decision and the start keeps the call from starting, with its reason.
#[tokio::test]
async fn an_approved_call_is_looked_at_again_before_it_starts() {
    let deny = RawToolPolicy {
        tools: [("restart_service".to_owned(), "deny".to_owned())].into(),
        ..RawToolPolicy::default()
    };
    for (what, words) in [
        ("definition", "its definition has changed"),
        ("class", "It is dangerous now, and was approved as mutating"),
        ("revoked", "was revoked"),
        ("role", "needs the role operator"),
        ("disabled", "account of the person behind it is disabled"),
        ("gone", "has no account any more"),
        ("policy", "The configuration denies `restart_service`"),
        ("binding", "What would run is not what was approved"),
        ("lacks", "lacks systemd"),
    ] {
        let mut door = open(Setup::default()).await;
        let approval = door.only_asked(restart()).await;
        assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
        match what {
            "definition" => {
                door.catalogue.store(Arc::new(changed(&door.catalogue.load(), "restart_service")))
            }
            "class" => door.change_host(1, |host| {
                host.skills.as_mut().unwrap().get_mut("restart_service").unwrap().class = Class::Dangerous;
            }),
            "revoked" => door.change_host(1, |host| host.state = HostState::Revoked),
            "lacks" => door.change_host(1, |host| {
                host.skills.as_mut().unwrap().get_mut("restart_service").unwrap().unmet =
                    vec!["systemd".to_owned()];
            }),
            "role" => door.sql("UPDATE users SET roles = '[\"viewer\"]' WHERE id = 7").await,
            "disabled" => door.sql("UPDATE users SET disabled = 1 WHERE id = 7").await,
            "gone" => door.sql("UPDATE users SET deleted_at = 1 WHERE id = 7").await,
            "binding" => door.sql("UPDATE approvals SET binding = 'other'").await,
            _ => door = door.crash(Setup { policy: deny.clone(), ..Setup::default() }).await,
        }
        let Start::Rejected(rejection) = door.gate.admit_approved(approval.call.id).await.unwrap() else {
            panic!("{what}: it started")
        };
        assert_eq!(rejection.state, CallState::Refused, "{what}: {rejection:?}");
        assert!(rejection.reason.contains(words), "{what}: {rejection:?}");
        assert!(door.seen().is_empty());
        door.verify().await;
    }
}

#[tokio::test]
async fn an_approved_call_waits_for_a_host_that_lost_its_connection() {
    let door = open(Setup::default()).await;
    let (outcome, approval) = door.ask(restart()).await;
    door.change_host(1, |host| host.state = HostState::Offline);
    assert!(matches!(door.decide(8, approval.id, allow()).await, Ruled::Done(_)));
    assert!(matches!(door.gate.admit_approved(approval.call.id).await.unwrap(), Start::HostAway(_)));
    assert!(door.seen().is_empty());
    door.change_host(1, |host| host.state = HostState::Online);
    assert_eq!(outcome.await.unwrap().state, CallState::Succeeded);
    assert_eq!(door.seen().len(), 1);
}

#[tokio::test]
async fn waiting_uses_up_no_time_of_the_call_nor_of_the_tool_that_made_it() {
    let approvals = ApprovalRules { decide_by: Duration::from_millis(1_500), ..ApprovalRules::default() };
    let door = open(Setup { approvals, ..Setup::default() }).await;
    door.change_host(1, |host| {
        host.skills.as_mut().unwrap().get_mut("host_load").unwrap().class = Class::Mutating;
    });
    // The tool itself may take less time than people may take to decide on its child.
    let request = CallRequest {
        timeout: Some(Duration::from_millis(1_000)),
        ..in_manager("host_load", json!({"edge_ids": [1]}))
    };
    let (outcome, child) = door.ask(request).await;
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Failed, "it did not run out of time: {outcome:?}");
    assert!(outcome.error.as_ref().unwrap().contains("Nobody decided"), "{outcome:?}");
    assert_eq!((child.call.scope, child.call.edge.map(|edge| edge.0)), (Scope::Host, Some(1)));
    assert!(child.timeout <= Duration::from_millis(1_000));

    let (outcome, approval) =
        open_and_ask(CallRequest { timeout: Some(Duration::from_secs(40)), ..restart() }).await;
    let row = outcome.ended(approval.call.id).await;
    assert_eq!((row.deadline_at.unwrap() - row.started_at.unwrap()).num_seconds(), 40);
}

async fn open_and_ask(request: CallRequest) -> (Door, Approval) {
    let door = open(Setup::default()).await;
    let (_, approval) = door.ask(request).await;
    door.decide(8, approval.id, allow()).await;
    (door, approval)
}

#[tokio::test]
async fn a_child_waits_with_a_card_of_its_own_and_ends_with_its_parent() {
    let door = open(Setup::default()).await;
    door.change_host(1, |host| {
        host.skills.as_mut().unwrap().get_mut("host_load").unwrap().class = Class::Mutating;
    });
    door.script([Script::Answer(ok("{\"load1\": 1.0}"))]);
    let (outcome, child) = door.ask(in_manager("host_load", json!({"edge_ids": [1]}))).await;
    assert!(matches!(door.decide(8, child.id, allow()).await, Ruled::Done(_)));
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.result.as_ref().unwrap()["hosts"][0]["state"], "succeeded", "{outcome:?}");
    assert_eq!(outcome.children, [child.call.id]);

    // One whose parent died with the manager is of no use to anybody.
    let (_, child) = door.ask(in_manager("host_load", json!({"edge_ids": [1]}))).await;
    let door = door.crash(Setup::default()).await;
    assert_eq!(door.executor.recover().await.unwrap(), 0);
    let now = door.approval(child.call.id).await;
    assert_eq!((now.state, now.call.state), (ApprovalState::Withdrawn, CallState::Cancelled));
    door.verify().await;
}

#[tokio::test]
async fn hidden_parts_are_revealed_only_to_who_decides_and_that_is_on_record() {
    let door = open(Setup::default()).await;
    let command = "echo password=hunter2correct > /tmp/x";
    let (_, approval) = door.ask(on_host(1, "bash", json!({"command": command}))).await;
    let shown = approval.call.args.to_string();
    assert!(approval.has_hidden && !shown.contains("hunter2"), "{shown}");
    assert!(!approval.reasons.is_empty());
    assert!(approval.reasons.iter().all(|reason| reason.start.is_none()), "{:?}", approval.reasons);
    let exact = door.gate.reveal_approval(&decider(8), approval.id).await.unwrap();
    assert_eq!(exact, Revealed::Args(json!({"command": command})));
    let kinds = door.audit_kinds(approval.call.id).await;
    assert_eq!(kinds, ["call.awaiting_approval", "approval.revealed"]);

    // Where nothing is hidden, reasons point at their part, as browsers count.
    let command = "echo 'ü한😀'; touch /tmp/y";
    let (_, approval) = door.ask(on_host(1, "bash", json!({"command": command}))).await;
    let units: Vec<u16> = command.encode_utf16().collect();
    let parts: Vec<String> = approval
        .reasons
        .iter()
        .map(|reason| {
            let (start, end) = (reason.start.unwrap() as usize, reason.end.unwrap() as usize);
            String::from_utf16(&units[start..end]).unwrap()
        })
        .collect();
    assert!(parts.iter().any(|part| part.contains("touch")), "{parts:?} {:?}", approval.reasons);
    assert!(!approval.has_hidden);
}

#[tokio::test]
async fn one_person_can_not_fill_the_inbox() {
    let limits = CallLimits { per_person_at_once: 2, ..CallLimits::default() };
    let door = open(Setup { limits, ..Setup::default() }).await;
    for _ in 0..2 {
        door.only_asked(restart()).await;
    }
    let Admission::Rejected(rejection) = door.gate.admit(restart()).await.unwrap() else {
        panic!("it waits")
    };
    assert!(rejection.reason.contains("At most 2 calls of one person may wait"), "{rejection:?}");
}

#[tokio::test]
async fn a_decision_that_makes_no_sense_is_told_and_changes_nothing() {
    let door = open(Setup::default()).await;
    let (_, approval) = door.ask(restart()).await;
    let grant = |arguments| Some(gate::approvals::GrantWish { arguments, ..Default::default() });
    for (ruling, words) in [
        (Ruling { note: Some("x".repeat(2_001)), ..allow() }, "at most 2000"),
        (Ruling { grant: grant(WishedArguments::Any), ..allow() }, "Only `allow_always`"),
        (Ruling { decision: ApprovalDecision::AllowChat, ..allow() }, "belongs to no chat"),
    ] {
        let ruled = door.decide(8, approval.id, ruling).await;
        assert!(matches!(&ruled, Ruled::Invalid(reason) if reason.contains(words)), "{ruled:?}");
    }
    assert_eq!(door.approval(approval.call.id).await.state, ApprovalState::Pending);
}

//! Dangerous calls and others for which people have to sign: asked, signed, started once; and everything that stands in
//! the way. The keys are made here, and what goes to a host is held against its own pins as its edge does.

use super::approvals::{allow, decider};
use super::support::{Door, Setup, nobody_decides, on_host, open, person};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use executor::CallOutcome;
use gate::signatures::{BroughtSignature, Countersigned, Opened, StatementToSign};
use gate::{
    ApprovalProof, CallRequest, Decider, HostState, NamedStep, Ruled, Ruling, SigningFacts, SigningPins,
    SopState, Start,
};
use model::{ApprovalDecision, ApprovalId, ApprovalState, CallState, Class, EdgeId, Role, Roles, UserId};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _, RSA_PSS_SHA256, RsaKeyPair};
use serde_json::{Value, json};
use signing::{CallFacts, Evidence, Pins, RootKey, Signature, SopKey, Statement};
use std::collections::BTreeMap;
use std::time::Duration;
use storage::Actor;
use storage::approvals::Approval;

const SOP_KEY: &str = include_str!("../../../signing/fixtures/sop.pub.pem");

fn key() -> Ed25519KeyPair {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()
}

fn spki(key: &Ed25519KeyPair) -> Vec<u8> {
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    [prefix.as_slice(), key.public_key().as_ref()].concat()
}

/// The keys of an installation: whoever signs procedures, the root, and approvers with a key file each.
struct Keys {
    root: Ed25519KeyPair,
    people: BTreeMap<&'static str, Ed25519KeyPair>,
}

impl Keys {
    fn new() -> Self {
        Self { root: key(), people: ["ada", "bea", "cho", "dan"].map(|name| (name, key())).into() }
    }

    fn pins(&self) -> SigningPins {
        SigningPins {
            sop_keys: vec![SopKey::from_pem(SOP_KEY).unwrap()],
            approver_root: Some(self.root()),
            relying_party: None,
        }
    }

    fn root(&self) -> RootKey {
        RootKey::from_base64(&STANDARD.encode(self.root.public_key().as_ref())).unwrap()
    }

    fn list(&self, version: u64) -> (Vec<u8>, Vec<u8>) {
        let mut text = format!("version = {version}\nexpires = 2100-01-01T00:00:00Z\n");
        for (name, key) in &self.people {
            text += &format!(
                "[[people]]\nperson = \"{name}\"\n[[people.keys]]\nkind = \"ed25519\"\npublic = \"{}\"\n",
                STANDARD.encode(spki(key))
            );
        }
        let signature = self.root.sign(text.as_bytes()).as_ref().to_vec();
        (text.into_bytes(), signature)
    }

    fn sign(&self, name: &str, statement: &str) -> Signature {
        let key = &self.people[name];
        Signature {
            person: name.to_owned(),
            key: model::canonical::sha256_hex(&spki(key)).chars().take(16).collect(),
            signature: key.sign(statement.as_bytes()).as_ref().to_vec(),
            client_data: Vec::new(),
            authenticator_data: Vec::new(),
        }
    }
}

fn sop_text(version: u64, maximum_runs: u32, days_left: i64) -> String {
    let now = model::Clock::now(&model::SystemClock);
    let (from, until) = (moved(now, -30), moved(now, days_left));
    format!(
        "id = \"clean-up\"\nversion = {version}\ntitle = \"Clean up\"\nvalid_from = {}\nvalid_until = {}\n\
         [[steps]]\nname = \"remove\"\nskill = \"remove_path\"\nlabels = {{ role = \"web\" }}\n\
         maximum_runs = {maximum_runs}\n[steps.parameters]\ntype = \"object\"\nadditionalProperties = false\n\
         required = [\"path\"]\n[steps.parameters.properties]\npath = {{ type = \"string\", pattern = \"^/srv/old\" }}\n",
        from.format("%Y-%m-%dT%H:%M:%SZ"),
        until.format("%Y-%m-%dT%H:%M:%SZ")
    )
}

/// So many days later, or earlier.
fn moved(now: model::Timestamp, days: i64) -> model::Timestamp {
    let span = Duration::from_secs(days.unsigned_abs() * 86_400);
    if days < 0 { now - span } else { now + span }
}

fn signed_sop(text: &str) -> (Vec<u8>, Vec<u8>) {
    let key = RsaKeyPair::from_pkcs8(include_bytes!("../../../signing/fixtures/sop.pkcs8.der")).unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PSS_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    (text.as_bytes().to_vec(), signature)
}

/// Calls that a procedure covers, on host 1, which asks for signatures.
fn remove() -> CallRequest {
    CallRequest {
        sop: Some(NamedStep { id: "clean-up".to_owned(), step: "remove".to_owned() }),
        ..on_host(1, "remove_path", json!({"path": "/srv/old-site"}))
    }
}

struct World {
    door: Door,
    keys: Keys,
}

fn setup(keys: &Keys) -> Setup {
    Setup { signing: keys.pins(), ..Setup::default() }
}

impl World {
    async fn open() -> Self {
        let keys = Keys::new();
        let door = open(setup(&keys)).await;
        Self::furnish(door, keys, 5).await
    }

    async fn furnish(door: Door, keys: Keys, maximum_runs: u32) -> Self {
        for (id, name) in [(10, "cho"), (11, "dan")] {
            door.sql(format!(
                "INSERT OR IGNORE INTO users (id, name, display_name, kind, roles, created_at, password_changed_at) \
                 VALUES ({id}, '{name}', '{name}', 'person', '[\"approver\"]', 0, 0)"
            ))
            .await;
        }
        let world = Self { door, keys };
        world.host_asks(ApprovalProof::Manager);
        let (document, signature) = world.keys.list(7);
        let book = world.door.gate.signing();
        let list = book.check_approvers(&document, &signature).unwrap();
        let by = (UserId(1), Actor::User(UserId(1)));
        book.import_approvers(&list, document, signature, by.0, by.1).await.unwrap();
        world.import(&sop_text(3, maximum_runs, 30)).await.unwrap();
        world
    }

    async fn import(&self, text: &str) -> Result<(), String> {
        let (document, signature) = signed_sop(text);
        let book = self.door.gate.signing();
        let checked = book.check_sop(document, signature).map_err(|error| error.to_string())?;
        let imported = book.import_sop(checked, UserId(1), Actor::User(UserId(1))).await;
        imported.map_err(|error| error.to_string())
    }

    fn host_asks(&self, approval_proof: ApprovalProof) {
        let facts = self.facts(approval_proof);
        self.door.change_host(1, |host| host.signing = Some(facts));
    }

    fn facts(&self, approval_proof: ApprovalProof) -> SigningFacts {
        SigningFacts {
            approval_proof,
            dangerous: true,
            sop_keys: vec![SopKey::from_pem(SOP_KEY).unwrap().fingerprint().to_owned()],
            approver_root: Some(self.keys.root().fingerprint()),
            list_version: 0,
            origin: None,
            rp_id: None,
            min_independent_signatures: 0,
            labels: BTreeMap::from([("role".to_owned(), "web".to_owned())]),
        }
    }

    async fn statement(&self, by: &Decider, id: ApprovalId) -> Opened {
        self.door.executor.open_statement(by, id, Actor::User(by.user)).await.unwrap()
    }

    async fn open_statement(&self, by: &str, id: ApprovalId) -> StatementToSign {
        match self.statement(&signer(by), id).await {
            Opened::Statement(statement) => statement,
            other => panic!("{by} can't see what is to be signed: {other:?}"),
        }
    }

    async fn bring(
        &self,
        who: &Decider,
        id: ApprovalId,
        statement: &str,
        signature: Signature,
        host_name: Option<&str>,
    ) -> Countersigned {
        let brought = BroughtSignature {
            statement: statement.to_owned(),
            signature,
            host_name: host_name.map(str::to_owned),
            actor: Actor::User(who.user),
        };
        self.door.gate.sign_approval(who, id, brought).await.unwrap()
    }

    /// Signs as a person does who has looked at it.
    async fn sign(&self, name: &str, id: ApprovalId, host_name: Option<&str>) -> Countersigned {
        let text = self.open_statement(name, id).await.text;
        self.bring(&signer(name), id, &text, self.keys.sign(name, &text), host_name).await
    }

    /// Two people sign, and the second names the host.
    async fn sign_twice(&self, id: ApprovalId) {
        assert_eq!(state_of(&self.sign("bea", id, None).await), ApprovalState::Pending);
        assert_eq!(state_of(&self.sign("cho", id, Some("web-1")).await), ApprovalState::Approved);
    }

    async fn refusal(&self, request: CallRequest) -> String {
        let outcome = self.door.run(request).await;
        assert_eq!(outcome.state, CallState::Refused, "{outcome:?}");
        outcome.error.unwrap()
    }

    /// Holds what came to the host against its own pins, as its edge does.
    fn edge_checks(&self, approval: &Approval, args: &Value, class: Class) {
        let seen = self.door.seen();
        let evidence = seen.last().unwrap().evidence.as_ref().expect("nothing that was signed came with it");
        let labels = BTreeMap::from([("role".to_owned(), "web".to_owned())]);
        let facts = CallFacts {
            call_id: approval.call.id,
            edge_id: EdgeId(1),
            tool: &approval.call.tool,
            definition_hash: &approval.call.definition_hash,
            args,
            class,
            labels: &labels,
        };
        let pins = Pins {
            sop_keys: vec![SopKey::from_pem(SOP_KEY).unwrap()],
            approver_root: Some(self.keys.root()),
            relying_party: None,
            min_independent_signatures: 1,
        };
        let proof =
            signing::check(&Evidence::read(evidence).unwrap(), &facts, &pins, self.door.storage.now());
        assert_eq!(proof.unwrap().list_version, 7);
    }
}

fn signer(name: &str) -> Decider {
    let id = match name {
        "ada" => 7,
        "bea" => 8,
        "cho" => 10,
        _ => 11,
    };
    Decider { user: UserId(id), name: name.to_owned(), roles: Roles::new([Role::Approver]), by_token: false }
}

fn state_of(answer: &Countersigned) -> ApprovalState {
    match answer {
        Countersigned::Counted(approval) => approval.state,
        other => panic!("it does not count: {other:?}"),
    }
}

fn told(answer: Countersigned) -> String {
    match answer {
        Countersigned::Forbidden(reason)
        | Countersigned::Conflict(reason)
        | Countersigned::Invalid(reason) => reason,
        other => panic!("it should not count: {other:?}"),
    }
}

#[tokio::test]
async fn a_dangerous_call_runs_once_when_two_people_have_signed_it_and_the_host_was_named() {
    let world = World::open().await;
    let door = &world.door;
    let (outcome, approval) = door.ask(remove()).await;
    let id = approval.id;
    let signing = approval.signing.clone().unwrap();
    assert_eq!((signing.needed, signing.statement), (2, None));
    assert_eq!((approval.decide_by - approval.asked_at).num_seconds(), 1_800);
    assert!(approval.why.contains("`clean-up` version 3, step `remove`"), "{}", approval.why);

    let shown = world.open_statement("bea", id).await;
    assert_eq!(shown.args, json!({"path": "/srv/old-site"}));
    assert_eq!(shown.digest, model::canonical::sha256_hex(shown.text.as_bytes()));
    let statement = Statement::read(&shown.text).unwrap();
    assert_eq!((statement.requester.as_str(), statement.tool.as_str()), ("ada", "remove_path"));
    // Everybody signs the same text.
    assert_eq!(world.open_statement("cho", id).await.text, shown.text);

    assert_eq!(state_of(&world.sign("bea", id, None).await), ApprovalState::Pending);
    let again = world
        .bring(&signer("bea"), id, &shown.text, world.keys.sign("bea", &shown.text), Some("web-1"))
        .await;
    assert!(told(again).contains("You have signed it"));
    assert!(told(world.sign("cho", id, None).await).contains("host's name has to be typed"));
    assert!(told(world.sign("cho", id, Some("web-2")).await).contains("doesn't match"));
    assert!(door.seen().is_empty(), "nothing runs before the last signature");
    assert_eq!(state_of(&world.sign("cho", id, Some(" web-1 ")).await), ApprovalState::Approved);

    let outcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Succeeded, "{outcome:?}");
    assert_eq!(door.seen().len(), 1);
    world.edge_checks(&approval, &shown.args, Class::Dangerous);
    let row = door.row(approval.call.id).await;
    assert_eq!((row.sop.as_deref(), row.seq.is_some()), (Some("clean-up@3/remove"), true));
    let kinds = door.audit_kinds(approval.call.id).await;
    let of = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
    assert_eq!(
        (of("approval.statement"), of("approval.signed"), of("approval.decided")),
        (1, 2, 1),
        "{kinds:?}"
    );
    assert_eq!(door.approval(row.id).await.signing.unwrap().runs_used, 1);
    let late = world.statement(&signer("dan"), id).await;
    assert!(matches!(late, Opened::Before(_)), "{late:?}");
    door.verify().await;
}

#[tokio::test]
async fn nobody_but_listed_approvers_signs_and_only_for_others_and_with_their_own_key() {
    let world = World::open().await;
    let door = &world.door;
    let approval = door.only_asked(remove()).await;
    let id = approval.id;
    let text = world.open_statement("bea", id).await.text;
    let good = |name: &str| world.keys.sign(name, &text);

    // The person behind the call, though an approver with a listed key.
    assert!(told(world.bring(&signer("ada"), id, &text, good("ada"), None).await).contains("your own call"));
    let not_seen = world.statement(&decider(6), id).await;
    assert_eq!(not_seen, Opened::NotFound);
    // Admins see it and don't sign; approvers without a listed key neither.
    assert!(matches!(world.statement(&decider(9), id).await, Opened::Forbidden(_)));
    let unlisted = Decider { user: UserId(12), name: "eve".to_owned(), ..signer("bea") };
    let Opened::Forbidden(reason) = world.statement(&unlisted, id).await else { panic!("she may not") };
    assert!(reason.contains("no key of `eve`"), "{reason}");
    // Guessed ids name nothing.
    assert_eq!(world.statement(&signer("bea"), ApprovalId::generate()).await, Opened::NotFound);

    let others = world.bring(&signer("bea"), id, &text, good("cho"), None).await;
    assert!(told(others).contains("in the name of `cho`"));
    let renamed = Signature { person: "bea".to_owned(), ..good("cho") };
    assert!(
        told(world.bring(&signer("bea"), id, &text, renamed, None).await).contains("no such key of yours")
    );
    let forged = Signature { signature: vec![7; 64], ..good("bea") };
    assert!(told(world.bring(&signer("bea"), id, &text, forged, None).await).contains("doesn't count"));
    let other = text.replace("remove_path", "reboot_host");
    let over_other = world.bring(&signer("bea"), id, &other, world.keys.sign("bea", &other), None).await;
    assert!(told(over_other).contains("isn't the statement that is open"));

    // A program may bring what a key file has signed, for its own person.
    let by_token = Decider { by_token: true, ..signer("bea") };
    assert_eq!(state_of(&world.bring(&by_token, id, &text, good("bea"), None).await), ApprovalState::Pending);
    assert!(door.gate.may_decide(&by_token, &door.approval(approval.call.id).await).is_err());

    // No decision allows it; anybody who could sign can say no by one.
    let allowed = door.gate.decide_approval(&signer("cho"), id, allow()).await.unwrap();
    assert!(matches!(allowed, Ruled::NeedsSignatures(_)), "{allowed:?}");
    let deny = Ruling { decision: ApprovalDecision::Deny, note: Some("not today".to_owned()), grant: None };
    let denied = door.gate.decide_approval(&signer("cho"), id, deny).await.unwrap();
    assert!(matches!(denied, Ruled::Done(_)), "{denied:?}");
    assert_eq!(door.row(approval.call.id).await.error.as_deref(), Some("Denied by cho: not today"));
    assert!(door.seen().is_empty());
    door.verify().await;
}

#[tokio::test]
async fn what_no_procedure_covers_is_refused_with_what_would_help() {
    let world = World::open().await;
    let door = &world.door;
    let named = |id: &str, step: &str| CallRequest {
        sop: Some(NamedStep { id: id.to_owned(), step: step.to_owned() }),
        call_id: model::CallId::generate(),
        ..remove()
    };
    let unnamed = world.refusal(CallRequest { sop: None, ..remove() }).await;
    assert!(unnamed.contains("these cover it: `clean-up/remove` (Clean up, version 3)"), "{unnamed}");
    let elsewhere = on_host(1, "remove_path", json!({"path": "/etc"}));
    assert!(
        world.refusal(elsewhere).await.contains("No imported procedure covers this call on host `web-1`")
    );
    assert!(
        world.refusal(named("reboot-web", "remove")).await.contains("There is no procedure `reboot-web`")
    );
    assert!(world.refusal(named("clean-up", "reboot")).await.contains("it has no step `reboot`"));
    let other_path = CallRequest { args: json!({"path": "/srv/new"}), ..named("clean-up", "remove") };
    assert!(world.refusal(other_path).await.contains("outside of its step `remove`"));

    // The label counts that is in the host's own file, not the inventory's.
    for (change, expected) in [
        (
            Box::new(|facts: &mut SigningFacts| facts.labels = BTreeMap::new())
                as Box<dyn Fn(&mut SigningFacts)>,
            "role=web",
        ),
        (Box::new(|facts| facts.dangerous = false), "Dangerous calls are off on host `web-1`"),
        (Box::new(|facts| facts.sop_keys = vec!["0123456789abcdef".to_owned()]), "doesn't trust the key"),
        (Box::new(|facts| facts.approver_root = Some("0123456789abcdef".to_owned())), "it pins the root key"),
        (Box::new(|facts| facts.list_version = 8), "it has seen version 8 of the list"),
    ] {
        let mut facts = world.facts(ApprovalProof::Manager);
        change(&mut facts);
        door.change_host(1, |host| host.signing = Some(facts));
        let reason = world.refusal(named("clean-up", "remove")).await;
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    world.host_asks(ApprovalProof::Manager);
    world.door.gate.signing().revoke_sop("clean-up".to_owned(), 3, UserId(1), Actor::System).await.unwrap();
    assert!(world.refusal(named("clean-up", "remove")).await.contains("was revoked"));
    world.import(&sop_text(4, 5, -1)).await.unwrap();
    assert!(world.refusal(named("clean-up", "remove")).await.contains("it was valid until"));
    // A person without the role isn't told of procedures.
    let viewer = CallRequest { caller: person(Role::Viewer), ..named("clean-up", "remove") };
    assert!(world.refusal(viewer).await.contains("needs the role operator"));
    assert!(door.seen().is_empty());
}

#[tokio::test]
async fn what_changes_between_the_last_signature_and_the_start_stops_the_call() {
    let world = World::open().await;
    let door = &world.door;
    let rejected = async |approval: &Approval| match door.gate.admit_approved(approval.call.id).await.unwrap()
    {
        Start::Rejected(rejection) => rejection.reason,
        other => panic!("it started: {other:?}"),
    };
    let asked = async || {
        let approval = door.only_asked(CallRequest { call_id: model::CallId::generate(), ..remove() }).await;
        world.sign_twice(approval.id).await;
        approval
    };
    // The host sees a newer list than the one by which was signed.
    let approval = asked().await;
    door.change_host(1, |host| host.signing.as_mut().unwrap().list_version = 9);
    assert!(rejected(&approval).await.contains("it has seen version 9"));
    world.host_asks(ApprovalProof::Manager);
    // Another version of the procedure.
    let (newer, revoked) = (asked().await, asked().await);
    world.import(&sop_text(4, 5, 30)).await.unwrap();
    assert!(rejected(&newer).await.contains("Version 4 of the procedure counts since"));
    // Revoked: with the newest go all before it, and none of them counts again.
    let book = door.gate.signing();
    book.revoke_sop("clean-up".to_owned(), 4, UserId(1), Actor::System).await.unwrap();
    assert!(rejected(&revoked).await.contains("was revoked"));
    let imported = book.imported();
    let old = imported.version("clean-up", 3).unwrap();
    assert_eq!(imported.state_of(old, door.storage.now()), SopState::Revoked);
    let again = CallRequest { call_id: model::CallId::generate(), ..remove() };
    assert!(world.refusal(again).await.contains("was revoked"));
    assert!(door.seen().is_empty());
    door.verify().await;
}

#[tokio::test]
async fn a_step_runs_on_a_host_as_often_as_it_says_and_no_more() {
    let keys = Keys::new();
    let world = World::furnish(open(setup(&keys)).await, keys, 1).await;
    let door = &world.door;
    let first = door.only_asked(remove()).await;
    let second = door.only_asked(CallRequest { call_id: model::CallId::generate(), ..remove() }).await;
    world.sign_twice(first.id).await;
    world.sign_twice(second.id).await;
    let started = door.gate.admit_approved(first.call.id).await.unwrap();
    assert!(matches!(started, Start::Admitted(_)), "{started:?}");
    let Start::Rejected(rejection) = door.gate.admit_approved(second.call.id).await.unwrap() else {
        panic!("it ran too often")
    };
    assert!(rejection.reason.contains("may run 1 times on one host, and has"), "{}", rejection.reason);
    let third = CallRequest { call_id: model::CallId::generate(), ..remove() };
    assert!(world.refusal(third).await.contains("may run 1 times on one host, and has"));
    // A second start of the first one is none.
    let again = door.gate.admit_approved(first.call.id).await.unwrap();
    assert!(matches!(again, Start::Rejected(_)), "{again:?}");
    door.verify().await;
}

#[tokio::test]
async fn a_restart_of_the_edge_voids_what_was_signed_and_people_sign_again() {
    let world = World::open().await;
    let door = &world.door;
    let (outcome, approval) = door.ask(remove()).await;
    let before = world.open_statement("bea", approval.id).await.text;
    assert_eq!(state_of(&world.sign("bea", approval.id, None).await), ApprovalState::Pending);
    let mut changes = door.storage.approval_changes();
    door.change_host(1, |host| host.instance = Some("second".to_owned()));
    while !changes.recv().await.unwrap().asks {}
    let signing = door.approval(approval.call.id).await.signing.unwrap();
    assert_eq!((signing.statement, signing.signatures), (None, Vec::new()));
    let stale = world
        .bring(&signer("cho"), approval.id, &before, world.keys.sign("cho", &before), Some("web-1"))
        .await;
    assert!(told(stale).contains("the host's edge has restarted"));
    assert_ne!(world.open_statement("bea", approval.id).await.text, before);
    world.sign_twice(approval.id).await;
    assert_eq!(outcome.await.unwrap().state, CallState::Succeeded);
    assert_eq!(door.seen().len(), 1);

    // The same after the last signature, before the start: it is asked again, and nothing has run.
    let approval = door.only_asked(CallRequest { call_id: model::CallId::generate(), ..remove() }).await;
    world.sign_twice(approval.id).await;
    door.change_host(1, |host| host.instance = Some("third".to_owned()));
    let start = door.gate.admit_approved(approval.call.id).await.unwrap();
    assert!(matches!(start, Start::Reopened), "{start:?}");
    let now = door.approval(approval.call.id).await;
    assert_eq!((now.state, now.decided_at, now.valid_until), (ApprovalState::Pending, None, None));
    world.sign_twice(approval.id).await;
    let start = door.gate.admit_approved(approval.call.id).await.unwrap();
    assert!(matches!(start, Start::Admitted(_)), "{start:?}");
    // While the host is only away, nothing is void.
    let approval = door.only_asked(CallRequest { call_id: model::CallId::generate(), ..remove() }).await;
    world.sign_twice(approval.id).await;
    door.change_host(1, |host| host.state = HostState::Offline);
    let start = door.gate.admit_approved(approval.call.id).await.unwrap();
    assert!(matches!(start, Start::HostAway(_)), "{start:?}");
    door.verify().await;
}

#[tokio::test]
async fn a_manager_that_dies_in_between_goes_on_with_the_signatures_that_it_had() {
    let world = World::open().await;
    let approval = world.door.only_asked(remove()).await;
    assert_eq!(state_of(&world.sign("bea", approval.id, None).await), ApprovalState::Pending);
    let World { door, keys } = world;
    let setup = setup(&keys);
    let world = World { door: door.crash(setup).await, keys };
    world.host_asks(ApprovalProof::Manager);
    assert_eq!(world.door.executor.recover().await.unwrap(), 1);
    assert_eq!(state_of(&world.sign("cho", approval.id, Some("web-1")).await), ApprovalState::Approved);
    let row = world.door.ended(approval.call.id).await;
    assert_eq!((row.state, world.door.seen().len()), (CallState::Succeeded, 1));

    // Dead after the last signature: it runs once.
    let approval =
        world.door.only_asked(CallRequest { call_id: model::CallId::generate(), ..remove() }).await;
    world.sign_twice(approval.id).await;
    let World { door, keys } = world;
    let setup = self::setup(&keys);
    let world = World { door: door.crash(setup).await, keys };
    world.host_asks(ApprovalProof::Manager);
    assert_eq!(world.door.executor.recover().await.unwrap(), 1);
    let row = world.door.ended(approval.call.id).await;
    assert_eq!((row.state, world.door.seen().len()), (CallState::Succeeded, 1));
    world.edge_checks(&approval, &json!({"path": "/srv/old-site"}), Class::Dangerous);
    world.door.verify().await;
}

#[tokio::test]
async fn a_host_that_asks_for_signatures_gets_them_for_changes_too_and_no_grant_stands_for_one() {
    let world = World::open().await;
    let door = &world.door;
    let restart = || {
        let args = json!({"service": "nginx", "reason": "it hangs"});
        CallRequest { call_id: model::CallId::generate(), ..on_host(1, "restart_service", args) }
    };
    // A grant from before counts as long as the manager's word does.
    let approval = door.only_asked(restart()).await;
    let always = Ruling { decision: ApprovalDecision::AllowAlways, note: None, grant: None };
    door.decide(7, approval.id, always).await;
    assert_eq!(door.run(restart()).await.state, CallState::Succeeded);

    world.host_asks(ApprovalProof::Signed);
    let (outcome, approval) = door.ask(restart()).await;
    let signing = approval.signing.clone().unwrap();
    assert_eq!((signing.needed, signing.sop), (1, None));
    assert!(approval.why.contains("asks for a signature for every change"), "{}", approval.why);
    let own = door.gate.decide_approval(&decider(7), approval.id, allow()).await.unwrap();
    assert!(matches!(own, Ruled::Forbidden(_)), "{own:?}");
    assert_eq!(state_of(&world.sign("bea", approval.id, None).await), ApprovalState::Approved);
    let outcome: CallOutcome = outcome.await.unwrap();
    assert_eq!(outcome.state, CallState::Succeeded, "{outcome:?}");
    world.edge_checks(&approval, &restart().args, Class::Mutating);

    world.host_asks(ApprovalProof::Mixed);
    assert_eq!(door.run(restart()).await.state, CallState::Succeeded, "the grant holds");
    let bash = |command: &str| on_host(1, "bash", json!({"command": command}));
    assert!(door.only_asked(bash("touch /srv/x")).await.signing.is_none());
    assert!(door.only_asked(bash("python3 /srv/x.py")).await.signing.is_some());
    door.verify().await;
}

#[tokio::test]
async fn nobody_signs_in_time_and_nothing_runs() {
    let keys = Keys::new();
    let rules = gate::ApprovalRules { decide_by_dangerous: Duration::from_millis(80), ..nobody_decides() };
    let door = open(Setup { approvals: rules, ..setup(&keys) }).await;
    let world = World::furnish(door, keys, 5).await;
    let outcome = world.door.run(remove()).await;
    assert_eq!(outcome.state, CallState::Expired, "{outcome:?}");
    assert!(world.door.seen().is_empty());
    world.door.verify().await;
}

#[tokio::test]
async fn only_what_a_trusted_key_signed_is_imported_and_only_with_a_higher_version() {
    let world = World::open().await;
    let book = world.door.gate.signing();
    let (document, signature) = signed_sop(&sop_text(4, 5, 30));
    let mut changed = document.clone();
    changed.extend_from_slice(b"\n");
    assert!(
        book.check_sop(changed, signature.clone())
            .unwrap_err()
            .to_string()
            .contains("none of the pinned keys")
    );
    assert!(book.check_sop(document, Vec::new()).is_err());
    for version in [1, 3] {
        let refused = world.import(&sop_text(version, 5, 30)).await.unwrap_err();
        assert!(refused.contains("version 3 of the procedure `clean-up` is imported already"), "{refused}");
    }
    world.import(&sop_text(4, 5, 30)).await.unwrap();
    let imported = book.imported();
    let states: Vec<SopState> =
        imported.procedures.iter().map(|it| imported.state_of(it, world.door.storage.now())).collect();
    assert_eq!(states, [SopState::Active, SopState::Superseded]);

    let (document, signature) = Keys::new().list(8);
    assert!(book.check_approvers(&document, &signature).is_err(), "another root key signed it");
    let (document, signature) = world.keys.list(7);
    let list = book.check_approvers(&document, &signature).unwrap();
    let refused = book.import_approvers(&list, document, signature, UserId(1), Actor::System).await;
    assert!(
        refused.unwrap_err().to_string().contains("version 7 of the list of approvers is imported already")
    );
}

//! A malicious manager against real edges, through the real tunnel: every forgery that it can make gets nothing executed
//! and is on the host's own record, and what people did sign runs exactly once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod rogue;

use edge::Options;
use model::{CallId, Class, Scope};
use rogue::{Brought, Host, LIST_VERSION, ORIGIN, Plan, RP_ID, Reached, Rogue, from_now, pins, procedure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use signing::{MAX_EVIDENCE_BYTES, SignedDocument, SopRef};
use skill::{Metadata, Skill, SkillContext, SkillError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use testkit::{Assertion, Signers, signed_by_another_key, signed_procedure};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::Code;

const fn metadata(key: &'static str, class: Class) -> Metadata {
    Metadata {
        key,
        name: key,
        description: "For tests.",
        class,
        scope: Scope::Host,
        category: "test",
        result_preview: "",
        prerequisites: &[],
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    target: String,
}

#[derive(Serialize, JsonSchema)]
struct Done {
    target: String,
}

/// Counts as dangerous.
struct Wipe(Arc<AtomicUsize>);

impl Skill for Wipe {
    type Params = Params;
    type Output = Done;

    const METADATA: Metadata = metadata("test_wipe", Class::Dangerous);

    async fn run(&self, _cx: &SkillContext, Params { target }: Params) -> Result<Done, SkillError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Done { target })
    }
}

/// Counts as a change.
struct Change(Arc<AtomicUsize>);

impl Skill for Change {
    type Params = Params;
    type Output = Done;

    const METADATA: Metadata = metadata("test_change", Class::Mutating);

    async fn run(&self, _cx: &SkillContext, Params { target }: Params) -> Result<Done, SkillError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Done { target })
    }
}

/// An edge in this process.
struct Running {
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), edge::EdgeError>>,
}

/// The malicious manager, the people, and one host that pins their keys.
struct World {
    rogue: Rogue,
    signers: Signers,
    host: Host,
    effects: Arc<AtomicUsize>,
    reached: Reached,
    running: Option<Running>,
    seq: AtomicU64,
    sop: SignedDocument,
    /// A challenge of another host.
    foreign_nonce: String,
}

const EDGE: i64 = 4;

fn procedure_text() -> String {
    let steps = [
        ("wipe", "labels = { role = \"web\" }", 4),
        ("once", "labels = { role = \"web\" }", 1),
        ("elsewhere", "labels = { role = \"db\" }", 4),
    ];
    procedure("wipe-web", "test_wipe", &steps, from_now(-60), from_now(3600))
}

impl World {
    /// `security` is what the host's owner adds to `[security]`, `more` what stands behind the pins.
    async fn start(security: &str, more: &str) -> Self {
        let mut rogue = Rogue::start().await;
        let signers = Signers::new().unwrap();
        let configuration =
            format!("[labels]\nrole = \"web\"\n[security]\n{security}\n{}{more}", pins(&signers));
        let effects = Arc::default();
        let other = Host::new(&rogue, EDGE + 1, &configuration);
        let other_runs = run(&other, &effects);
        let foreign_nonce = rogue.reach().await.challenge().await;
        other_runs.stop().await;
        let host = Host::new(&rogue, EDGE, &configuration);
        let running = run(&host, &effects);
        let reached = rogue.reach().await;
        let sop = signed_procedure(&procedure_text()).unwrap();
        Self {
            rogue,
            signers,
            host,
            effects,
            reached,
            running: Some(running),
            seq: AtomicU64::new(1),
            sop,
            foreign_nonce,
        }
    }

    async fn restart(&mut self) {
        self.running.take().unwrap().stop().await;
        self.running = Some(run(&self.host, &self.effects));
        self.reached = self.rogue.reach().await;
    }

    fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// A call of a skill that nobody has signed yet, with a challenge of this host.
    async fn plan(&self, skill: &str, args: serde_json::Value) -> Plan {
        let seq = self.seq.fetch_add(1, Ordering::SeqCst);
        let hash = self.reached.definition_hash(skill).await;
        Plan::new(seq, EDGE, skill, hash, args, self.reached.challenge().await, &self.signers)
    }

    /// A dangerous call as people sign it.
    async fn wipe(&self) -> Plan {
        self.wipe_under("wipe").await
    }

    /// The same under any step.
    async fn wipe_under(&self, step: &str) -> Plan {
        let plan = self.plan("test_wipe", json!({"target": "/srv/a"})).await;
        let mut plan = plan.under(&self.sop, "wipe-web", step);
        plan.sign(&self.signers);
        plan
    }

    /// A mutating call that one person has signed by key file.
    async fn change(&self) -> Plan {
        let mut plan = self.plan("test_change", json!({"target": "/srv/a"})).await;
        plan.sign_by_file(&self.signers, &["ana"]);
        plan
    }

    /// Sends a forgery: nothing runs, and the host's own record has it with these words.
    async fn refused(&self, what: &str, plan: &Plan, words: &str) {
        let (effects, before) = (self.effects(), self.host.refusals().total);
        let answer = self.reached.send(plan.request()).await;
        match &answer {
            Ok(told) => {
                assert_eq!((told.accepted, told.state.as_str()), (false, "refused"), "{what}: {told:?}")
            }
            Err(status) => assert_eq!(status.code(), Code::InvalidArgument, "{what}: {status}"),
        }
        assert_eq!(self.effects(), effects, "{what} had an effect");
        let found = self.host.refusals();
        assert_eq!(found.total, before + 1, "{what} is not on record: {answer:?}");
        let last = found.last.back().unwrap();
        assert!(last.reason.contains(words), "{what}: expected {words}: {last}");
        assert_eq!((&last.call_id, &last.skill), (&plan.call_id.to_string(), &plan.skill), "{what}");
    }

    /// Sends a call until the host tells how it ended, as a manager does that finds it about to start.
    async fn deliver(&self, plan: &Plan) -> String {
        loop {
            match self.reached.send(plan.request()).await {
                Ok(told) => return told.state,
                Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
            }
        }
    }

    /// Sends an honest call: it runs, once.
    async fn runs(&self, plan: &Plan) {
        let (effects, before) = (self.effects(), self.host.refusals().total);
        let told = self.reached.send(plan.request()).await.unwrap();
        assert_eq!((told.accepted, told.state.as_str()), (true, "succeeded"), "{told:?}");
        assert_eq!(told.result, json!({"target": "/srv/a"}));
        assert_eq!((self.effects(), self.host.refusals().total), (effects + 1, before));
    }
}

fn run(host: &Host, effects: &Arc<AtomicUsize>) -> Running {
    let built = Options::new(host.loaded(), host.config.clone(), host.dir());
    let registry = built.registry.clone().with(Wipe(Arc::clone(effects))).with(Change(Arc::clone(effects)));
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(edge::run(Options { registry, ..built }, shutdown.clone()));
    Running { shutdown, task }
}

impl Running {
    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// What is wrong, what the host says of it, and how it is made from a call that people have signed.
type Forgery = (&'static str, &'static str, fn(&World, &mut Plan));

fn by_passkey(world: &World, plan: &mut Plan, assertion: Assertion<'_>) {
    let signed = world.signers.by_passkey("ben", &plan.statement, assertion).unwrap();
    plan.signatures = vec![world.signers.by_file("ana", &plan.statement).unwrap(), signed];
}

fn under(world: &World, plan: &mut Plan, text: &str, sign: fn(&str) -> anyhow::Result<SignedDocument>) {
    plan.sop = Some(sign(text).unwrap());
    plan.sign(&world.signers);
}

/// Everything about a dangerous call. Where people sign after a part was changed, they were shown a lie; where they
/// don't, the manager put it together by itself.
const FORGERIES: &[Forgery] = &[
    ("nothing at all", "signatures of two people", |_, plan| plan.brought = Brought::Nothing),
    ("the manager's word", "the manager's word is not enough", |_, plan| plan.brought = Brought::Word),
    ("nonsense", "can't be read", |_, plan| plan.brought = Brought::Bytes(b"{\"approved\": true}".to_vec())),
    ("empty evidence", "can't be read", |_, plan| plan.brought = Brought::Bytes(Vec::new())),
    ("too much evidence", "at most 655360", |_, plan| {
        plan.brought = Brought::Bytes(vec![b' '; MAX_EVIDENCE_BYTES + 1]);
    }),
    ("too much together", "at most 1000000", |_, plan| {
        plan.brought = Brought::Bytes(vec![b' '; MAX_EVIDENCE_BYTES]);
        plan.args = json!({"target": "x".repeat(350_000)});
    }),
    ("no procedure", "needs a signed procedure", |_, plan| plan.sop = None),
    ("a procedure that the statement doesn't name", "names no procedure", |world, plan| {
        plan.statement.sop = None;
        plan.sign(&world.signers);
    }),
    ("an unsigned procedure", "fits none of the pinned keys", |_, plan| {
        plan.sop.as_mut().unwrap().signature.clear();
    }),
    ("a procedure that was changed after it was signed", "fits none of the pinned keys", |_, plan| {
        let sop = plan.sop.as_mut().unwrap();
        sop.document = procedure_text().replace("maximum_runs = 4", "maximum_runs = 5").into();
    }),
    ("a procedure by another key", "fits none of the pinned keys", |world, plan| {
        under(world, plan, &procedure_text(), signed_by_another_key);
    }),
    ("a procedure that has ended", "was valid until", |world, plan| {
        let steps = [("wipe", "any_host = true", 4)];
        let text = procedure("wipe-web", "test_wipe", &steps, from_now(-60), from_now(-2));
        under(world, plan, &text, signed_procedure);
    }),
    ("a procedure that isn't valid yet", "valid only from", |world, plan| {
        let steps = [("wipe", "any_host = true", 4)];
        let text = procedure("wipe-web", "test_wipe", &steps, from_now(600), from_now(3600));
        under(world, plan, &text, signed_procedure);
    }),
    ("another version of the procedure", "the signed statement names", |world, plan| {
        under(world, plan, &procedure_text().replace("version = 1", "version = 2"), signed_procedure);
    }),
    ("a step that isn't there", "has no step `more`", |world, plan| {
        plan.statement.sop = Some(SopRef { id: "wipe-web".to_owned(), version: 1, step: "more".to_owned() });
        plan.sign(&world.signers);
    }),
    ("a step for hosts with other labels", "the labels role=db", |world, plan| {
        plan.statement.sop =
            Some(SopRef { id: "wipe-web".to_owned(), version: 1, step: "elsewhere".to_owned() });
        plan.sign(&world.signers);
    }),
    ("another step than people signed", "the signed statement names", |world, plan| {
        let text = procedure_text().replace("id = \"wipe-web\"", "id = \"wipe-all\"");
        let signatures = plan.signatures.clone();
        under(world, plan, &text, signed_procedure);
        plan.signatures = signatures;
    }),
    ("a step of another skill", "is for `test_change`", |world, plan| {
        under(world, plan, &procedure_text().replace("test_wipe", "test_change"), signed_procedure);
    }),
    ("other arguments", "its arguments differs", |_, plan| plan.args = json!({"target": "/srv/b"})),
    ("arguments outside of the step", "outside of its step", |world, plan| {
        plan.args = json!({"target": "/etc"});
        plan.statement.args_hash = signing::Statement::hash_of(&plan.args);
        plan.sign(&world.signers);
    }),
    ("arguments that pretend to be an approval", "approved", |_, plan| {
        plan.args = json!({"target": "/srv/a", "approved": true});
    }),
    ("another host", "its host differs", |world, plan| {
        plan.statement.edge_id = model::EdgeId(EDGE + 1);
        plan.sign(&world.signers);
    }),
    ("another call", "its call id differs", |_, plan| plan.call_id = CallId::generate()),
    ("another skill than people signed", "its skill differs", |world, plan| {
        plan.statement.tool = "test_change".to_owned();
        plan.sign(&world.signers);
    }),
    ("another definition than people signed", "its definition differs", |world, plan| {
        plan.statement.definition_hash = "0".repeat(64);
        plan.sign(&world.signers);
    }),
    ("another definition than is here", "the definition of `test_wipe` is another one", |_, plan| {
        plan.definition_hash = "0".repeat(64);
    }),
    ("a skill under another name", "no skill `test_wipe_all`", |_, plan| {
        plan.skill = "test_wipe_all".to_owned();
    }),
    ("no number for the journal", "no number", |_, plan| plan.seq = 0),
    ("a class that was lowered to safe", "signatures of two people", |_, plan| {
        (plan.class, plan.seq, plan.brought) = (Class::Safe, 0, Brought::Nothing);
    }),
    ("a class that was lowered to mutating", "the manager's word is not enough", |_, plan| {
        (plan.class, plan.brought) = (Class::Mutating, Brought::Word);
    }),
    ("a class that was lowered to mutating, with one signature", "1 of 2 people", |world, plan| {
        plan.class = Class::Mutating;
        plan.sign_by_file(&world.signers, &["ana"]);
    }),
    ("a challenge of another host", "is not one of this edge's", |world, plan| {
        plan.statement.nonce = world.foreign_nonce.clone();
        plan.sign(&world.signers);
    }),
    ("a made-up challenge", "is not one of this edge's", |world, plan| {
        plan.statement.nonce = "ab".repeat(32);
        plan.sign(&world.signers);
    }),
    ("a challenge that is none", "is not one of this edge's", |world, plan| {
        plan.statement.nonce = "now".to_owned();
        plan.sign(&world.signers);
    }),
    ("an expired statement", "which is past", |world, plan| {
        plan.statement.not_after = from_now(-2);
        plan.sign(&world.signers);
    }),
    ("a statement that was changed after it was signed", "over another statement", |_, plan| {
        plan.statement.not_after = from_now(3600);
    }),
    ("nobody's signature", "0 of 1 signatures", |_, plan| plan.signatures.clear()),
    ("one person twice", "1 of 2 people", |world, plan| {
        plan.sign_by_file(&world.signers, &["ana", "ana"]);
    }),
    ("the requester as one of two", "1 of 2 people", |world, plan| {
        plan.sign_by_file(&world.signers, &["ana", "olga"]);
    }),
    ("the requester under a name in capitals", "1 of 2 people", |world, plan| {
        plan.statement.requester = "OLGA".to_owned();
        plan.sign_by_file(&world.signers, &["olga", "ana"]);
    }),
    ("somebody who is on no list", "no such key of such a person", |world, plan| {
        plan.sign_by_file(&world.signers, &["ana", "mallory"]);
    }),
    ("a key under another person's name", "no such key of such a person", |world, plan| {
        plan.sign_by_file(&world.signers, &["ana", "ana"]);
        plan.signatures[1].person = "cho".to_owned();
    }),
    ("two good signatures and a forged one", "in the name of `cho` is not good", |world, plan| {
        plan.sign_by_file(&world.signers, &["ana", "cho", "cho"]);
        plan.signatures[2].signature[7] ^= 1;
    }),
    ("a list by another root", "fits none of the pinned keys", |_, plan| {
        plan.approvers = Signers::new().unwrap().list(LIST_VERSION, from_now(3600));
    }),
    ("a list that was changed after it was signed", "fits none of the pinned keys", |_, plan| {
        let text = String::from_utf8(plan.approvers.document.clone()).unwrap();
        plan.approvers.document = text.replace("\"olga\"", "\"mallory\"").into();
    }),
    ("an expired list", "expired at", |world, plan| {
        plan.approvers = world.signers.list(LIST_VERSION, from_now(-2));
    }),
    ("an older list", "has seen version 7", |world, plan| {
        plan.approvers = world.signers.list(LIST_VERSION - 1, from_now(3600));
    }),
    ("a passkey on another site", "on another site", |world, plan| {
        by_passkey(world, plan, Assertion::on("https://steadyhand.example.evil", RP_ID));
    }),
    ("a passkey of another site", "belongs to another site", |world, plan| {
        by_passkey(world, plan, Assertion::on(ORIGIN, "evil.example"));
    }),
    ("a passkey that nobody was asked for", "nobody was present", |world, plan| {
        by_passkey(world, plan, Assertion { flags: 0b100, ..Assertion::on(ORIGIN, RP_ID) });
    }),
    ("a passkey without verification", "did not verify", |world, plan| {
        by_passkey(world, plan, Assertion { flags: 0b001, ..Assertion::on(ORIGIN, RP_ID) });
    }),
    ("a passkey in another site's frame", "another site's frame", |world, plan| {
        by_passkey(world, plan, Assertion { cross_origin: true, ..Assertion::on(ORIGIN, RP_ID) });
    }),
    ("passkeys only, where a key file is asked for", "0 of 1 signatures", |world, plan| {
        let on = Assertion::on(ORIGIN, RP_ID);
        plan.signatures =
            ["ben", "dora"].map(|name| world.signers.by_passkey(name, &plan.statement, on).unwrap()).into();
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forgery_runs_anything_and_each_is_on_the_hosts_own_record() {
    let mut world = World::start("approval_proof = \"signed\"", "min_independent_signatures = 1\n").await;
    // So that the host has seen a list.
    world.runs(&world.change().await).await;

    for (what, words, forge) in FORGERIES {
        let mut plan = world.wipe().await;
        forge(&world, &mut plan);
        world.refused(what, &plan, words).await;
    }
    assert_eq!(world.effects(), 1);

    // What people did sign runs, once, however often it is sent, at once or later.
    let plan = world.wipe().await;
    let (first, second) = tokio::join!(world.deliver(&plan), world.deliver(&plan));
    assert_eq!((first.as_str(), second.as_str()), ("succeeded", "succeeded"));
    assert_eq!(world.reached.send(plan.request()).await.unwrap().state, "succeeded");
    assert_eq!(world.effects(), 2);

    // Its evidence is good for nothing else.
    let other_args = Plan { args: json!({"target": "/srv/b"}), ..plan.clone() };
    world.refused("other arguments under a used id", &other_args, "another call was accepted").await;
    let other_call = Plan { call_id: CallId::generate(), seq: 900, ..plan.clone() };
    world.refused("used evidence for another call", &other_call, "its call id differs").await;
    let mut used_nonce = world.wipe().await;
    used_nonce.statement.nonce = plan.statement.nonce.clone();
    used_nonce.sign(&world.signers);
    world.refused("a used challenge, signed again", &used_nonce, "was used").await;

    // A step runs as often as it may.
    world.runs(&world.wipe_under("once").await).await;
    world.refused("a run too many", &world.wipe_under("once").await, "may run 1 times").await;

    // Nothing of it is forgotten at a restart, but the challenges are.
    let before = world.wipe().await;
    world.restart().await;
    world.refused("a challenge from before a restart", &before, "the edge was restarted since").await;
    let once = world.wipe_under("once").await;
    world.refused("a run too many after a restart", &once, "may run 1 times").await;
    let mut older = world.wipe().await;
    older.approvers = world.signers.list(LIST_VERSION - 1, from_now(3600));
    world.refused("an older list after a restart", &older, "has seen version 7").await;
    world.runs(&world.wipe().await).await;
    let found = world.host.refusals();
    assert_eq!(found.total, FORGERIES.len() as u64 + 7);
    assert_eq!(found.last.len() as u64, found.total);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_change_needs_is_what_the_hosts_own_file_says() {
    // Everything needs a signature.
    let world = World::start("approval_proof = \"signed\"", "").await;
    for (what, brought) in [("nothing", Brought::Nothing), ("the manager's word", Brought::Word)] {
        let plan = Plan { brought, ..world.change().await };
        world.refused(what, &plan, "signed approvals of everything").await;
    }
    let mut by_requester = world.change().await;
    by_requester.sign_by_file(&world.signers, &["olga"]);
    world.refused("the requester alone", &by_requester, "0 of 1 people").await;
    let lowered = Plan { class: Class::Safe, seq: 0, brought: Brought::Nothing, ..world.change().await };
    world.refused("a class that was lowered to safe", &lowered, "signed approvals of everything").await;
    world.runs(&world.change().await).await;
    let mut by_passkey = world.change().await;
    let signed = world.signers.by_passkey("ben", &by_passkey.statement, Assertion::on(ORIGIN, RP_ID));
    by_passkey.signatures = vec![signed.unwrap()];
    world.runs(&by_passkey).await;

    // Whatever can do anything needs one, where the owner pinned a root and said no more.
    let world = World::start("", "").await;
    let file = world.host.folder.path().join("written");
    let word = |plan: Plan| Plan { brought: Brought::Word, ..plan };
    let write = word(world.plan("write_file", json!({"path": file, "content": "x"})).await);
    world.refused("a file, on the manager's word", &write, "every file that is written").await;
    assert!(!file.exists());
    for command in ["python3 -c 'print(1)'", "\"$X\" y", "eval \"$X\"", "( unclosed"] {
        let plan = word(world.plan("bash", json!({"command": command})).await);
        world.refused(command, &plan, "commands that could do anything").await;
    }
    world.runs(&word(world.change().await)).await;
    let plain = word(world.plan("bash", json!({"command": format!("rm {}", file.display())})).await);
    assert!(world.reached.send(plain.request()).await.unwrap().accepted);
    world.runs(&world.change().await).await;
    world.runs(&world.wipe().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_file_is_written_and_the_description_tells_what_is_pinned() {
    let roots = tempfile::tempdir().unwrap();
    let changes = format!("[changes]\nwrite_roots = [{:?}]\n", roots.path());
    let world = World::start("", &changes).await;
    let said = world.reached.describe().await.signing.unwrap();
    assert_eq!(
        (said.approval_proof.as_str(), said.dangerous, said.approver_list_version),
        ("mixed", true, 0)
    );
    assert_eq!((said.origin.as_str(), said.rp_id.as_str()), (ORIGIN, RP_ID));
    assert_eq!(said.labels.into_iter().collect::<Vec<_>>(), [("role".to_owned(), "web".to_owned())]);
    assert_eq!((said.sop_key_fingerprints[0].len(), said.approver_root_fingerprint.len()), (16, 16));

    let file = roots.path().join("written");
    let mut plan = world.plan("write_file", json!({"path": file, "content": "by two people"})).await;
    plan.sign_by_file(&world.signers, &["cho"]);
    let told = world.reached.send(plan.request()).await.unwrap();
    assert_eq!(told.state, "succeeded", "{told:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "by two people");
    let said = world.reached.describe().await;
    assert_eq!(said.signing.unwrap().approver_list_version, LIST_VERSION);
    assert!(said.notes.iter().any(|note| note.contains("approval_proof = mixed")), "{:?}", said.notes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_pins_nothing_that_is_signed_counts_and_without_its_memory_neither() {
    let mut world = World::start("", "").await;
    let memory = world.host.folder.path().join("data/signed.json");
    world.runs(&world.wipe().await).await;
    damage(&memory);
    world.restart().await;
    let said = world.reached.describe().await;
    assert!(!said.signing.unwrap().dangerous);
    assert!(said.notes.iter().any(|note| note.contains("signed.json")), "{:?}", said.notes);
    world.refused("a host that can't remember", &world.wipe().await, "signed.json").await;

    std::fs::write(&world.host.config, world.rogue.tunnel_section()).unwrap();
    world.restart().await;
    let said = world.reached.describe().await.signing.unwrap();
    assert_eq!((said.approval_proof.as_str(), said.dangerous), ("manager", false));
    world.refused("a host without pins", &world.wipe().await, "dangerous calls are off").await;
    world.refused("a host without a root", &world.change().await, "no signature counts here").await;
    let word = Plan { brought: Brought::Word, ..world.change().await };
    world.runs(&word).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_itself_tells_what_counts_there_and_what_was_refused() {
    let world = World::start("", "min_independent_signatures = 1\n").await;
    world.runs(&world.wipe().await).await;
    let forged = Plan { brought: Brought::Word, ..world.wipe().await };
    world.refused("the manager's word", &forged, "not enough").await;

    let clock: Arc<dyn model::Clock> = Arc::new(model::SystemClock);
    let doctor = edge::doctor::examine(&world.host.config, &world.host.dir(), &clock).await.to_string();
    for line in [
        "approval_proof = mixed",
        "dangerous calls can run here",
        "procedures count if one of these keys signed them: ",
        "signed it; the highest version seen is 7",
        "passkeys of steadyhand.example count if they were used on https://steadyhand.example",
        "at least 1 of a call's signatures",
        "for procedures: role=web",
        "note  refused calls: 1 for their evidence",
    ] {
        assert!(doctor.contains(line), "{line} is missing in:\n{doctor}");
    }

    let dir = world.host.dir();
    let refusals = async |extra: &[&str]| {
        let program = testkit::binary("steadyhand-edge").unwrap();
        let mut command = tokio::process::Command::new(program);
        let output = command.arg("refusals").args(extra).arg("--dir").arg(dir.path()).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = refusals(&[]).await;
    assert!(text.contains(&format!("{} test_wipe (dangerous): ", forged.call_id)), "{text}");
    assert!(text.ends_with("1 refused for their evidence, 1 of them listed\n"), "{text}");
    let found: edge::Refusals = serde_json::from_str(&refusals(&["--json"]).await).unwrap();
    assert_eq!(found, world.host.refusals());
}

fn damage(memory: &Path) {
    let text = std::fs::read_to_string(memory).unwrap();
    std::fs::write(memory, &text[..text.len() / 2]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_challenges_are_out_and_no_more() {
    let world = World::start("", "").await;
    let mut client = world.reached.client.clone();
    for _ in 0..1024 {
        client.challenge(proto::v1::ChallengeRequest {}).await.unwrap();
    }
    let status = client.challenge(proto::v1::ChallengeRequest {}).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
}

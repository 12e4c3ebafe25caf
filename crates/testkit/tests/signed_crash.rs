//! kill -9 between the counting of a signed run and its end: a crash may count a run too many, never one too few, and what
//! was signed before it is void.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod rogue;

use proto::v1::{self, outcome_response::Found};
use rogue::{Host, LIMIT, Plan, Reached, Rogue, from_now, pins, procedure};
use serde_json::{Value, json};
use signing::SignedDocument;
use std::path::PathBuf;
use std::process::Stdio;
use testkit::{Signers, effects, signed_procedure};
use tokio::process::{Child, Command};

const SKILL: &str = "test_count_effects";

struct Killable {
    rogue: Rogue,
    signers: Signers,
    host: Host,
    sop: SignedDocument,
    child: Option<Child>,
    seq: u64,
}

impl Killable {
    async fn new() -> Self {
        let rogue = Rogue::start().await;
        let signers = Signers::new().unwrap();
        let host = Host::new(&rogue, 4, &pins(&signers));
        std::fs::create_dir(host.folder.path().join("effects")).unwrap();
        let steps = [("count", "any_host = true", 2)];
        let text = procedure("count", SKILL, &steps, from_now(-60), from_now(3600));
        let sop = signed_procedure(&text).unwrap();
        Self { rogue, signers, host, sop, child: None, seq: 0 }
    }

    fn effects_folder(&self) -> PathBuf {
        self.host.folder.path().join("effects")
    }

    async fn start(&mut self, arguments: &[&str]) -> Reached {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.host.folder.path().join("edge.log"))
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_edge-under-test"))
            .arg("--dir")
            .arg(self.host.folder.path().join("data"))
            .arg("--config")
            .arg(&self.host.config)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.child = Some(child);
        self.rogue.reach().await
    }

    async fn died(&mut self) {
        let wait = self.child.as_mut().unwrap().wait();
        let status = tokio::time::timeout(LIMIT, wait).await.expect("it did not die").unwrap();
        assert!(status.code().is_none(), "it ended by itself");
        self.child = None;
    }

    /// A call under the procedure, signed by two people. The skill is a change, which the manager calls dangerous.
    async fn plan(&mut self, reached: &Reached, extra: Value) -> Plan {
        self.seq += 1;
        let mut args = json!({"folder": self.effects_folder()});
        args.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let (hash, nonce) = (reached.definition_hash(SKILL).await, reached.challenge().await);
        let plan = Plan::new(self.seq, 4, SKILL, hash, args, nonce, &self.signers);
        let mut plan = plan.under(&self.sop, "count", "count");
        plan.sign(&self.signers);
        plan
    }

    fn effects(&self, plan: &Plan) -> usize {
        effects(&self.effects_folder(), &plan.call_id.to_string())
    }

    /// Runs that the host has counted.
    fn counted(&self) -> u64 {
        let text =
            std::fs::read_to_string(self.host.folder.path().join("data/signed.json")).unwrap_or_default();
        let kept: Value = serde_json::from_str(&text).unwrap_or_default();
        kept["runs"]["count/1/count"]["count"].as_u64().unwrap_or(0)
    }
}

async fn found(reached: &Reached, plan: &Plan) -> Found {
    let request = v1::OutcomeRequest { call_id: plan.call_id.to_string(), seq: plan.seq };
    reached.client.clone().outcome(request).await.unwrap().into_inner().found.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_counting_and_journaling_uses_up_a_run_and_the_signatures() {
    let mut edge = Killable::new().await;
    let reached = edge.start(&["--die-at", "accepted-write"]).await;
    let lost = edge.plan(&reached, json!({})).await;
    assert!(reached.send(lost.request()).await.is_err());
    edge.died().await;
    assert_eq!((edge.counted(), edge.effects(&lost)), (1, 0));

    // What was signed for the process that died is void; it ran nothing, and the host says so.
    let reached = edge.start(&[]).await;
    let told = reached.send(lost.request()).await.unwrap();
    assert_eq!(told.state, "refused");
    assert!(told.error.contains("the edge was restarted since"), "{told:?}");
    assert!(matches!(found(&reached, &lost).await, Found::Absent(_)));
    assert_eq!((edge.counted(), edge.effects(&lost), edge.host.refusals().total), (1, 0, 1));

    let second = edge.plan(&reached, json!({})).await;
    assert_eq!(reached.send(second.request()).await.unwrap().state, "succeeded");
    assert_eq!((edge.counted(), edge.effects(&second)), (2, 1));
    let third = edge.plan(&reached, json!({})).await;
    let told = reached.send(third.request()).await.unwrap();
    assert!(told.error.contains("may run 2 times"), "{told:?}");
    assert_eq!(edge.effects(&third), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_call_that_the_edge_died_in_never_runs_again() {
    for death in ["before", "after"] {
        let mut edge = Killable::new().await;
        let reached = edge.start(&[]).await;
        let lost = edge.plan(&reached, json!({"death": death})).await;
        assert!(reached.send(lost.request()).await.is_err());
        edge.died().await;
        let happened = usize::from(death == "after");
        assert_eq!((edge.counted(), edge.effects(&lost)), (1, happened), "{death}");

        let reached = edge.start(&[]).await;
        let told = reached.send(lost.request()).await.unwrap();
        assert_eq!(told.state, "failed", "{told:?}");
        assert!(told.error.contains("effect possible"), "{told:?}");
        assert_eq!((edge.counted(), edge.effects(&lost)), (1, happened), "{death}");
    }
}

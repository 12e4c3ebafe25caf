//! Packs beside the manager, loaded from real directories, with a sandbox that starts them as they are.

use super::support::{Door, Setup, in_manager, nobody_decides, on_host, open};
use executor::CallOutcome;
use futures::future::BoxFuture;
use gate::{PackFacts, SkillFacts};
use model::{CallState, Class, Scope, UserId};
use packs::{LoadRules, Loaded, load};
use serde_json::{Value, json};
use skill::sandbox::{Captured, ChildCommand, ChildEnded, ChildReport, Exit, Opening, Profile, Sandbox};
use skill::{SkillError, SkillErrorKind};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use storage::Actor;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

const ADMIN: UserId = UserId(1);

/// Starts programs as they are, and remembers what was asked for.
#[derive(Debug)]
struct Plain {
    holds: bool,
    profiles: Mutex<Vec<Profile>>,
    /// Wakes whoever waits for a program to be started.
    started: tokio::sync::Notify,
}

impl Plain {
    fn new(holds: bool) -> Arc<Self> {
        Arc::new(Self { holds, profiles: Mutex::default(), started: tokio::sync::Notify::new() })
    }
}

impl Sandbox for Plain {
    fn holds_read_only(&self) -> bool {
        self.holds
    }

    fn can_open(&self, _opening: &Opening) -> bool {
        true
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        self.profiles.lock().unwrap().push(command.profile.clone());
        Box::pin(async move {
            let began = tokio::time::Instant::now();
            let mut child = tokio::process::Command::new(&command.program)
                .env_clear()
                .envs(command.env)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| SkillError::new(SkillErrorKind::Failed, error))?;
            let mut stdin = child.stdin.take().unwrap();
            let _ = stdin.write_all(&command.stdin.unwrap_or_default()).await;
            drop(stdin);
            self.started.notify_one();
            let output = child.wait_with_output().await.unwrap();
            let captured = |bytes: Vec<u8>| Captured { total: bytes.len() as u64, bytes };
            Ok(ChildEnded {
                exit: Exit::Code(output.status.code().unwrap_or(-1)),
                stdout: captured(output.stdout),
                stderr: captured(output.stderr),
                duration: began.elapsed(),
                report: ChildReport {
                    backend: "plain".to_owned(),
                    profile: "read_only".to_owned(),
                    openings: command.openings,
                    weaker: Vec::new(),
                },
            })
        })
    }
}

/// A folder with packs, and what was loaded of it.
struct Shelf {
    folder: tempfile::TempDir,
    loaded: Arc<Loaded>,
}

impl Shelf {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), loaded: Arc::default() }
    }

    fn pack(&self, name: &str, script: &str) {
        self.pack_with(name, script, |_| {});
    }

    fn pack_with(&self, name: &str, script: &str, change: impl FnOnce(&mut Value)) {
        let mut manifest = json!({
            "name": name, "version": "1.0.0", "description": "A pack of a test.", "entry": "run",
            "skills": [{
                "key": format!("{name}_look"), "name": "Look", "description": "Looks.", "class": "safe",
                "scope": "manager",
                "params": {"type": "object", "properties": {"word": {"type": "string"}}},
            }],
        });
        change(&mut manifest);
        let pack = self.packs().join(name);
        fs::create_dir_all(&pack).unwrap();
        fs::write(pack.join("skill.json"), manifest.to_string()).unwrap();
        fs::write(pack.join("run"), format!("#!/bin/sh\n{script}\n")).unwrap();
        for (file, mode) in [("", 0o755), ("skill.json", 0o644), ("run", 0o755)] {
            fs::set_permissions(pack.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    fn packs(&self) -> PathBuf {
        self.folder.path().join("packs")
    }

    /// Loads them as they are, as the manager would.
    async fn put_in_place(&mut self, door: &Door, sandbox: &Arc<Plain>) {
        let rules = LoadRules::new(vec![self.packs()], self.folder.path().join("keep"));
        self.loaded = Arc::new(load(&rules, &|_, _| false, Some(&self.loaded)));
        door.executor.replace_packs(Arc::clone(&self.loaded), Arc::clone(sandbox) as _).await.unwrap();
    }
}

fn own(door: &Door, name: &str) -> PackFacts {
    let own = door.gate.packs().own();
    own.packs.iter().find(|pack| pack.name == name).unwrap().clone()
}

async fn accept(door: &Door, name: &str) {
    door.gate.packs().accept(&own(door, name), ADMIN, Actor::User(ADMIN)).await.unwrap();
}

async fn look(door: &Door, args: Value) -> CallOutcome {
    door.run(in_manager("demo_look", args)).await
}

fn refusal(outcome: &CallOutcome) -> &str {
    assert_eq!(outcome.state, CallState::Refused, "{outcome:?}");
    outcome.error.as_deref().unwrap()
}

#[tokio::test]
async fn a_pack_beside_the_manager_is_inert_until_an_admin_accepts_it() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "printf '{\"asked\":'; cat; printf '}'");
    shelf.put_in_place(&door, &sandbox).await;
    let waiting = look(&door, json!({})).await;
    assert!(refusal(&waiting).contains("no admin has accepted"), "{waiting:?}");
    assert!(sandbox.profiles.lock().unwrap().is_empty());

    accept(&door, "demo").await;
    let done = look(&door, json!({"word": "here"})).await;
    assert_eq!(done.state, CallState::Succeeded, "{done:?}");
    let asked = &done.result.as_ref().unwrap()["asked"];
    assert_eq!((&asked["skill"], &asked["params"]["word"]), (&json!("demo_look"), &json!("here")));
    assert_eq!(asked["call_id"], done.call_id.to_string());
    assert!(done.sandbox.unwrap().contains("read_only"));
    assert_eq!(*sandbox.profiles.lock().unwrap(), [Profile::ReadOnly]);
    let row = door.row(done.call_id).await;
    assert_eq!((row.state, row.edge), (CallState::Succeeded, None));

    let wrong = look(&door, json!({"wrod": "here"})).await;
    assert_eq!(wrong.state, CallState::Invalid, "{wrong:?}");
    let on_a_host = door.run(on_host(1, "demo_look", json!({}))).await;
    assert!(refusal(&on_a_host).contains("There is no tool"), "{on_a_host:?}");
}

#[tokio::test]
async fn a_pack_beside_the_manager_that_changed_waits_again_and_one_that_went_is_gone() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "echo 1");
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    assert_eq!(look(&door, json!({})).await.result, Some(json!(1)));

    shelf.pack("demo", "echo 2");
    shelf.put_in_place(&door, &sandbox).await;
    assert!(refusal(&look(&door, json!({})).await).contains("no admin has accepted"));
    accept(&door, "demo").await;
    assert_eq!(look(&door, json!({})).await.result, Some(json!(2)));

    fs::remove_dir_all(shelf.packs().join("demo")).unwrap();
    shelf.put_in_place(&door, &sandbox).await;
    assert!(refusal(&look(&door, json!({})).await).contains("There is no tool"));
    assert_eq!(door.gate.packs().accepted().await.unwrap().len(), 2, "what was accepted stays so");
}

#[tokio::test]
async fn where_nothing_holds_it_a_safe_skill_beside_the_manager_needs_an_approval() {
    let setup = Setup { approvals: nobody_decides(), ..Setup::default() };
    let (door, sandbox, mut shelf) = (open(setup).await, Plain::new(false), Shelf::new());
    shelf.pack("demo", "echo 1");
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    let expired = look(&door, json!({})).await;
    let row = door.row(expired.call_id).await;
    assert_eq!((row.state, row.class), (CallState::Expired, Class::Mutating), "{expired:?}");
    assert!(sandbox.profiles.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_the_managers_machine_lacks_is_told_and_a_model_is_not_offered_the_skill() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    let needed = shelf.folder.path().join("needed");
    shelf.pack_with("demo", "echo 1", |manifest| manifest["prerequisites"] = json!([needed]));
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    let is_offered = || door.catalogue.load().llm_tools().iter().any(|tool| tool.name == "demo_look");
    let refused = look(&door, json!({})).await;
    assert!(refusal(&refused).contains("beside the manager, which lacks the path"), "{refused:?}");
    assert!(!is_offered());

    fs::write(&needed, "").unwrap();
    shelf.put_in_place(&door, &sandbox).await;
    assert_eq!(look(&door, json!({})).await.state, CallState::Succeeded);
    assert!(is_offered());
}

#[tokio::test]
async fn exit_codes_of_a_program_beside_the_manager_say_what_failed() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    let script =
        "read -r request; code=${request##*\\\"word\\\":\\\"}; echo sorry >&2; exit \"${code%%\\\"*}\"";
    shelf.pack("demo", script);
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    for (code, kind) in [
        ("64", SkillErrorKind::Invalid),
        ("69", SkillErrorKind::Unsupported),
        ("75", SkillErrorKind::Busy),
        ("3", SkillErrorKind::Failed),
    ] {
        let failed = look(&door, json!({"word": code})).await;
        assert_eq!((failed.state, failed.error_kind), (CallState::Failed, Some(kind)), "{code} {failed:?}");
        assert!(failed.error.unwrap().contains("sorry"));
    }
}

#[tokio::test]
async fn a_program_beside_the_manager_ends_with_its_call() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "cat >/dev/null; exec sleep 600");
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    let stop = CancellationToken::new();
    let (outcome, ()) =
        tokio::join!(door.executor.request(in_manager("demo_look", json!({})), stop.clone()), async {
            sandbox.started.notified().await;
            stop.cancel();
        });
    assert_eq!(outcome.unwrap().state, CallState::Cancelled);
}

#[tokio::test]
async fn a_key_means_one_thing_whether_on_hosts_or_beside_the_manager() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "echo 1");
    shelf.put_in_place(&door, &sandbox).await;
    accept(&door, "demo").await;
    let mut on_hosts = own(&door, "demo");
    on_hosts.beside_manager = false;
    on_hosts.definitions[0].scope = Scope::Host;
    let refused = door.gate.packs().accept(&on_hosts, ADMIN, Actor::User(ADMIN)).await.unwrap_err();
    assert!(refused.to_string().contains("beside the manager already"), "{refused}");
}

#[tokio::test]
async fn a_host_can_not_tell_of_a_pack_that_would_run_beside_the_manager() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "echo 1");
    shelf.put_in_place(&door, &sandbox).await;
    let mut told = own(&door, "demo");
    told.beside_manager = false;
    assert!(door.gate.packs().accept(&told, ADMIN, Actor::User(ADMIN)).await.is_err());
    // Nor does it make the manager's own one runnable by having one with its hash.
    let hash = own(&door, "demo").capabilities().unwrap()[0].hash().to_owned();
    door.change_host(1, |host| {
        let facts = SkillFacts { class: Class::Safe, definition_hash: hash, unmet: Vec::new() };
        host.skills.as_mut().unwrap().insert("demo_look".to_owned(), facts);
    });
    assert!(refusal(&look(&door, json!({})).await).contains("no admin has accepted"));
}

#[tokio::test]
async fn broken_packs_and_those_for_hosts_only_are_told_apart() {
    let (door, sandbox, mut shelf) = (open(Setup::default()).await, Plain::new(true), Shelf::new());
    shelf.pack("demo", "echo 1");
    shelf.pack_with("hosts", "echo 1", |manifest| manifest["skills"][0]["scope"] = json!("host"));
    shelf.pack_with("wrong", "echo 1", |manifest| manifest["skills"][0]["class"] = json!("nice"));
    shelf.put_in_place(&door, &sandbox).await;
    let own = door.gate.packs().own();
    let told: Vec<(&str, bool)> =
        own.packs.iter().map(|pack| (pack.name.as_str(), pack.error.is_empty())).collect();
    assert_eq!(told, [("demo", true), ("wrong", false)]);
    assert!(own.packs[1].error.contains("unknown_class"));
}

//! What a program is told, and what is made of its answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use admission::{Admission, AnySkill, Limits, Request};
use model::Class;
use packs::{PackRequest, PackSkill, load};
use serde_json::{Value, json};
use skill::sandbox::{Opening, Profile};
use skill::{Catalogue, Host, SkillContext, SkillError, SkillErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::{Plain, Shelf, write};

#[derive(Debug)]
struct ThisMachine;

impl Host for ThisMachine {
    fn root(&self) -> &Path {
        Path::new("/")
    }
}

fn only(shelf: &Shelf) -> Arc<PackSkill> {
    let loaded = load(&shelf.rules(), &|_, _| false, None);
    assert!(loaded.broken.is_empty(), "{:?}", loaded.broken);
    Arc::clone(&loaded.skills[0])
}

async fn call(skill: &PackSkill, args: Value) -> Result<Value, SkillError> {
    call_with(skill, args, None).await
}

async fn call_with(
    skill: &PackSkill,
    args: Value,
    progress: Option<tokio::sync::mpsc::Sender<String>>,
) -> Result<Value, SkillError> {
    let catalogue = Catalogue::new([skill.capability()]).unwrap();
    let door = Admission::new(catalogue, Arc::new(|_| Vec::new()), Limits::default());
    let (call, _ticket) = door.accept(Request::local(skill.key(), args, 0, Duration::from_secs(20))).unwrap();
    let sandbox = Arc::new(Plain::default());
    let cx = SkillContext { sandbox, progress, ..SkillContext::new(Arc::new(ThisMachine)) };
    skill.run(call, &cx).await
}

async fn result_of(script: &str) -> Result<Value, SkillError> {
    let shelf = Shelf::new();
    shelf.pack("alpha", script);
    let skill = only(&shelf);
    call(&skill, json!({})).await
}

fn command_of(class: &str, call: Class, holds: bool, sandbox: Value) -> skill::sandbox::ChildCommand {
    let shelf = Shelf::new();
    shelf.pack_with("alpha", "echo 1", |manifest| {
        manifest["skills"][0]["class"] = json!(class);
        manifest["sandbox"] = sandbox;
    });
    let request = PackRequest {
        call_id: model::CallId::generate(),
        args: &json!({}),
        class: call,
        time_left: Duration::from_secs(1000),
    };
    only(&shelf).command(&request, &ThisMachine, holds, None)
}

#[tokio::test]
async fn the_program_is_told_of_the_call_on_standard_input_and_has_no_arguments() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "printf '{\"arguments\": %s, \"request\": ' $#; cat; printf '}'");
    let skill = only(&shelf);
    let result = call(&skill, json!({"path": "/etc \"x\""})).await.unwrap();
    assert_eq!(result["arguments"], 0);
    let request = &result["request"];
    assert_eq!(
        (&request["skill"], &request["params"]),
        (&json!("alpha_look"), &json!({"path": "/etc \"x\""}))
    );
    assert_eq!(request["call_id"].as_str().unwrap().len(), 36);
    let deadline = request["deadline"].as_str().unwrap();
    assert!(deadline.ends_with('Z') && deadline.parse::<model::Timestamp>().is_ok(), "{deadline}");
}

#[tokio::test]
async fn the_environment_is_what_the_manifest_allows_and_nothing_else() {
    let shelf = Shelf::new();
    shelf.pack_with("alpha", "env | cut -d= -f1 | sort | tr '\\n' ' ' | sed 's/.*/\"&\"/'", |manifest| {
        manifest["env_allow"] = json!(["DEMO_HOST", "DEMO_UNSET"]);
    });
    let mut rules = shelf.rules();
    rules.environment.0 =
        [("DEMO_HOST", "db"), ("DEMO_SECRET", "s")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    let loaded = load(&rules, &|_, _| false, None);
    let names = call(&loaded.skills[0], json!({})).await.unwrap();
    assert_eq!(names, "DEMO_HOST LANG LC_ALL PATH PWD ");
    assert!(!format!("{loaded:?}").contains("\"db\""), "values may be secret");
}

#[tokio::test]
async fn an_exit_code_says_what_failed_and_the_end_of_standard_error_why() {
    let kinds = [
        (64, SkillErrorKind::Invalid),
        (69, SkillErrorKind::Unsupported),
        (75, SkillErrorKind::Busy),
        (1, SkillErrorKind::Failed),
        (127, SkillErrorKind::Failed),
    ];
    for (code, kind) in kinds {
        let error = result_of(&format!("echo 'no table x' >&2; exit {code}")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{code}");
        assert!(error.message.contains("no table x"), "{error}");
    }
    let error = result_of("kill -9 $$").await.unwrap_err();
    assert!(error.message.contains("signal 9"), "{error}");
}

#[tokio::test]
async fn only_the_end_of_a_long_complaint_is_told_and_nothing_that_moves_a_terminal() {
    let error =
        result_of("yes x | head -5000 >&2; printf '\\033[31mlast words' >&2; exit 1").await.unwrap_err();
    assert!(error.message.ends_with("last words") && error.message.chars().count() < 2200, "{error}");
    assert!(!error.message.contains('\u{1b}'));
}

#[tokio::test]
async fn an_answer_is_one_json_value_within_its_limit() {
    assert_eq!(result_of("echo ' {\"a\": 1} '").await.unwrap(), json!({"a": 1}));
    for (script, word) in
        [("true", "nothing"), ("echo '{} {}'", "one JSON value"), ("echo hello", "one JSON value")]
    {
        let error = result_of(script).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Failed);
        assert!(error.message.contains(word), "{script}: {error}");
    }
    let error = result_of("head -c 2000000 /dev/zero | tr '\\0' 1").await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::TooLarge);
}

#[tokio::test]
async fn progress_is_handed_on_and_nobody_who_reads_it_slowly_holds_up_the_program() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "for i in $(seq 40); do echo \"progress $i of 40\" >&2; done; echo 1");
    let skill = only(&shelf);
    for room in [64, 1] {
        let (sender, mut lines) = tokio::sync::mpsc::channel(room);
        let answer = call_with(&skill, json!({}), Some(sender)).await;
        assert_eq!(answer.unwrap(), 1);
        let mut told = Vec::new();
        while let Some(line) = lines.recv().await {
            told.push(line);
        }
        assert_eq!((told[0].as_str(), told.len()), ("1 of 40", room.min(40)));
    }
    assert_eq!(call(&skill, json!({})).await.unwrap(), 1, "where nobody listens");
}

#[tokio::test]
async fn what_runs_is_what_was_loaded_whatever_becomes_of_the_packs_directory() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    let skill = only(&shelf);
    write(&pack.join("run"), "#!/bin/sh\necho 2\n", 0o755);
    assert_eq!(call(&skill, json!({})).await.unwrap(), 1);
    std::fs::remove_dir_all(&pack).unwrap();
    assert_eq!(call(&skill, json!({})).await.unwrap(), 1);
}

#[tokio::test]
async fn a_call_of_one_skill_never_runs_another() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "echo 1");
    shelf.pack("beta", "echo 2");
    let loaded = load(&shelf.rules(), &|_, _| false, None);
    let door = Admission::new(
        Catalogue::new(loaded.skills.iter().map(|skill| skill.capability())).unwrap(),
        Arc::new(|_| Vec::new()),
        Limits::default(),
    );
    let request = Request::local("beta_look", json!({}), 0, Duration::from_secs(5));
    let (accepted, _ticket) = door.accept(request).unwrap();
    let error = loaded.skills[0].run(accepted, &SkillContext::new(Arc::new(ThisMachine))).await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Refused);
}

#[test]
fn a_safe_skill_is_read_only_and_what_changes_gets_what_its_manifest_names() {
    let profile = |class, call, holds, sandbox| command_of(class, call, holds, sandbox).profile;
    let write = json!({"write_paths": ["/var/lib/alpha"]});
    assert_eq!(profile("safe", Class::Safe, true, json!({})), Profile::ReadOnly);
    assert_eq!(profile("safe", Class::Mutating, true, json!({})), Profile::ReadOnly);
    assert_eq!(profile("safe", Class::Safe, false, json!({})), Profile::ReadOnly);
    let nowhere = Profile::Workspace { write: Vec::new() };
    assert_eq!(profile("safe", Class::Mutating, false, json!({})), nowhere);
    assert_eq!(profile("mutating", Class::Mutating, true, json!({})), nowhere);
    let there = Profile::Workspace { write: vec![PathBuf::from("/var/lib/alpha")] };
    assert_eq!(profile("dangerous", Class::Dangerous, true, write), there);
    let everywhere = json!({"write_paths": ["/"]});
    assert_eq!(profile("mutating", Class::Mutating, true, everywhere), Profile::Full);
}

#[test]
fn openings_are_what_the_manifest_names_as_far_as_it_is_there() {
    let sandbox = json!({"network": true, "read_paths": ["/etc/hostname", "/nonexistent"], "sockets": ["/nonexistent.sock"]});
    let command = command_of("safe", Class::Safe, true, sandbox);
    assert!(command.openings.contains(&Opening::Network));
    assert!(command.openings.contains(&Opening::Read("/etc/hostname".into())));
    assert_eq!(command.openings.len(), 3, "these and the pack's own copy: {:?}", command.openings);
    assert_eq!(command.limits.wall, Duration::from_secs(60), "the manifest's time, not the caller's");
}

#[test]
fn what_the_configuration_forbids_and_what_the_host_lacks_is_told_before_a_call() {
    let shelf = Shelf::new();
    shelf.pack_with("alpha", "echo 1", |manifest| {
        manifest["sandbox"] = json!({"network": true, "write_paths": ["/srv/x", "/var/lib/alpha"]});
        manifest["skills"][0]["class"] = json!("mutating");
        manifest["prerequisites"] = json!(["no-such-program", "sh", "/nonexistent"]);
    });
    let mut rules = shelf.rules();
    rules.network = false;
    rules.write_roots = vec!["/var/lib".into()];
    let unmet = load(&rules, &|_, _| false, None).skills[0].unmet(&ThisMachine);
    assert_eq!(unmet.len(), 4, "{unmet:?}");
    for (told, word) in unmet.iter().zip(["no-such-program", "/nonexistent", "packs.network", "/srv/x"]) {
        assert!(told.contains(word), "{told}");
    }
}

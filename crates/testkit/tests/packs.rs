//! Packs through the front door, with the real binaries: beside the manager, and on a host.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{ADMIN_PASSWORD, Product, Session};
use tokio::process::Command;

/// Puts a pack into a folder, in one step as a package manager would.
fn put(packs: &Path, name: &str, script: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    let mut manifest = json!({
        "name": name, "version": "1.0.0", "description": "A pack of a test.", "entry": "run",
        "skills": [{
            "key": format!("{name}_look"), "name": "Look", "description": "Looks.", "class": "safe",
            "scope": "manager",
            "params": {"type": "object", "properties": {"word": {"type": "string"}}},
        }],
    });
    change(&mut manifest);
    let made = packs.join(format!(".{name}"));
    fs::create_dir_all(&made)?;
    fs::write(made.join("skill.json"), manifest.to_string())?;
    fs::write(made.join("run"), format!("#!/bin/sh\n{script}\n"))?;
    for (file, mode) in [("", 0o755), ("skill.json", 0o644), ("run", 0o755)] {
        fs::set_permissions(made.join(file), fs::Permissions::from_mode(mode))?;
    }
    let place = packs.join(name);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    Ok(fs::rename(made, place)?)
}

/// A manager whose packs lie in the folder that comes with it.
async fn start() -> Result<(Product, PathBuf, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    let packs = folder.path().join("packs");
    fs::create_dir(&packs)?;
    let product = Product::builder().configuration(&format!("[packs]\ndirs = [{packs:?}]")).start().await?;
    Ok((product, packs, folder))
}

/// What tells that packs beside the manager, or those of hosts, may have changed.
const BESIDE: &str = "packs.changed.v1";
const ON_HOSTS: &str = "hosts.changed.v1";

/// Looks at the list of packs again at each of these events, until it is as wanted.
async fn packs_until(
    session: &Session,
    event: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> Result<Vec<Value>> {
    let mut events = session.events(None).await?;
    let look = async {
        loop {
            let packs = session.get("/packs").await?.ok()?["items"].as_array().context("no list")?.clone();
            if wanted(&packs) {
                return Ok(packs);
            }
            events.next_of(event).await?;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), look).await.context("the packs did not become so")?
}

async fn look(session: &Session, args: Value) -> Result<Value> {
    session.post("/calls", json!({"tool": "demo_look", "args": args})).await?.ok()
}

/// What held the call's program, by its record; the audit has to say the same.
async fn held(session: &Session, call: &Value) -> Result<Value> {
    let id = call["id"].as_str().context("no id")?;
    let row = session.get(&format!("/calls/{id}")).await?.ok()?;
    let audited =
        row["audit"].as_array().into_iter().flatten().find(|entry| entry["kind"] == "call.finished");
    assert_eq!(audited.context("its end is not audited")?["payload"]["sandbox"], row["sandbox"], "{row}");
    Ok(row["sandbox"].clone())
}

async fn accept(session: &Session, pack: &Value) -> Result<Value> {
    let pin = pack["pin"].as_str().context("no pin")?;
    session.post(&format!("/packs/{pin}/accept"), json!({})).await?.ok()
}

#[tokio::test]
async fn a_pack_beside_the_manager_runs_in_the_sandbox_once_an_admin_accepts_it() -> Result<()> {
    let (mut product, packs, _folder) = start().await?;
    let admin = product.admin().await?;
    let secret = product.folder().join("manager/master.key");
    let script = format!(
        "cat {} >/dev/null 2>&1 && read=true || read=false\nid=$(id -u)\nprintf '{{\"id\":%s,\"read\":%s}}' $id $read",
        secret.display()
    );
    put(&packs, "demo", &script, |_| {})?;
    let waiting = packs_until(&admin, BESIDE, |packs| packs.len() == 1).await?;
    assert_eq!((&waiting[0]["state"], &waiting[0]["hosts"]), (&json!("waiting"), &json!([])));
    assert!(waiting[0]["manager_path"].as_str().is_some_and(|path| path.ends_with("packs/demo")));
    let refused = look(&admin, json!({})).await?;
    assert_eq!(refused["state"], "refused", "{refused}");
    assert!(
        refused["error"].as_str().is_some_and(|error| error.contains("no admin has accepted")),
        "{refused}"
    );

    let accepted = accept(&admin, &waiting[0]).await?;
    assert_eq!(accepted["state"], "accepted", "{accepted}");
    let done = look(&admin, json!({})).await?;
    assert_eq!(done["state"], "succeeded", "{done}");
    assert_eq!(done["result"]["read"], false, "the manager's key is hidden: {done}");
    assert_eq!(held(&admin, &done).await?, done["sandbox"], "{done}");
    assert!(done["sandbox"].as_str().is_some_and(|sandbox| sandbox.contains("read_only")), "{done}");
    let listed = admin.get("/capabilities").await?.ok()?;
    let mut skills = listed["items"].as_array().context("no list")?.iter();
    let skill = skills.find(|skill| skill["key"] == "demo_look").context("not listed")?;
    assert_eq!((&skill["source"], &skill["scope"]), (&json!("pack:demo"), &json!("manager")));
    assert_eq!(skill["refused_reason"], Value::Null);

    // It changes: what runs is what was accepted, or nothing.
    put(&packs, "demo", "echo '\"other\"'", |_| {})?;
    let changed =
        packs_until(&admin, BESIDE, |packs| packs.iter().any(|pack| pack["state"] == "waiting")).await?;
    assert_eq!(look(&admin, json!({})).await?["state"], "refused");
    let new = changed.iter().find(|pack| pack["state"] == "waiting").context("none")?;
    accept(&admin, new).await?;
    assert_eq!(look(&admin, json!({})).await?["result"], "other");

    product.stop_manager().await?;
    product.start_manager().await?;
    let mut admin = Session::new(&product.console);
    admin.sign_in("admin", ADMIN_PASSWORD).await?;
    assert_eq!(look(&admin, json!({})).await?["result"], "other", "accepted across a restart");
    let audit = admin.get("/audit?limit=100").await?.ok()?.to_string();
    assert!(audit.contains("pack.accepted"), "{audit}");
    Ok(())
}

#[tokio::test]
async fn a_hangup_makes_the_manager_look_again_at_packs_and_at_what_they_need() -> Result<()> {
    let (mut product, packs, folder) = start().await?;
    let admin = product.admin().await?;
    let needed = folder.path().join("needed");
    put(&packs, "demo", "echo 1", |manifest| manifest["prerequisites"] = json!([needed]))?;
    let waiting = packs_until(&admin, BESIDE, |packs| packs.len() == 1).await?;
    accept(&admin, &waiting[0]).await?;
    let lacking = look(&admin, json!({})).await?;
    assert!(
        lacking["error"].as_str().is_some_and(|error| error.contains("which lacks the path")),
        "{lacking}"
    );

    // Outside of the folders that are watched.
    fs::write(&needed, "")?;
    let mut events = admin.events(None).await?;
    let pid = product.manager_pid().context("no manager")?.to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().await?.success());
    let look_again = async {
        while look(&admin, json!({})).await?["state"] != "succeeded" {
            events.next_of(BESIDE).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::time::timeout(Duration::from_secs(30), look_again).await.context("it still lacks it")?
}

#[tokio::test]
async fn packs_are_checked_and_listed_on_the_command_line() -> Result<()> {
    let (mut product, packs, _folder) = start().await?;
    let admin = product.admin().await?;
    put(&packs, "demo", "echo 1", |_| {})?;
    put(&packs, "wrong", "echo 1", |manifest| manifest["skills"][0]["class"] = json!("nice"))?;
    let found = packs_until(&admin, BESIDE, |packs| packs.len() == 2).await?;
    let said = async |words: &[&str]| -> Result<(bool, String)> {
        let output = product.command(words).await?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    };
    let good = said(&["packs", "lint", &packs.join("demo").display().to_string()]).await?;
    assert!(good.0 && good.1.contains("skill demo_look: safe, scope manager"), "{good:?}");
    let bad = said(&["packs", "lint", &packs.join("wrong").display().to_string()]).await?;
    assert!(!bad.0 && bad.1.contains("unknown_class at `skills[0].class`"), "{bad:?}");
    let list = said(&["packs", "list"]).await?;
    assert!(
        list.1.contains("waiting demo 1.0.0 on the manager") && list.1.contains("broken wrong"),
        "{list:?}"
    );
    accept(&admin, found.iter().find(|pack| pack["name"] == "demo").context("no demo")?).await?;
    assert!(said(&["packs", "list"]).await?.1.contains("accepted demo"));
    Ok(())
}

#[tokio::test]
async fn a_pack_on_a_host_runs_there_once_an_admin_accepts_it_and_waits_again_when_it_changes() -> Result<()>
{
    let mut product = Product::builder().start().await?;
    let admin = product.admin().await?;
    let edge = product.folder().join("edges/web-1");
    // Not in the edge's own folder, which keeps its copies there.
    let packs = product.folder().join("packs");
    fs::create_dir(&packs)?;
    fs::create_dir_all(&edge)?;
    fs::write(edge.join("edge.toml"), format!("[packs]\ndirs = [{packs:?}]\n"))?;
    let here = |manifest: &mut Value| manifest["skills"][0]["scope"] = json!("host");
    put(&packs, "demo", "echo 1", here)?;
    let _edge = product.start_edge("web-1").await?;
    let id = admin.wait_online("web-1").await?["id"].clone();
    let look = async || -> Result<Value> {
        admin.post("/calls", json!({"tool": "demo_look", "edge_id": id})).await?.ok()
    };
    let waiting = packs_until(&admin, ON_HOSTS, |packs| packs.len() == 1).await?;
    assert_eq!((&waiting[0]["state"], &waiting[0]["hosts"][0]["name"]), (&json!("waiting"), &json!("web-1")));
    let refused = look().await?;
    assert!(
        refused["error"].as_str().is_some_and(|error| error.contains("no admin has accepted")),
        "{refused}"
    );
    accept(&admin, &waiting[0]).await?;
    let done = look().await?;
    assert_eq!((&done["state"], &done["result"]), (&json!("succeeded"), &json!(1)), "{done}");
    assert!(
        held(&admin, &done).await?.as_str().is_some_and(|sandbox| sandbox.contains("read_only")),
        "{done}"
    );

    put(&packs, "demo", "echo 2", here)?;
    let is_new = |pack: &Value| pack["state"] == "waiting";
    let changed = packs_until(&admin, ON_HOSTS, |packs| packs.iter().any(is_new)).await?;
    let refused = look().await?;
    assert!(
        refused["error"].as_str().is_some_and(|error| error.contains("is not what an admin accepted")),
        "{refused}"
    );
    accept(&admin, changed.iter().find(|pack| is_new(pack)).context("none")?).await?;
    assert_eq!(look().await?["result"], 2);
    Ok(())
}

#[tokio::test]
async fn a_pack_that_is_stopped_says_what_held_it_too() -> Result<()> {
    let mut product = Product::builder().start().await?;
    let (folder, edge) = (product.folder().join("packs"), product.folder().join("edges/web-1"));
    fs::create_dir(&folder)?;
    fs::create_dir_all(&edge)?;
    fs::write(edge.join("edge.toml"), format!("[packs]\ndirs = [{folder:?}]\n"))?;
    put(&folder, "demo", "exec sleep 1000", |manifest| {
        manifest["skills"][0]["scope"] = json!("host");
        manifest["timeout_seconds"] = json!(1);
    })?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("web-1").await?;
    let id = admin.wait_online("web-1").await?["id"].clone();
    let waiting = packs_until(&admin, ON_HOSTS, |packs| packs.len() == 1).await?;
    accept(&admin, &waiting[0]).await?;
    let ended = admin.post("/calls", json!({"tool": "demo_look", "edge_id": id})).await?.ok()?;
    assert_eq!(ended["state"], "timed_out", "{ended}");
    assert!(
        held(&admin, &ended).await?.as_str().is_some_and(|sandbox| sandbox.contains("read_only")),
        "{ended}"
    );
    Ok(())
}

/// A program that says where it is and goes on when the file is there.
fn talking(go: &Path) -> String {
    format!(
        "printf '\\033[31mstep 1\\033[0m of 2, password=hunter2hunter2\\n' >&3\n\
         while [ ! -e {0} ]; do sleep 0.05; done\necho 'step 2 of 2' >&3\necho 1",
        go.display()
    )
}

/// Runs the skill by this command in a new chat; `go` lets it go on once its line was seen.
async fn talk(admin: &Session, command: &str, go: &Path) -> Result<()> {
    let chat = admin.new_chat().await?;
    let mut events = admin.events(None).await?;
    let turn = admin.post(&format!("/sessions/{chat}/turns"), json!({"text": command})).await?.ok()?;
    let shown = async {
        loop {
            let event = events.next().await?;
            anyhow::ensure!(
                event.kind != "chat.turn-finished.v1",
                "it ended without a line: {:?}",
                event.data
            );
            if event.kind == "chat.tool-progress.v1" {
                return Ok(event);
            }
        }
    };
    let shown = tokio::time::timeout(Duration::from_secs(60), shown).await.context("no line was shown")??;
    let line = shown.data["payload"]["line"].as_str().context("no line")?;
    assert!(line.starts_with("step 1 of 2, password=") && !line.contains("hunter2"), "{line}");
    assert!(shown.data["payload"]["call_id"].is_string() && shown.id.is_some(), "{:?}", shown.data);
    fs::write(go, "")?;
    events.next_of("chat.turn-finished.v1").await?;
    let replay = admin.turn_events(&chat, &turn["turn_id"]).await?;
    let kinds: Vec<&str> = replay.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert!(kinds.contains(&"chat.tool-result.v1"), "{kinds:?}");
    assert!(!kinds.contains(&"chat.tool-progress.v1"), "lines of a call that has ended are gone: {kinds:?}");
    let ended = replay.iter().find(|event| event["kind"] == "chat.tool-result.v1").context("no result")?;
    assert_eq!(ended["payload"]["state"], "succeeded", "{ended}");
    Ok(())
}

#[tokio::test]
async fn lines_of_progress_are_shown_in_the_chat_while_a_pack_runs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // Whom a safe program runs as may look into it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let (packs, go) = (folder.path().join("packs"), folder.path().join("go"));
    fs::create_dir_all(packs.join("of-manager"))?;
    fs::create_dir_all(packs.join("of-host"))?;
    put(&packs.join("of-manager"), "demo", &talking(&go.with_extension("manager")), |_| {})?;
    put(&packs.join("of-host"), "host", &talking(&go.with_extension("host")), |manifest| {
        manifest["skills"][0]["scope"] = json!("host");
    })?;
    let mut product = Product::builder()
        .configuration(&format!("[packs]\ndirs = [{:?}]", packs.join("of-manager")))
        .start()
        .await?;
    let edge = product.folder().join("edges/web-1");
    fs::create_dir_all(&edge)?;
    fs::write(edge.join("edge.toml"), format!("[packs]\ndirs = [{:?}]\n", packs.join("of-host")))?;
    let admin = product.admin().await?;
    let _edge = product.start_edge("web-1").await?;
    admin.wait_online("web-1").await?;
    for pack in packs_until(&admin, ON_HOSTS, |packs| packs.len() == 2).await? {
        accept(&admin, &pack).await?;
    }
    talk(&admin, "/demo_look", &go.with_extension("manager")).await?;
    talk(&admin, "/host_look @web-1", &go.with_extension("host")).await?;
    Ok(())
}

#[tokio::test]
async fn a_policy_for_a_skill_of_a_pack_may_be_there_before_the_pack_is() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let packs = folder.path().join("packs");
    fs::create_dir(&packs)?;
    let configuration = |name: &str| {
        format!("[packs]\ndirs = [{packs:?}]\n[security.tool_policy.tools]\n{name:?} = \"deny\"\n")
    };
    let mut product = Product::builder().configuration(&configuration("demo/demo_look")).start().await?;
    assert!(product.command(&["config", "check"]).await?.status.success());
    let admin = product.admin().await?;
    put(&packs, "demo", "echo 1", |_| {})?;
    let waiting = packs_until(&admin, BESIDE, |packs| packs.len() == 1).await?;
    accept(&admin, &waiting[0]).await?;
    let refused = look(&admin, json!({})).await?;
    assert_eq!(refused["state"], "refused", "{refused}");
    assert!(
        refused["error"].as_str().is_some_and(|error| error.contains("[security.tool_policy]")),
        "{refused}"
    );

    let wrong = folder.path().join("wrong.toml");
    fs::write(&wrong, configuration("demo_look"))?;
    let checked = Command::new(testkit::binary("steadyhand")?)
        .args(["config", "check", "--config"])
        .arg(&wrong)
        .output()
        .await?;
    let said =
        String::from_utf8_lossy(&checked.stderr).into_owned() + &String::from_utf8_lossy(&checked.stdout);
    assert!(!checked.status.success() && said.contains("a skill of a pack is named with its pack"), "{said}");
    Ok(())
}

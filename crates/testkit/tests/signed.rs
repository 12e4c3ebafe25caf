//! Dangerous calls by a signed procedure and two people, with the real binaries: keys, documents and signatures made at the
//! command line as people do, the call asked for over the API, and a host that checks all of it by its own file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result, ensure};
use model::Clock as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use testkit::{EdgeProcess, Product, Session, binary, signed_procedure};
use tokio::process::Command;

const SOP_KEY: &str = include_str!("../../signing/fixtures/sop.pub.pem");
const PASSWORD: &str = "a long enough passphrase 7";

/// Runs the manager's command line; returns what it prints.
async fn steadyhand(arguments: &[&str]) -> Result<String> {
    let output = Command::new(binary("steadyhand")?).args(arguments).stdin(Stdio::null()).output().await?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// A manager and a host that pin the same keys, two approvers with a key file each, and an admin who asks.
struct Scene {
    product: Product,
    edge: EdgeProcess,
    host: Value,
    admin: Session,
    keys: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn start(maximum_runs: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let keys = folder.path().to_owned();
        let at = |name: &str| keys.join(name).display().to_string();
        let told = steadyhand(&["approvers", "root-keygen", &at("root")]).await?;
        let root = told.split('"').nth(1).context("no public key was printed")?.to_owned();
        let mut list = "version = 1\nexpires = 2100-01-01T00:00:00Z\n".to_owned();
        for name in ["ana", "cho"] {
            list += &steadyhand(&["approvers", "keygen", &at(name), "--person", name]).await?;
        }
        std::fs::write(at("approvers.toml"), list)?;
        steadyhand(&["approvers", "sign", &at("approvers.toml"), "--key", &at("root.key.pem")]).await?;
        std::fs::write(at("operations.pub.pem"), SOP_KEY)?;
        let pins = format!(
            "[security.sop]\ntrusted_keys = [{:?}]\n[security.approvers]\nroot_key = \"{root}\"\n",
            at("operations.pub.pem")
        );
        let mut product = Product::builder().configuration(&pins).start().await?;
        let admin = product.admin().await?;
        let mut edge = product.start_edge("web-1").await?;
        edge.kill().await?;
        let path = edge.folder().join("edge.toml");
        let text = std::fs::read_to_string(&path)?;
        std::fs::write(&path, format!("{text}\n{pins}[labels]\nrole = \"web\"\n"))?;
        edge.start()?;
        let host = admin.wait_host("web-1", |host| host["signing"]["dangerous"] == true).await?;
        let mut scene = Self { product, edge, host, admin, keys, _folder: folder };
        scene.admin_token().await?;
        for name in ["ana", "cho"] {
            scene.approver(name).await?;
        }
        scene.import_documents(maximum_runs).await?;
        Ok(scene)
    }

    fn at(&self, name: &str) -> String {
        self.keys.join(name).display().to_string()
    }

    async fn token(session: &Session, scopes: &[&str], file: &str) -> Result<()> {
        let made = session.post("/tokens", json!({"name": "cli", "scopes": scopes})).await?.ok()?;
        Ok(std::fs::write(file, made["token"].as_str().context("no token")?)?)
    }

    async fn admin_token(&self) -> Result<()> {
        Self::token(&self.admin, &["read", "admin"], &self.at("admin.token")).await
    }

    /// An account with the role approver, and a token with which its owner's key file can be used.
    async fn approver(&mut self, name: &str) -> Result<()> {
        let first = "a first passphrase 8";
        let new = json!({"name": name, "roles": ["approver"], "password": first});
        self.admin.post("/users", new).await?.ok()?;
        let mut session = Session::new(&self.product.console);
        session.sign_in(name, first).await?;
        session.change_password(first, PASSWORD).await?;
        Self::token(&session, &["read", "approvals:sign"], &self.at(&format!("{name}.token"))).await
    }

    async fn import_documents(&self, maximum_runs: u32) -> Result<()> {
        let text = self.procedure(1, maximum_runs);
        let sop = signed_procedure(&text)?;
        std::fs::write(self.at("clean-up.toml"), &sop.document)?;
        std::fs::write(self.at("clean-up.toml.sig"), &sop.signature)?;
        let told = self.as_person("admin", &["approvers", "import", &self.at("approvers.toml")]).await?;
        ensure!(told.contains("ana") && told.contains("version 1"), "{told}");
        let told = self.as_person("admin", &["sop", "import", &self.at("clean-up.toml"), "--yes"]).await?;
        ensure!(told.contains("imported: clean-up version 1"), "{told}");
        Ok(())
    }

    fn procedure(&self, version: u32, maximum_runs: u32) -> String {
        let now = model::SystemClock.now();
        let day = Duration::from_secs(86_400);
        let written = |at: model::Timestamp| at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        format!(
            "id = \"clean-up\"\nversion = {version}\ntitle = \"Clean up\"\nvalid_from = {}\nvalid_until = {}\n\
             [[steps]]\nname = \"remove\"\nskill = \"bash\"\nlabels = {{ role = \"web\" }}\n\
             maximum_runs = {maximum_runs}\n[steps.parameters]\ntype = \"object\"\nadditionalProperties = false\n\
             required = [\"command\"]\n[steps.parameters.properties]\n\
             command = {{ type = \"string\", pattern = \"^rm -r --no-preserve-root [/a-zA-Z0-9._-]+$\" }}\n",
            written(now - day),
            written(now + day)
        )
    }

    /// Runs a command of the command line with a person's token.
    async fn as_person(&self, name: &str, arguments: &[&str]) -> Result<String> {
        let token = self.at(&format!("{name}.token"));
        let with = ["--url", &self.product.console, "--token-file", &token];
        steadyhand(&[arguments, &with].concat()).await
    }

    /// Asks for a folder to be removed; returns the folder and the call.
    async fn ask(&self, name: &str) -> Result<(PathBuf, Value)> {
        let folder = self.product.folder().join(name);
        std::fs::create_dir_all(folder.join("inside"))?;
        let call = self.admin.post("/calls", self.call(&folder)).await?.ok()?;
        Ok((folder, call))
    }

    fn call(&self, folder: &Path) -> Value {
        json!({
            "tool": "bash", "edge_id": self.host["id"], "wait": false,
            "args": {"command": format!("rm -r --no-preserve-root {}", folder.display())},
            "sop": {"id": "clean-up", "step": "remove"},
        })
    }

    async fn sign(&self, name: &str, call: &Value, more: &[&str]) -> Result<String> {
        let (id, key) = (id_of(call), self.at(&format!("{name}.key.pem")));
        let sign = ["approve", &id, "--key", &key, "--yes"];
        self.as_person(name, &[&sign, more].concat()).await
    }

    async fn approval(&self, call: &Value) -> Result<Value> {
        self.admin.get(&format!("/approvals/{}", id_of(call))).await?.ok()
    }

    /// Waits until a call is final.
    async fn end_of(&self, call: &Value) -> Result<Value> {
        let mut events = self.admin.events(None).await?;
        loop {
            let now =
                self.admin.get(&format!("/calls/{}", call["id"].as_str().context("no id")?)).await?.ok()?;
            if !["awaiting_approval", "running", "unknown"]
                .contains(&now["state"].as_str().unwrap_or_default())
            {
                return Ok(now);
            }
            events.next_of("calls.changed.v1").await?;
        }
    }
}

fn id_of(call: &Value) -> String {
    call["approval_id"].as_str().unwrap_or_else(|| panic!("nobody was asked: {call}")).to_owned()
}

#[tokio::test]
async fn two_people_sign_at_the_command_line_and_the_host_runs_it_once_across_restarts() -> Result<()> {
    let mut scene = Scene::start(3).await?;

    // One whole way: looked at, signed twice, with the host's name the second time.
    let (folder, call) = scene.ask("first").await?;
    ensure!(call["state"] == "awaiting_approval", "{call}");
    let shown = scene.as_person("ana", &["approve", &id_of(&call), "--show"]).await?;
    ensure!(
        shown.contains("procedure: clean-up version 1, step remove") && shown.contains("digest:"),
        "{shown}"
    );
    let path = format!("/approvals/{}/decision", id_of(&call));
    let decided = scene.admin.post(&path, json!({"decision": "allow_once"})).await?;
    assert_eq!(decided.status.as_u16(), 403, "{}", decided.body);
    let signed = scene.sign("ana", &call, &[]).await?;
    ensure!(signed.ends_with("signed: 1 of 2\n"), "{signed}");
    let again = scene.sign("ana", &call, &[]).await.unwrap_err().to_string();
    ensure!(again.contains("You have signed it"), "{again}");
    let unnamed = scene.sign("cho", &call, &[]).await.unwrap_err().to_string();
    ensure!(unnamed.contains("host's name has to be typed"), "{unnamed}");
    assert!(folder.exists(), "nothing is done before the last signature");
    let signed = scene.sign("cho", &call, &["--host-name", "web-1"]).await?;
    ensure!(signed.contains("the call is approved"), "{signed}");
    let ended = scene.end_of(&call).await?;
    assert_eq!(
        (&ended["state"], &ended["sop"]),
        (&json!("succeeded"), &json!("clean-up@1/remove")),
        "{ended}"
    );
    assert!(!folder.exists());

    // The host's agent restarts in between: what was signed is void, and people sign again.
    let (folder, call) = scene.ask("second").await?;
    scene.sign("ana", &call, &[]).await?;
    let before = scene.host["connected_at"].clone();
    scene.edge.kill().await?;
    scene.edge.start()?;
    let back = |host: &Value| host["state"] == "online" && host["connected_at"] != before;
    scene.admin.wait_host("web-1", back).await?;
    let mut events = scene.admin.events(None).await?;
    while scene.approval(&call).await?["signing"]["statement_open"] == true {
        events.next_of("approval.changed.v1").await?;
    }
    let approval = scene.approval(&call).await?;
    assert_eq!((&approval["state"], &approval["signing"]["signatures"]), (&json!("pending"), &json!([])));
    scene.sign("cho", &call, &[]).await?;
    scene.sign("ana", &call, &["--host-name", "web-1"]).await?;
    assert_eq!(scene.end_of(&call).await?["state"], "succeeded");
    assert!(!folder.exists());

    // The manager dies in between: the card is there again, with the signature that it had.
    let (folder, call) = scene.ask("third").await?;
    scene.sign("ana", &call, &[]).await?;
    scene.product.kill_manager().await?;
    scene.product.start_manager().await?;
    scene.admin = scene.product.admin().await?;
    scene.admin.wait_online("web-1").await?;
    assert_eq!(scene.approval(&call).await?["signing"]["signatures"][0]["person"], "ana");
    scene.sign("cho", &call, &["--host-name", "web-1"]).await?;
    assert_eq!(scene.end_of(&call).await?["state"], "succeeded");
    assert!(!folder.exists());

    // Three times is what the procedure allows.
    let (folder, call) = scene.ask("fourth").await?;
    assert_eq!(call["state"], "refused", "{call}");
    ensure!(call["error"].as_str().unwrap().contains("may run 3 times"), "{call}");
    assert!(folder.exists());
    let verified = scene.product.command(&["audit", "verify"]).await?;
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    Ok(())
}

#[tokio::test]
async fn a_revoked_procedure_and_an_unnamed_one_run_nothing() -> Result<()> {
    let scene = Scene::start(5).await?;
    let folder = scene.product.folder().join("stays");
    std::fs::create_dir_all(&folder)?;
    let mut unnamed = scene.call(&folder);
    unnamed.as_object_mut().unwrap().remove("sop");
    let refused = scene.admin.post("/calls", unnamed).await?.ok()?;
    assert_eq!(refused["state"], "refused", "{refused}");
    ensure!(
        refused["error"].as_str().unwrap().contains("`clean-up/remove` (Clean up, version 1)"),
        "{refused}"
    );

    let (folder, call) = scene.ask("asked").await?;
    scene.sign("ana", &call, &[]).await?;
    let told = scene.as_person("admin", &["sop", "revoke", "clean-up"]).await?;
    ensure!(told.contains("revoked: clean-up version 1"), "{told}");
    let late = scene.sign("cho", &call, &["--host-name", "web-1"]).await.unwrap_err().to_string();
    ensure!(late.contains("was revoked"), "{late}");
    assert!(folder.exists());
    let listed = scene.as_person("admin", &["sop", "list"]).await?;
    ensure!(listed.contains("clean-up version 1 revoked"), "{listed}");
    // An older signature doesn't come back: what was revoked stays known.
    let import = ["sop", "import", &scene.at("clean-up.toml"), "--yes"];
    let again = scene.as_person("admin", &import).await.unwrap_err().to_string();
    ensure!(again.contains("is imported already"), "{again}");
    let lines = scene.as_person("admin", &["approvers", "show"]).await?;
    ensure!(lines.contains("ana\n") && lines.contains("passkeys: don't count"), "{lines}");
    Ok(())
}

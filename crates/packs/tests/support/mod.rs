//! Packs in temporary directories, and a sandbox that holds nothing.
#![allow(dead_code, reason = "each test file uses a part")]

use packs::LoadRules;
use serde_json::{Value, json};
use skill::sandbox::{Captured, ChildCommand, ChildEnded, ChildReport, Exit, Opening, Sandbox};
use skill::{SkillError, SkillErrorKind};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

/// A folder of packs, and one for the agent's copies.
pub struct Shelf {
    folder: TempDir,
}

impl Shelf {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("packs")).unwrap();
        Self { folder }
    }

    pub fn rules(&self) -> LoadRules {
        LoadRules::new(vec![self.packs()], self.keep())
    }

    pub fn packs(&self) -> PathBuf {
        self.folder.path().join("packs")
    }

    pub fn keep(&self) -> PathBuf {
        self.folder.path().join("keep")
    }

    /// Puts a pack there with one safe skill `<name>_look` whose program is `script`.
    pub fn pack(&self, name: &str, script: &str) -> PathBuf {
        self.pack_with(name, script, |_| {})
    }

    pub fn pack_with(&self, name: &str, script: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let mut manifest = json!({
            "name": name, "version": "1.0.0", "description": "A pack of a test.", "entry": "run",
            "skills": [{
                "key": format!("{}_look", name.replace('-', "_")),
                "name": "Look",
                "description": "Looks.",
                "class": "safe",
                "params": {"type": "object", "properties": {"path": {"type": "string", "description": "What."}}},
            }],
        });
        change(&mut manifest);
        let pack = self.packs().join(name);
        fs::create_dir(&pack).unwrap();
        chmod(&pack, 0o755);
        write(&pack.join("skill.json"), &manifest.to_string(), 0o644);
        write(&pack.join("run"), &format!("#!/bin/sh\n{script}\n"), 0o755);
        pack
    }
}

pub fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    chmod(path, mode);
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Starts programs as they are and keeps what was asked for. Each line that they write to standard error beginning with
/// `progress ` counts as one of descriptor 3, which a plain process can't be given.
#[derive(Debug, Default)]
pub struct Plain {
    pub asked: Mutex<Vec<String>>,
}

impl Sandbox for Plain {
    fn holds_read_only(&self) -> bool {
        true
    }

    fn can_open(&self, _opening: &Opening) -> bool {
        true
    }

    fn run(&self, command: ChildCommand) -> futures::future::BoxFuture<'_, Result<ChildEnded, SkillError>> {
        self.asked.lock().unwrap().push(format!("{:?} {:?}", command.profile, command.openings));
        Box::pin(async move {
            let started = tokio::time::Instant::now();
            let mut child = tokio::process::Command::new(&command.program)
                .args(&command.args)
                .env_clear()
                .envs(command.env)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| SkillError::new(SkillErrorKind::Failed, error))?;
            let mut stdin = child.stdin.take().unwrap();
            // A program need not read what it is asked.
            let _ = stdin.write_all(&command.stdin.unwrap_or_default()).await;
            drop(stdin);
            let output = child.wait_with_output().await.unwrap();
            if let Some(progress) = &command.progress {
                for line in String::from_utf8_lossy(&output.stderr).lines() {
                    if let Some(line) = line.strip_prefix("progress ") {
                        progress.send(line.to_owned()).await.unwrap();
                    }
                }
            }
            let exit = match output.status.code() {
                Some(code) => Exit::Code(code),
                None => Exit::Signal(output.status.signal().unwrap_or_default()),
            };
            Ok(ChildEnded {
                exit,
                stdout: captured(output.stdout, command.limits.stdout_bytes),
                stderr: captured(output.stderr, command.limits.stderr_bytes),
                duration: started.elapsed(),
                report: ChildReport {
                    backend: "none".to_owned(),
                    profile: "full".to_owned(),
                    openings: command.openings,
                    weaker: Vec::new(),
                },
            })
        })
    }
}

fn captured(mut bytes: Vec<u8>, limit: usize) -> Captured {
    let total = bytes.len() as u64;
    bytes.truncate(limit);
    Captured { bytes, total }
}

//! A host for tests: a folder that stands for `/`, a clock that stands still, rules of its own.

use futures::future::BoxFuture;
use model::Timestamp;
use skill::SkillError;
use skill::sandbox::{Captured, ChildCommand, ChildEnded, ChildReport, Exit, Opening, Profile, Sandbox};
use skill::{AddressRules, ChangeRules, FileRules, Host, SkillContext};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct FakeHost {
    root: TempDir,
    files: FileRules,
    addresses: AddressRules,
    changes: ChangeRules,
    now: Timestamp,
}

impl FakeHost {
    /// A host with an empty root.
    pub(crate) fn empty() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            files: FileRules::default(),
            addresses: AddressRules::default(),
            changes: ChangeRules::default(),
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
        }
    }

    pub(crate) fn with_addresses(mut self, addresses: AddressRules) -> Self {
        self.addresses = addresses;
        self
    }

    pub(crate) fn with_changes(mut self, changes: ChangeRules) -> Self {
        self.changes = changes;
        self
    }

    pub(crate) fn with_files(mut self, files: FileRules) -> Self {
        self.files = files;
        self
    }

    /// Writes a file below the root.
    pub(crate) fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Writes an executable below the root.
    pub(crate) fn with_program(self, path: &str, script: &str) -> Self {
        self.write(path, script);
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.path(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    /// A context with this host.
    pub(crate) fn context(self) -> SkillContext {
        SkillContext::new(Arc::new(self))
    }
}

impl Host for FakeHost {
    fn root(&self) -> &Path {
        self.root.path()
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn file_rules(&self) -> &FileRules {
        &self.files
    }

    fn address_rules(&self) -> &AddressRules {
        &self.addresses
    }

    fn change_rules(&self) -> &ChangeRules {
        &self.changes
    }
}

/// A sandbox that runs nothing: it remembers what it was asked for, and answers what it was told to.
#[derive(Debug)]
pub(crate) struct FakeSandbox {
    answers: Mutex<Vec<ChildEnded>>,
    asked: Mutex<Vec<ChildCommand>>,
    holds: bool,
    opens: bool,
}

impl FakeSandbox {
    /// A sandbox whose every child ends like this.
    pub(crate) fn ending(exit: Exit, stdout: &str, stderr: &str) -> Self {
        Self::answering(vec![(exit, stdout, stderr)])
    }

    /// A sandbox whose children end one like the other, the rest like the last.
    pub(crate) fn answering(answers: Vec<(Exit, &str, &str)>) -> Self {
        let stream = |text: &str| Captured { bytes: text.into(), total: text.len() as u64 };
        let answer = |(exit, stdout, stderr)| ChildEnded {
            exit,
            stdout: stream(stdout),
            stderr: stream(stderr),
            duration: Duration::from_millis(5),
            report: ChildReport {
                backend: "fake".to_owned(),
                profile: String::new(),
                openings: [].into(),
                weaker: Vec::new(),
            },
        };
        let answers = answers.into_iter().rev().map(answer).collect();
        Self { answers: Mutex::new(answers), asked: Mutex::default(), holds: true, opens: true }
    }

    pub(crate) fn opening_nothing(self) -> Self {
        Self { opens: false, ..self }
    }

    pub(crate) fn holding_nothing(self) -> Self {
        Self { holds: false, ..self }
    }

    /// What it was asked for last.
    pub(crate) fn asked(&self) -> ChildCommand {
        self.asked.lock().unwrap().pop().unwrap()
    }

    pub(crate) fn was_asked(&self) -> bool {
        !self.asked.lock().unwrap().is_empty()
    }
}

impl Sandbox for FakeSandbox {
    fn holds_read_only(&self) -> bool {
        self.holds
    }

    fn can_open(&self, _opening: &Opening) -> bool {
        self.opens
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        let mut answers = self.answers.lock().unwrap();
        let mut answer = answers.last().unwrap().clone();
        if answers.len() > 1 {
            answers.pop();
        }
        answer.report.openings = command.openings.clone();
        answer.report.profile = match command.profile {
            Profile::ReadOnly => "read_only",
            Profile::Workspace { .. } => "workspace",
            Profile::Full => "full",
        }
        .to_owned();
        self.asked.lock().unwrap().push(command);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// A sandbox that holds nothing, and says otherwise: it runs what it is asked to. For programs that tests trust.
#[derive(Debug)]
pub(crate) struct RunsDirectly;

impl Sandbox for RunsDirectly {
    fn holds_read_only(&self) -> bool {
        true
    }

    fn can_open(&self, _opening: &Opening) -> bool {
        true
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        Box::pin(async move {
            let done = tokio::process::Command::new(&command.program)
                .args(&command.args)
                .env_clear()
                .envs(command.env)
                .current_dir(command.cwd.unwrap_or_else(|| "/".into()))
                .stdin(std::process::Stdio::null())
                .output()
                .await
                .unwrap();
            let stream = |bytes: Vec<u8>| Captured { total: bytes.len() as u64, bytes };
            let profile = if command.profile == Profile::ReadOnly { "read_only" } else { "full" };
            Ok(ChildEnded {
                exit: Exit::Code(done.status.code().unwrap()),
                stdout: stream(done.stdout),
                stderr: stream(done.stderr),
                duration: Duration::from_millis(5),
                report: ChildReport {
                    backend: "none".to_owned(),
                    profile: profile.to_owned(),
                    openings: command.openings,
                    weaker: Vec::new(),
                },
            })
        })
    }
}

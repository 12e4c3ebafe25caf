//! One skill of a pack: what is asked of its program, and what is made of its answer.

use crate::load::{LoadRules, Pack};
use crate::manifest::{Need, SandboxManifest, SkillManifest};
use crate::problem::{Fault, Problem};
use admission::{AcceptedCall, AnySkill};
use futures::FutureExt;
use futures::future::BoxFuture;
use model::{CallId, Class};
use serde_json::{Value, json};
use skill::host::PROGRAM_PATH;
use skill::sandbox::{ChildCommand, ChildEnded, ChildLimits, Exit, Opening, Profile};
use skill::{Capability, Definition, Host, SkillContext, SkillError, SkillErrorKind, Source};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Answers that are larger than what the manifest says are told as too large; this is what one may have that says
/// nothing.
const DEFAULT_STDOUT_BYTES: u32 = 1024 * 1024;

/// Lines of progress that wait to be read.
pub const PROGRESS_LINES: usize = 16;

/// How much of standard error is kept.
const STDERR_BYTES: usize = 64 * 1024;

/// How much of it is told.
const TOLD_CHARS: usize = 2000;

/// Exit codes that say what failed.
mod exit {
    pub(super) const BAD_PARAMS: i32 = 64;
    pub(super) const PREREQUISITE_MISSING: i32 = 69;
    pub(super) const TRY_LATER: i32 = 75;
}

/// One skill of a pack.
#[derive(Debug)]
pub struct PackSkill {
    pack: Arc<Pack>,
    index: usize,
    capability: Arc<Capability>,
    /// What the configuration doesn't let it have, in words.
    forbidden: Vec<String>,
}

/// One call, as its program is told of it.
#[derive(Clone, Debug)]
pub struct PackRequest<'a> {
    /// Which call.
    pub call_id: CallId,
    /// Its arguments, which fit the schema.
    pub args: &'a Value,
    /// The class that it was let through with.
    pub class: Class,
    /// What is left of its time; the manifest may allow less.
    pub time_left: Duration,
}

impl PackSkill {
    pub(crate) fn new(pack: &Arc<Pack>, index: usize, rules: &LoadRules) -> Result<Self, Problem> {
        let broken = |message: String| Problem::new(Fault::BadParams, format!("skills[{index}]"), message);
        let skill = pack.manifest.skills.get(index).ok_or_else(|| broken("is not there".to_owned()))?;
        let definition = Definition {
            key: skill.key.clone(),
            name: skill.name.clone(),
            description: skill.description.clone(),
            class: skill.class.unwrap_or(rules.default_class),
            scope: skill.scope,
            category: pack.manifest.category.clone(),
            params: skill.params.clone(),
            result_preview: skill.result_preview.clone(),
            prerequisites: skill.prerequisites.iter().map(Need::describe).collect(),
        };
        let source = Source::Pack(pack.manifest.name.clone());
        let capability = Capability::new(definition, |_| Class::Safe, source)
            .map_err(|error| broken(error.to_string()))?
            .with_program(pack.digest.as_str())
            .with_subprocess(true);
        let forbidden = forbidden(&skill.sandbox, rules);
        Ok(Self { pack: Arc::clone(pack), index, capability: Arc::new(capability), forbidden })
    }

    /// The pack that it belongs to.
    pub fn pack(&self) -> &Arc<Pack> {
        &self.pack
    }

    /// What it is.
    pub fn definition(&self) -> &Definition {
        self.capability.definition()
    }

    /// The hash of its definition and of the pack's files.
    pub fn hash(&self) -> &str {
        self.capability.hash()
    }

    /// What a machine lacks for it, or its configuration doesn't let it have, in words.
    pub fn lacks(&self, host: &dyn Host) -> Vec<String> {
        let needs = self.manifest().into_iter().flat_map(|skill| &skill.prerequisites);
        let lacking = needs.filter(|need| !need.is_met(host)).map(Need::describe);
        lacking.chain(self.forbidden.iter().cloned()).collect()
    }

    fn manifest(&self) -> Option<&SkillManifest> {
        self.pack.manifest.skills.get(self.index)
    }

    /// What is to be started for a call.
    pub fn command(
        &self,
        request: &PackRequest<'_>,
        host: &dyn Host,
        holds_read_only: bool,
        progress: Option<mpsc::Sender<String>>,
    ) -> ChildCommand {
        let manifest = &self.pack.manifest;
        let wall = request.time_left.min(Duration::from_secs(u64::from(manifest.timeout_seconds)));
        let deadline = host.now() + wall;
        let stdin = json!({
            "skill": self.definition().key,
            "params": request.args,
            "call_id": request.call_id,
            "deadline": deadline.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        });
        let none = SandboxManifest::default();
        let sandbox = self.manifest().map_or(&none, |skill| &skill.sandbox);
        let limits = manifest.limits;
        ChildCommand {
            program: self.pack.copy.join(&manifest.entry),
            args: Vec::new(),
            env: self.environment(),
            cwd: None,
            stdin: Some(stdin.to_string().into_bytes()),
            progress,
            profile: profile(self.definition().class, request.class, sandbox, holds_read_only),
            openings: openings(&self.pack.copy, sandbox, host),
            limits: ChildLimits {
                wall,
                cpu_seconds: limits.cpu_seconds,
                memory_mib: limits.memory_mb,
                pids: limits.pids,
                open_files: 0,
                file_mib: 0,
                stdout_bytes: self.stdout_bytes(),
                stderr_bytes: STDERR_BYTES,
            },
        }
    }

    fn stdout_bytes(&self) -> usize {
        match self.pack.manifest.limits.stdout_bytes {
            0 => DEFAULT_STDOUT_BYTES as usize,
            bytes => bytes as usize,
        }
    }

    /// The whole environment of the program.
    fn environment(&self) -> Vec<(String, String)> {
        let fixed = [("PATH", PROGRAM_PATH), ("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let allowed = self.pack.environment.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        fixed.into_iter().chain(allowed).collect()
    }

    /// Makes a result of how the program ended.
    ///
    /// # Errors
    ///
    /// Says what failed: the program by its exit code, or what it wrote.
    pub fn answer(&self, ended: &ChildEnded) -> Result<Value, SkillError> {
        let key = &self.definition().key;
        let said = told(&ended.stderr.bytes);
        let with_said = |what: String| if said.is_empty() { what } else { format!("{what}: {said}") };
        let (kind, message) = match ended.exit {
            Exit::Code(0) => return self.result(ended),
            Exit::Code(exit::BAD_PARAMS) => {
                (SkillErrorKind::Invalid, with_said(format!("`{key}` can't work with these parameters")))
            }
            Exit::Code(exit::PREREQUISITE_MISSING) => (
                SkillErrorKind::Unsupported,
                with_said(format!("this host lacks something that `{key}` needs")),
            ),
            Exit::Code(exit::TRY_LATER) => {
                (SkillErrorKind::Busy, with_said(format!("`{key}` can't run now; try again later")))
            }
            Exit::Code(code) => {
                (SkillErrorKind::Failed, with_said(format!("`{key}` failed with exit code {code}")))
            }
            Exit::Signal(signal) => {
                (SkillErrorKind::Failed, with_said(format!("`{key}` was killed by signal {signal}")))
            }
            Exit::WallClock => {
                let seconds = ended.duration.as_secs_f32();
                (
                    SkillErrorKind::Timeout,
                    format!("`{key}` was stopped after {seconds:.1} s, when its time was up"),
                )
            }
            Exit::Processes => (
                SkillErrorKind::Failed,
                format!("`{key}` wanted more processes than it may have and was stopped"),
            ),
            Exit::CpuTime => {
                (SkillErrorKind::Failed, format!("`{key}` used up its CPU time and was stopped"))
            }
            Exit::Memory => (
                SkillErrorKind::Failed,
                format!("`{key}` wanted more memory than it may have and was stopped"),
            ),
        };
        Err(SkillError::new(kind, message))
    }

    fn result(&self, ended: &ChildEnded) -> Result<Value, SkillError> {
        let key = &self.definition().key;
        if ended.stdout.truncated() {
            let message = format!(
                "`{key}` answered with {} bytes; its limit is {} (limits.stdout_bytes in skill.json)",
                ended.stdout.total,
                ended.stdout.bytes.len()
            );
            return Err(SkillError::new(SkillErrorKind::TooLarge, message));
        }
        serde_json::from_slice(&ended.stdout.bytes).map_err(|error| {
            let what = if ended.stdout.bytes.iter().all(u8::is_ascii_whitespace) {
                "wrote nothing to standard output".to_owned()
            } else {
                format!("must write one JSON value to standard output, but: {error}")
            };
            SkillError::new(SkillErrorKind::Failed, format!("`{key}` ended well but {what}"))
        })
    }
}

impl AnySkill for PackSkill {
    fn key(&self) -> &str {
        &self.definition().key
    }

    fn capability(&self) -> Arc<Capability> {
        Arc::clone(&self.capability)
    }

    fn unmet(&self, host: &dyn Host) -> Vec<String> {
        self.lacks(host)
    }

    fn run<'a>(
        &'a self,
        call: AcceptedCall,
        cx: &'a SkillContext,
    ) -> BoxFuture<'a, Result<Value, SkillError>> {
        async move {
            call.check_skill(self.key())?;
            let request = PackRequest {
                call_id: call.call_id(),
                args: call.args(),
                class: call.class(),
                time_left: call.deadline().saturating_duration_since(Instant::now()),
            };
            let (progress, mut lines) = mpsc::channel(PROGRESS_LINES);
            let holds = cx.sandbox.holds_read_only();
            let command = self.command(&request, cx.host.as_ref(), holds, Some(progress));
            let follow = async {
                while let Some(line) = lines.recv().await {
                    tracing::debug!(call.id = %cx.call_id, skill = self.key(), line, "progress");
                    // Whoever shows them may be slow; the program isn't made to wait for that.
                    if let Some(shown) = &cx.progress {
                        let _ = shown.try_send(line);
                    }
                }
            };
            // The lines end with the child.
            let (ended, ()) = tokio::join!(cx.sandbox.run(command), follow);
            self.answer(&ended?)
        }
        .boxed()
    }
}

/// How much a call may change. The class that the skill has decides, not the one that the call came with: a safe
/// skill that was let through as mutating, since nothing holds it here, gets no more by that.
fn profile(own: Class, call: Class, sandbox: &SandboxManifest, holds_read_only: bool) -> Profile {
    let is_held = holds_read_only || call == Class::Safe;
    match own {
        Class::Safe if is_held => Profile::ReadOnly,
        Class::Safe => Profile::Workspace { write: Vec::new() },
        Class::Mutating | Class::Dangerous if sandbox.is_full() => Profile::Full,
        Class::Mutating | Class::Dangerous => {
            Profile::Workspace { write: sandbox.write_paths.iter().cloned().collect() }
        }
    }
}

/// Opens the pack's own copy and what the manifest names, as far as it is there.
fn openings(copy: &Path, sandbox: &SandboxManifest, host: &dyn Host) -> BTreeSet<Opening> {
    let is_there = |path: &&std::path::PathBuf| path.to_str().is_some_and(|path| host.path(path).exists());
    let mut openings = BTreeSet::from([Opening::Read(copy.to_owned())]);
    openings.extend(sandbox.network.then_some(Opening::Network));
    openings.extend(sandbox.read_paths.iter().filter(is_there).cloned().map(Opening::Read));
    openings.extend(sandbox.sockets.iter().filter(is_there).cloned().map(Opening::Socket));
    openings
}

/// What the configuration doesn't let a skill have.
fn forbidden(sandbox: &SandboxManifest, rules: &LoadRules) -> Vec<String> {
    let mut words = Vec::new();
    if sandbox.network && !rules.network {
        words.push("the network, which packs.network in this host's configuration switches off".to_owned());
    }
    if !rules.write_roots.is_empty() {
        let outside =
            |path: &&std::path::PathBuf| !rules.write_roots.iter().any(|root| path.starts_with(root));
        words.extend(sandbox.write_paths.iter().filter(outside).map(|path| {
            format!("the right to write in `{}`, which packs.write_roots in this host's configuration doesn't give", path.display())
        }));
    }
    words
}

/// The end of what a program said, for people: printable, and no more than fits.
fn told(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text: String = text
        .trim()
        .chars()
        .map(|character| if character == '\n' || !character.is_control() { character } else { ' ' })
        .collect();
    match text.chars().count().checked_sub(TOLD_CHARS) {
        Some(over) if over > 0 => format!("…{}", text.chars().skip(over).collect::<String>()),
        _ => text,
    }
}

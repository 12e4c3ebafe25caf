//! Looks at and changes git repositories, without ever starting a program that a repository names. Its class comes from
//! the operation.

mod config;
mod porcelain;
#[cfg(test)]
mod tests;

use crate::support::account;
use crate::support::changes::place::refuse_unwritable;
use crate::support::errors::{failed, invalid, not_found, of_io, refused, timed_out, unsupported};
use crate::support::files::rules;
use model::{Class, Scope};
use porcelain::{Branch, Commit, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::sandbox::{ChildCommand, ChildEnded, ChildLimits, Exit, Profile};
use skill::{Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that git may write.
const MAX_OUTPUT: usize = 1024 * 1024;

/// Bytes of text that are told.
const MAX_TEXT: usize = 256 * 1024;

/// How long git may take, where no other host has a part in it.
const LOCAL_WITHIN: Duration = Duration::from_secs(60);

/// How long git may take with a remote.
const REMOTE_WITHIN: Duration = Duration::from_secs(240);

/// What is kept back of the call's time.
const MARGIN: Duration = Duration::from_secs(1);

pub(crate) struct GitOperations;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to do. Status, diff, log and branch only look; add, commit, checkout, stash and pull change the repository; push and reset can lose work of others.
    operation: Operation,
    /// Absolute path of the repository's working tree, or of a folder in it.
    #[schemars(length(min = 1, max = 4096), regex(pattern = "^/"))]
    path: String,
    /// Files, relative to `path`: for `diff`, `log`, `add`, `commit` and `checkout`. `add` needs them.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 4096)))]
    files: Vec<String>,
    /// Branch, tag or commit: for `diff` and `log` (also a range such as `main..topic`), `checkout`, `reset`, and the branch for `pull` and `push`.
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9@_][A-Za-z0-9@_./{}^~+\-]*$"))]
    revision: Option<String>,
    /// Name of a configured remote, for `pull` and `push`. Default: `origin`.
    #[schemars(length(min = 1, max = 100), regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]*$"))]
    remote: Option<String>,
    /// Message, for `commit` and `stash`. `commit` needs it.
    #[schemars(length(min = 1, max = 10_000))]
    message: Option<String>,
    /// For `diff`: what is staged, instead of what is not.
    #[serde(default)]
    staged: bool,
    /// How many commits `log` tells.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// For `stash`: put changes away, or take the latest ones back.
    #[serde(default)]
    stash: StashAction,
    /// For `reset`: what is reset besides the branch. `hard` loses changes that are not committed.
    #[serde(default)]
    mode: ResetMode,
    /// For `push`: replace what the remote has, if it is what was seen last.
    #[serde(default)]
    force: bool,
}

fn default_limit() -> u32 {
    20
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Status,
    Diff,
    Log,
    Branch,
    Add,
    Commit,
    Checkout,
    Stash,
    Pull,
    Push,
    Reset,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StashAction {
    #[default]
    Push,
    Pop,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResetMode {
    Soft,
    #[default]
    Mixed,
    Hard,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What was done.
    operation: Operation,
    /// The working tree.
    repository: String,
    /// Where the repository stands, afterwards if it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Commits, the latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<Vec<Commit>>,
    /// Branches, those of remotes too.
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Vec<Branch>>,
    /// The difference as a patch, or what git said.
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    /// Whether the text is cut.
    text_truncated: bool,
    /// What held git: the backend and the profile.
    sandbox: String,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for GitOperations {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "git_operations",
        name: "Git",
        description: "Look at a git repository on the host (status, diff, log, branch), change it (add, commit, checkout, stash, pull: need an approval), or do what can lose work of others (push, reset: need a signed procedure). Never starts hooks, filters, editors or helpers that the repository names. Pull only goes forward.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "main, 2 ahead of origin/main, 3 files changed",
        prerequisites: &[Prerequisite::Binary("git")],
    };

    const SUBPROCESS: bool = true;

    const CLASSED_BY: Option<&str> = Some("operation");

    fn classify(args: &Value) -> Class {
        match serde_json::from_value(args["operation"].clone()) {
            Ok(operation) => Operation::class(operation),
            Err(_) => Class::Dangerous,
        }
    }

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        params.check()?;
        let class = params.operation.class();
        if class > cx.class {
            return Err(refused(format!(
                "this operation is {class}, and the call was accepted as {}",
                cx.class
            )));
        }
        let git = Git::open(cx, &params).await?;
        git.run(&params).await
    }
}

impl Operation {
    fn class(self) -> Class {
        match self {
            Self::Status | Self::Diff | Self::Log | Self::Branch => Class::Safe,
            Self::Add | Self::Commit | Self::Checkout | Self::Stash | Self::Pull => Class::Mutating,
            Self::Push | Self::Reset => Class::Dangerous,
        }
    }

    fn is_remote(self) -> bool {
        matches!(self, Self::Pull | Self::Push)
    }
}

impl Params {
    /// What the schema can't say.
    fn check(&self) -> Result<(), SkillError> {
        let operation = self.operation;
        let takes_files = matches!(
            operation,
            Operation::Diff | Operation::Log | Operation::Add | Operation::Commit | Operation::Checkout
        );
        if !takes_files && !self.files.is_empty() {
            return Err(invalid("`files` are for diff, log, add, commit and checkout"));
        }
        if self.files.iter().any(|file| file.starts_with('/') || file.contains('\0')) {
            return Err(invalid("`files` are relative to `path`"));
        }
        match operation {
            Operation::Add if self.files.is_empty() => {
                Err(invalid("`add` needs `files`; `.` stands for all"))
            }
            Operation::Commit if self.message.is_none() => Err(invalid("`commit` needs a `message`")),
            Operation::Checkout if self.revision.is_none() && self.files.is_empty() => {
                Err(invalid("`checkout` needs a `revision` or `files`"))
            }
            Operation::Push if self.revision.is_none() => {
                Err(invalid("`push` needs the branch as `revision`"))
            }
            Operation::Reset if self.revision.is_none() => {
                Err(invalid("`reset` needs a `revision`, for example `HEAD~1`"))
            }
            _ => Ok(()),
        }
    }

    /// Git's own arguments. What comes from outside is joined to its option, or stands behind `--`.
    fn arguments(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |parts: &[&str]| words.extend(parts.iter().map(|part| (*part).to_owned()));
        let revision = self.revision.as_slice();
        let remote = self.remote.as_deref().unwrap_or("origin");
        const PLAIN_DIFF: [&str; 4] =
            ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
        match self.operation {
            Operation::Status => add(STATUS),
            Operation::Diff => {
                add(&["diff"]);
                add(&PLAIN_DIFF);
                if self.staged {
                    add(&["--cached"]);
                }
            }
            Operation::Log => {
                add(&["log", "--no-show-signature", "--no-color", "-z", porcelain::LOG_FORMAT]);
                add(&[&format!("--max-count={}", self.limit)]);
            }
            Operation::Branch => {
                add(&["for-each-ref", "--count=500", "--sort=-committerdate", porcelain::REF_FORMAT]);
                add(&["refs/heads", "refs/remotes"]);
            }
            Operation::Add => add(&["add", "--verbose"]),
            Operation::Commit => {
                add(&["commit", "--no-verify", "--no-gpg-sign", "--cleanup=strip"]);
                add(&[&format!("--message={}", self.message.as_deref().unwrap_or_default())]);
            }
            Operation::Checkout => add(&["checkout", "--no-recurse-submodules", "--no-progress"]),
            Operation::Stash => match self.stash {
                StashAction::Push => {
                    add(&["stash", "push"]);
                    if let Some(message) = &self.message {
                        add(&[&format!("--message={message}")]);
                    }
                }
                StashAction::Pop => add(&["stash", "pop"]),
            },
            Operation::Pull => {
                add(&[
                    "pull",
                    "--ff-only",
                    "--no-rebase",
                    "--no-recurse-submodules",
                    "--no-progress",
                    "--upload-pack=git-upload-pack",
                    remote,
                ]);
            }
            Operation::Push => {
                add(&[
                    "push",
                    "--porcelain",
                    "--no-verify",
                    "--no-signed",
                    "--recurse-submodules=no",
                    "--no-progress",
                    "--receive-pack=git-receive-pack",
                ]);
                if self.force {
                    add(&["--force-with-lease"]);
                }
                add(&[remote]);
            }
            Operation::Reset => {
                let mode = match self.mode {
                    ResetMode::Soft => "--soft",
                    ResetMode::Mixed => "--mixed",
                    ResetMode::Hard => "--hard",
                };
                add(&["reset", mode, "--no-recurse-submodules"]);
            }
        }
        words.extend(revision.iter().cloned());
        let takes_files = matches!(
            self.operation,
            Operation::Diff
                | Operation::Log
                | Operation::Add
                | Operation::Commit
                | Operation::Checkout
                | Operation::Reset
        );
        if takes_files {
            words.push("--".to_owned());
            words.extend(self.files.iter().cloned());
        }
        words
    }
}

const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "--show-stash",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=all",
];

/// git in one repository.
struct Git<'a> {
    cx: &'a SkillContext,
    program: PathBuf,
    folder: PathBuf,
    repository: PathBuf,
    profile: Profile,
    environment: Vec<(String, String)>,
    notes: Vec<String>,
}

impl<'a> Git<'a> {
    /// Finds the repository, and checks that it may be looked at or changed.
    async fn open(cx: &'a SkillContext, params: &Params) -> Result<Self, SkillError> {
        let host = cx.host.as_ref();
        let program = host.program("git").ok_or_else(|| unsupported("this host has no `git`"))?;
        let folder = std::fs::canonicalize(host.path(&params.path))
            .map_err(|error| of_io(format!("find `{}`", params.path), &error))?;
        if !folder.is_dir() {
            return Err(invalid(format!("`{}` is not a folder", params.path)));
        }
        let class = params.operation.class();
        // A command that a person approved need not be held where nothing can hold it.
        let held = class == Class::Safe && cx.sandbox.holds_read_only();
        if class == Class::Safe && !held && cx.class == Class::Safe {
            return Err(refused(
                "this operation only looks, but needs an approval here, because this host has no sandbox that keeps git from changing anything",
            ));
        }
        let profile = if held { Profile::ReadOnly } else { Profile::Full };
        let base = account::environment(host, held);
        let environment = config::environment(base.clone(), None);
        let mut git =
            Self { cx, program, repository: folder.clone(), folder, profile, environment, notes: Vec::new() };
        git.find_repository(class).await?;
        let names = git.output(&["config", "--null", "--list", "--name-only"], LOCAL_WITHIN).await?;
        let names: Vec<String> = String::from_utf8_lossy(&names.stdout.bytes)
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if params.operation.is_remote()
            && let Some(name) = config::foreign_remote(&names)
        {
            return Err(refused(format!(
                "the repository's `{name}` names a program to reach the remote; it is not run"
            )));
        }
        if names.iter().any(|name| name.starts_with("filter.")) {
            git.notes.push("the repository has filters (for example for large files); they are not run, so that such files may show as changed".to_owned());
        }
        git.environment = config::environment(base, Some(&names));
        Ok(git)
    }

    /// Finds the working tree and the folders of the repository, which a file or a setting may have put elsewhere.
    async fn find_repository(&mut self, class: Class) -> Result<(), SkillError> {
        let words =
            ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"];
        let found = self.output(&words, LOCAL_WITHIN).await.map_err(|error| {
            if error.message.contains("not a git repository") {
                not_found(format!("`{}` is not in a git repository", self.folder.display()))
            } else {
                error
            }
        })?;
        let text = String::from_utf8_lossy(&found.stdout.bytes).into_owned();
        let folders: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
        let [tree, _, _] = folders.as_slice() else {
            return Err(unsupported("this repository has no working tree"));
        };
        self.repository = tree.clone();
        let host = self.cx.host.as_ref();
        for folder in &folders {
            let below = below_root(host.root(), folder);
            rules::check(&below, host.file_rules())?;
            if class > Class::Safe {
                refuse_unwritable(host, &below)?;
            }
        }
        Ok(())
    }

    async fn run(mut self, params: &Params) -> Result<Output, SkillError> {
        let within = if params.operation.is_remote() { REMOTE_WITHIN } else { LOCAL_WITHIN };
        let arguments = params.arguments();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = self.output(&words, within).await?;
        let bytes = &ended.stdout.bytes;
        let mut output = Output {
            operation: params.operation,
            repository: below_root(self.cx.host.root(), &self.repository).display().to_string(),
            status: None,
            commits: None,
            branches: None,
            text: String::new(),
            text_truncated: false,
            sandbox: ended.report.to_string(),
            notes: Vec::new(),
        };
        match params.operation {
            Operation::Status => output.status = Some(porcelain::status(bytes)),
            Operation::Log => output.commits = Some(porcelain::commits(bytes)),
            Operation::Branch => output.branches = Some(porcelain::branches(bytes)),
            _ => {
                let mut text = String::from_utf8_lossy(bytes).into_owned();
                if params.operation != Operation::Diff {
                    let said = String::from_utf8_lossy(&ended.stderr.bytes);
                    text = format!("{}\n{}", text.trim_end(), said.trim_end()).trim().to_owned();
                }
                output.text_truncated = ended.stdout.truncated() || text.len() > MAX_TEXT;
                text.truncate(text.floor_char_boundary(MAX_TEXT));
                output.text = text;
            }
        }
        if params.operation.class() > Class::Safe {
            let after = self.output(STATUS, LOCAL_WITHIN).await?;
            output.status = Some(porcelain::status(&after.stdout.bytes));
            self.note_owner();
        }
        output.notes = self.notes;
        Ok(output)
    }

    /// Says so if git wrote files that the repository's owner may not be able to change.
    fn note_owner(&mut self) {
        use std::os::unix::fs::MetadataExt;
        let own = rustix::process::geteuid().as_raw();
        if let Ok(meta) = std::fs::metadata(&self.repository)
            && meta.uid() != own
        {
            self.notes.push(format!(
                "the repository belongs to user {}, and git ran as user {own}: what it wrote belongs to {own}",
                meta.uid()
            ));
        }
    }

    /// Runs git, which must end well.
    async fn output(&self, words: &[&str], within: Duration) -> Result<ChildEnded, SkillError> {
        let mut args: Vec<String> = ["--no-pager", "--literal-pathspecs"].map(str::to_owned).to_vec();
        if self.profile == Profile::ReadOnly {
            args.push("--no-optional-locks".to_owned());
        }
        args.extend(words.iter().map(|word| (*word).to_owned()));
        let wall = match self.cx.deadline {
            Some(deadline) => {
                within.min(deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN))
            }
            None => within,
        };
        if wall.is_zero() {
            return Err(timed_out("there is no time left to run git"));
        }
        let command = ChildCommand {
            program: self.program.clone(),
            args,
            env: self.environment.clone(),
            cwd: Some(self.folder.clone()),
            stdin: None,
            progress: None,
            profile: self.profile.clone(),
            openings: BTreeSet::new(),
            limits: ChildLimits {
                wall,
                stdout_bytes: MAX_OUTPUT,
                stderr_bytes: 64 * 1024,
                ..ChildLimits::default()
            },
        };
        let ended = self.cx.sandbox.run(command).await?;
        let verb = words.first().copied().unwrap_or_default();
        match ended.exit {
            Exit::Code(0) => Ok(ended),
            Exit::WallClock => {
                Err(timed_out(format!("`git {verb}` was not done after {} s", wall.as_secs())))
            }
            Exit::Code(code) => Err(self.explain(verb, code, &ended)),
            Exit::Signal(number) => Err(failed(format!("`git {verb}` was ended by signal {number}"))),
            Exit::CpuTime => Err(failed(format!("`git {verb}` used up the CPU time that it may use here"))),
            Exit::Processes => {
                Err(failed(format!("`git {verb}` started more processes than it may have here")))
            }
            Exit::Memory => Err(failed(format!("`git {verb}` asked for more memory than it may have here"))),
        }
    }

    fn explain(&self, verb: &str, code: i32, ended: &ChildEnded) -> SkillError {
        const LONGEST: usize = 2000;
        let said = [&ended.stderr.bytes, &ended.stdout.bytes]
            .map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned())
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_else(|| "no reason given".to_owned());
        let said = &said[..said.floor_char_boundary(LONGEST)];
        let hint = if said.contains("ermission denied") && self.profile == Profile::ReadOnly {
            "; looking runs as an unprivileged user, who may not read this repository"
        } else {
            ""
        };
        failed(format!("`git {verb}` ended with code {code}: {said}{hint}"))
    }
}

/// A path as the host sees it.
fn below_root(root: &Path, path: &Path) -> PathBuf {
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    path.strip_prefix(root).map_or_else(|_| path.to_owned(), |below| Path::new("/").join(below))
}

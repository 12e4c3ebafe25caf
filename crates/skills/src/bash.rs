//! Runs a bash command in the sandbox that its class asks for. Safe, mutating or dangerous, by what the command says.

use crate::support::account::environment;
use crate::support::errors::{invalid, refused, timed_out, unsupported};
use model::{Class, ClassReason, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shellclass::{Need, Verdict};
use skill::sandbox::{Captured, ChildCommand, ChildEnded, ChildLimits, Exit, Opening, Profile, Sandbox};
use skill::{Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// Bytes that are kept of standard output, and of standard error.
const MAX_STREAM: usize = 1024 * 1024;

/// Bytes of each that a message about a timeout repeats.
const TAIL: usize = 2048;

/// What is kept back of the call's time, to tell what came of it.
const MARGIN: Duration = Duration::from_secs(1);

/// Reasons that are told.
const MAX_REASONS: usize = 20;

pub(crate) struct Bash;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The command, as one would type it.
    #[schemars(length(min = 1, max = 32_768))]
    command: String,
    /// How many seconds it may take. Then it is ended with everything that it started.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300))]
    timeout_seconds: u32,
    /// Absolute path of the folder that it starts in. Default: an empty folder of its own.
    #[schemars(length(min = 1, max = 4096), regex(pattern = "^/"))]
    cwd: Option<String>,
}

fn default_timeout() -> u32 {
    60
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Exit code. Left out if it was ended by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// How it ended, if not by itself: `signal 9`, `cpu_time`, `memory` or `processes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<String>,
    /// Standard output.
    stdout: String,
    /// Whether standard output is cut.
    stdout_truncated: bool,
    /// How many bytes it wrote to standard output.
    stdout_bytes: u64,
    /// Standard error.
    stderr: String,
    /// Whether standard error is cut.
    stderr_truncated: bool,
    /// How many bytes it wrote to standard error.
    stderr_bytes: u64,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The class of the command.
    class: Class,
    /// Why it has this class, part by part.
    reasons: Vec<Reason>,
    /// What held it: the backend, the profile, and what that was opened by.
    sandbox: String,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Reason {
    /// The class that this part alone asks for.
    class: Class,
    /// The part of the command.
    part: String,
    /// Why.
    text: String,
}

impl Skill for Bash {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "bash",
        name: "Run a bash command",
        description: "Run a bash command on the host. The command is parsed: one that only reads runs at once, in a sandbox where it can change nothing; any other needs an approval, and a destructive one a signed procedure. Prefer the other skills where one fits.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "shell",
        result_preview: "exit code 0, 12 lines, read_only",
        prerequisites: &[Prerequisite::Binary("bash")],
    };

    const SUBPROCESS: bool = true;

    const CLASSED_BY: Option<&str> = Some("command");

    fn classify(args: &Value) -> Class {
        args["command"].as_str().map_or(Class::Dangerous, |command| shellclass::classify(command).class)
    }

    fn class_reasons(args: &Value) -> Vec<ClassReason> {
        let command = args["command"].as_str().unwrap_or_default();
        let at = |offset: usize| {
            let before = command.get(..offset)?.encode_utf16().count();
            u32::try_from(before).ok()
        };
        shellclass::classify(command)
            .reasons
            .into_iter()
            .filter(|reason| reason.class > Class::Safe)
            .take(MAX_REASONS)
            .map(|reason| ClassReason { text: reason.text, start: at(reason.start), end: at(reason.end) })
            .collect()
    }

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let verdict = shellclass::classify(&params.command);
        run_judged(cx, params, verdict).await
    }
}

async fn run_judged(cx: &SkillContext, params: Params, verdict: Verdict) -> Result<Output, SkillError> {
    let (profile, openings) = hold(cx.class, &verdict, &params.command, cx.sandbox.as_ref())?;
    if params.command.contains('\0') {
        return Err(invalid("a command can't hold a NUL byte"));
    }
    let host = cx.host.as_ref();
    let bash = host.program("bash").ok_or_else(|| unsupported("this host has no `bash`"))?;
    let asked = Duration::from_secs(u64::from(params.timeout_seconds));
    let wall = match cx.deadline {
        Some(deadline) => {
            asked.min(deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN))
        }
        None => asked,
    };
    if wall.is_zero() {
        return Err(timed_out("there is no time left to run the command"));
    }
    let read_only = profile == Profile::ReadOnly;
    let command = ChildCommand {
        program: bash,
        args: ["--noprofile", "--norc", "-c", &params.command].map(str::to_owned).to_vec(),
        env: environment(host, read_only),
        cwd: params.cwd.map(Into::into),
        stdin: None,
        progress: None,
        profile,
        openings,
        limits: ChildLimits {
            wall,
            stdout_bytes: MAX_STREAM,
            stderr_bytes: MAX_STREAM,
            ..ChildLimits::default()
        },
    };
    let ended = cx.sandbox.run(command).await?;
    tell(&params.command, &verdict, ended, wall, read_only)
}

/// Which profile the command runs in, and what that is opened by.
fn hold(
    accepted: Class,
    verdict: &Verdict,
    command: &str,
    sandbox: &dyn Sandbox,
) -> Result<(Profile, BTreeSet<Opening>), SkillError> {
    if verdict.class > accepted {
        let why = verdict.reasons.iter().find(|reason| reason.class == verdict.class);
        let why =
            why.map(|reason| format!(": `{}`: {}", part(command, reason), reason.text)).unwrap_or_default();
        return Err(refused(format!(
            "this command is {} here, and the call was accepted as {accepted}{why}",
            verdict.class
        )));
    }
    if verdict.class > Class::Safe {
        return Ok((Profile::Full, BTreeSet::new()));
    }
    let openings: BTreeSet<Opening> = verdict.needs.iter().map(opening).collect();
    let lacks = if sandbox.holds_read_only() {
        openings.iter().find(|opening| !sandbox.can_open(opening)).map(|opening| match opening {
            Opening::Network => {
                "this host's sandbox can't open the network for a command that only reads".to_owned()
            }
            Opening::Socket(path) | Opening::Read(path) => {
                format!("this host's sandbox can't open `{}` for a command that only reads", path.display())
            }
        })
    } else {
        Some("this host has no sandbox that keeps a command from changing anything".to_owned())
    };
    match lacks {
        None => Ok((Profile::ReadOnly, openings)),
        // A person has approved it, so it need not be held.
        Some(_) if accepted > Class::Safe => Ok((Profile::Full, BTreeSet::new())),
        Some(lack) => {
            Err(refused(format!("this command only reads, but needs an approval here, because {lack}")))
        }
    }
}

fn opening(need: &Need) -> Opening {
    match need {
        Need::Network => Opening::Network,
        Need::Socket(path) => Opening::Socket(path.into()),
        Need::Read(path) => Opening::Read(path.into()),
    }
}

fn tell(
    command: &str,
    verdict: &Verdict,
    ended: ChildEnded,
    wall: Duration,
    read_only: bool,
) -> Result<Output, SkillError> {
    let (exit_code, ended_by) = match ended.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(number) => (None, Some(format!("signal {number}"))),
        Exit::CpuTime => (None, Some("cpu_time".to_owned())),
        Exit::Memory => (None, Some("memory".to_owned())),
        Exit::Processes => (None, Some("processes".to_owned())),
        Exit::WallClock => return Err(too_slow(&ended, wall)),
    };
    let mut notes = Vec::new();
    if let Some(by) = &ended_by {
        notes.push(match by.as_str() {
            "cpu_time" => "it was ended: it used up the CPU time that a command may use here".to_owned(),
            "memory" => "it was ended: it asked for more memory than a command may have here".to_owned(),
            "processes" => "it was ended: it started more processes than a command may have here".to_owned(),
            signal => format!("it was ended by {signal}"),
        });
    }
    let stderr = text(&ended.stderr);
    let was_denied =
        ["Permission denied", "Operation not permitted", "permission denied", "Read-only file system"]
            .iter()
            .any(|words| stderr.contains(words));
    if read_only && was_denied && exit_code != Some(0) {
        notes.push(denied_hint(command, &stderr));
    }
    Ok(Output {
        exit_code,
        ended_by,
        stdout: text(&ended.stdout),
        stdout_truncated: ended.stdout.truncated(),
        stdout_bytes: ended.stdout.total,
        stderr,
        stderr_truncated: ended.stderr.truncated(),
        stderr_bytes: ended.stderr.total,
        duration_ms: ended.duration.as_millis() as u64,
        class: verdict.class,
        reasons: verdict
            .reasons
            .iter()
            .take(MAX_REASONS)
            .map(|reason| Reason {
                class: reason.class,
                part: part(command, reason),
                text: reason.text.clone(),
            })
            .collect(),
        sandbox: ended.report.to_string(),
        notes,
    })
}

/// The part of the command that a reason is about, in short.
fn part(command: &str, reason: &shellclass::Reason) -> String {
    const LONGEST: usize = 80;
    let part = command.get(reason.start..reason.end).unwrap_or_default();
    match part.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &part[..end]),
        None => part.to_owned(),
    }
}

/// Names the skill that can read what the command could not.
fn denied_hint(command: &str, stderr: &str) -> String {
    let both = format!("{command} {stderr}");
    let skill = if both.contains("journal") {
        "`read_journal` reads the journal"
    } else if both.contains("/var/log") || both.contains("tail") {
        "`tail_file` reads the end of a log file and `read_journal` the journal"
    } else {
        "`read_file` and `tail_file` read files and `read_journal` the journal"
    };
    format!(
        "a command that only reads runs as an unprivileged user without rights of its own; {skill} with the agent's rights, under its rules"
    )
}

fn too_slow(ended: &ChildEnded, wall: Duration) -> SkillError {
    let mut words = format!(
        "the command was not done after {} s and was ended, with everything that it started",
        wall.as_secs_f64().round()
    );
    for (name, stream) in [("standard output", &ended.stdout), ("standard error", &ended.stderr)] {
        let text = text(stream);
        if !text.trim().is_empty() {
            let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
            words.push_str(&format!("\nIts last {name}:\n{}", text[from..].trim_end()));
        }
    }
    timed_out(words)
}

fn text(stream: &Captured) -> String {
    String::from_utf8_lossy(&stream.bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::{FakeHost, FakeSandbox};
    use skill::SkillErrorKind;
    use std::sync::Arc;

    fn params(command: &str) -> Params {
        Params { command: command.to_owned(), timeout_seconds: 60, cwd: None }
    }

    fn verdict(class: Class, needs: &[Need]) -> Verdict {
        Verdict {
            class,
            reasons: vec![shellclass::Reason { class, start: 0, end: 4, text: "a test says so".to_owned() }],
            needs: needs.iter().copied().collect(),
            opaque: false,
            destinations: Vec::new(),
        }
    }

    fn context(class: Class, sandbox: &Arc<FakeSandbox>) -> SkillContext {
        let host = FakeHost::empty()
            .with("/etc/passwd", "root:x:0:0::/root:/bin/sh\nrunner:x:1000:1000::/home/runner:/bin/sh\n")
            .with_program("/bin/bash", "#!/bin/sh\n");
        SkillContext { class, sandbox: Arc::clone(sandbox) as Arc<dyn Sandbox>, ..host.context() }
    }

    #[tokio::test]
    async fn a_safe_command_runs_read_only_with_a_fixed_environment() {
        let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(0), "out", ""));
        let output = run_judged(&context(Class::Safe, &sandbox), params("date"), verdict(Class::Safe, &[]))
            .await
            .unwrap();
        assert_eq!((output.exit_code, output.stdout.as_str()), (Some(0), "out"));
        assert_eq!(output.sandbox, "fake read_only");
        assert_eq!(output.reasons[0].part, "date");
        let asked = sandbox.asked();
        assert_eq!(asked.profile, Profile::ReadOnly);
        let names: Vec<&str> = asked.env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PATH", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "USER", "SHELL", "TMPDIR"]);
        assert_eq!(asked.args, ["--noprofile", "--norc", "-c", "date"]);
        assert_eq!((asked.limits.wall, asked.stdin), (Duration::from_secs(60), None));
    }

    #[tokio::test]
    async fn an_approved_command_runs_with_the_agent_s_rights() {
        for class in [Class::Mutating, Class::Dangerous] {
            let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(3), "", ""));
            let cx = context(class, &sandbox);
            let output = run_judged(&cx, params("touch x"), verdict(class, &[])).await.unwrap();
            assert_eq!((output.exit_code, output.class), (Some(3), class));
            assert_eq!(sandbox.asked().profile, Profile::Full);
        }
    }

    #[tokio::test]
    async fn a_command_never_runs_under_a_weaker_permission_than_its_own_class() {
        for (accepted, own) in [
            (Class::Safe, Class::Mutating),
            (Class::Safe, Class::Dangerous),
            (Class::Mutating, Class::Dangerous),
        ] {
            let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(0), "", ""));
            let error = run_judged(&context(accepted, &sandbox), params("rm x"), verdict(own, &[]))
                .await
                .unwrap_err();
            assert_eq!(error.kind, SkillErrorKind::Refused);
            assert!(error.message.contains("a test says so"), "{error}");
            assert!(!sandbox.was_asked());
        }
    }

    #[tokio::test]
    async fn what_a_read_only_verb_needs_is_opened_and_told() {
        let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(0), "", ""));
        let needs = [Need::Network, Need::Socket("/run/docker.sock")];
        let output =
            run_judged(&context(Class::Safe, &sandbox), params("docker ps"), verdict(Class::Safe, &needs))
                .await
                .unwrap();
        assert_eq!(output.sandbox, "fake read_only +network +/run/docker.sock");
    }

    #[tokio::test]
    async fn what_the_sandbox_can_not_open_or_hold_needs_an_approval() {
        let needs = [Need::Socket("/run/docker.sock")];
        for sandbox in [
            FakeSandbox::ending(Exit::Code(0), "", "").opening_nothing(),
            FakeSandbox::ending(Exit::Code(0), "", "").holding_nothing(),
        ] {
            let sandbox = Arc::new(sandbox);
            let safe = verdict(Class::Safe, &needs);
            let error = run_judged(&context(Class::Safe, &sandbox), params("docker ps"), safe.clone())
                .await
                .unwrap_err();
            assert!(error.message.contains("needs an approval here, because"), "{error}");
            assert!(!sandbox.was_asked());
            run_judged(&context(Class::Mutating, &sandbox), params("docker ps"), safe).await.unwrap();
            assert_eq!(sandbox.asked().profile, Profile::Full);
        }
    }

    #[tokio::test]
    async fn a_denied_read_names_the_skill_that_can() {
        let stderr = "tail: cannot open '/var/log/syslog' for reading: Permission denied\n";
        let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(1), "", stderr));
        let output = run_judged(
            &context(Class::Safe, &sandbox),
            params("tail /var/log/syslog"),
            verdict(Class::Safe, &[]),
        )
        .await
        .unwrap();
        assert!(output.notes[0].contains("`tail_file`") && output.notes[0].contains("`read_journal`"));
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_times_out_with_its_last_words() {
        let sandbox = Arc::new(FakeSandbox::ending(Exit::WallClock, "half done", ""));
        let error =
            run_judged(&context(Class::Safe, &sandbox), params("sleep 100"), verdict(Class::Safe, &[]))
                .await
                .unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Timeout);
        assert!(error.message.contains("after 60 s") && error.message.ends_with("half done"), "{error}");
    }

    #[tokio::test]
    async fn the_call_s_own_deadline_bounds_the_command() {
        let sandbox = Arc::new(FakeSandbox::ending(Exit::Code(0), "", ""));
        let mut cx = context(Class::Safe, &sandbox);
        cx.deadline = Some(Instant::now() + Duration::from_secs(11));
        run_judged(&cx, params("date"), verdict(Class::Safe, &[])).await.unwrap();
        assert!(sandbox.asked().limits.wall <= Duration::from_secs(10));
    }

    #[test]
    fn a_command_is_classed_by_what_it_says() {
        let class = |command: &str| Bash::classify(&serde_json::json!({"command": command}));
        assert!(class("rm -rf /") > Class::Safe);
        assert!(class("touch x") > Class::Safe);
        assert_eq!(Bash::classify(&serde_json::json!({})), Class::Dangerous);
    }
}

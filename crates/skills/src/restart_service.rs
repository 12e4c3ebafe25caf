//! Restarts, reloads, starts or stops a systemd unit, and watches whether it stays up. Mutating.
//!
//! It succeeds only if the unit is as it should be afterwards: a call that says "succeeded" over a dead service would
//! mislead whoever reads the audit.

use crate::support::child;
use crate::support::errors::{failed, invalid, not_found, refused, timed_out, unsupported};
use crate::support::journal::{self, Query};
use crate::support::systemd::words::{no_systemd, parsed, unknown, was_skipped, why_down};
use crate::support::systemd::{Properties, Systemd, Verb, full_name, is_legal_name, rules};
use crate::support::when;
use model::{Class, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::fmt::Write;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Log lines that are told.
const LOG_LINES: usize = 50;

/// Log lines in the words of a failure.
const LOG_LINES_IN_ERROR: usize = 20;

/// What is kept back of the call's time, to look at the unit and its log.
const MARGIN: Duration = Duration::from_secs(3);

/// How long a job is waited for where the call has no deadline.
const LONGEST: Duration = Duration::from_secs(300);

pub(crate) struct RestartService;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Name of the unit, for example `nginx` or `nginx.service`.
    #[schemars(length(min = 1, max = 256))]
    service: String,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    #[expect(dead_code, reason = "read by the audit, which holds the arguments")]
    reason: String,
    /// What to do with the unit.
    #[serde(default)]
    action: Action,
    /// How many seconds to watch whether the unit stays up afterwards.
    #[serde(default = "default_verify_seconds")]
    #[schemars(range(min = 0, max = 120))]
    verify_seconds: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[default]
    Restart,
    Reload,
    Start,
    Stop,
}

fn default_verify_seconds() -> u32 {
    10
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Name of the unit, aliases resolved.
    unit: String,
    /// What was done.
    action: Action,
    /// State before.
    state_before: State,
    /// State after.
    state_after: State,
    /// Whether it stayed up for as long as it was watched. Left out where it should not be up: after `stop`, and for units that run once.
    #[serde(skip_serializing_if = "Option::is_none")]
    stayed_up: Option<bool>,
    /// For how many seconds it was watched.
    watched_seconds: u64,
    /// How long systemd took, in milliseconds.
    took_ms: u64,
    /// Journal lines of the unit since then, oldest first.
    log: Vec<LogLine>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct State {
    /// `active`, `failed`, `inactive`, `activating`…
    state: String,
    /// More closely: `running`, `exited`, `dead`, `auto-restart`…
    sub_state: String,
    /// Main process.
    #[serde(skip_serializing_if = "Option::is_none")]
    main_pid: Option<u32>,
    /// Since when it is in this state, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// How often systemd restarted it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogLine {
    /// When, RFC 3339.
    time: String,
    /// The message.
    message: String,
}

impl Skill for RestartService {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "restart_service",
        name: "Restart a service",
        description: "Restart, reload, start or stop one systemd unit, then watch whether it stays up. Fails, with the reason and the last log lines, if it does not. Changes the host: needs an approval. Units outside the allowed list and the agent's own unit are refused.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "services",
        result_preview: "nginx.service: failed → active, up for 10 s",
        prerequisites: &[Prerequisite::Systemd],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.as_ref();
        if !host.meets(Prerequisite::Systemd) {
            return Err(no_systemd(host));
        }
        let deadline = cx.deadline.unwrap_or_else(|| Instant::now() + LONGEST);
        let until = deadline.checked_sub(MARGIN).unwrap_or(deadline).max(Instant::now());
        let systemd = Systemd::connect(host).await?;
        let before = find(host, &systemd, params.service.trim()).await?;
        allow(&before, params.action)?;
        let work = Work { host, systemd, action: params.action, unit: text(&before, "Id"), before, until };
        work.run(Duration::from_secs(u64::from(params.verify_seconds))).await
    }
}

/// Looks the unit up and checks that it may be touched.
async fn find(host: &dyn Host, systemd: &Systemd<'_>, name: &str) -> Result<Properties, SkillError> {
    if !is_legal_name(name) {
        return Err(invalid(format!("`{name}` is not the name of a unit")));
    }
    let full = full_name(name);
    if full.contains("@.") {
        return Err(invalid(format!(
            "`{full}` is a template; name one of its instances, for example `{}`",
            full.replacen("@.", "@NAME.", 1)
        )));
    }
    let properties = systemd.properties(&full).await?;
    if text(&properties, "LoadState") == "not-found" {
        rules::check(&full, host.change_rules())?;
        return Err(not_found(unknown(name, &full, &systemd.units().await?)));
    }
    rules::check(&text(&properties, "Id"), host.change_rules())?;
    Ok(properties)
}

/// Refuses what systemd would refuse, in clearer words.
fn allow(before: &Properties, action: Action) -> Result<(), SkillError> {
    let unit = text(before, "Id");
    match text(before, "LoadState").as_str() {
        "masked" if action != Action::Stop => {
            return Err(refused(format!(
                "`{unit}` is masked: the host's owner has made sure that it can't be started (`systemctl unmask` undoes that)"
            )));
        }
        "error" | "bad-setting" => {
            return Err(failed(format!(
                "systemd can't read the unit file of `{unit}`; `systemd-analyze verify {unit}` tells why"
            )));
        }
        _ => {}
    }
    if action == Action::Reload {
        if text(before, "ActiveState") != "active" {
            return Err(refused(format!(
                "`{unit}` is {}; only an active unit can be reloaded",
                text(before, "ActiveState")
            )));
        }
        if matches!(text(before, "CanReload").as_str(), "false" | "no") {
            return Err(unsupported(format!(
                "`{unit}` can't be reloaded: its unit file has no ExecReload; restart it instead"
            )));
        }
    }
    Ok(())
}

/// One change of one unit.
struct Work<'a> {
    host: &'a dyn Host,
    systemd: Systemd<'a>,
    action: Action,
    unit: String,
    before: Properties,
    until: Instant,
}

impl Work<'_> {
    async fn run(self, verify: Duration) -> Result<Output, SkillError> {
        let mut notes = Vec::new();
        if self.systemd.way() == "systemctl" {
            notes.push("the system bus can't be reached; this was done with `systemctl`".to_owned());
        }
        if matches!(text(&self.before, "NeedDaemonReload").as_str(), "true" | "yes") {
            notes.push(
                "its unit file has changed since systemd read it; `systemctl daemon-reload` reads it again"
                    .to_owned(),
            );
        }
        let mut watch = self.systemd.watch(&self.unit).await?;
        let (since, began) = (self.host.now(), Instant::now());
        let job = match timeout_at(self.until, self.systemd.change(self.action.verb(), &self.unit)).await {
            Ok(job) => job?,
            Err(_) => return Err(self.too_slow(began, since).await),
        };
        let took = began.elapsed();
        let mut after = self.systemd.properties(&self.unit).await?;
        if job != "done" {
            return Err(self.job_failed(&job, &after, since).await);
        }
        let started = Instant::now();
        let watch_until = (started + verify).min(self.until);
        let first_restarts = restarts(&after);
        loop {
            if let Some(trouble) = self.trouble(&after, first_restarts) {
                return Err(self.went_down(&trouble, &after, started.elapsed(), since).await);
            }
            if self.is_over(&after) {
                break;
            }
            if timeout_at(watch_until, watch.changed()).await.is_err() {
                after = self.systemd.properties(&self.unit).await?;
                if let Some(trouble) = self.trouble(&after, first_restarts) {
                    return Err(self.went_down(&trouble, &after, started.elapsed(), since).await);
                }
                break;
            }
            after = self.systemd.properties(&self.unit).await?;
        }
        let watched = if self.is_over(&after) { Duration::ZERO } else { started.elapsed().min(verify) };
        if watched + Duration::from_millis(500) < verify && !self.is_over(&after) {
            notes.push(format!(
                "the call's time was up: it was watched for {} s instead of {} s",
                watched.as_secs(),
                verify.as_secs()
            ));
        }
        let log = self.log(since, &mut notes).await;
        Ok(Output {
            action: self.action,
            state_before: State::of(&self.before),
            stayed_up: (!self.is_over(&after)).then_some(true),
            state_after: State::of(&after),
            unit: self.unit,
            watched_seconds: (watched.as_secs_f64()).round() as u64,
            took_ms: took.as_millis() as u64,
            log,
            notes,
        })
    }

    /// Whether there is nothing to watch: it was stopped, or it runs once and has.
    fn is_over(&self, now: &Properties) -> bool {
        self.action == Action::Stop
            || (text(now, "ActiveState") == "inactive" && text(now, "Type") == "oneshot")
    }

    /// Why the unit is not as it should be, if it isn't.
    fn trouble(&self, now: &Properties, first_restarts: u32) -> Option<String> {
        let state = text(now, "ActiveState");
        if self.action == Action::Stop {
            // A unit that failed is down as well.
            return (!matches!(state.as_str(), "inactive" | "failed"))
                .then(|| format!("it was stopped, but is {state} again; something else starts it, for example a socket or a timer"));
        }
        if restarts(now) > first_restarts {
            return Some(format!("{}, and systemd started it again", why_down(now)));
        }
        match state.as_str() {
            "active" | "reloading" => None,
            // Its result is of this run: the job has ended.
            "inactive" if text(now, "Type") == "oneshot" && text(now, "Result") == "success" => {
                let skipped = was_skipped(now);
                skipped.then(|| why_down(now))
            }
            "activating" if text(now, "SubState") == "auto-restart" => {
                Some(format!("{}, and systemd is about to start it again", why_down(now)))
            }
            "activating" => None,
            _ => Some(why_down(now)),
        }
    }

    async fn too_slow(&self, began: Instant, since: Timestamp) -> SkillError {
        let now = self.systemd.properties(&self.unit).await.unwrap_or_default();
        let state = State::of(&now);
        let stopping = state.state == "deactivating";
        let limit = if stopping { "TimeoutStopUSec" } else { "TimeoutStartUSec" };
        let limit = limit_words(&now, limit, if stopping { "stopping" } else { "starting" });
        let what = match (self.action, stopping) {
            (_, true) => "is still stopping",
            (Action::Reload, false) => "is still reloading",
            (_, false) => "is still starting",
        };
        timed_out(
            self.words(
                &format!(
                    "`{}` {what} after {} s; systemd goes on with it by itself{limit}",
                    self.unit,
                    began.elapsed().as_secs()
                ),
                &state,
                since,
            )
            .await,
        )
    }

    async fn job_failed(&self, job: &str, after: &Properties, since: Timestamp) -> SkillError {
        let verb = self.action.verb_words();
        let why = match job {
            "failed" if self.action == Action::Reload => {
                "its reload command failed; it goes on as before".to_owned()
            }
            "failed" | "timeout" => why_down(after),
            "canceled" => "another request to systemd took its place".to_owned(),
            "dependency" => "a unit that it needs failed".to_owned(),
            "skipped" => "it does not apply to the unit as it is".to_owned(),
            "assert" => "one of its assertions is not met".to_owned(),
            "unsupported" => "this system does not support it".to_owned(),
            other => format!("systemd calls it `{other}`"),
        };
        failed(
            self.words(&format!("`{}` failed to {verb}: {why}", self.unit), &State::of(after), since).await,
        )
    }

    async fn went_down(
        &self,
        trouble: &str,
        after: &Properties,
        up: Duration,
        since: Timestamp,
    ) -> SkillError {
        let lead = match self.action {
            Action::Stop => format!("`{}`: {trouble}", self.unit),
            Action::Reload => format!("`{}` was reloaded, but did not stay up: {trouble}", self.unit),
            Action::Restart | Action::Start => {
                let up = up.as_secs_f64();
                format!("`{}` was started, but did not stay up ({up:.1} s): {trouble}", self.unit)
            }
        };
        failed(self.words(&lead, &State::of(after), since).await)
    }

    /// The failure with the states around it and the last log lines.
    async fn words(&self, lead: &str, after: &State, since: Timestamp) -> String {
        const LONGEST_LINE: usize = 300;
        let mut notes = Vec::new();
        let log = self.log(since, &mut notes).await;
        let mut words =
            format!("{lead}. Before: {}; now: {}.", State::of(&self.before).words(), after.words());
        if !log.is_empty() {
            words.push_str(" Log since then:");
            for line in &log[log.len().saturating_sub(LOG_LINES_IN_ERROR)..] {
                let message = &line.message[..line.message.floor_char_boundary(LONGEST_LINE)];
                let _ = write!(words, "\n{} {message}", line.time);
            }
        }
        for note in notes {
            let _ = write!(words, "\n({note})");
        }
        words
    }

    /// The unit's log since the change. Without a journal there is none, and a note says why.
    async fn log(&self, since: Timestamp, notes: &mut Vec<String>) -> Vec<LogLine> {
        const WITHIN: Duration = Duration::from_secs(2);
        if !self.host.meets(Prerequisite::Journal) {
            notes.push("no log lines: this host keeps no systemd journal".to_owned());
            return Vec::new();
        }
        // What the unit has just said may still be on its way to the journal.
        let _ = timeout(WITHIN, synchronise(self.host)).await;
        let query =
            Query { unit: Some(self.unit.clone()), since: Some(since), lines: LOG_LINES, ..Query::default() };
        let from = when::rfc3339(since);
        let found = match timeout(WITHIN, journal::read(self.host, &query)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                notes.push(format!("no log lines: {error}"));
                return Vec::new();
            }
            Err(_) => {
                notes.push("no log lines: the journal took too long".to_owned());
                return Vec::new();
            }
        };
        notes.extend(found.notes);
        if found.more {
            notes.push(format!("the last {LOG_LINES} log lines are told; `read_journal` has the others"));
        }
        // journalctl takes whole seconds, so that it tells a little more.
        let lines = found.entries.into_iter().filter(|entry| later(&entry.time, &from));
        lines.map(|entry| LogLine { time: entry.time, message: entry.message }).collect()
    }
}

/// Whether one time is not before another; both RFC 3339.
fn later(time: &str, than: &str) -> bool {
    match (time.parse::<Timestamp>(), than.parse::<Timestamp>()) {
        (Ok(time), Ok(than)) => time >= than,
        _ => true,
    }
}

/// Asks journald to write what it has received.
async fn synchronise(host: &dyn Host) -> Result<(), SkillError> {
    let mut running = child::start(host, "journalctl", &["--sync".to_owned()])?;
    while running.line().await?.is_some() {}
    running.end().await.map(|_| ())
}

impl Action {
    fn verb(self) -> Verb {
        match self {
            Self::Restart => Verb::Restart,
            Self::Reload => Verb::Reload,
            Self::Start => Verb::Start,
            Self::Stop => Verb::Stop,
        }
    }

    fn verb_words(self) -> &'static str {
        match self {
            // Its stop comes first, but what fails is nearly always the start.
            Self::Restart | Self::Start => "start",
            Self::Reload => "reload",
            Self::Stop => "stop",
        }
    }
}

impl State {
    fn of(properties: &Properties) -> Self {
        let since = parsed::<i64>(properties, "StateChangeTimestamp").filter(|micros| *micros > 0);
        Self {
            state: text(properties, "ActiveState"),
            sub_state: text(properties, "SubState"),
            main_pid: parsed(properties, "MainPID").filter(|pid| *pid > 0),
            since: since.map(when::rfc3339_micros).filter(|text| !text.is_empty()),
            restarts: parsed(properties, "NRestarts"),
        }
    }

    fn words(&self) -> String {
        let pid = self.main_pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        format!("{} ({}{pid})", self.state, self.sub_state)
    }
}

fn text(properties: &Properties, name: &str) -> String {
    properties.get(name).cloned().unwrap_or_default()
}

fn restarts(properties: &Properties) -> u32 {
    parsed(properties, "NRestarts").unwrap_or(0)
}

/// The unit's own time limit, in words, if it has one and it can be read.
fn limit_words(properties: &Properties, name: &str, what: &str) -> String {
    let limit = text(properties, name);
    // Microseconds on the bus, words from systemctl.
    let words = match limit.parse::<u64>() {
        Ok(u64::MAX) => return format!("; it has no time limit for {what}"),
        Ok(micros) => format!("{} s", micros / 1_000_000),
        Err(_) if limit == "infinity" => return format!("; it has no time limit for {what}"),
        Err(_) if limit.is_empty() => return String::new(),
        Err(_) => limit,
    };
    format!("; its own limit for {what} is {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::{ChangeRules, SkillErrorKind};

    /// A host without a bus, whose systemctl keeps the unit's state in a file beside it.
    fn host(after: &str) -> FakeHost {
        let script = r#"#!/bin/sh
here=$(/usr/bin/dirname "$0")
case "$*" in
*list-units*) echo "app.service loaded active running App" ;;
*"restart -- "*|*"start -- "*|*"stop -- "*|*"reload -- "*) AFTER ;;
*"-- app.service") /bin/cat "$here/state" ;;
*"-- masked.service") printf 'Id=masked.service\nLoadState=masked\nActiveState=inactive\n' ;;
*"-- alias.service") printf 'Id=dbus.service\nLoadState=loaded\nActiveState=active\n' ;;
*) printf 'Id=x.service\nLoadState=not-found\nActiveState=inactive\n' ;;
esac
"#;
        FakeHost::empty()
            .with("/run/systemd/system/x", "")
            .with("/usr/bin/state", state("active", "running", "success", 0, 7))
            .with_program("/usr/bin/systemctl", &script.replace("AFTER", after))
            .with_changes(ChangeRules {
                units: vec!["*.service".to_owned()],
                own_unit: Some("steadyhand-edge.service".to_owned()),
                ..ChangeRules::default()
            })
    }

    fn state(active: &str, sub: &str, result: &str, restarts: u32, pid: u32) -> String {
        format!(
            "Id=app.service\nLoadState=loaded\nActiveState={active}\nSubState={sub}\nResult={result}\nNRestarts={restarts}\nMainPID={pid}\nExecMainCode=2\nExecMainStatus=9\nCanReload=no\nType=simple\nTimeoutStopUSec=1min 30s\n"
        )
    }

    fn becomes(active: &str, sub: &str, result: &str, restarts: u32) -> String {
        let text = state(active, sub, result, restarts, 8).replace('\n', "\\n");
        format!("printf '{text}' >\"$here/state\"")
    }

    fn params(service: &str, action: Action) -> Params {
        Params { service: service.to_owned(), reason: "a test".to_owned(), action, verify_seconds: 0 }
    }

    async fn run(host: FakeHost, params: Params) -> Result<Output, SkillError> {
        Skill::run(&RestartService, &host.context(), params).await
    }

    #[tokio::test]
    async fn a_restart_tells_the_states_before_and_after() {
        let host = host(&becomes("active", "running", "success", 0));
        let output = run(host, params("app", Action::Restart)).await.unwrap();
        assert_eq!((output.state_before.main_pid, output.state_after.main_pid), (Some(7), Some(8)));
        assert_eq!((output.unit.as_str(), output.stayed_up), ("app.service", Some(true)));
        assert!(output.notes.iter().any(|note| note.contains("systemctl")), "{:?}", output.notes);
    }

    #[tokio::test]
    async fn a_unit_that_is_killed_after_its_start_is_told_from_one_that_fails_to_start() {
        let killed = host(&becomes("failed", "failed", "signal", 0));
        let error = run(killed, params("app", Action::Restart)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Failed);
        assert!(error.message.contains("was started, but did not stay up"), "{error}");
        assert!(error.message.contains("killed by signal 9 (SIGKILL)"), "{error}");
        assert!(error.message.contains("Before: active (running, process 7); now: failed"), "{error}");
        let failing = format!(
            "{}; echo 'Job for app.service failed because x' >&2; exit 1",
            becomes("failed", "failed", "start-limit-hit", 0)
        );
        let error = run(host(&failing), params("app", Action::Start)).await.unwrap_err();
        assert!(
            error.message.contains("failed to start") && error.message.contains("start limit"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_unit_that_is_restarted_by_systemd_while_watched_did_not_stay_up() {
        let host = host(&becomes("activating", "auto-restart", "signal", 0));
        let error =
            run(host, Params { verify_seconds: 5, ..params("app", Action::Start) }).await.unwrap_err();
        assert!(error.message.contains("about to start it again"), "{error}");
    }

    #[tokio::test]
    async fn a_stop_that_hangs_times_out_in_clear_words() {
        let hanging =
            format!("{}; exec /bin/sleep 1000", becomes("deactivating", "stop-sigterm", "success", 0));
        let mut cx = host(&hanging).context();
        cx.deadline = Some(Instant::now() + MARGIN + Duration::from_millis(1500));
        let error = Skill::run(&RestartService, &cx, params("app", Action::Restart)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Timeout);
        assert!(error.message.contains("is still stopping"), "{error}");
        assert!(error.message.contains("its own limit for stopping is 1min 30s"), "{error}");
    }

    #[tokio::test]
    async fn what_may_not_be_touched_is_refused_before_anything_is_done() {
        for (name, kind, word) in [
            ("steadyhand-edge", SkillErrorKind::Refused, "itself"),
            ("dbus", SkillErrorKind::Refused, "whole system"),
            ("alias", SkillErrorKind::Refused, "dbus.service"),
            ("masked", SkillErrorKind::Refused, "unmask"),
            ("reboot.target", SkillErrorKind::Refused, "whole system"),
            ("backup.timer", SkillErrorKind::Refused, "may be touched"),
            ("getty@", SkillErrorKind::Invalid, "template"),
            ("--now", SkillErrorKind::Invalid, "name of a unit"),
            ("ap", SkillErrorKind::NotFound, "`app.service`"),
        ] {
            let host = host("exit 99");
            let error = run(host, params(name, Action::Restart)).await.unwrap_err();
            assert_eq!(error.kind, kind, "{name}: {error}");
            assert!(error.message.contains(word), "{name}: {error}");
        }
    }

    #[tokio::test]
    async fn a_unit_without_a_reload_command_says_so() {
        let error = run(host("exit 99"), params("app", Action::Reload)).await.unwrap_err();
        assert!(error.kind == SkillErrorKind::Unsupported && error.message.contains("ExecReload"), "{error}");
    }

    #[tokio::test]
    async fn a_stopped_unit_is_down_and_not_watched() {
        let host = host(&becomes("inactive", "dead", "success", 0));
        let output = run(host, Params { verify_seconds: 60, ..params("app", Action::Stop) }).await.unwrap();
        assert_eq!((output.state_after.state.as_str(), output.stayed_up), ("inactive", None));
        assert_eq!(output.watched_seconds, 0);
    }

    #[tokio::test]
    async fn a_host_without_systemd_is_not_supported() {
        let host = FakeHost::empty().with("/proc/1/comm", "openrc-init\n");
        let error = run(host, params("app", Action::Restart)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
        assert!(
            error.message.contains("not run by systemd") && error.message.contains("openrc-init"),
            "{error}"
        );
    }
}

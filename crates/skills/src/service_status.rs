//! Tells how systemd units are doing.

use crate::support::errors::{invalid, not_found};
use crate::support::journal::{self, Query};
use crate::support::systemd::words::{exit_words, no_systemd, parsed, unknown};
use crate::support::systemd::{Properties, Systemd, UnitLine, full_name, is_legal_name};
use crate::support::when;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::time::Duration;

/// Last log lines of a unit that is asked for by name.
const LOG_LINES: usize = 20;

/// Last log lines of each failed unit.
const FAILED_LOG_LINES: usize = 5;

/// How many failed units are looked at closely.
const MAX_FAILED: usize = 20;

/// How many units are listed.
const MAX_LISTED: usize = 500;

pub(crate) struct ServiceStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Unit to look at, for example `nginx` (taken as `nginx.service`) or `backup.timer`. Default: all services.
    #[schemars(length(min = 1, max = 256))]
    service: Option<String>,
    /// List only units that failed.
    #[serde(default)]
    failed_only: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// State of the whole system: `running`, `degraded` (some unit failed), `starting`, `maintenance`…
    system_state: String,
    /// How many units failed.
    failed_count: u32,
    /// The service that was asked for, or those that failed, closely.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    units: Vec<Unit>,
    /// All services in short, when none was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    services: Vec<Short>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Short {
    /// Name of the unit.
    name: String,
    /// `active`, `failed`, `inactive`, `activating`…
    state: String,
    /// More closely: `running`, `exited`, `dead`…
    sub_state: String,
    /// What it is.
    description: String,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Unit {
    /// Name of the unit.
    name: String,
    /// What it is.
    description: String,
    /// Whether its file was found: `loaded`, `not-found`, `masked`, `bad-setting`…
    load_state: String,
    /// `active`, `failed`, `inactive`, `activating`…
    state: String,
    /// More closely: `running`, `exited`, `dead`, `auto-restart`…
    sub_state: String,
    /// Since when it is in this state, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// How its last run ended: `success`, `exit-code`, `signal`, `oom-kill`, `timeout`, `start-limit-hit`…
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Exit code or signal of the last run, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_exit: Option<String>,
    /// How often systemd restarted it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: Option<u32>,
    /// Main process.
    #[serde(skip_serializing_if = "Option::is_none")]
    main_pid: Option<u32>,
    /// Memory of all of its processes, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    /// CPU time that it used, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    /// How many tasks it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<u64>,
    /// Whether it starts at boot: `enabled`, `disabled`, `static`, `masked`…
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<String>,
    /// The file that defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What the service says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_text: Option<String>,
    /// For timers: when it fired last.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_trigger: Option<String>,
    /// For timers: when it fires next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_trigger: Option<String>,
    /// Its last log lines, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    log: Vec<LogLine>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogLine {
    /// When, RFC 3339.
    time: String,
    /// The message.
    message: String,
}

impl Skill for ServiceStatus {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "service_status",
        name: "Service status",
        description: "Tell how systemd units are doing: state, since when, result of the last run, restarts, memory and the last log lines. Names one service, or lists those that failed, or all.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "services",
        result_preview: "nginx.service failed 3 min ago (exit-code 1), 5 restarts",
        prerequisites: &[Prerequisite::Systemd],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.as_ref();
        if !host.meets(Prerequisite::Systemd) {
            return Err(no_systemd(host));
        }
        let wanted = params.service.as_deref().map(str::trim);
        if let Some(name) = wanted
            && !is_legal_name(name)
        {
            return Err(invalid(format!("`{name}` is not the name of a unit")));
        }
        let systemd = Systemd::connect(host).await?;
        let lines = systemd.units().await?;
        let mut output = Output {
            system_state: systemd.system_state().await?,
            failed_count: lines.iter().filter(|line| line.active == "failed").count() as u32,
            units: Vec::new(),
            services: Vec::new(),
            notes: Vec::new(),
        };
        if systemd.way() == "systemctl" {
            output.notes.push("the system bus can't be reached; this comes from `systemctl`".to_owned());
        }
        match wanted {
            Some(name) => {
                let unit = one(host, &systemd, &lines, name, &mut output.notes).await?;
                if params.failed_only && unit.state != "failed" {
                    output.notes.push(format!("`{}` has not failed; it is {}", unit.name, unit.state));
                } else {
                    output.units.push(unit);
                }
            }
            None if params.failed_only => output.failed(host, &systemd, &lines).await?,
            None => output.list(lines),
        }
        Ok(output)
    }
}

impl Output {
    /// Looks closely at each unit that failed.
    async fn failed(
        &mut self,
        host: &dyn Host,
        systemd: &Systemd<'_>,
        lines: &[UnitLine],
    ) -> Result<(), SkillError> {
        let failed: Vec<&UnitLine> = lines.iter().filter(|line| line.active == "failed").collect();
        if failed.len() > MAX_FAILED {
            self.notes.push(format!("{} of {} failed units are shown", MAX_FAILED, failed.len()));
        }
        for line in failed.into_iter().take(MAX_FAILED) {
            let mut unit = Unit::of(&systemd.properties(&line.name).await?);
            unit.log = log(host, &line.name, FAILED_LOG_LINES, &mut self.notes).await;
            self.units.push(unit);
        }
        Ok(())
    }

    /// Lists all services, those that failed first.
    fn list(&mut self, lines: Vec<UnitLine>) {
        let mut services: Vec<UnitLine> = lines
            .into_iter()
            .filter(|line| {
                line.active == "failed" || (line.name.ends_with(".service") && line.load != "not-found")
            })
            .collect();
        model::order::sort_by(&mut services, |one, other| {
            let rank = |line: &UnitLine| match line.active.as_str() {
                "failed" => 0,
                "activating" | "deactivating" | "reloading" => 1,
                "active" => 2,
                _ => 3,
            };
            rank(one).cmp(&rank(other)).then_with(|| one.name.cmp(&other.name))
        });
        if services.len() > MAX_LISTED {
            self.notes.push(format!("{MAX_LISTED} of {} services are shown", services.len()));
        }
        self.services = services
            .into_iter()
            .take(MAX_LISTED)
            .map(|line| Short {
                name: line.name,
                state: line.active,
                sub_state: line.sub,
                description: line.description,
            })
            .collect();
    }
}

/// Looks closely at one unit.
async fn one(
    host: &dyn Host,
    systemd: &Systemd<'_>,
    lines: &[UnitLine],
    name: &str,
    notes: &mut Vec<String>,
) -> Result<Unit, SkillError> {
    let full = full_name(name);
    let properties = systemd.properties(&full).await?;
    let mut unit = Unit::of(&properties);
    if unit.load_state == "not-found" {
        return Err(not_found(unknown(name, &full, lines)));
    }
    unit.log = log(host, &unit.name, LOG_LINES, notes).await;
    Ok(unit)
}

/// The last log lines of a unit. Without a journal there are none, and a note says why.
async fn log(host: &dyn Host, unit: &str, lines: usize, notes: &mut Vec<String>) -> Vec<LogLine> {
    const WITHIN: Duration = Duration::from_secs(10);
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    if !host.meets(Prerequisite::Journal) {
        note("no log lines: this host keeps no systemd journal".to_owned());
        return Vec::new();
    }
    let query = Query { unit: Some(unit.to_owned()), lines, ..Query::default() };
    match tokio::time::timeout(WITHIN, journal::read(host, &query)).await {
        Ok(Ok(found)) => {
            found.notes.into_iter().for_each(&mut note);
            found
                .entries
                .into_iter()
                .map(|entry| LogLine { time: entry.time, message: entry.message })
                .collect()
        }
        Ok(Err(error)) => {
            note(format!("no log lines: {error}"));
            Vec::new()
        }
        Err(_) => {
            note("no log lines: the journal took too long".to_owned());
            Vec::new()
        }
    }
}

impl Unit {
    fn of(properties: &Properties) -> Self {
        let text = |name: &str| properties.get(name).filter(|text| !text.is_empty()).cloned();
        // systemd says "not set" with the largest number.
        let number = |name: &str| parsed::<u64>(properties, name).filter(|number| *number < u64::MAX);
        let time = |name: &str| {
            let micros = number(name).filter(|micros| *micros > 0)?;
            i64::try_from(micros).ok().map(when::rfc3339_micros).filter(|text| !text.is_empty())
        };
        let has_run = number("ExecMainCode").is_some_and(|code| code > 0);
        Self {
            name: text("Id").unwrap_or_default(),
            description: text("Description").unwrap_or_default(),
            load_state: text("LoadState").unwrap_or_default(),
            state: text("ActiveState").unwrap_or_default(),
            sub_state: text("SubState").unwrap_or_default(),
            since: time("StateChangeTimestamp"),
            result: text("Result"),
            last_exit: has_run.then(|| exit_words(properties)).flatten(),
            restarts: parsed(properties, "NRestarts"),
            main_pid: parsed(properties, "MainPID").filter(|pid| *pid > 0),
            memory_bytes: number("MemoryCurrent"),
            cpu_seconds: number("CPUUsageNSec").map(|nanos| (nanos as f64 / 1e7).round() / 100.0),
            tasks: number("TasksCurrent"),
            enabled: text("UnitFileState"),
            file: text("FragmentPath"),
            status_text: text("StatusText"),
            last_trigger: time("LastTriggerUSec"),
            next_trigger: time("NextElapseUSecRealtime"),
            log: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::SkillErrorKind;

    const LIST: &str = "nginx.service loaded failed failed Web server\nssh.service loaded active running Shell\n\
                        nginx-debug.service loaded inactive dead Other\ntmp.mount loaded active mounted Tmp\n";

    /// A host without a bus, whose systemctl knows three services.
    fn host() -> FakeHost {
        let script = r#"#!/bin/sh
case "$*" in
*list-units*) cat "$(dirname "$0")/list" ;;
*SystemState*) echo degraded ;;
*"-- nginx.service") printf 'Id=nginx.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nStateChangeTimestamp=@1772366400\nResult=exit-code\nNRestarts=5\nExecMainCode=1\nExecMainStatus=3\nMemoryCurrent=[not set]\nMainPID=0\n' ;;
*) printf 'Id=x.service\nLoadState=not-found\nActiveState=inactive\n' ;;
esac
"#;
        let journal = r#"#!/bin/sh
echo '{"__REALTIME_TIMESTAMP":"1772366399000000","MESSAGE":"bind() to 0.0.0.0:80 failed","__CURSOR":"c"}'
"#;
        FakeHost::empty()
            .with("/run/systemd/system/x", "")
            .with("/run/log/journal/x", "")
            .with("/usr/bin/list", LIST)
            .with_program(
                "/usr/bin/systemctl",
                &script.replace("cat", "/bin/cat").replace("dirname", "/usr/bin/dirname"),
            )
            .with_program("/usr/bin/journalctl", journal)
    }

    fn params(service: Option<&str>, failed_only: bool) -> Params {
        Params { service: service.map(str::to_owned), failed_only }
    }

    #[tokio::test]
    async fn a_failed_service_is_told_with_its_last_words() {
        let output =
            Skill::run(&ServiceStatus, &host().context(), params(Some("nginx"), false)).await.unwrap();
        let unit = &output.units[0];
        assert_eq!((unit.name.as_str(), unit.state.as_str()), ("nginx.service", "failed"));
        assert_eq!((unit.result.as_deref(), unit.restarts), (Some("exit-code"), Some(5)));
        assert_eq!(unit.last_exit.as_deref(), Some("exited with code 3"));
        assert_eq!(unit.since.as_deref(), Some("2026-03-01T12:00:00Z"));
        assert_eq!((unit.main_pid, unit.memory_bytes), (None, None));
        assert_eq!(unit.log[0].message, "bind() to 0.0.0.0:80 failed");
        assert_eq!((output.system_state.as_str(), output.failed_count), ("degraded", 1));
    }

    #[tokio::test]
    async fn failed_units_and_all_services_are_listed() {
        let output = Skill::run(&ServiceStatus, &host().context(), params(None, true)).await.unwrap();
        assert_eq!((output.units.len(), output.units[0].name.as_str()), (1, "nginx.service"));
        let output = Skill::run(&ServiceStatus, &host().context(), params(None, false)).await.unwrap();
        let names: Vec<_> = output.services.iter().map(|service| service.name.as_str()).collect();
        assert_eq!(names, ["nginx.service", "ssh.service", "nginx-debug.service"]);
    }

    #[tokio::test]
    async fn an_unknown_service_is_not_found_with_near_names() {
        let error =
            Skill::run(&ServiceStatus, &host().context(), params(Some("ngnix"), false)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::NotFound);
        assert!(error.message.contains("`nginx.service`"), "{error}");
        let error =
            Skill::run(&ServiceStatus, &host().context(), params(Some("zzz"), false)).await.unwrap_err();
        assert!(!error.message.contains("near names"), "{error}");
    }

    #[tokio::test]
    async fn a_host_without_systemd_says_what_it_has() {
        let cx = FakeHost::empty().with("/proc/1/comm", "openrc-init\n").context();
        let error = Skill::run(&ServiceStatus, &cx, params(None, false)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
        assert!(error.message.contains("`openrc-init`"), "{error}");
    }

    #[tokio::test]
    async fn an_illegal_name_is_invalid() {
        let error =
            Skill::run(&ServiceStatus, &host().context(), params(Some("--all"), false)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Invalid);
    }
}

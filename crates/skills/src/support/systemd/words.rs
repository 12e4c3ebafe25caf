//! What systemd means, in words.

use super::{Properties, UnitLine};
use crate::support::errors::unsupported;
use skill::{Host, SkillError};
use std::str::FromStr;

/// Says that a unit isn't there, with names that come near.
pub(crate) fn unknown(name: &str, full: &str, lines: &[UnitLine]) -> String {
    let stem = |unit: &str| unit.rsplit_once('.').map_or(unit, |(stem, _)| stem).to_lowercase();
    let wanted = stem(full);
    let mut near: Vec<(f64, &str)> = lines
        .iter()
        .filter(|line| line.load != "not-found" && !line.name.ends_with(".device"))
        .map(|line| {
            let own = stem(&line.name);
            let contained = own.contains(&wanted) || wanted.contains(&own);
            let likeness = strsim::jaro_winkler(&own, &wanted) + if contained { 0.5 } else { 0.0 };
            (likeness, line.name.as_str())
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    model::order::sort_by(&mut near, |one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    let names: Vec<String> = near.iter().take(5).map(|(_, name)| format!("`{name}`")).collect();
    if names.is_empty() {
        format!("this host has no unit `{name}`")
    } else {
        format!("this host has no unit `{name}`; near names: {}", names.join(", "))
    }
}

/// A property as a number.
pub(crate) fn parsed<T: FromStr>(properties: &Properties, name: &str) -> Option<T> {
    properties.get(name)?.parse().ok()
}

/// How the main process ended. The codes are those of `waitid`.
pub(crate) fn exit_words(properties: &Properties) -> Option<String> {
    let status: u32 = parsed(properties, "ExecMainStatus")?;
    Some(match parsed::<u32>(properties, "ExecMainCode")? {
        1 => format!("exited with code {status}"),
        2 => format!("killed by signal {status}"),
        3 => format!("killed by signal {status}, core dumped"),
        _ => return None,
    })
}

/// Says what runs the host instead.
pub(crate) fn no_systemd(host: &dyn Host) -> SkillError {
    let init = std::fs::read_to_string(host.path("/proc/1/comm")).unwrap_or_default();
    let init = init.trim();
    let known = match init {
        "" => String::new(),
        "systemd" => "; process 1 is systemd, but it has not booted this system".to_owned(),
        other => format!("; process 1 is `{other}`"),
    };
    unsupported(format!("this host is not run by systemd, so there are no units to ask for{known}"))
}

/// Why a unit is not up, from its properties: how its last run ended.
pub(crate) fn why_down(properties: &Properties) -> String {
    let text = |name: &str| properties.get(name).map(String::as_str).unwrap_or_default();
    let code: u32 = parsed(properties, "ExecMainCode").unwrap_or(0);
    let status: u32 = parsed(properties, "ExecMainStatus").unwrap_or(0);
    match text("Result") {
        "exit-code" if code == 1 && status != 0 => {
            let hint = exit_hint(status).map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("its process exited with code {status}{hint}")
        }
        "exit-code" => "one of its commands besides the main process failed".to_owned(),
        "signal" if code >= 2 => format!("its process was killed by signal {status}{}", signal_name(status)),
        "signal" => "one of its commands besides the main process was killed by a signal".to_owned(),
        "core-dump" => format!("its process crashed with signal {status}{}", signal_name(status)),
        "timeout" => "it took longer than its own time limit, so systemd ended it".to_owned(),
        "watchdog" => "it gave no sign of life in time, so systemd ended it (watchdog)".to_owned(),
        "oom-kill" => "it was killed because memory ran out".to_owned(),
        "start-limit-hit" => {
            "it failed too often in a short time, so systemd refuses to start it for a while (start limit)"
                .to_owned()
        }
        "protocol" => "it did not tell systemd that it was ready, as its type asks for".to_owned(),
        "resources" => "systemd lacked something that it needs, for example a file or a user".to_owned(),
        "exec-condition" => "one of its conditions was not met (ExecCondition)".to_owned(),
        "success" if was_skipped(properties) => {
            "systemd skipped it, because one of its conditions is not met".to_owned()
        }
        "success" => "its process ended by itself, without an error".to_owned(),
        "" => "systemd gives no reason".to_owned(),
        other => format!("systemd calls it `{other}`"),
    }
}

/// Whether systemd did not start the unit, because a condition is not met. The result alone says nothing: it is also
/// "no" where conditions were never looked at, as of a unit that was unloaded after it ran.
pub(crate) fn was_skipped(properties: &Properties) -> bool {
    let looked_at = parsed::<u64>(properties, "ConditionTimestamp").is_some_and(|micros| micros > 0);
    looked_at && properties.get("ConditionResult").is_some_and(|result| result == "false" || result == "no")
}

/// What systemd means by the codes that it uses itself before a program runs.
fn exit_hint(code: u32) -> Option<&'static str> {
    Some(match code {
        200 => "its working folder can't be entered",
        203 => "its program can't be executed",
        209 | 222 => "its output can't be opened",
        216 => "its group is not known",
        217 => "its user is not known",
        226 => "its namespaces can't be set up",
        233 => "its runtime folder can't be made",
        238 => "its state folder can't be made",
        243 => "its credentials can't be set up",
        _ => return None,
    })
}

fn signal_name(number: u32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        31 => "SIGSYS",
        _ => return String::new(),
    };
    format!(" ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_program_that_failed_and_one_that_was_killed_are_told_apart() {
        let end = |result: &str, code: &str, status: &str| {
            why_down(&properties(&[("Result", result), ("ExecMainCode", code), ("ExecMainStatus", status)]))
        };
        assert_eq!(end("exit-code", "1", "3"), "its process exited with code 3");
        assert_eq!(
            end("exit-code", "1", "203"),
            "its process exited with code 203 (its program can't be executed)"
        );
        assert_eq!(end("signal", "2", "9"), "its process was killed by signal 9 (SIGKILL)");
        assert_eq!(end("core-dump", "3", "11"), "its process crashed with signal 11 (SIGSEGV)");
        assert!(end("start-limit-hit", "1", "1").contains("start limit"));
        assert!(end("exit-code", "0", "0").contains("besides the main process"));
        assert!(
            why_down(&properties(&[
                ("Result", "success"),
                ("ConditionResult", "no"),
                ("ConditionTimestamp", "5")
            ]))
            .contains("condition")
        );
    }

    #[test]
    fn a_unit_whose_conditions_were_never_looked_at_was_not_skipped() {
        assert!(!was_skipped(&properties(&[("ConditionResult", "no")])));
        assert!(!was_skipped(&properties(&[("ConditionResult", "false"), ("ConditionTimestamp", "0")])));
        assert!(!was_skipped(&properties(&[("ConditionResult", "yes"), ("ConditionTimestamp", "5")])));
        assert!(was_skipped(&properties(&[("ConditionResult", "false"), ("ConditionTimestamp", "5")])));
    }
}

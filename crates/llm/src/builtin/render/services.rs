//! Results of `service_status`.

use super::text::{block, inline, name, table};
use super::units::{bytes, float, list, moment, string, whole};
use crate::builtin::route::Language;
use serde_json::Value;

const MAX_ROWS: usize = 60;

const UNITS: &[&str] = &["units", "services"];
const NAMES: &[&str] = &["name", "unit"];
const STATES: &[&str] = &["state", "active_state"];
const SINCE: &[&str] = &["since"];

/// Names of the units that a result shows as failed.
pub(in crate::builtin) fn failed_units(data: &Value) -> Vec<String> {
    units(data)
        .into_iter()
        .filter(|unit| is_failed(unit))
        .filter_map(|unit| string(unit, NAMES))
        .map(str::to_owned)
        .collect()
}

fn units(data: &Value) -> Vec<&Value> {
    let listed = list(data, UNITS);
    if listed.is_empty() && string(data, NAMES).is_some() { vec![data] } else { listed.iter().collect() }
}

fn is_failed(unit: &Value) -> bool {
    string(unit, STATES) == Some("failed")
}

pub(super) fn status(data: &Value, args: &Value, host: &str, language: Language) -> String {
    let found = units(data);
    let place = if host.is_empty() {
        String::new()
    } else {
        language.pick(format!(" on {host}"), format!(" ({host})"))
    };
    let failed_only = args.get("failed_only").and_then(Value::as_bool).unwrap_or(false);
    if found.is_empty() {
        return if failed_only {
            language.pick(format!("No unit has failed{place}."), format!("실패한 유닛이 없습니다{place}."))
        } else {
            language.pick(format!("No such service{place}."), format!("그런 서비스가 없습니다{place}."))
        };
    }
    if found.len() == 1 && (args.get("service").is_some() || failed_only) {
        return one(found[0], &place, language);
    }
    let failed: Vec<String> = failed_units(data).iter().map(|unit| name(unit)).collect();
    let head = if failed.is_empty() {
        language.pick(
            format!("{} units{place}, none failed.", found.len()),
            format!("유닛 {}개{place}, 실패한 것은 없습니다.", found.len()),
        )
    } else {
        language.pick(
            format!("{} failed{place}: {}.", failed.len(), failed.join(", ")),
            format!("실패한 유닛 {}개{place}: {}.", failed.len(), failed.join(", ")),
        )
    };
    let mut sorted = found.clone();
    sorted.sort_by_key(|unit| !is_failed(unit));
    let rows: Vec<Vec<String>> = sorted
        .iter()
        .take(MAX_ROWS)
        .map(|unit| {
            vec![
                name(string(unit, NAMES).unwrap_or("?")),
                state(unit),
                string(unit, SINCE).map(moment).unwrap_or_default(),
                string(unit, &["result"]).map(name).unwrap_or_default(),
                whole(unit, "restarts").map(|count| count.to_string()).unwrap_or_default(),
                memory(unit),
            ]
        })
        .collect();
    let heads = language.pick(
        ["unit", "state", "since", "result", "restarts", "memory"],
        ["유닛", "상태", "시각", "결과", "재시작", "메모리"],
    );
    let more =
        if found.len() > MAX_ROWS { format!("\n\n… +{}", found.len() - MAX_ROWS) } else { String::new() };
    format!("{head}\n\n{}{more}", table(&heads, &rows))
}

fn state(unit: &Value) -> String {
    let main = string(unit, STATES).map(name).unwrap_or_default();
    match string(unit, &["sub_state", "sub"]).map(name) {
        Some(sub) if sub != main => format!("{main} ({sub})"),
        _ => main,
    }
}

fn memory(unit: &Value) -> String {
    ["memory_bytes", "memory"].iter().find_map(|key| float(unit, key)).map(bytes).unwrap_or_default()
}

fn one(unit: &Value, place: &str, language: Language) -> String {
    let title = name(string(unit, NAMES).unwrap_or("?"));
    let since = string(unit, SINCE).map(moment).unwrap_or_default();
    let state_word = string(unit, STATES).unwrap_or("unknown");
    let verdict = match state_word {
        "active" => language.pick("is running", "실행 중입니다"),
        "failed" => language.pick("has **failed**", "**실패** 상태입니다"),
        "inactive" => language.pick("is not running", "실행 중이 아닙니다"),
        "activating" | "reloading" => language.pick("is starting", "시작하는 중입니다"),
        "deactivating" => language.pick("is stopping", "멈추는 중입니다"),
        _ => language.pick("has an unclear state", "상태가 분명하지 않습니다"),
    };
    let missing = string(unit, &["load_state"]) == Some("not-found");
    let mut out = if missing {
        language.pick(
            format!("There is no unit **{title}**{place}."),
            format!("**{title}** 유닛이 없습니다{place}."),
        )
    } else {
        let when = if since.is_empty() {
            String::new()
        } else {
            language.pick(format!(" since {since}"), format!(" ({since}부터)"))
        };
        language.pick(
            format!("**{title}** {verdict}{place}{when}."),
            format!("**{title}** {verdict}{place}{when}."),
        )
    };
    let mut rows = vec![vec![language.pick("state", "상태").to_owned(), state(unit)]];
    for (label, keys) in [
        (language.pick("result", "결과"), &["result"][..]),
        (language.pick("last exit", "마지막 종료"), &["last_exit"][..]),
        (language.pick("says", "서비스 메시지"), &["status_text"][..]),
        (language.pick("description", "설명"), &["description"][..]),
        (language.pick("last run", "마지막 실행"), &["last_trigger"][..]),
        (language.pick("next run", "다음 실행"), &["next_trigger"][..]),
        (language.pick("at boot", "부팅 시"), &["enabled"][..]),
    ] {
        if let Some(value) = string(unit, keys) {
            rows.push(vec![label.to_owned(), inline(value, 160)]);
        }
    }
    for (label, key) in [
        ("pid", "main_pid"),
        (language.pick("restarts", "재시작"), "restarts"),
        (language.pick("tasks", "작업"), "tasks"),
    ] {
        if let Some(value) = whole(unit, key) {
            rows.push(vec![label.to_owned(), value.to_string()]);
        }
    }
    if !memory(unit).is_empty() {
        rows.push(vec![language.pick("memory", "메모리").to_owned(), memory(unit)]);
    }
    out.push_str(&format!("\n\n{}", table(&language.pick(["measure", "value"], ["항목", "값"]), &rows)));
    let lines: Vec<String> = list(unit, &["log"])
        .iter()
        .filter_map(|line| {
            line.as_str().map(str::to_owned).or_else(|| {
                string(line, &["message"])
                    .map(|message| format!("{} {message}", string(line, &["time", "at"]).unwrap_or("")))
            })
        })
        .collect();
    if !lines.is_empty() {
        out.push_str(&format!("\n\n{}", block(&lines.join("\n"))));
    }
    out
}

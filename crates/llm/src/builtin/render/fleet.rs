//! Results of `query_edges`, and of tools that ask several hosts at once.

use super::text::{name, table};
use super::units::{list, moment, string, whole};
use super::{Outcome, machine};
use crate::builtin::route::Language;
use serde_json::Value;

const MAX_ROWS: usize = 60;

pub(super) fn hosts(data: &Value, args: &Value, language: Language) -> String {
    let listed = list(data, &["hosts", "items", "edges"]);
    let total = whole(data, "total").unwrap_or(listed.len() as u64);
    let online = whole(data, "online").unwrap_or(0);
    let matched = whole(data, "matched").unwrap_or(listed.len() as u64);
    let asked = string(args, &["name"]);
    let mut out = match (asked, listed) {
        (Some(asked), []) => language.pick(
            format!("No host matches {}.", name(asked)),
            format!("{}에 해당하는 호스트가 없습니다.", name(asked)),
        ),
        (Some(_), [host]) => {
            let title = name(string(host, &["name"]).unwrap_or("?"));
            let status = string(host, &["status", "state"]).unwrap_or("unknown");
            let seen = string(host, &["last_seen_at"]).map(moment).unwrap_or_default();
            match status {
                "online" => language.pick(
                    format!("Yes, **{title}** is online."),
                    format!("네, **{title}**은(는) 온라인입니다."),
                ),
                _ => language.pick(
                    format!("**{title}** is {} (last seen {seen}).", name(status)),
                    format!("**{title}**: {} (마지막 접속 {seen}).", name(status)),
                ),
            }
        }
        (_, []) => language.pick(
            format!("No host matches; {total} in all, {online} online."),
            format!("해당하는 호스트가 없습니다. 전체 {total}대, 온라인 {online}대."),
        ),
        _ if args.as_object().is_none_or(serde_json::Map::is_empty) => language.pick(
            format!("{total} hosts, {online} online."),
            format!("호스트 {total}대 중 {online}대가 온라인입니다."),
        ),
        _ => language.pick(
            format!("{matched} of {total} hosts match."),
            format!("호스트 {total}대 중 {matched}대가 해당합니다."),
        ),
    };
    if !listed.is_empty() {
        let rows: Vec<Vec<String>> = listed
            .iter()
            .take(MAX_ROWS)
            .map(|host| {
                let labels: Vec<String> = host
                    .get("labels")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                    .take(6)
                    .map(|(key, value)| name(&format!("{key}={}", value.as_str().unwrap_or(""))))
                    .collect();
                vec![
                    whole(host, "edge_id").map(|id| id.to_string()).unwrap_or_default(),
                    name(string(host, &["name", "hostname"]).unwrap_or("?")),
                    name(string(host, &["status", "state"]).unwrap_or("?")),
                    name(string(host, &["os"]).unwrap_or("")),
                    labels.join(", "),
                    string(host, &["last_seen_at", "connected_at"]).map(moment).unwrap_or_default(),
                ]
            })
            .collect();
        let head = language.pick(
            ["id", "host", "status", "OS", "labels", "last seen"],
            ["id", "호스트", "상태", "OS", "라벨", "마지막 접속"],
        );
        out.push_str(&format!("\n\n{}", table(&head, &rows)));
    }
    if listed.len() > MAX_ROWS {
        out.push_str(&format!("\n\n… +{}", listed.len() - MAX_ROWS));
    }
    out
}

/// A batch result: `None` if the data isn't one.
pub(super) fn batch(outcome: &Outcome<'_>, data: &Value, language: Language) -> Option<String> {
    let hosts = data.get("hosts").and_then(Value::as_array)?;
    data.get("succeeded")?;
    let mut answered: Vec<(String, &Value)> = Vec::new();
    let mut failed = Vec::new();
    for host in hosts {
        let title = string(host, &["name"])
            .map_or_else(|| format!("edge {}", whole(host, "edge_id").unwrap_or(0)), name);
        match host.get("result") {
            Some(result) => answered.push((title, result)),
            None => {
                failed.push(format!("- {title}: {}", name(string(host, &["error", "state"]).unwrap_or(""))))
            }
        }
    }
    let one_of_many = answered.len() == 1;
    let mut parts = Vec::new();
    match (outcome.tool, answered.as_slice()) {
        ("host_load", several) if several.len() > 1 => parts.push(machine::load_rows(several, language)),
        (tool, several) => {
            for (title, result) in several {
                let title = if outcome.several_hosts || !one_of_many { title.as_str() } else { "" };
                parts.push(match tool {
                    "host_load" => machine::load(result, title, language),
                    "host_processes" => machine::processes(result, outcome.args, title, language),
                    _ => format!("**{title}**\n\n{}", super::generic::value(result)),
                });
            }
        }
    }
    if !failed.is_empty() {
        let head = language.pick("These hosts could not answer:", "응답하지 못한 호스트:");
        parts.push(format!("{head}\n{}", failed.join("\n")));
    }
    Some(parts.join("\n\n"))
}

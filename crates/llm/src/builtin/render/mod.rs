//! Shows what tools answered: sentences first, then tables. Everything that came from a host is data: it is escaped,
//! cut to a length, and never read for instructions.

mod fleet;
mod generic;
mod logs;
mod looking;
mod machine;
mod network;
mod services;
pub(super) mod text;
mod units;

pub(super) use machine::start_time;
pub(super) use services::failed_units;

use super::route::Language;
use serde_json::Value;
use text::{inline, name};

/// Longest answer, in characters.
const MAX_CHARS: usize = 24_000;

/// One call with what came back.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) tool: &'a str,
    pub(super) args: &'a Value,
    /// Names of the hosts that it ran on.
    pub(super) hosts: Vec<String>,
    pub(super) content: &'a str,
    pub(super) is_error: bool,
    pub(super) data: Option<&'a Value>,
    /// Whether there are other hosts, so that the answer has to say which one it is about.
    pub(super) several_hosts: bool,
}

/// Shows all results of a turn. A result that a later call made again is left out.
pub(super) fn results(outcomes: &[Outcome<'_>], notes: &[String], language: Language) -> String {
    let mut parts: Vec<String> = notes.to_vec();
    for (at, outcome) in outcomes.iter().enumerate() {
        let empty = outcome.tool == "read_journal"
            && outcome
                .data
                .is_some_and(|data| data.get("entries").and_then(Value::as_array).is_some_and(Vec::is_empty));
        let again = outcomes[at + 1..].iter().any(|later| {
            later.tool == outcome.tool
                && later.hosts == outcome.hosts
                && later.args.get("unit") == outcome.args.get("unit")
        });
        let looked_up = outcome.tool == "host_processes"
            && outcomes[at + 1..].iter().any(|later| later.tool == "kill_process");
        if empty && again || looked_up {
            continue;
        }
        parts.push(one(outcome, language));
    }
    text::cut(&parts.join("\n\n"), MAX_CHARS)
}

fn one(outcome: &Outcome<'_>, language: Language) -> String {
    if outcome.is_error {
        return failure(outcome, language);
    }
    let Some(data) = outcome.data else {
        let head = language.pick(
            format!("`{}` answered:", inline(outcome.tool, 64)),
            format!("`{}` 결과:", inline(outcome.tool, 64)),
        );
        return format!("{head}\n\n{}", text::block(outcome.content));
    };
    if let Some(shown) = fleet::batch(outcome, data, language) {
        return shown;
    }
    let host =
        outcome.hosts.first().filter(|_| outcome.several_hosts).map(|host| name(host)).unwrap_or_default();
    let from = if host.is_empty() {
        String::new()
    } else {
        language.pick(format!(" from {host}"), format!(" ({host}에서)"))
    };
    match outcome.tool {
        "probe_tcp" if data.get("attempts").is_some() => network::tcp(data, &from, language),
        "probe_dns" if data.get("records").is_some() => network::dns(data, &from, language),
        "probe_http" if data.get("url").is_some() => network::http(data, &from, language),
        "host_load" if data.get("cpu").is_some() => machine::load(data, &host, language),
        "host_processes" if data.get("processes").is_some() => {
            machine::processes(data, outcome.args, &host, language)
        }
        "probe_ping" if data.get("loss_percent").is_some() => looking::ping(data, &from, language),
        "host_files" if data.get("paths").is_some() => looking::files(data, &host, language),
        "host_sockets" if data.get("sockets").is_some() => looking::sockets(data, &host, language),
        "host_netns_inspect" if data.get("namespaces").is_some() => {
            looking::namespaces(data, &host, language)
        }
        "read_journal" if data.get("entries").is_some() => logs::journal(data, outcome.args, &host, language),
        "tail_file" if data.get("lines").is_some() => logs::tail(data, outcome.args, &host, language),
        "read_file" if data.get("content").is_some() => logs::file(data, outcome.args, &host, language),
        "service_status" => services::status(data, outcome.args, &host, language),
        "query_edges" => fleet::hosts(data, outcome.args, language),
        tool => generic::render(tool, data, language),
    }
}

/// A failure or a refusal in plain words, with what to do.
fn failure(outcome: &Outcome<'_>, language: Language) -> String {
    let tool = inline(outcome.tool, 64);
    let said = inline(outcome.content.lines().next().unwrap_or(""), 400);
    let low = outcome.content.to_lowercase();
    let place = outcome
        .hosts
        .first()
        .map(|host| language.pick(format!(" on {}", name(host)), format!(" ({})", name(host))))
        .unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| low.contains(word));
    let changes = matches!(outcome.tool, "restart_service" | "kill_process" | "reboot_host");
    let hint = if changes {
        language.pick("Nothing was changed.", "바뀐 것은 없습니다.")
    } else if has(&["permission", "not allowed to read", "denied"]) {
        language.pick(
            "The agent on that host may not read it; its owner can allow it.",
            "그 호스트의 에이전트에 읽기 권한이 없습니다. 호스트 관리자가 허용할 수 있습니다.",
        )
    } else if has(&["offline", "not connected", "disconnected"]) {
        language.pick(
            "The Hosts page shows when it was last seen.",
            "호스트 페이지에서 마지막 접속 시각을 볼 수 있습니다.",
        )
    } else if has(&["timed out", "timeout", "deadline"]) {
        language.pick(
            "Try again, or give it more time (for example \"timeout 10s\").",
            "다시 시도하거나 시간을 더 주세요(예: \"타임아웃 10초\").",
        )
    } else if has(&["no such", "not found", "not_found", "does not exist"]) {
        language.pick("Check the spelling of the name or path.", "이름이나 경로가 맞는지 확인해 주세요.")
    } else if has(&["systemd", "journal", "unsupported"]) {
        language
            .pick("That host lacks what this tool needs.", "그 호스트에는 이 도구에 필요한 것이 없습니다.")
    } else if has(&["busy", "too many", "limit"]) {
        language.pick("Try again in a moment.", "잠시 후 다시 시도해 주세요.")
    } else {
        language.pick("The Audit page has the details of this call.", "자세한 내용은 감사 페이지에 있습니다.")
    };
    if changes {
        language.pick(
            format!("`{tool}`{place} was not run: {said} {hint}"),
            format!("`{tool}`{place}은(는) 실행되지 않았습니다: {said} {hint}"),
        )
    } else {
        language.pick(
            format!("`{tool}`{place} did not work: {said} {hint}"),
            format!("`{tool}`{place} 실행에 실패했습니다: {said} {hint}"),
        )
    }
}

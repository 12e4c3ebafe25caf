//! Finds the hosts that an operator's words mean, and what can't run on them.

use super::render::text::name;
use super::route::{Language, RoutedCall, place_key};
use crate::{HostRef, Message, ModelRequest};
use serde_json::{Map, Value, json};
use skill::LlmTool;

/// Most hosts of one batch call.
const MAX_BATCH: usize = 16;
/// Most hosts that a question lists.
const MAX_LISTED: usize = 12;

/// Calls with their hosts, or why there are none.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// Tool and whole arguments.
    pub(super) calls: Vec<(String, Value)>,
    /// What the operator should know: what can't run, and why.
    pub(super) notes: Vec<String>,
    /// A question that comes first.
    pub(super) question: Option<String>,
}

/// Puts calls on hosts.
pub(super) fn place(calls: &[RoutedCall], text: &str, request: &ModelRequest, language: Language) -> Placed {
    let mut placed = Placed::default();
    for call in calls {
        let Some(tool) = request.tools.iter().find(|tool| tool.name == call.tool) else { continue };
        let (one, many) = (takes(tool, "edge_id"), takes(tool, "edge_ids"));
        let mut args = call.args.as_object().cloned().unwrap_or_default();
        let word = args.shift_remove(place_key(tool)).and_then(|host| host.as_str().map(str::to_owned));
        if !one && !many {
            placed.calls.push((call.tool.clone(), Value::Object(args)));
            continue;
        }
        let hosts = match find(word.as_deref(), text, request, language) {
            Ok(hosts) => hosts,
            Err(Problem::Ask(question)) => {
                placed.question = Some(question);
                placed.calls.clear();
                return placed;
            }
            Err(Problem::Tell(note)) => {
                push_new(&mut placed.notes, note);
                continue;
            }
        };
        put_on(&mut placed, &call.tool, &args, &hosts, many, request, language);
    }
    placed
}

fn put_on(
    placed: &mut Placed,
    tool: &str,
    args: &Map<String, Value>,
    hosts: &[&HostRef],
    many: bool,
    request: &ModelRequest,
    language: Language,
) {
    let mut able = Vec::new();
    for host in hosts {
        match host.unmet.get(tool).filter(|unmet| !unmet.is_empty()) {
            None => able.push(host.id),
            Some(unmet) => {
                push_new(&mut placed.notes, lacks(tool, host, unmet, language));
                if let Some((other, other_args)) = instead(tool, args, host, request) {
                    push_new_call(&mut placed.calls, other, other_args);
                }
            }
        }
    }
    if many {
        for some in able.chunks(MAX_BATCH) {
            join_batch(&mut placed.calls, tool, args, some);
        }
    } else {
        for id in able {
            push_new_call(&mut placed.calls, tool.to_owned(), with_place("edge_id", json!(id), args));
        }
    }
}

/// Adds hosts to a batch call with the same arguments, or makes one.
fn join_batch(calls: &mut Vec<(String, Value)>, tool: &str, args: &Map<String, Value>, ids: &[i64]) {
    let same = calls.iter_mut().find(|(name, known)| {
        let Some(known) = known.as_object() else { return false };
        name == tool && known.iter().filter(|(key, _)| *key != "edge_ids").eq(args.iter())
    });
    if let Some((_, known)) = same
        && let Some(Value::Array(list)) = known.get_mut("edge_ids")
        && list.len() + ids.len() <= MAX_BATCH
    {
        for id in ids {
            if !list.contains(&json!(id)) {
                list.push(json!(id));
            }
        }
        return;
    }
    calls.push((tool.to_owned(), with_place("edge_ids", json!(ids), args)));
}

fn with_place(key: &str, place: Value, args: &Map<String, Value>) -> Value {
    let mut whole = Map::new();
    whole.insert(key.to_owned(), place);
    whole.extend(args.clone());
    Value::Object(whole)
}

fn push_new_call(calls: &mut Vec<(String, Value)>, tool: String, args: Value) {
    if !calls.contains(&(tool.clone(), args.clone())) {
        calls.push((tool, args));
    }
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

fn takes(tool: &LlmTool, parameter: &str) -> bool {
    tool.params.get("properties").and_then(|properties| properties.get(parameter)).is_some()
}

/// What answers nearly the same where a tool can't run: the processes of a service instead of its unit.
fn instead(
    tool: &str,
    args: &Map<String, Value>,
    host: &HostRef,
    request: &ModelRequest,
) -> Option<(String, Value)> {
    let service =
        (tool == "service_status").then(|| args.get("service").and_then(Value::as_str)).flatten()?;
    let other = request.tools.iter().find(|tool| tool.name == "host_processes")?;
    if host.unmet.get("host_processes").is_some_and(|unmet| !unmet.is_empty()) {
        return None;
    }
    let program = service.split('.').next().unwrap_or(service);
    let program = if program == "postgresql" { "postgres" } else { program };
    let (key, place) =
        if takes(other, "edge_ids") { ("edge_ids", json!([host.id])) } else { ("edge_id", json!(host.id)) };
    let args = json!({"name": program}).as_object().cloned().unwrap_or_default();
    Some(("host_processes".to_owned(), with_place(key, place, &args)))
}

fn lacks(tool: &str, host: &HostRef, unmet: &[String], language: Language) -> String {
    let needs: Vec<String> = unmet.iter().map(|need| name(need)).collect();
    let (host, needs) = (name(&host.name), needs.join(", "));
    let more = match tool {
        "read_journal" => language.pick(
            " You can read a log file instead, for example \"tail /var/log/syslog\".",
            " 대신 \"tail /var/log/syslog\"처럼 로그 파일을 볼 수 있습니다.",
        ),
        "service_status" => language.pick(
            " I looked for its processes instead where I could.",
            " 가능한 경우 대신 프로세스를 찾아보았습니다.",
        ),
        _ => "",
    };
    language.pick(
        format!("`{tool}` can't run on {host}: it needs {needs}, which is missing there.{more}"),
        format!("{host}에서는 `{tool}`을(를) 실행할 수 없습니다. 필요한 것이 없습니다: {needs}.{more}"),
    )
}

enum Problem {
    Ask(String),
    Tell(String),
}

fn find<'a>(
    word: Option<&str>,
    text: &str,
    request: &'a ModelRequest,
    language: Language,
) -> Result<Vec<&'a HostRef>, Problem> {
    let hosts = &request.hosts;
    if hosts.is_empty() {
        return Err(Problem::Tell(
            language
                .pick(
                    "No host is enrolled yet. Add one on the Hosts page, then ask again.",
                    "아직 등록된 호스트가 없습니다. 호스트 페이지에서 추가한 뒤 다시 물어보세요.",
                )
                .to_owned(),
        ));
    }
    let online: Vec<&HostRef> = hosts.iter().filter(|host| host.online).collect();
    match word {
        Some("all") => {
            if online.is_empty() {
                Err(all_offline(language))
            } else {
                Ok(online)
            }
        }
        Some(word) => named(word, hosts, language).map(|host| vec![host]),
        None => unnamed(text, &online, request, language).map(|host| vec![host]),
    }
}

fn all_offline(language: Language) -> Problem {
    Problem::Tell(
        language.pick("No host is online at the moment.", "지금 온라인인 호스트가 없습니다.").to_owned(),
    )
}

/// The host that a word names: its name, its id, or the beginning or a label of just one.
fn named<'a>(word: &str, hosts: &'a [HostRef], language: Language) -> Result<&'a HostRef, Problem> {
    let wanted = word.to_lowercase();
    let number: Option<i64> = wanted.rsplit([' ', '-', '#']).next().and_then(|digits| digits.parse().ok());
    let by_id = || {
        let noun = wanted.split([' ', '-']).next().unwrap_or("");
        let counted =
            matches!(noun, "edge" | "host" | "server" | "node" | "machine" | "box" | "vm" | "agent")
                || noun.parse::<i64>().is_ok();
        number.filter(|_| counted).and_then(|id| hosts.iter().find(|host| host.id == id))
    };
    let exact = hosts.iter().find(|host| {
        host.name.to_lowercase() == wanted
            || host.name.to_lowercase() == wanted.replace(' ', "-")
            || host.name.to_lowercase() == wanted.replace(' ', "")
    });
    let only = |matches: &dyn Fn(&HostRef) -> bool| {
        let mut found = hosts.iter().filter(|host| matches(host));
        found.next().filter(|_| found.next().is_none())
    };
    let host = exact
        .or_else(by_id)
        .or_else(|| only(&|host| host.name.to_lowercase().split('.').next() == Some(wanted.as_str())))
        .or_else(|| only(&|host| host.name.to_lowercase().starts_with(&wanted)))
        .or_else(|| only(&|host| host.labels.values().any(|value| value.to_lowercase() == wanted)))
        .or_else(|| {
            only(&|host| {
                strsim::osa_distance(&host.name.to_lowercase(), &wanted) == 1
                    && wanted.len() >= 5
                    && host.name.trim_end_matches(|c: char| c.is_ascii_digit()).len() < host.name.len()
                    && last_digits(&host.name) == last_digits(&wanted)
            })
        });
    match host {
        Some(host) if host.online => Ok(host),
        Some(host) => Err(Problem::Tell(language.pick(
            format!("{} is offline, so nothing can run there now.", name(&host.name)),
            format!("{}은(는) 오프라인이라 지금은 실행할 수 없습니다.", name(&host.name)),
        ))),
        None => {
            let some: Vec<&HostRef> =
                hosts.iter().filter(|host| host.name.to_lowercase().contains(&wanted)).collect();
            let ambiguous = some.len() > 1;
            let list = listed(if some.is_empty() { hosts.iter().collect() } else { some });
            Err(Problem::Ask(if ambiguous {
                language.pick(
                    format!("{} could be several hosts. Which one: {list}?", name(word)),
                    format!("{}에 해당하는 호스트가 여럿입니다. 어느 것인가요: {list}?", name(word)),
                )
            } else {
                language.pick(
                    format!("I know no host named {}. Which one do you mean: {list}?", name(word)),
                    format!("{}(이)라는 호스트가 없습니다. 어느 호스트인가요: {list}?", name(word)),
                )
            }))
        }
    }
}

fn last_digits(name: &str) -> &str {
    &name[name.trim_end_matches(|character: char| character.is_ascii_digit()).len()..]
}

/// The host when none is named: the only one online, this machine if "this" was said, the one of the last calls.
fn unnamed<'a>(
    text: &str,
    online: &[&'a HostRef],
    request: &ModelRequest,
    language: Language,
) -> Result<&'a HostRef, Problem> {
    if let [only] = online {
        return Ok(only);
    }
    if online.is_empty() {
        return Err(all_offline(language));
    }
    let low = text.to_lowercase();
    let here =
        ["this", "here", "local", "이 호스트", "이 서버", "여기", "로컬", "이호스트", "이서버", "이 장비"]
            .iter()
            .any(|word| low.contains(word));
    if here && let Some(local) = online.iter().filter(|host| host.local).min_by_key(|host| host.id) {
        return Ok(local);
    }
    if let Some(last) = last_host(request)
        && let Some(host) = online.iter().find(|host| host.id == last)
    {
        return Ok(host);
    }
    let list = listed(online.to_vec());
    Err(Problem::Ask(
        language.pick(format!("On which host: {list}?"), format!("어느 호스트에서 볼까요: {list}?")),
    ))
}

/// The one host of the latest calls in the conversation.
fn last_host(request: &ModelRequest) -> Option<i64> {
    request.messages.iter().rev().find_map(|message| {
        let Message::Assistant { calls, .. } = message else { return None };
        let mut ids: Vec<i64> =
            calls.iter().filter_map(|call| call.args.as_ref().ok()).flat_map(ids_of).collect();
        ids.dedup();
        if let [id] = ids.as_slice() { Some(*id) } else { None }
    })
}

/// The hosts that arguments name.
pub(super) fn ids_of(args: &Value) -> Vec<i64> {
    let one = args.get("edge_id").and_then(Value::as_i64);
    let many = args.get("edge_ids").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64);
    one.into_iter().chain(many).collect()
}

fn listed(hosts: Vec<&HostRef>) -> String {
    let mut names: Vec<String> = hosts.iter().take(MAX_LISTED).map(|host| name(&host.name)).collect();
    if hosts.len() > MAX_LISTED {
        names.push("…".to_owned());
    }
    names.join(", ")
}

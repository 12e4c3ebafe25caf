//! Turns the strongest reading of a clause into calls with their arguments, or into a question.

mod changes;
mod host;
mod logs;
mod probes;

use super::concept::Concept::*;
use super::facts::PlaceKind;
use super::intent::Intent;
use super::talk::{self, Question};
use super::token::Token;
use super::{RoutedCall, Scene, token};
use changes::{kill, reboot, restart};
use host::{disk_use, namespaces, sockets};
use logs::{journal, likely_service, read_file, since, tail_file};
use probes::{ping, probe_dns, probe_http, probe_tcp};
use serde_json::{Map, Value, json};

/// What comes of a clause.
pub(super) enum Filled {
    Calls(Vec<RoutedCall>),
    Ask(String),
    Say(String),
}

/// Fills the strongest reading of the clause. `None` if it has none.
pub(super) fn fill(scene: &Scene<'_>) -> Option<Filled> {
    let intent = scene.clause.intent()?;
    let facts = &scene.clause.facts;
    let filled = match intent {
        Intent::ProbeTcp => probe_tcp(scene),
        Intent::ProbeDns => probe_dns(scene),
        Intent::ProbeHttp => probe_http(scene),
        Intent::TailFile => tail_file(scene),
        Intent::ReadFile => read_file(scene),
        Intent::Journal => journal(scene),
        Intent::Load => load(scene),
        Intent::Processes => processes(scene),
        Intent::Service => service(scene),
        Intent::Edges => edges(scene),
        Intent::Restart => restart(scene),
        Intent::Kill => kill(scene),
        Intent::Reboot => reboot(scene),
        Intent::ReadResult => read_result(scene),
        Intent::Ping => ping(scene),
        Intent::DiskUse => disk_use(scene),
        Intent::Sockets => sockets(scene),
        Intent::Namespaces => namespaces(scene),
        Intent::Shutdown => Filled::Say(talk::cannot_shut_down(scene.language)),
        Intent::Unsupported => Filled::Say(talk::cannot_change(scene.language)),
    };
    if facts.words == 0 {
        return None;
    }
    Some(filled)
}

/// One call for each host that is named.
fn on_hosts(scene: &Scene<'_>, tool: &str, args: Map<String, Value>) -> Filled {
    on_these(scene, &scene.hosts, tool, vec![args])
}

fn on_these(scene: &Scene<'_>, hosts: &[String], tool: &str, list: Vec<Map<String, Value>>) -> Filled {
    if !scene.tools.has(tool) {
        return Filled::Say(talk::not_offered(tool, scene.language));
    }
    let mut calls = Vec::new();
    for args in list {
        let Some(fitted) = scene.tools.fit(tool, args) else {
            return Filled::Ask(talk::ask(&Question::Details(tool.to_owned()), scene.language));
        };
        if hosts.is_empty() || !scene.tools.takes_host(tool) {
            calls.push(RoutedCall { tool: tool.to_owned(), args: Value::Object(fitted) });
            continue;
        }
        for host in hosts {
            let mut args = Map::new();
            args.insert(scene.tools.place_key(tool).to_owned(), json!(host));
            args.extend(fitted.clone());
            calls.push(RoutedCall { tool: tool.to_owned(), args: Value::Object(args) });
        }
    }
    Filled::Calls(calls)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn load(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let named = facts
        .unknown
        .iter()
        .find(|unknown| {
            unknown.after.any(&[On, Of, From, Load, Status]) || facts.any(&[Status, Load]) && unknown.at > 0
        })
        .map(|unknown| unknown.name.clone());
    let hosts = if scene.hosts.is_empty() { named.into_iter().collect() } else { scene.hosts.clone() };
    let among = facts.has(Hosts) || facts.has(Host) && facts.any(&[Which]);
    let hosts = if hosts.is_empty() && among && !facts.has(Here) { vec!["all".to_owned()] } else { hosts };
    let load = on_these(scene, &hosts, "host_load", vec![Map::new()]);
    let why_slow = facts.any(&[Slow]) && facts.has(Why) || facts.has(Why) && facts.has(High);
    if why_slow {
        chain(
            load,
            on_these(
                scene,
                &hosts,
                "host_processes",
                vec![object(json!({"sort_by": if facts.has(Mem) { "mem" } else { "cpu" }}))],
            ),
        )
    } else {
        load
    }
}

/// The calls of both, where both have some; else the first.
fn chain(first: Filled, second: Filled) -> Filled {
    match (first, second) {
        (Filled::Calls(mut calls), Filled::Calls(later)) => {
            calls.extend(later);
            Filled::Calls(calls)
        }
        (first, _) => first,
    }
}

fn processes(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let by = |concept| scene.clause.tokens.iter().position(|token| token.concepts.has(concept));
    let mut sorts: Vec<(usize, &str)> = [(Cpu, "cpu"), (Mem, "mem"), (Swap, "mem"), (Io, "io"), (Fds, "fds")]
        .into_iter()
        .filter_map(|(concept, name)| by(concept).map(|at| (at, name)))
        .collect();
    sorts.sort_unstable();
    if facts.has(Disk) && facts.any(&[Eat, Most, Who]) && sorts.is_empty() {
        sorts.push((0, "io"));
    }
    if sorts.is_empty() && facts.any(&[High, Slow])
        || sorts.is_empty() && facts.has(Load) && facts.any(&[Eat, Most, Who])
    {
        sorts.push((0, "cpu"));
    }
    let both = facts.has(Cpu)
        && facts.has(Mem)
        && scene.clause.tokens.iter().any(|token| token.low == "and" || token.is_break());
    let sorts =
        if both { vec![Some("cpu"), Some("mem")] } else { vec![sorts.first().map(|(_, name)| *name)] };
    let user = facts.user.clone();
    let name = process_name(scene, user.as_deref());
    let pid_only = facts.numbers.pids.first().copied();
    let mut list = Vec::new();
    for sort in sorts {
        let mut args = Map::new();
        put(
            &mut args,
            "top_n",
            facts.numbers.count.or(facts.numbers.lines).or_else(|| {
                facts
                    .numbers
                    .bare
                    .first()
                    .map(|(value, _)| *value)
                    .filter(|value| facts.any(&[Most]) && *value <= 200)
            }),
        );
        put(&mut args, "sort_by", sort);
        put(&mut args, "name", name.clone().or_else(|| pid_only.map(|pid| pid.to_string())));
        put(&mut args, "user", user.clone());
        list.push(args);
    }
    let named = facts
        .unknown
        .iter()
        .find(|unknown| unknown.after.any(&[On, From]) && name.as_deref() != Some(unknown.name.as_str()))
        .map(|unknown| unknown.name.clone());
    let hosts = if scene.hosts.is_empty() { named.into_iter().collect() } else { scene.hosts.clone() };
    on_these(scene, &hosts, "host_processes", list)
}

fn process_name(scene: &Scene<'_>, user: Option<&str>) -> Option<String> {
    let facts = &scene.clause.facts;
    if let Some((_, value)) = facts.pairs.iter().find(|(key, _)| key == "name") {
        return Some(value.clone());
    }
    if let Some(program) = facts.programs.first() {
        return Some(program.clone());
    }
    if let Some(quoted) = facts.quoted.first() {
        return Some(quoted.clone());
    }
    // Processes carry the name that people say, not the unit's.
    let said = scene.clause.tokens.iter().find(|token| {
        super::names::service(&token.low).is_some() && token.low != "named" || token::is_unit_name(&token.low)
    });
    if let Some(said) = said.filter(|said| user != Some(said.text.as_str())) {
        return Some(said.low.trim_end_matches(".service").to_owned());
    }
    if facts.grep.is_some() {
        return facts.grep.clone();
    }
    facts
        .unknown
        .iter()
        .find(|unknown| !unknown.after.any(&[On, From]) && user != Some(unknown.name.as_str()))
        .map(|unknown| unknown.name.clone())
}

fn service(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let tokens = &scene.clause.tokens;
    if facts.has(Database) && facts.services.is_empty() && facts.unknown.is_empty() {
        return Filled::Ask(talk::ask(&Question::WhichDatabase, scene.language));
    }
    let mut units = facts.services.clone();
    if units.is_empty() {
        let listing = facts.has(Service)
            && facts.any(&[Which, Show, Fail])
            && !facts.has(Status)
            && tokens.iter().any(|token| matches!(token.low.as_str(), "services" | "units" | "daemons"));
        if !listing {
            units.extend(likely_service(facts).map(|unknown| unknown.name.clone()));
        }
    }
    if units.is_empty() && facts.has(Its) && scene.before.services.is_empty() && !facts.any(&[Service, Which])
    {
        return Filled::Ask(talk::ask(&Question::Service, scene.language));
    }
    if units.is_empty() && (facts.has(Its) || facts.has(Restarted))
        || units.is_empty() && scene.before.intent.is_none() && !scene.before.services.is_empty()
    {
        units.clone_from(&scene.before.services);
    }
    if units.is_empty() {
        let mut args = Map::new();
        if facts.has(Fail) || facts.has(Why) && !facts.has(Running) {
            args.insert("failed_only".to_owned(), json!(true));
        }
        return on_hosts(scene, "service_status", args);
    }
    let status = on_these(
        scene,
        &scene.hosts,
        "service_status",
        units.iter().map(|unit| object(json!({"service": unit}))).collect(),
    );
    let yes_or_no = tokens.first().is_some_and(|token| {
        matches!(token.low.as_str(), "is" | "are" | "has" | "did" | "does" | "was" | "have")
    });
    let asked = tokens.iter().any(|token| {
        token.text.ends_with("나요")
            || token.text.ends_with("어?")
            || token.text.ends_with("죽었어")
            || token.text.ends_with("니")
    }) || scene.text.trim_end().ends_with(['?', '？']);
    let with_journal = facts.has(Why)
        || facts.any(&[Fail])
            && !yes_or_no
            && !asked
            && !facts.any(&[Show, Status])
            && first_of(tokens, Fail) <= first_of(tokens, Check);
    if !with_journal {
        return status;
    }
    let journals = units
        .iter()
        .map(|unit| {
            let mut args = object(json!({"unit": unit}));
            put(&mut args, "since", since(facts));
            args
        })
        .collect();
    chain(status, on_these(scene, &scene.hosts, "read_journal", journals))
}

/// Where a meaning first occurs; behind everything if it doesn't.
fn first_of(tokens: &[Token], concept: super::concept::Concept) -> usize {
    tokens.iter().position(|token| token.concepts.has(concept)).unwrap_or(usize::MAX)
}

fn edges(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let mut args = Map::new();
    let name =
        facts.places.iter().find(|place| place.kind == PlaceKind::Host).map(|place| place.name.clone());
    put(&mut args, "name", name.clone());
    let online_asked = facts.has(Online) && !facts.any(&[Offline, Not])
        || name.is_none() && facts.any(&[Running]) && !facts.any(&[Fail, Offline]);
    let offline_asked =
        facts.has(Offline) || facts.has(Online) && facts.has(Not) || facts.has(Fail) && !facts.has(Online);
    let wanted = if name.is_some() || facts.has(LastSeen) && !offline_asked {
        None
    } else if offline_asked {
        Some("offline")
    } else if online_asked {
        Some("online")
    } else {
        None
    };
    if let Some(state) = wanted {
        let precise = ["quarantined", "revoked", "never_seen"]
            .into_iter()
            .find(|state| scene.text.to_lowercase().contains(&state.replace('_', " ")));
        let key = ["state", "status", "online"]
            .into_iter()
            .find(|key| scene.tools.parameter("query_edges", key).is_some());
        match key {
            Some("online") => {
                args.insert("online".to_owned(), json!(state == "online"));
            }
            Some(key) => {
                args.insert(key.to_owned(), json!(precise.unwrap_or(state)));
            }
            None => {}
        }
    }
    if let Some((key, value)) = facts.pairs.first() {
        if scene.tools.parameter("query_edges", "labels").is_some() {
            args.insert("labels".to_owned(), json!({key: value}));
        } else {
            args.insert("label".to_owned(), json!(format!("{key}={value}")));
        }
    }
    put(&mut args, "os", facts.os);
    match on_these(scene, &[], "query_edges", vec![args]) {
        Filled::Ask(_) => on_these(scene, &[], "query_edges", vec![Map::new()]),
        filled => filled,
    }
}

fn read_result(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let Some(id) = &facts.uuid else {
        return Filled::Ask(talk::ask(&Question::WhichResult, scene.language));
    };
    let key = ["call_id", "id", "call"]
        .into_iter()
        .find(|key| scene.tools.parameter("read_result", key).is_some())
        .unwrap_or("call_id");
    let mut args = Map::new();
    args.insert(key.to_owned(), json!(id));
    put(&mut args, "offset", facts.numbers.offset);
    put(&mut args, "limit", facts.numbers.bytes);
    on_these(scene, &[], "read_result", vec![args])
}

fn put(args: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        args.insert(key.to_owned(), value.into());
    }
}

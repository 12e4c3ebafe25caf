//! Turns the strongest reading of a clause into calls with their arguments, or into a question.

use super::concept::Concept::*;
use super::facts::{Facts, PlaceKind, Unknown};
use super::intent::Intent;
use super::talk::{self, Question};
use super::targets;
use super::token::{Token, with_scheme};
use super::{RoutedCall, Scene, token};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

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
            args.insert("host".to_owned(), json!(host));
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

fn probe_tcp(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let numbers = &facts.numbers;
    let (_, places) = targets::tcp(facts);
    let mut ports: Vec<u16> = numbers.ports.clone();
    if ports.is_empty() && facts.host_ports.is_empty() {
        ports.extend(
            numbers.bare.iter().filter_map(|(value, _)| u16::try_from(*value).ok()).filter(|port| *port > 0),
        );
    }
    if ports.is_empty() && facts.host_ports.is_empty() {
        ports.extend(&facts.named_ports);
        ports.dedup();
    } else if !ports.is_empty() && !numbers.ports.is_empty() {
        // "ports 80 and 443"
        ports.extend(
            numbers
                .bare
                .iter()
                .filter_map(|(value, _)| u16::try_from(*value).ok())
                .filter(|port| *port > 0 && !numbers.ports.contains(port)),
        );
    }
    let mut list: Vec<String> =
        facts.host_ports.iter().map(|(host, port)| format!("{host}:{port}")).collect();
    if list.is_empty() && ports.is_empty() {
        let web = facts.outside() && !facts.has(Port);
        if web && let Some(domain) = places.first() {
            return on_hosts(scene, "probe_http", object(json!({"url": with_scheme(domain, domain, None)})));
        }
        return Filled::Ask(talk::ask(&Question::Port(places.first().cloned()), scene.language));
    }
    let unnamed = facts
        .unknown
        .iter()
        .find(|unknown| unknown.after.any(&[On, To, Of, From, Tcp]) || facts.has(Tcp))
        .map(|unknown| unknown.name.clone());
    let places = match (places.is_empty(), unnamed) {
        (true, Some(name)) => vec![name],
        (true, None) => vec!["localhost".to_owned()],
        (false, _) => places,
    };
    for place in &places {
        for port in &ports {
            let bracketed = if place.parse::<std::net::Ipv6Addr>().is_ok() {
                format!("[{place}]")
            } else {
                place.clone()
            };
            list.push(format!("{bracketed}:{port}"));
        }
    }
    let list = list.into_iter().map(|target| {
        let mut args = object(json!({"target": target}));
        put(&mut args, "timeout_ms", numbers.timeout);
        put(&mut args, "count", numbers.attempts);
        args
    });
    on_these(scene, &scene.hosts, "probe_tcp", list.collect())
}

fn put(args: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        args.insert(key.to_owned(), value.into());
    }
}

fn probe_dns(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let (_, mut names, server) = targets::dns(facts);
    if names.is_empty() {
        names.extend(
            facts
                .urls
                .iter()
                .filter_map(|url| url.split("://").nth(1))
                .map(|rest| rest.split(['/', ':', '?']).next().unwrap_or(rest).to_owned()),
        );
    }
    if names.is_empty() {
        names.extend(facts.unknown.iter().map(|unknown| unknown.name.clone()).take(2));
    }
    if names.is_empty() {
        return Filled::Ask(talk::ask(&Question::Domain, scene.language));
    }
    let kinds: Vec<&str> =
        if facts.record_types.is_empty() { Vec::new() } else { facts.record_types.clone() };
    let mut list = Vec::new();
    for name in &names {
        let address = name.parse::<IpAddr>().is_ok();
        let implied = if address {
            Some("PTR")
        } else if facts.has(Server53) && server.is_none() {
            Some("NS")
        } else if mentions_mail(&scene.clause.tokens) {
            Some("MX")
        } else if scene.clause.tokens.iter().any(|token| token.low == "ipv6") {
            Some("AAAA")
        } else if scene
            .clause
            .tokens
            .iter()
            .any(|token| matches!(token.low.as_str(), "spf" | "dmarc" | "dkim"))
        {
            Some("TXT")
        } else {
            None
        };
        let kinds =
            if kinds.is_empty() { vec![implied] } else { kinds.iter().map(|kind| Some(*kind)).collect() };
        for kind in kinds {
            let mut args = object(json!({"name": name}));
            put(&mut args, "type", kind);
            put(&mut args, "server", server.clone());
            list.push(args);
        }
    }
    on_these(scene, &scene.hosts, "probe_dns", list)
}

fn mentions_mail(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| {
        matches!(token.low.as_str(), "mail" | "mailserver" | "email" | "mails")
            || token.text.starts_with("메일")
    })
}

fn probe_http(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let mut urls: Vec<String> = facts.urls.clone();
    let (_, places) = targets::outward(facts);
    if urls.is_empty() {
        let https = facts.has(Cert) || scene.clause.tokens.iter().any(|token| token.low == "https");
        for (host, port) in &facts.host_ports {
            let rest = format!("{host}:{port}");
            urls.push(if https { format!("https://{rest}") } else { with_scheme(&rest, host, Some(*port)) });
        }
        if urls.is_empty() {
            let port = facts.numbers.ports.first().copied().or_else(|| {
                facts
                    .numbers
                    .bare
                    .first()
                    .and_then(|(value, _)| u16::try_from(*value).ok())
                    .filter(|port| facts.numbers.bare.len() == 1 && *port > 79)
            });
            for place in &places {
                let bracketed = if place.contains(':') { format!("[{place}]") } else { place.clone() };
                let rest = port.map_or_else(|| bracketed.clone(), |port| format!("{bracketed}:{port}"));
                urls.push(if https { format!("https://{rest}") } else { with_scheme(&rest, place, port) });
            }
        }
    }
    if urls.is_empty() {
        return Filled::Ask(talk::ask(&Question::Url, scene.language));
    }
    let head = facts.has(HeadMethod)
        || scene.clause.tokens.iter().any(|token| token.text == "-I" || token.text == "HEAD");
    let explicit_get = scene.clause.tokens.iter().any(|token| token.text == "GET");
    let follow = facts.has(Redirect).then(|| facts.numbers.redirects.unwrap_or(5));
    let list = urls.into_iter().map(|url| {
        let mut args = object(json!({"url": url}));
        put(
            &mut args,
            "method",
            if head {
                Some("HEAD")
            } else if explicit_get {
                Some("GET")
            } else {
                None
            },
        );
        put(&mut args, "timeout_ms", facts.numbers.timeout);
        put(&mut args, "follow", follow);
        args
    });
    on_these(scene, &scene.hosts, "probe_http", list.collect())
}

/// Since when, as the skills read it.
fn since(facts: &Facts) -> Option<String> {
    if let Some(moment) = facts.moments.first() {
        return Some(moment.clone());
    }
    let spans = &facts.numbers.spans;
    if let Some(longest) = spans.iter().max_by_key(|span| span.millis) {
        return Some(longest.text.clone());
    }
    if facts.any(&[Yesterday, Today]) {
        return Some("1d".to_owned());
    }
    None
}

/// Until when: the later of two moments, or the nearer of two lengths of time.
fn until(facts: &Facts) -> Option<String> {
    if let Some(moment) = facts.moments.get(1) {
        return Some(moment.clone());
    }
    let spans = &facts.numbers.spans;
    (spans.len() >= 2)
        .then(|| spans.iter().min_by_key(|span| span.millis).map(|span| span.text.clone()))
        .flatten()
}

fn paths(facts: &Facts) -> Vec<String> {
    if facts.paths.is_empty() {
        facts.known_file.iter().map(|path| (*path).to_owned()).collect()
    } else {
        facts.paths.clone()
    }
}

fn tail_file(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let severity = if facts.any(&[Error, Crit]) && facts.words > 1 {
        Some("error".to_owned())
    } else if facts.has(Warn) {
        Some("warn".to_owned())
    } else if facts.has(Fail) && !facts.any(&[Why]) && facts.services.is_empty() {
        Some("fail".to_owned())
    } else {
        None
    };
    let status = facts.numbers.status.map(|status| status.to_string());
    let grep = facts.grep.clone().or(status).or(severity);
    let list = paths(facts).into_iter().map(|path| {
        let mut args = object(json!({"path": path}));
        put(&mut args, "lines", facts.numbers.lines);
        put(&mut args, "grep", grep.clone());
        put(&mut args, "since", since(facts));
        args
    });
    on_these(scene, &scene.hosts, "tail_file", list.collect())
}

fn read_file(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let list = paths(facts).into_iter().map(|path| {
        let mut args = object(json!({"path": path}));
        put(&mut args, "offset", facts.numbers.offset);
        put(&mut args, "limit", facts.numbers.bytes);
        args
    });
    on_these(scene, &scene.hosts, "read_file", list.collect())
}

/// The least severe priority that is wanted.
fn priority(facts: &Facts) -> Option<&'static str> {
    let named = [
        (Debug, "debug"),
        (Info, "info"),
        (Notice, "notice"),
        (Warn, "warning"),
        (Error, "err"),
        (Crit, "crit"),
        (Alert, "alert"),
        (Emerg, "emerg"),
    ];
    named.iter().find(|(concept, _)| facts.has(*concept)).map(|(_, priority)| *priority)
}

fn journal(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let mut units = units_of(scene);
    let mut grep = facts.grep.clone();
    let mut priority = priority(facts);
    if facts.has(Login) {
        if units.is_empty() {
            units.push("ssh".to_owned());
        }
        let failed = scene
            .clause
            .tokens
            .iter()
            .any(|token| token.concepts.has(Login) && !matches!(token.low.as_str(), "logged" | "who"))
            && !scene.text.contains("로그인한");
        grep = grep.or_else(|| {
            Some(if failed { "failed|invalid user|authentication failure" } else { "accepted" }.to_owned())
        });
        priority = None;
    } else if facts.has(Oom) {
        grep = grep.or_else(|| Some("out of memory|oom".to_owned()));
        priority = None;
    } else if facts.has(Kernel) && grep.is_none() {
        let segfault = scene
            .clause
            .tokens
            .iter()
            .any(|token| token.low.starts_with("segfault") || token.text.contains("세그"));
        grep = Some(if segfault { "segfault" } else { "kernel" }.to_owned()).filter(|_| segfault);
    }
    if let Some(status) = facts.numbers.status.filter(|_| grep.is_none()) {
        grep = Some(status.to_string());
        priority = None;
    }
    let boot = facts.has(Boot).then(|| {
        let earlier = scene.clause.tokens.iter().any(|token| {
            token.concepts.has(Boot) && matches!(token.low.as_str(), "previous" | "last")
                || token.text.contains("지난부팅")
                || token.text.contains("이전")
        }) && !scene.clause.tokens.iter().any(|token| token.low == "since");
        if earlier { "-1" } else { "0" }
    });
    let kernel_unit = facts.has(Kernel) && units.is_empty() && grep.is_none();
    let mut args = Map::new();
    put(&mut args, "since", since(facts));
    put(&mut args, "until", until(facts));
    put(&mut args, "priority", priority);
    put(&mut args, "grep", grep);
    put(&mut args, "lines", facts.numbers.lines);
    put(&mut args, "boot", boot);
    if kernel_unit && scene.tools.parameter("read_journal", "kernel").is_some() {
        args.insert("kernel".to_owned(), json!(true));
    }
    let mut list = Vec::new();
    if units.is_empty() {
        list.push(args);
    } else {
        for unit in &units {
            let mut with_unit = object(json!({"unit": unit}));
            with_unit.extend(args.clone());
            list.push(with_unit);
        }
    }
    let journal = on_these(scene, &scene.hosts, "read_journal", list);
    let also_status = !units.is_empty()
        && facts.grep.is_none()
        && !facts.has(Login)
        && (facts.has(Status) || facts.any(&[Why, Fail]) && !facts.any(&[Error, Show]))
        && !facts.has(Journal);
    if also_status {
        let status = on_these(
            scene,
            &scene.hosts,
            "service_status",
            units.iter().map(|unit| object(json!({"service": unit}))).collect(),
        );
        return chain(status, journal);
    }
    journal
}

/// The units that a clause names, or those that it points back to.
fn units_of(scene: &Scene<'_>) -> Vec<String> {
    let facts = &scene.clause.facts;
    if !facts.services.is_empty() {
        return facts.services.clone();
    }
    let named = facts.unknown.iter().find(|unknown| {
        unknown.after.any(&[Service, Of])
            || unknown.before.any(&[Log, Journal, Service, Error, Warn]) && !unknown.after.any(&[On, From])
    });
    if let Some(unknown) = named.or_else(|| likely_service(facts).filter(|_| facts.any(&[Why, Status]))) {
        return vec![unknown.name.clone()];
    }
    let points_back = facts.has(Its)
        || matches!(scene.before.intent, Some(Intent::Service | Intent::Restart))
            && !facts.any(&[Journal, Kernel]);
    if points_back || scene.before.intent.is_none() && !scene.before.services.is_empty() {
        return scene.before.services.clone();
    }
    Vec::new()
}

/// An unknown word that stands where the name of a service would.
fn likely_service(facts: &Facts) -> Option<&Unknown> {
    facts
        .unknown
        .iter()
        .find(|unknown| {
            unknown.after.any(&[Service, Of, Restart, Start, Stop, Reload, Status, Log, Check])
                && !unknown.after.any(&[From])
        })
        .or_else(|| facts.unknown.first())
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
    let hosts =
        if hosts.is_empty() && facts.has(Hosts) && !facts.has(Here) { vec!["all".to_owned()] } else { hosts };
    let load = on_these(scene, &hosts, "host_load", vec![Map::new()]);
    let why_slow = facts.any(&[Slow]) && facts.has(Why) || facts.has(Why) && facts.has(High);
    if why_slow {
        chain(load, on_these(scene, &hosts, "host_processes", vec![object(json!({"sort_by": "cpu"}))]))
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
    if facts.has(Disk) && facts.any(&[Eat, Most]) && sorts.is_empty() {
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
    let said = scene
        .clause
        .tokens
        .iter()
        .find(|token| super::names::service(&token.low).is_some() || token::is_unit_name(&token.low));
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
    let online_asked = facts.has(Online) && !facts.has(Offline)
        || name.is_none() && facts.any(&[Running]) && !facts.any(&[Fail, Offline]);
    let offline_asked = facts.has(Offline) || facts.has(Fail) && !facts.has(Online);
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

/// The operator's own words, for the audit.
fn reason(scene: &Scene<'_>) -> String {
    let text: String =
        scene.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
    let because = ["because ", "since it ", "reason:", "reason: "].iter().find_map(|mark| {
        let at = text.to_lowercase().find(mark)?;
        text.get(at + mark.len()..).map(|rest| rest.trim().to_owned())
    });
    because.filter(|rest| !rest.is_empty()).unwrap_or_else(|| match scene.language {
        talk::Language::English => format!("asked in chat: {text}"),
        talk::Language::Korean => format!("채팅 요청: {text}"),
    })
}

fn restart(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let tokens = &scene.clause.tokens;
    let mut units = facts.services.clone();
    if units.is_empty() {
        units.extend(likely_service(facts).map(|unknown| unknown.name.clone()));
    }
    if units.is_empty() && !facts.programs.is_empty() {
        units.extend(facts.programs.first().cloned());
    }
    if units.is_empty()
        && (facts.has(Its) || scene.before.intent == Some(Intent::Service) || tokens.len() <= 2)
    {
        units.clone_from(&scene.before.services);
    }
    if facts.has(Database) && units.is_empty() {
        return Filled::Ask(talk::ask(&Question::WhichDatabase, scene.language));
    }
    if units.is_empty() {
        let host =
            facts.places.iter().find(|place| place.kind == PlaceKind::Host).map(|place| place.name.clone());
        return match host {
            Some(host) if facts.has(Restart) && facts.has(Host) => reboot_on(scene, &[host]),
            Some(host) if !facts.has(Service) => {
                Filled::Ask(talk::ask(&Question::RestartOrReboot(host), scene.language))
            }
            None if facts.any(&[Host, Hosts]) && facts.has(Restart) && !facts.has(Service) => reboot(scene),
            _ => Filled::Ask(talk::ask(&Question::Service, scene.language)),
        };
    }
    let action = if facts.has(Reload) {
        "reload"
    } else if facts.has(Restart) {
        "restart"
    } else if facts.has(Stop) || facts.has(Kill) {
        "stop"
    } else {
        "start"
    };
    let reason = reason(scene);
    let list = units
        .iter()
        .map(|unit| object(json!({"service": unit, "reason": reason, "action": action})))
        .collect();
    on_these(scene, &scene.hosts, "restart_service", list)
}

fn kill(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let mut pids = facts.numbers.pids.clone();
    if pids.is_empty() {
        pids.extend(facts.numbers.bare.iter().map(|(value, _)| *value).filter(|value| *value > 1));
        pids.extend(facts.numbers.ports.iter().map(|port| u64::from(*port)).filter(|_| !facts.has(Port)));
        pids.extend(facts.numbers.status);
    }
    if pids.is_empty() {
        let name = facts
            .programs
            .first()
            .or(facts.services.first())
            .cloned()
            .or_else(|| facts.unknown.first().map(|unknown| unknown.name.clone()));
        return Filled::Ask(talk::ask(&Question::Pid(name), scene.language));
    }
    let reason = reason(scene);
    let signal = facts.signal.or(if facts.has(Force) { Some("KILL") } else { None });
    let list = pids.into_iter().map(|pid| {
        let mut args = object(json!({"pid": pid, "reason": reason}));
        put(&mut args, "signal", signal);
        args
    });
    on_these(scene, &scene.hosts, "kill_process", list.collect())
}

fn reboot(scene: &Scene<'_>) -> Filled {
    let named = scene.clause.facts.unknown.first().map(|unknown| unknown.name.clone());
    let hosts = if scene.hosts.is_empty() { named.into_iter().collect() } else { scene.hosts.clone() };
    reboot_on(scene, &hosts)
}

fn reboot_on(scene: &Scene<'_>, hosts: &[String]) -> Filled {
    let facts = &scene.clause.facts;
    let mut args = Map::new();
    put(&mut args, "delay_seconds", facts.numbers.spans.first().map(|span| span.millis / 1_000));
    args.insert("reason".to_owned(), json!(reason(scene)));
    on_these(scene, hosts, "reboot_host", vec![args])
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

fn ping(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let (_, places) = targets::outward(facts);
    if scene.tools.has("probe_ping") && !places.is_empty() {
        let list = places
            .iter()
            .map(|place| {
                let mut args = object(json!({"host": place}));
                put(&mut args, "count", facts.numbers.attempts);
                args
            })
            .collect();
        return on_these(scene, &[], "probe_ping", list);
    }
    if !facts.numbers.ports.is_empty() || !facts.host_ports.is_empty() {
        return probe_tcp(scene);
    }
    Filled::Ask(talk::ask(&Question::NoPing(places.first().cloned()), scene.language))
}

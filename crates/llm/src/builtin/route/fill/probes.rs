//! Arguments of `probe_tcp`, `probe_dns`, `probe_http` and `probe_ping`.

use super::{Filled, object, on_hosts, on_these, put};
use crate::builtin::route::Scene;
use crate::builtin::route::concept::Concept::*;
use crate::builtin::route::shape::with_scheme;
use crate::builtin::route::talk::{self, Question};
use crate::builtin::route::targets;
use crate::builtin::route::token::Token;
use serde_json::json;
use std::net::IpAddr;

pub(super) fn probe_tcp(scene: &Scene<'_>) -> Filled {
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

pub(super) fn probe_dns(scene: &Scene<'_>) -> Filled {
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

pub(super) fn mentions_mail(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| {
        matches!(token.low.as_str(), "mail" | "mailserver" | "email" | "mails")
            || token.text.starts_with("메일")
    })
}

pub(super) fn probe_http(scene: &Scene<'_>) -> Filled {
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

pub(super) fn ping(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let (_, places) = targets::outward(facts);
    if scene.tools.has("probe_ping") && !places.is_empty() && facts.numbers.ports.is_empty() {
        let list = places
            .iter()
            .map(|place| {
                let mut args = object(json!({"host": place}));
                put(&mut args, "count", facts.numbers.attempts.or(facts.numbers.count));
                put(&mut args, "timeout_ms", facts.numbers.timeout);
                args
            })
            .collect();
        return on_these(scene, &scene.hosts, "probe_ping", list);
    }
    if !facts.numbers.ports.is_empty() || !facts.host_ports.is_empty() {
        return probe_tcp(scene);
    }
    Filled::Ask(talk::ask(&Question::NoPing(places.first().cloned()), scene.language))
}

//! Arguments of `read_journal`, `tail_file` and `read_file`.

use super::{Filled, chain, object, on_these, put};
use crate::builtin::route::Scene;
use crate::builtin::route::concept::Concept::*;
use crate::builtin::route::facts::{Facts, Unknown};
use crate::builtin::route::intent::Intent;
use serde_json::{Map, json};

/// Since when, as the skills read it.
pub(super) fn since(facts: &Facts) -> Option<String> {
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
pub(super) fn until(facts: &Facts) -> Option<String> {
    if let Some(moment) = facts.moments.get(1) {
        return Some(moment.clone());
    }
    let spans = &facts.numbers.spans;
    (spans.len() >= 2)
        .then(|| spans.iter().min_by_key(|span| span.millis).map(|span| span.text.clone()))
        .flatten()
}

pub(super) fn paths(facts: &Facts) -> Vec<String> {
    if facts.paths.is_empty() {
        facts.known_file.iter().map(|path| (*path).to_owned()).collect()
    } else {
        facts.paths.clone()
    }
}

pub(super) fn tail_file(scene: &Scene<'_>) -> Filled {
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

pub(super) fn read_file(scene: &Scene<'_>) -> Filled {
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
pub(super) fn priority(facts: &Facts) -> Option<&'static str> {
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

pub(super) fn journal(scene: &Scene<'_>) -> Filled {
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
pub(super) fn units_of(scene: &Scene<'_>) -> Vec<String> {
    let facts = &scene.clause.facts;
    if !facts.services.is_empty() {
        return facts.services.clone();
    }
    let named =
        facts.unknown.iter().filter(|unknown| facts.grep.as_ref() != Some(&unknown.name)).find(|unknown| {
            unknown.after.any(&[Service, Of])
                || unknown.before.any(&[Log, Journal, Service, Error, Warn])
                    && !unknown.after.any(&[On, From])
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
pub(super) fn likely_service(facts: &Facts) -> Option<&Unknown> {
    facts
        .unknown
        .iter()
        .find(|unknown| {
            unknown.after.any(&[Service, Of, Restart, Start, Stop, Reload, Status, Log, Check])
                && !unknown.after.any(&[From])
        })
        .or_else(|| facts.unknown.first())
}

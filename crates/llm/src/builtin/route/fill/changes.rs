//! Arguments of what changes a host: `restart_service`, `kill_process`, `reboot_host`.

use super::logs::likely_service;
use super::{Filled, object, on_these, put};
use crate::builtin::route::Scene;
use crate::builtin::route::concept::Concept::*;
use crate::builtin::route::facts::PlaceKind;
use crate::builtin::route::intent::Intent;
use crate::builtin::route::talk::{self, Question};
use serde_json::{Map, json};

/// The operator's own words, for the audit.
pub(super) fn reason(scene: &Scene<'_>) -> String {
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

pub(super) fn restart(scene: &Scene<'_>) -> Filled {
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
    let said = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.low.as_str()));
    let action = if facts.has(Reload) || said(&["reloaded"]) {
        "reload"
    } else if facts.has(Restart) || said(&["restarted", "bounced"]) {
        "restart"
    } else if facts.has(Stop) || facts.has(Kill) || said(&["stopped"]) {
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

pub(super) fn kill(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let mut pids = facts.numbers.pids.clone();
    if !pids.is_empty() {
        pids.extend(facts.numbers.bare.iter().map(|(value, _)| *value).filter(|value| *value > 1));
    } else {
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

pub(super) fn reboot(scene: &Scene<'_>) -> Filled {
    let named = scene.clause.facts.unknown.first().map(|unknown| unknown.name.clone());
    let hosts = if scene.hosts.is_empty() { named.into_iter().collect() } else { scene.hosts.clone() };
    reboot_on(scene, &hosts)
}

pub(super) fn reboot_on(scene: &Scene<'_>, hosts: &[String]) -> Filled {
    let facts = &scene.clause.facts;
    let mut args = Map::new();
    put(&mut args, "delay_seconds", facts.numbers.spans.first().map(|span| span.millis / 1_000));
    args.insert("reason".to_owned(), json!(reason(scene)));
    on_these(scene, hosts, "reboot_host", vec![args])
}

//! Which of the places that a clause names is the host to run on, and which is what to look at.

use super::clause::Clause;
use super::concept::Concept::*;
use super::facts::{Facts, Place, PlaceKind, Role};
use super::intent::Intent;

/// The hosts on which the calls of a clause are to run, as the operator named them. `all` stands for all of them.
pub(super) fn hosts_of(clause: &Clause) -> Vec<String> {
    let facts = &clause.facts;
    if facts.all_hosts {
        return vec!["all".to_owned()];
    }
    match clause.intent() {
        Some(Intent::ProbeTcp) => tcp(facts).0,
        Some(Intent::ProbeHttp | Intent::Ping) => outward(facts).0,
        Some(Intent::ProbeDns) => dns(facts).0,
        Some(Intent::Edges) => Vec::new(),
        _ => facts
            .places
            .iter()
            .filter(|place| {
                place.kind == PlaceKind::Host
                    || place.kind != PlaceKind::Local
                        && matches!(place.role, Role::On | Role::Lead | Role::From | Role::Of)
            })
            .map(|place| place.name.clone())
            .collect(),
    }
}

/// Splits places into where to probe from and what to probe, for a check of a port.
pub(super) fn tcp(facts: &Facts) -> (Vec<String>, Vec<String>) {
    if facts.host_ports.is_empty() { outward(facts) } else { (runners(&facts.places, facts), Vec::new()) }
}

/// Places that can only be where to run, when the target is given otherwise.
fn runners(places: &[Place], _facts: &Facts) -> Vec<String> {
    places.iter().filter(|place| place.kind == PlaceKind::Host).map(|place| place.name.clone()).collect()
}

/// Splits places into where to probe from and what to probe.
pub(super) fn outward(facts: &Facts) -> (Vec<String>, Vec<String>) {
    if !facts.urls.is_empty() {
        return (runners(&facts.places, facts), Vec::new());
    }
    let mut from = Vec::new();
    let mut rest: Vec<&Place> = Vec::new();
    for place in &facts.places {
        if place.kind == PlaceKind::Host && matches!(place.role, Role::From | Role::Lead) {
            from.push(place.name.clone());
        } else {
            rest.push(place);
        }
    }
    let outside = rest.iter().any(|place| place.kind != PlaceKind::Host);
    if outside {
        // "is port 22 open on localhost on web-1"
        let (hosts, targets): (Vec<&Place>, Vec<&Place>) =
            rest.into_iter().partition(|place| place.kind == PlaceKind::Host);
        from.extend(hosts.iter().map(|place| place.name.clone()));
        return (from, targets.iter().map(|place| place.name.clone()).collect());
    }
    if from.is_empty() && rest.len() >= 2 && facts.any(&[Reach, Tcp, Ping, Open, Check]) {
        // "can web-1 reach db-1", "web-1 to db-1"
        let to = rest.iter().position(|place| place.role == Role::To);
        let from_first = to.is_some() || facts.has(Reach);
        if from_first {
            let target = to.filter(|at| *at > 0).unwrap_or(rest.len() - 1);
            let hosts = rest
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != target)
                .map(|(_, place)| place.name.clone())
                .take(1)
                .collect();
            return (hosts, vec![rest[target].name.clone()]);
        }
    }
    (from, rest.iter().map(|place| place.name.clone()).collect())
}

/// Splits places into the hosts to ask from, the names to look up and the server to ask.
pub(super) fn dns(facts: &Facts) -> (Vec<String>, Vec<String>, Option<String>) {
    let mut hosts = Vec::new();
    let mut names = Vec::new();
    let mut server = None;
    let domains = facts.places.iter().filter(|place| place.kind == PlaceKind::Domain).count();
    for place in &facts.places {
        match (place.kind, place.role) {
            (PlaceKind::Ip, Role::Using | Role::On | Role::From) if facts.places.len() > 1 => {
                server = Some(place.name.clone())
            }
            (PlaceKind::Ip, _) if domains > 0 => server = Some(place.name.clone()),
            (PlaceKind::Domain | PlaceKind::Host, Role::Using) => server = Some(place.name.clone()),
            (PlaceKind::Host, Role::From | Role::Lead) => hosts.push(place.name.clone()),
            (PlaceKind::Host, Role::On | Role::Bare) if domains > 0 => hosts.push(place.name.clone()),
            (PlaceKind::Local, Role::On | Role::From) if domains > 0 => {}
            _ => names.push(place.name.clone()),
        }
    }
    (hosts, names, server)
}

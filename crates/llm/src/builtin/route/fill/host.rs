//! Arguments of `host_files`, `host_sockets` and `host_netns_inspect`.

use super::{Filled, object, on_these, process_name, put};
use crate::builtin::route::Scene;
use crate::builtin::route::concept::Concept::*;
use serde_json::{Map, json};

pub(super) fn disk_use(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let action = if facts.has(Large) {
        "find_large"
    } else if facts.has(Listing) {
        "list"
    } else if facts.has(Stat) && !facts.has(Space) {
        "stat"
    } else {
        "du"
    };
    let paths = if facts.paths.is_empty() { vec!["/".to_owned()] } else { facts.paths.clone() };
    let mut args = object(json!({"action": action, "paths": paths}));
    if action != "stat" {
        put(&mut args, "top_n", facts.numbers.count.or(facts.numbers.lines));
        put(&mut args, "min_size", facts.numbers.bytes);
    }
    on_these(scene, &scene.hosts, "host_files", vec![args])
}

pub(super) fn sockets(scene: &Scene<'_>) -> Filled {
    let facts = &scene.clause.facts;
    let numbers = &facts.numbers;
    let bare =
        numbers.bare.iter().filter_map(|(value, _)| u16::try_from(*value).ok()).filter(|port| *port > 0);
    let mut ports: Vec<u16> =
        numbers.ports.iter().copied().chain(bare).chain(facts.named_ports.iter().copied()).collect();
    ports.truncate(1);
    let says = |words: &[&str]| {
        let tokens = scene.clause.tokens.iter();
        tokens
            .flat_map(|token| [&token.low, &token.text])
            .any(|text| words.iter().any(|word| text.contains(word)))
    };
    let connected = says(&["established", "connections", "connected", "연결", "커넥션"]);
    let state = if connected {
        Some("established")
    } else if says(&["listen", "리슨", "리스닝", "듣고", "열린", "열려"])
        || facts.any(&[Open, Port])
        || says(&["ports"])
    {
        Some("listening")
    } else {
        None
    };
    let mut args = Map::new();
    put(&mut args, "state", state);
    put(&mut args, "port", ports.first().copied());
    if ports.is_empty() && (!facts.programs.is_empty() || !facts.services.is_empty()) {
        put(&mut args, "process", process_name(scene, None));
    }
    on_these(scene, &scene.hosts, "host_sockets", vec![args])
}

pub(super) fn namespaces(scene: &Scene<'_>) -> Filled {
    let named = scene.clause.facts.quoted.first().cloned();
    let mut args = Map::new();
    put(&mut args, "namespace", named);
    on_these(scene, &scene.hosts, "host_netns_inspect", vec![args])
}

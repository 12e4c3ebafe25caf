//! Finds hosts: by name, label, status, operating system, and when they were last seen.

use crate::{Tool, ToolContext};
use async_trait::async_trait;
use gate::{AdmittedCall, HostFacts, HostState};
use model::{Class, Scope, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Metadata, SkillError, SkillErrorKind};
use std::time::Duration;

pub(crate) struct QueryEdges;

static METADATA: Metadata = Metadata {
    key: "query_edges",
    name: "Find hosts",
    description: "List the hosts of the fleet with their ids (edge_id), names, labels, status, operating system and \
                  when they were last seen. Without parameters it lists all; it also tells who is online now.",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "fleet",
    result_preview: "3 of 12 hosts: web-1 (1) online, web-2 (2) online, db-1 (3) offline since 10:04",
    prerequisites: &[],
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Params {
    name: Option<String>,
    label: Option<String>,
    status: Option<String>,
    os: Option<String>,
    seen_within_minutes: Option<u32>,
    not_seen_for_minutes: Option<u32>,
    limit: Option<usize>,
}

const DEFAULT_LIMIT: usize = 100;

#[async_trait]
impl Tool for QueryEdges {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn params(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {
                    "type": "string", "minLength": 1, "maxLength": 253,
                    "description": "A part of the host's name or of what it calls itself (case ignored)."
                },
                "label": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "A label that the host must have: `role=web`, or `role` for any value."
                },
                "status": {
                    "type": "string", "enum": ["online", "offline", "quarantined", "revoked", "never_seen"],
                    "description": "Only hosts with this status."
                },
                "os": {
                    "type": "string", "minLength": 1, "maxLength": 100,
                    "description": "A part of the operating system's name, for example `debian` (case ignored)."
                },
                "seen_within_minutes": {
                    "type": "integer", "minimum": 1, "maximum": 5_256_000,
                    "description": "Only hosts that were heard of within this many minutes; those online are."
                },
                "not_seen_for_minutes": {
                    "type": "integer", "minimum": 1, "maximum": 5_256_000,
                    "description": "Only hosts that were not heard of for at least this many minutes."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": 1000, "default": DEFAULT_LIMIT,
                    "description": "How many hosts to list at most."
                },
            },
            "additionalProperties": false,
        })
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        let params: Params = serde_json::from_value(call.args().clone())
            .map_err(|error| SkillError::new(SkillErrorKind::Invalid, error))?;
        Ok(answer(&params, cx.hosts.hosts(), cx.clock.now()))
    }
}

fn answer(params: &Params, hosts: Vec<HostFacts>, now: Timestamp) -> Value {
    let total = hosts.len();
    let online = hosts.iter().filter(|host| host.state == HostState::Online).count();
    let found: Vec<HostFacts> = hosts.into_iter().filter(|host| fits(params, host, now)).collect();
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    let listed: Vec<Value> = found.iter().take(limit).map(view).collect();
    json!({"total": total, "online": online, "matched": found.len(), "truncated": found.len() > limit, "hosts": listed})
}

fn fits(params: &Params, host: &HostFacts, now: Timestamp) -> bool {
    let within = |part: &Option<String>, texts: &[Option<&str>]| {
        part.as_ref().is_none_or(|part| {
            let part = part.to_lowercase();
            texts.iter().flatten().any(|text| text.to_lowercase().contains(&part))
        })
    };
    let labelled = |label: &String| match label.split_once('=') {
        Some((key, value)) => host.labels.get(key.trim()).is_some_and(|own| own == value.trim()),
        None => host.labels.contains_key(label.trim()),
    };
    // A host that is online is being heard of.
    let silent_for = |minutes: u32| {
        let wait = Duration::from_secs(u64::from(minutes) * 60);
        host.state != HostState::Online && host.last_seen_at.is_none_or(|seen| seen + wait <= now)
    };
    within(&params.name, &[Some(&host.name), host.hostname.as_deref()])
        && within(&params.os, &[host.os.as_deref()])
        && params.label.as_ref().is_none_or(labelled)
        && params.status.as_ref().is_none_or(|status| host.state.as_str() == status)
        && params.seen_within_minutes.is_none_or(|minutes| !silent_for(minutes))
        && params.not_seen_for_minutes.is_none_or(silent_for)
}

fn view(host: &HostFacts) -> Value {
    let mut view = json!({
        "edge_id": host.id, "name": host.name, "hostname": host.hostname, "labels": host.labels,
        "status": host.state, "status_reason": host.state_reason, "os": host.os, "arch": host.arch,
        "version": host.version, "connected_at": host.connected_at, "last_seen_at": host.last_seen_at,
    });
    if let Value::Object(fields) = &mut view {
        fields.retain(|_, value| !value.is_null());
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::EdgeId;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    fn host(id: i64, name: &str, state: HostState, label: (&str, &str), seen: Option<i64>) -> HostFacts {
        HostFacts {
            id: EdgeId(id),
            name: name.to_owned(),
            hostname: Some(format!("{name}.internal")),
            labels: [(label.0.to_owned(), label.1.to_owned())].into(),
            state,
            state_reason: None,
            os: Some(if id == 2 { "Alpine Linux 3.20" } else { "Debian GNU/Linux 12" }.to_owned()),
            arch: None,
            version: None,
            connected_at: None,
            last_seen_at: seen.map(at),
            skills: None,
            signing: None,
            instance: None,
        }
    }

    fn found(params: Value) -> Vec<i64> {
        let hosts = vec![
            host(1, "web-1", HostState::Online, ("role", "web"), Some(0)),
            host(2, "web-2", HostState::Offline, ("role", "web"), Some(30)),
            host(3, "db-1", HostState::Offline, ("role", "db"), Some(90)),
            host(4, "new", HostState::NeverSeen, ("stage", "test"), None),
        ];
        let answer = answer(&serde_json::from_value(params).unwrap(), hosts, at(100));
        assert_eq!((answer["total"].as_i64(), answer["online"].as_i64()), (Some(4), Some(1)));
        answer["hosts"].as_array().unwrap().iter().map(|host| host["edge_id"].as_i64().unwrap()).collect()
    }

    #[test]
    fn each_parameter_narrows_the_list() {
        for (params, expected) in [
            (json!({}), vec![1, 2, 3, 4]),
            (json!({"name": "WEB"}), vec![1, 2]),
            (json!({"name": "db-1.internal"}), vec![3]),
            (json!({"label": "role=web"}), vec![1, 2]),
            (json!({"label": "stage"}), vec![4]),
            (json!({"status": "offline"}), vec![2, 3]),
            (json!({"os": "debian"}), vec![1, 3, 4]),
            (json!({"seen_within_minutes": 15}), vec![1, 3]),
            (json!({"not_seen_for_minutes": 60}), vec![2, 4]),
            (json!({"status": "online", "label": "role=db"}), vec![]),
            (json!({"limit": 2}), vec![1, 2]),
        ] {
            assert_eq!(found(params.clone()), expected, "{params}");
        }
    }

    #[test]
    fn a_cut_list_says_so() {
        let hosts = (1..=3).map(|id| host(id, "h", HostState::Online, ("a", "b"), None)).collect();
        let answer = answer(&Params { limit: Some(2), ..Params::default() }, hosts, at(0));
        assert_eq!((&answer["matched"], &answer["truncated"]), (&json!(3), &json!(true)));
    }
}

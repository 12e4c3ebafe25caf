//! Routing without a manager: against the catalogue that is compiled in, for `steadyhand model route --json`.

use super::route::{RouteContext, route};
use model::Scope;
use serde_json::{Value, json};
use skill::{Catalogue, LlmTool};

/// What a model would be told of if every prerequisite were met: the builtin skills, and the manager's tools.
pub fn compiled_in_tools() -> Vec<LlmTool> {
    let skills =
        Catalogue::new(skills::capabilities()).map(|catalogue| catalogue.llm_tools()).unwrap_or_default();
    let own = manager_tools();
    skills
        .into_iter()
        .filter(|tool| !own.iter().any(|batch| batch.name == tool.name))
        .chain(own.iter().cloned())
        .collect()
}

/// The manager's tools as the router needs them. Their bodies and full descriptions live above this crate; a running
/// manager passes its real catalogue instead.
fn manager_tools() -> Vec<LlmTool> {
    let edge_ids = json!({
        "type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 16, "uniqueItems": true,
    });
    let text = |most: u32| json!({"type": "string", "minLength": 1, "maxLength": most});
    let number = |least: u32, most: u32| json!({"type": "integer", "minimum": least, "maximum": most});
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| LlmTool {
        name: name.to_owned(),
        description: description.to_owned(),
        params: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
        scope: Scope::Manager,
    };
    vec![
        tool(
            "host_files",
            "Find out what takes disk space on hosts, list or describe files",
            json!({
                "edge_ids": edge_ids,
                "action": {"type": "string", "enum": ["find_large", "du", "stat", "list"]},
                "paths": {"type": "array", "items": text(4096), "minItems": 1, "maxItems": 16},
                "top_n": number(1, 1000),
                "depth": number(1, 5),
                "min_size": {"type": "integer", "minimum": 0},
                "exclude": {"type": "array", "items": text(256), "maxItems": 32},
                "cross_filesystems": {"type": "boolean"},
            }),
            &["edge_ids", "action", "paths"],
        ),
        tool("host_load", "Measure how loaded hosts are", json!({"edge_ids": edge_ids}), &["edge_ids"]),
        tool(
            "host_processes",
            "List the processes of hosts",
            json!({
                "edge_ids": edge_ids,
                "top_n": number(1, 200),
                "sort_by": {"type": "string", "enum": ["cpu", "mem", "io", "fds"]},
                "name": text(256), "user": text(64),
            }),
            &["edge_ids"],
        ),
        tool(
            "query_edges",
            "List hosts",
            json!({
                "name": text(253), "label": text(200), "os": text(100),
                "status": {"type": "string", "enum": ["online", "offline", "quarantined", "revoked", "never_seen"]},
                "seen_within_minutes": number(1, 5_256_000),
                "not_seen_for_minutes": number(1, 5_256_000),
                "limit": number(1, 1000),
            }),
            &[],
        ),
        tool(
            "read_result",
            "Read more of a stored result",
            json!({
                "call_id": {"type": "string", "format": "uuid"},
                "pointer": {"type": "string", "maxLength": 1000, "pattern": "^(/.*)?$"},
                "grep": text(500),
                "offset": {"type": "integer", "minimum": 0},
                "limit": number(1, 2000),
            }),
            &["call_id"],
        ),
    ]
}

/// The calls that `text` would make, as one line of JSON: `{"calls":[{"tool":…,"args":{…}}],"reply":…}`. Against the
/// compiled-in catalogue, with prerequisites taken as met and host words left in `args.host`.
pub fn route_json(text: &str) -> String {
    route_json_with(text, &compiled_in_tools())
}

/// [`route_json`] against other tools.
pub fn route_json_with(text: &str, tools: &[LlmTool]) -> String {
    let routed = route(text, &RouteContext { tools, hosts: &[], now: None });
    let calls: Vec<Value> =
        routed.calls.iter().map(|call| json!({"tool": call.tool, "args": call.args})).collect();
    json!({"calls": calls, "reply": routed.reply}).to_string()
}

//! One host skill on several hosts at once, with partial results.

use crate::ToolContext;
use futures::future::join_all;
use model::{CallState, EdgeId};
use serde_json::{Map, Value, json};
use skill::{ChildCall, SkillError, SkillErrorKind};

/// The schema of a batch: `edge_ids` in front of the skill's own properties, none of which is required.
pub(crate) fn params(own: &Value) -> Value {
    params_with(own, &[])
}

/// [`params`] of a skill some of whose own properties are required.
pub(crate) fn params_with(own: &Value, required: &[&str]) -> Value {
    let mut properties = Map::new();
    properties.insert(
        "edge_ids".to_owned(),
        json!({
            "type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 16,
            "uniqueItems": true,
            "description": "Ids of the hosts to ask, 1 to 16; query_edges lists them."
        }),
    );
    if let Value::Object(own) = own {
        properties.extend(own.clone());
    }
    let required: Vec<&str> = ["edge_ids"].iter().chain(required).copied().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Calls the skill `key` on each host, all at once. Hosts that can't answer are in the result with the reason; only
/// if none answers does the batch fail.
pub(crate) async fn run(cx: &ToolContext, args: &Value, key: &str) -> Result<Value, SkillError> {
    let (edges, args) = split(args);
    let calls = edges.iter().map(|edge| {
        let child = ChildCall { key: key.to_owned(), edge: *edge, args: args.clone() };
        cx.caller.call(child)
    });
    let outcomes = join_all(calls).await;
    let mut succeeded = 0;
    let mut hosts = Vec::with_capacity(edges.len());
    let mut reasons = Vec::new();
    for (edge, outcome) in edges.iter().zip(outcomes) {
        let name = cx.hosts.host(*edge).map(|host| host.name);
        let mut entry =
            json!({"edge_id": edge, "name": name, "state": outcome.state, "call_id": outcome.call_id});
        if outcome.state == CallState::Succeeded {
            succeeded += 1;
            entry["result"] = outcome.result.unwrap_or_default();
        } else {
            let error = outcome.error.unwrap_or_else(|| format!("the call ended as `{}`", outcome.state));
            reasons.push(error.clone());
            entry["error"] = Value::String(error);
        }
        hosts.push(entry);
    }
    if succeeded == 0 {
        return Err(SkillError::new(
            SkillErrorKind::Failed,
            format!("No host answered. {}", reasons.join(" ")),
        ));
    }
    Ok(json!({"hosts": hosts, "succeeded": succeeded, "failed": reasons.len()}))
}

fn split(args: &Value) -> (Vec<EdgeId>, Value) {
    let mut fields = args.as_object().cloned().unwrap_or_default();
    let edges = fields.shift_remove("edge_ids");
    let edges =
        edges.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_i64).map(EdgeId).collect();
    (edges, Value::Object(fields))
}

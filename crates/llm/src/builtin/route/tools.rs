//! The catalogue as the router needs it: which tools there are, and whether arguments fit their schemas.

use serde_json::{Map, Value};
use skill::{LlmTool, Validator};

/// Parameters that say where a call runs; the router leaves them to whoever knows the hosts.
const PLACES: [&str; 2] = ["edge_id", "edge_ids"];

/// The tools that may be called.
pub(super) struct Tools<'a> {
    tools: &'a [LlmTool],
}

impl<'a> Tools<'a> {
    pub(super) fn new(tools: &'a [LlmTool]) -> Self {
        Self { tools }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a LlmTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn all(&self) -> &'a [LlmTool] {
        self.tools
    }

    /// Whether a call of this tool runs on a host.
    pub(super) fn takes_host(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| PLACES.iter().any(|place| property(tool, place).is_some()))
    }

    /// The argument that names the host on which a call of this tool runs.
    pub(super) fn place_key(&self, name: &str) -> &'static str {
        self.get(name).map_or("host", place_key)
    }

    /// The schema of one parameter.
    pub(super) fn parameter(&self, tool: &str, name: &str) -> Option<&'a Value> {
        property(self.get(tool)?, name)
    }

    /// Keeps what the tool knows, within its bounds; `None` when a required parameter is missing or the rest doesn't
    /// fit. `start_time` of `kill_process` is looked up when the call is made.
    pub(super) fn fit(&self, name: &str, args: Map<String, Value>) -> Option<Map<String, Value>> {
        let tool = self.get(name)?;
        let mut fitted = Map::new();
        for (key, value) in args {
            if let Some(schema) = property(tool, &key) {
                fitted.insert(key, within(schema, value));
            }
        }
        let validator = Validator::new(&placeless(&tool.params)).ok()?;
        while let Err(invalid) = validator.check(&Value::Object(fitted.clone())) {
            // An optional argument that doesn't fit is dropped rather than sent.
            let wrong = invalid.problems.iter().find_map(|problem| {
                let key = problem.at.trim_start_matches('/').split('/').next()?;
                fitted.contains_key(key).then(|| key.to_owned())
            })?;
            fitted.remove(&wrong);
        }
        Some(fitted)
    }
}

/// The argument of a routed call that names the host on which it runs: `host`, or `edge` where the tool has a parameter
/// `host` of its own.
pub fn place_key(tool: &LlmTool) -> &'static str {
    if property(tool, "host").is_some() { "edge" } else { "host" }
}

fn property<'a>(tool: &'a LlmTool, name: &str) -> Option<&'a Value> {
    tool.params.get("properties")?.get(name)
}

/// Moves a number into the bounds of its schema.
fn within(schema: &Value, value: Value) -> Value {
    let Some(number) = value.as_i64() else { return value };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64).map(|bound| bound as i64);
    let number = bound("minimum").map_or(number, |least| number.max(least));
    Value::from(bound("maximum").map_or(number, |most| number.min(most)))
}

/// The schema without what says where a call runs, and without what is looked up later.
fn placeless(params: &Value) -> Value {
    let mut schema = params.clone();
    let left_out = |name: &str| PLACES.contains(&name) || name == "start_time";
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(left_out));
    }
    schema
}

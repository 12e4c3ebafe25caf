//! Makes a parameter schema fit for model servers: no references, no keywords that some of them refuse.
//!
//! The schema only tells the model what to write. What it writes is checked against the full schema by the gate.

use serde_json::{Map, Value};

/// Deepest nesting of references that is followed. A recursive schema ends in "anything".
const MAX_DEPTH: usize = 16;

/// Inlines `$ref`s into the document itself and drops what servers choke on.
pub fn cleaned(schema: &Value) -> Value {
    clean(schema, schema, 0)
}

fn clean(value: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => {
            let mut out = Map::new();
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                if let Some(Value::Object(inlined)) = target.map(|target| clean(target, root, depth + 1)) {
                    out = inlined;
                }
            }
            for (key, child) in fields {
                if !is_dropped(key, child) {
                    let child = match key.as_str() {
                        // Their keys are names of parameters, which may look like keywords.
                        "properties" => clean_properties(child, root, depth),
                        "enum" | "const" | "default" | "examples" | "required" => child.clone(),
                        _ => clean(child, root, depth + 1),
                    };
                    out.insert(key.clone(), child);
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| clean(item, root, depth + 1)).collect()),
        other => other.clone(),
    }
}

fn clean_properties(value: &Value, root: &Value, depth: usize) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, schema)| (name.clone(), clean(schema, root, depth + 1))).collect(),
        ),
        other => other.clone(),
    }
}

fn is_dropped(key: &str, value: &Value) -> bool {
    match key {
        "$schema" | "$id" | "$comment" | "$ref" | "$defs" | "definitions" => true,
        "default" => value.is_null(),
        // Rust's integer sizes are no formats that a server knows.
        "format" => value.as_str().is_some_and(|name| name.starts_with("int") || name.starts_with("uint")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_inlined_and_odd_keywords_dropped() {
        let schema = json!({
            "$schema": "x", "type": "object",
            "properties": {
                "format": {"type": "string"},
                "sort": {"$ref": "#/$defs/Sort", "description": "how"},
                "count": {"type": "integer", "format": "uint32", "default": null},
            },
            "required": ["sort"],
            "$defs": {"Sort": {"enum": ["cpu", "mem"]}},
        });
        assert_eq!(
            cleaned(&schema),
            json!({
                "type": "object",
                "properties": {
                    "format": {"type": "string"},
                    "sort": {"enum": ["cpu", "mem"], "description": "how"},
                    "count": {"type": "integer"},
                },
                "required": ["sort"],
            })
        );
    }

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
        assert!(cleaned(&schema).to_string().len() < 4_000);
    }
}

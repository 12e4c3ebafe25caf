//! Reads a JSON Schema of any draft.
//!
//! Words are keywords only where a schema may stand: inside of `default`, `enum`, `const` and `examples`, and as names
//! of properties, they are data.

use super::node::{Additional, Node, Types};
use super::unite::{merge, unite};
use serde_json::{Map, Value};

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 24;
/// Most schemas in one, references followed.
const MAX_NODES: usize = 4_000;
/// Longest piece of a schema that is quoted in words, in characters.
const MAX_QUOTE_CHARS: usize = 160;
/// Most examples that are told.
const MAX_EXAMPLES: usize = 4;

/// Reads a schema. Whatever it is, something comes of it: what isn't understood says nothing.
pub(super) fn read(schema: &Value) -> Node {
    Reader { root: schema, nodes: 0, active: Vec::new() }.read(schema, 0)
}

struct Reader<'a> {
    root: &'a Value,
    nodes: usize,
    /// The references that are being followed.
    active: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> Node {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Node::any();
        }
        match schema {
            Value::Bool(false) => Node::of(Types::NONE),
            Value::Object(fields) => self.read_fields(fields, depth),
            _ => Node::any(),
        }
    }

    fn read_fields(&mut self, fields: &'a Map<String, Value>, depth: usize) -> Node {
        let mut node = self.read_own(fields, depth);
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = fields.get(keyword) {
                let target = self.follow(reference, depth);
                node = merge(node, target);
            }
        }
        for branch in schemas(fields, "allOf") {
            let branch = self.read(branch, depth + 1);
            node = merge(node, branch);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            let branches: Vec<Node> =
                schemas(fields, keyword).map(|branch| self.read(branch, depth + 1)).collect();
            if !branches.is_empty() {
                node = unite(node, branches, is_exclusive);
            }
        }
        node
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Node {
        if self.active.contains(&reference) {
            let mut node = Node::any();
            node.note("The same form again.");
            return node;
        }
        let root = self.root;
        let Some(target) = reference.strip_prefix('#').and_then(|pointer| find(root, pointer)) else {
            let mut node = Node::any();
            node.note(format!("As in `{}`.", quoted(reference)));
            return node;
        };
        self.active.push(reference);
        let node = self.read(target, depth + 1);
        self.active.pop();
        node
    }

    /// Everything but references and combinations.
    fn read_own(&mut self, fields: &'a Map<String, Value>, depth: usize) -> Node {
        let mut node = Node::any();
        node.description = ["description", "title"]
            .iter()
            .filter_map(|keyword| fields.get(*keyword)?.as_str())
            .map(str::trim)
            .find(|text| !text.is_empty())
            .map(str::to_owned);
        node.default = fields.get("default").filter(|value| !value.is_null()).cloned();
        if let Some(Value::Array(examples)) = fields.get("examples") {
            node.examples = examples.iter().take(MAX_EXAMPLES).cloned().collect();
        } else if let Some(example) = fields.get("example") {
            node.examples = vec![example.clone()];
        }
        node.choices = match (fields.get("const"), fields.get("enum")) {
            (Some(only), _) => Some(vec![only.clone()]),
            (None, Some(Value::Array(choices))) => Some(distinct(choices)),
            _ => None,
        };
        self.read_object(fields, &mut node, depth);
        self.read_array(fields, &mut node, depth);
        read_limits(fields, &mut node);
        node.types = types(fields, &node);
        if fields.get("nullable") == Some(&Value::Bool(true)) {
            node.types = node.types.or(Types::NULL);
            // In OpenAPI, `nullable` goes beside a list of values that doesn't name it.
            if let Some(choices) = node.choices.as_mut()
                && !choices.contains(&Value::Null)
            {
                choices.push(Value::Null);
            }
        }
        if let Some(choices) = &mut node.choices {
            let allowed = node.types;
            choices.retain(|value| allowed.admits(value));
            let listed = choices.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
            node.types = allowed.and(listed);
        }
        read_words(fields, &mut node);
        node
    }

    fn read_object(&mut self, fields: &'a Map<String, Value>, node: &mut Node, depth: usize) {
        if let Some(Value::Object(properties)) = fields.get("properties") {
            for (name, schema) in properties {
                let property = self.read(schema, depth + 1);
                node.properties.push((name.clone(), property));
            }
        }
        if let Some(Value::Array(required)) = fields.get("required") {
            node.required = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        match fields.get("additionalProperties").or_else(|| fields.get("unevaluatedProperties")) {
            Some(Value::Bool(false)) => node.additional = Additional::Closed,
            Some(Value::Object(schema)) if !schema.is_empty() => {
                let schema = self.read_fields(schema, depth + 1);
                node.additional = Additional::Of(Box::new(schema));
            }
            Some(Value::Bool(true) | Value::Object(_)) => node.additional = Additional::Open,
            _ => {}
        }
        if let Some(Value::Object(patterns)) = fields.get("patternProperties") {
            for (pattern, schema) in patterns.iter().take(4) {
                let schema = self.read(schema, depth + 1);
                node.note(format!("Names may match `{}`.", quoted(pattern)));
                if !matches!(node.additional, Additional::Of(_)) {
                    node.additional = Additional::Of(Box::new(schema));
                }
            }
        }
        if let Some(Value::Object(dependent)) = fields.get("dependentRequired") {
            for (name, needed) in dependent.iter().take(8) {
                let needed: Vec<String> = needed
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(|name| format!("`{name}`"))
                    .collect();
                node.note(format!("With `{name}`, {} must be given.", needed.join(" and ")));
            }
        }
    }

    fn read_array(&mut self, fields: &'a Map<String, Value>, node: &mut Node, depth: usize) {
        let (tuple, rest) = match (fields.get("prefixItems"), fields.get("items")) {
            (Some(Value::Array(tuple)), rest) => (tuple.as_slice(), rest),
            // As drafts before 2020-12 have it.
            (_, Some(Value::Array(tuple))) => (tuple.as_slice(), fields.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        node.tuple = tuple.iter().map(|schema| self.read(schema, depth + 1)).collect();
        match rest {
            Some(Value::Bool(false)) if !tuple.is_empty() => {
                node.limits.push(("maxItems", Value::from(tuple.len())));
            }
            Some(schema @ Value::Object(_)) => node.items = Some(Box::new(self.read(schema, depth + 1))),
            _ => {}
        }
    }
}

/// The schemas of a combination, which is a list.
fn schemas<'a>(fields: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> {
    fields.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

/// What a fragment names: a pointer, plain or as in a URL, or an anchor among the definitions.
fn find<'a>(root: &'a Value, fragment: &str) -> Option<&'a Value> {
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(fragment).or_else(|| root.pointer(&unescaped(fragment)));
    }
    ["$defs", "definitions"]
        .iter()
        .filter_map(|place| root.get(*place)?.as_object())
        .flat_map(Map::values)
        .find(|schema| schema.get("$anchor").and_then(Value::as_str) == Some(fragment))
}

/// `%7B` and the like, read as characters.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = (byte == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn distinct(values: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for value in values {
        if !out.contains(value) {
            out.push(value.clone());
        }
    }
    out
}

/// The types that are named, or those that the other keywords speak of.
fn types(fields: &Map<String, Value>, node: &Node) -> Types {
    let named = match fields.get("type") {
        Some(Value::String(name)) => Types::named(name),
        Some(Value::Array(names)) => {
            let known = names.iter().filter_map(Value::as_str).filter_map(Types::named);
            Some(known.fold(Types::NONE, Types::or)).filter(|types| !types.is_none())
        }
        _ => None,
    };
    if let Some(types) = named {
        return types;
    }
    if !node.properties.is_empty() || node.additional != Additional::Unsaid {
        return Types::OBJECT;
    }
    if node.items.is_some() || !node.tuple.is_empty() {
        return Types::ARRAY;
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| node.limit(keyword).is_some());
    if has(&["minLength", "maxLength", "pattern", "format"]) {
        return Types::STRING;
    }
    if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        return Types::NUMBER;
    }
    if has(&["minItems", "maxItems", "uniqueItems"]) {
        return Types::ARRAY;
    }
    Types::ALL
}

fn read_limits(fields: &Map<String, Value>, node: &mut Node) {
    for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
        if let Some(value @ Value::Number(_)) = fields.get(keyword) {
            node.limits.push((keyword, value.clone()));
        }
    }
    // Draft 4 has a flag beside the bound.
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(flag) == Some(&Value::Bool(true)) {
            for (keyword, _) in &mut node.limits {
                if *keyword == bound {
                    *keyword = flag;
                }
            }
        }
    }
    for keyword in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
        // Some generators write whole numbers as text, as protocol buffers do.
        let value = fields.get(keyword).and_then(|value| match value {
            Value::String(text) => text.parse::<u64>().ok(),
            Value::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64)),
            _ => None,
        });
        let is_said = node.limit(keyword).is_some();
        let says_nothing = |value: u64| keyword.starts_with("min") && value == 0;
        if let Some(value) = value.filter(|value| !is_said && !says_nothing(*value)) {
            node.limits.push((keyword, Value::from(value)));
        }
    }
    for keyword in ["pattern", "format"] {
        if let Some(Value::String(text)) = fields.get(keyword).filter(|text| **text != "") {
            node.limits.push((keyword, Value::String(text.clone())));
        }
    }
    if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
        node.limits.push(("uniqueItems", Value::Bool(true)));
    }
}

/// What no provider has a keyword for, in words.
fn read_words(fields: &Map<String, Value>, node: &mut Node) {
    if let Some(excluded) = fields.get("not") {
        node.note(format!("Not: `{}`.", quoted(&excluded.to_string())));
    }
    if let Some(condition) = fields.get("if") {
        let mut text = format!("If `{}`", quoted(&condition.to_string()));
        for (keyword, word) in [("then", "then"), ("else", "else")] {
            if let Some(consequence) = fields.get(keyword) {
                text.push_str(&format!(", {word} `{}`", quoted(&consequence.to_string())));
            }
        }
        node.note(format!("{text}."));
    }
    for (keyword, words) in [
        ("contains", "At least one item is"),
        ("propertyNames", "Each name is"),
        ("dependentSchemas", "Where a name is given, also"),
    ] {
        if let Some(schema) = fields.get(keyword) {
            node.note(format!("{words} `{}`.", quoted(&schema.to_string())));
        }
    }
    if let Some(encoding) = fields.get("contentEncoding").and_then(Value::as_str) {
        node.note(format!("Encoded as {}.", quoted(encoding)));
    }
    if fields.get("deprecated") == Some(&Value::Bool(true)) {
        node.note("Deprecated.");
    }
}

/// A piece of a schema as words: short, and without what would end the quotation.
pub(super) fn quoted(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(MAX_QUOTE_CHARS).collect();
    if out.len() < text.len() && text.chars().count() > MAX_QUOTE_CHARS {
        out.push('…');
    }
    out
}

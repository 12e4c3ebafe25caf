//! Slash commands: `/probe_tcp @web-1 target=db1:5432 count=3`, or `/probe_tcp {"edge_id": 1, …}`.

use llm::HostRef;
use model::Scope;
use serde_json::{Map, Value};
use skill::{Capability, Catalogue};
use std::sync::Arc;

/// What a message that begins with a slash asks for.
#[derive(Debug)]
pub(crate) enum Command {
    /// It is no command, but words for the model (`/var is full, why?`).
    Words,
    /// It is one, but can't be understood. The sentence says why.
    Wrong(String),
    /// One call.
    Call {
        capability: Arc<Capability>,
        edge: Option<i64>,
        /// Without `edge_id` for a host skill.
        args: Value,
    },
}

/// Reads a message.
pub(crate) fn read(text: &str, catalogue: &Catalogue, hosts: &[HostRef]) -> Command {
    let Some(rest) = text.trim().strip_prefix('/') else { return Command::Words };
    let (key, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !skill::Definition::is_legal_key(key) {
        return Command::Words;
    }
    let words = split(rest.trim());
    let known = catalogue.for_llm_name(key).is_some();
    if !known {
        // `/tmp is full` is no command, `/prob_tcp target=x` is a mistyped one.
        let is_command = matches!(&words, Ok(words) if words.iter().all(|word| word.contains('=') || word.starts_with('@')));
        if !is_command {
            return Command::Words;
        }
        return Command::Wrong(format!("There is no command `/{key}`. The Skills page lists all of them."));
    }
    match call(key, rest.trim(), words, catalogue, hosts) {
        Ok(command) => command,
        Err(reason) => Command::Wrong(reason),
    }
}

fn call(
    key: &str,
    rest: &str,
    words: Result<Vec<String>, String>,
    catalogue: &Catalogue,
    hosts: &[HostRef],
) -> Result<Command, String> {
    let (mut given, target) = if rest.starts_with('{') {
        let value: Value = serde_json::from_str(rest)
            .map_err(|error| format!("The JSON after `/{key}` is not valid: {error}."))?;
        let Value::Object(fields) = value else { return Err(format!("`/{key}` takes one JSON object.")) };
        (fields, None)
    } else {
        pairs(key, words?)?
    };
    let host_skill = catalogue.get(Scope::Host, key);
    let batch = catalogue.get(Scope::Manager, key);
    let (Some(capability), takes_edge) = (match (host_skill, batch) {
        (_, Some(batch)) if given.contains_key("edge_ids") => (Some(batch), false),
        (Some(skill), _) => (Some(skill), true),
        (None, batch) => (batch, false),
    }) else {
        return Err(format!("There is no command `/{key}`."));
    };
    let edge = if takes_edge { Some(edge(&mut given, target, capability, hosts)?) } else { None };
    let params = &capability.definition().params;
    let args = given.into_iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => typed(params.get("properties").and_then(|all| all.get(&name)), text),
            other => other,
        };
        (name, value)
    });
    Ok(Command::Call { args: Value::Object(args.collect()), edge, capability: Arc::clone(capability) })
}

/// Splits at white space outside of quotes. Quotes may stand anywhere in a word; a backslash keeps what follows.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => match rest.next() {
                Some(next) if next == '"' || next == '\'' || next == '\\' || next.is_whitespace() => {
                    word.get_or_insert_default().push(next);
                }
                next => {
                    let word = word.get_or_insert_default();
                    word.push('\\');
                    word.extend(next);
                }
            },
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err("A quote is not closed.".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// Named values, and the host that `@name` stands for.
type Pairs = (Map<String, Value>, Option<String>);

fn pairs(key: &str, words: Vec<String>) -> Result<Pairs, String> {
    let mut given = Map::new();
    let mut target = None;
    for word in words {
        if let Some(host) = word.strip_prefix('@').filter(|host| !host.contains('=')) {
            target = Some(host.to_owned());
            continue;
        }
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!(
                "`{word}` is no `name=value`. For example: `/{key} name=value other=\"two words\"`."
            ));
        };
        if given.insert(name.to_owned(), Value::String(value.to_owned())).is_some() {
            return Err(format!("`{name}` is given twice."));
        }
    }
    Ok((given, target))
}

/// Finds the host: `@name`, `edge_id=`, `edge=` or `host=` where the skill has no parameter of that name, else the
/// only one online.
fn edge(
    given: &mut Map<String, Value>,
    target: Option<String>,
    capability: &Capability,
    hosts: &[HostRef],
) -> Result<i64, String> {
    let has = |name: &str| capability.definition().params.pointer(&format!("/properties/{name}")).is_some();
    let mut word = target;
    for name in ["edge_id", "edge", "host"] {
        if !has(name)
            && let Some(value) = given.shift_remove(name)
        {
            word = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    if let Some(word) = word {
        let by_name = hosts.iter().find(|host| host.name.eq_ignore_ascii_case(&word)).map(|host| host.id);
        let found = by_name.or_else(|| word.parse().ok());
        return found.ok_or_else(|| format!("There is no host `{word}`."));
    }
    let online: Vec<&HostRef> = hosts.iter().filter(|host| host.online).collect();
    match online.as_slice() {
        [only] => Ok(only.id),
        [] => Err("No host is online.".to_owned()),
        _ => Err(format!(
            "Say on which host: `@{}` or `edge_id={}`.",
            online.first().map(|host| host.name.as_str()).unwrap_or_default(),
            online.first().map(|host| host.id).unwrap_or_default(),
        )),
    }
}

/// Reads a value as its parameter's schema wants it. What doesn't fit stays text, and the gate says what is wrong.
fn typed(schema: Option<&Value>, text: String) -> Value {
    let kinds: Vec<&str> = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let parsed = || serde_json::from_str::<Value>(&text).ok();
    for kind in kinds {
        let value = match kind {
            "string" => Some(Value::String(text.clone())),
            "integer" => text.parse::<i64>().ok().map(Value::from),
            "number" => parsed().filter(Value::is_number),
            "boolean" => match text.as_str() {
                "true" | "yes" | "on" | "1" => Some(Value::Bool(true)),
                "false" | "no" | "off" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            "object" => parsed().filter(Value::is_object),
            "array" => parsed().filter(Value::is_array).or_else(|| {
                let items = schema.and_then(|schema| schema.get("items"));
                Some(text.split(',').map(|item| typed(items, item.trim().to_owned())).collect())
            }),
            _ => None,
        };
        if let Some(value) = value {
            return value;
        }
    }
    Value::String(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Class;
    use proptest::prelude::*;
    use serde_json::json;
    use skill::{Metadata, Source};

    fn capability(key: &'static str, scope: Scope, properties: &Value) -> Arc<Capability> {
        let metadata = Metadata {
            key,
            name: key,
            description: "d",
            class: Class::Safe,
            scope,
            category: "c",
            result_preview: "",
            prerequisites: &[],
        };
        let params = json!({"type": "object", "properties": properties, "additionalProperties": false});
        let definition = skill::Definition::new(&metadata, params);
        Arc::new(Capability::new(definition, |_| Class::Safe, Source::Builtin).unwrap())
    }

    fn catalogue() -> Catalogue {
        let probe = json!({
            "target": {"type": "string"}, "count": {"type": ["integer", "null"]}, "fast": {"type": "boolean"},
            "ports": {"type": "array", "items": {"type": "integer"}}, "headers": {"type": "object"},
        });
        Catalogue::new([
            capability("probe_tcp", Scope::Host, &probe),
            capability("host_load", Scope::Host, &json!({})),
            capability(
                "host_load",
                Scope::Manager,
                &json!({"edge_ids": {"type": "array", "items": {"type": "integer"}}}),
            ),
        ])
        .unwrap()
    }

    fn hosts() -> Vec<HostRef> {
        let host = |id, name: &str| HostRef { id, name: name.to_owned(), online: true, ..HostRef::default() };
        vec![host(1, "web-1"), host(2, "db-1")]
    }

    fn told(text: &str) -> String {
        match read(text, &catalogue(), &hosts()) {
            Command::Words => "words".to_owned(),
            Command::Wrong(reason) => format!("wrong: {reason}"),
            Command::Call { capability, edge, args } => {
                format!("{} {} {edge:?} {args}", capability.definition().key, capability.definition().scope)
            }
        }
    }

    #[test]
    fn commands_are_read_by_the_schema() {
        for (text, expected) in [
            ("hello", "words"),
            ("/var/log is full", "words"),
            ("/tmp is full", "words"),
            (
                "/prob_tcp target=x",
                "wrong: There is no command `/prob_tcp`. The Skills page lists all of them.",
            ),
            (
                r#"/probe_tcp @web-1 target="a b" count=3 fast=yes ports=1,2"#,
                r#"probe_tcp host Some(1) {"target":"a b","count":3,"fast":true,"ports":[1,2]}"#,
            ),
            (r"/probe_tcp edge_id=2 target=x\ y", r#"probe_tcp host Some(2) {"target":"x y"}"#),
            ("/probe_tcp host=DB-1 count=many", r#"probe_tcp host Some(2) {"count":"many"}"#),
            (
                r#"/probe_tcp {"edge_id": 1, "target": "x", "headers": {"a": "b"}}"#,
                r#"probe_tcp host Some(1) {"target":"x","headers":{"a":"b"}}"#,
            ),
            ("/host_load edge_ids=1,2", r#"host_load manager None {"edge_ids":[1,2]}"#),
            ("/host_load @db-1", "host_load host Some(2) {}"),
            ("/host_load", "wrong: Say on which host: `@web-1` or `edge_id=1`."),
            ("/host_load @nobody", "wrong: There is no host `nobody`."),
            (
                "/probe_tcp @web-1 x",
                "wrong: `x` is no `name=value`. For example: `/probe_tcp name=value other=\"two words\"`.",
            ),
            ("/probe_tcp target=\"x", "wrong: A quote is not closed."),
            ("/probe_tcp target=a target=b", "wrong: `target` is given twice."),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
        assert!(told("/probe_tcp {\"a\"").contains("not valid"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "/(probe_tcp|host_load|x) .{0,40}") {
            let _ = told(&text);
        }
    }
}

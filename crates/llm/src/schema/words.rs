//! What a schema says, in words, where a provider has no keyword for it.

use super::node::{Additional, Node};
use super::read::quoted;
use serde_json::Value;

/// Longest description of one parameter, in characters.
const MAX_CHARS: usize = 4_000;
/// Most values of a list that are told.
const MAX_VALUES: usize = 40;

/// A value as a person would write it.
pub(super) fn value(value: &Value) -> String {
    quoted(&value.to_string())
}

/// A bound.
pub(super) fn limit(keyword: &str, bound: &Value) -> String {
    let shown = match bound {
        Value::String(text) => quoted(text),
        other => value(other),
    };
    let is_one = bound.as_u64() == Some(1);
    let counted = |word: &str| if is_one { format!("{shown} {word}") } else { format!("{shown} {word}s") };
    match keyword {
        "minimum" => format!("At least {shown}."),
        "maximum" => format!("At most {shown}."),
        "exclusiveMinimum" => format!("More than {shown}."),
        "exclusiveMaximum" => format!("Less than {shown}."),
        "multipleOf" => format!("A multiple of {shown}."),
        "minLength" => format!("At least {}.", counted("character")),
        "maxLength" => format!("At most {}.", counted("character")),
        "minItems" => format!("At least {}.", counted("item")),
        "maxItems" => format!("At most {}.", counted("item")),
        "uniqueItems" => "No item twice.".to_owned(),
        "minProperties" => format!("At least {}.", counted("entry").replace("entrys", "entries")),
        "maxProperties" => format!("At most {}.", counted("entry").replace("entrys", "entries")),
        "pattern" => format!("Must match the regular expression `{shown}`."),
        _ => format!("Format: {shown}."),
    }
}

/// A list of values.
pub(super) fn choices(values: &[Value]) -> String {
    if let [only] = values {
        return format!("Always {}.", value(only));
    }
    let mut shown: Vec<String> = values.iter().take(MAX_VALUES).map(value).collect();
    if values.len() > MAX_VALUES {
        shown.push("…".to_owned());
    }
    format!("One of: {}.", shown.join(", "))
}

/// A form, short: its type, or the types of its alternatives.
pub(super) fn form(node: &Node) -> String {
    if let Some(values) = &node.choices {
        return values.iter().take(MAX_VALUES).map(value).collect::<Vec<_>>().join(" or ");
    }
    if node.types == super::node::Types::ALL {
        return "anything".to_owned();
    }
    node.types.words()
}

/// What is said of an object's other names.
pub(super) fn additional(additional: &Additional) -> Option<String> {
    match additional {
        Additional::Open => Some("Further names are allowed.".to_owned()),
        Additional::Of(node) => Some(format!("Names are free; each value is: {}.", form(node))),
        Additional::Unsaid | Additional::Closed => None,
    }
}

/// A description with further sentences. What it says already isn't said again.
pub(super) fn described(description: Option<&str>, sentences: &[String]) -> Option<String> {
    let mut out = description.unwrap_or_default().trim().to_owned();
    for sentence in sentences {
        if out.contains(sentence.as_str()) {
            continue;
        }
        if !out.is_empty() {
            if !out.ends_with(['.', '!', '?', ':', '…']) {
                out.push('.');
            }
            out.push(' ');
        }
        out.push_str(sentence);
    }
    (!out.is_empty()).then(|| shortened(out, MAX_CHARS))
}

/// Cuts a text that is longer than `most` characters.
pub(super) fn shortened(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    let mut out: String = text.chars().take(most - 1).collect();
    out.push('…');
    out
}

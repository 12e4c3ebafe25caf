//! Refuses schemas as the providers do.

use crate::schema::Dialect;
use serde_json::{Map, Value};

/// Checks the parameters of one tool. `strict` asks for OpenAI's strict mode.
///
/// # Errors
///
/// Fails with the place and the rule that is broken.
pub fn check_schema(dialect: Dialect, strict: bool, params: Option<&Value>) -> Result<(), String> {
    let dialect = match (dialect, strict) {
        (Dialect::OpenAiStrict, false) => Dialect::OpenAiChat,
        (dialect, _) => dialect,
    };
    let Some(params) = params else {
        return if dialect == Dialect::Gemini { Ok(()) } else { Err("there are no parameters".to_owned()) };
    };
    let fields = params.as_object().ok_or("the parameters are not an object")?;
    let is_object =
        fields.get("type").and_then(Value::as_str).is_some_and(|name| name.eq_ignore_ascii_case("object"));
    if !is_object {
        return Err("the root must be of type object".to_owned());
    }
    for keyword in ["anyOf", "oneOf", "allOf", "enum", "not"] {
        if fields.contains_key(keyword) {
            return Err(format!("`{keyword}` may not be at the root"));
        }
    }
    if !fields.get("properties").is_some_and(Value::is_object) {
        return Err("the root must have properties".to_owned());
    }
    check(dialect, fields, "", 0)
}

fn check(dialect: Dialect, fields: &Map<String, Value>, place: &str, depth: usize) -> Result<(), String> {
    let fail = |what: String| Err(format!("at `{place}`: {what}"));
    if depth > 40 {
        return fail("it nests too deeply".to_owned());
    }
    for keyword in fields.keys() {
        if !allowed(dialect).contains(&keyword.as_str()) {
            return fail(format!("`{keyword}` is not supported"));
        }
    }
    if dialect == Dialect::Gemini && fields.contains_key("anyOf") && fields.len() > 1 {
        return fail("beside `anyOf` nothing may stand".to_owned());
    }
    let types = types(dialect, fields).map_err(|what| format!("at `{place}`: {what}"))?;
    let is = |name: &str| types.iter().any(|known| known == name);
    if types.is_empty()
        && !fields.contains_key("anyOf")
        && matches!(dialect, Dialect::Gemini | Dialect::OpenAiStrict)
    {
        return fail("it has no type".to_owned());
    }
    for (keyword, subject) in [
        ("properties", "object"),
        ("required", "object"),
        ("additionalProperties", "object"),
        ("items", "array"),
    ] {
        if fields.contains_key(keyword) && !is(subject) {
            return fail(format!("`{keyword}` is only for type {subject}"));
        }
    }
    if is("array") && !fields.contains_key("items") {
        return fail("an array must have items".to_owned());
    }
    if let Some(Value::Array(forms)) = fields.get("anyOf")
        && forms.is_empty()
    {
        return fail("`anyOf` is empty".to_owned());
    }
    check_enum(dialect, fields, place)?;
    check_limits(dialect, fields, place)?;
    check_object(dialect, fields, place, is("object"))?;
    let mut children: Vec<(String, &Value)> = Vec::new();
    if let Some(Value::Object(properties)) = fields.get("properties") {
        children.extend(properties.iter().map(|(name, form)| (format!("{place}/{name}"), form)));
    }
    if let Some(Value::Array(forms)) = fields.get("anyOf") {
        children.extend(forms.iter().enumerate().map(|(at, form)| (format!("{place}|{at}"), form)));
    }
    children.extend(fields.get("items").map(|form| (format!("{place}[]"), form)));
    if let Some(form @ Value::Object(_)) = fields.get("additionalProperties") {
        children.push((format!("{place}/*"), form));
    }
    for (place, form) in children {
        let Value::Object(form) = form else { return Err(format!("at `{place}`: it is no schema")) };
        check(dialect, form, &place, depth + 1)?;
    }
    Ok(())
}

fn allowed(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::OpenAiChat => &[
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "format",
        ],
        Dialect::OpenAiStrict => &[
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "format",
        ],
        Dialect::Anthropic => &[
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "enum",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "uniqueItems",
            "minProperties",
            "maxProperties",
        ],
        Dialect::Gemini => &[
            "type",
            "description",
            "properties",
            "required",
            "items",
            "anyOf",
            "enum",
            "nullable",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "format",
        ],
        Dialect::Ollama => &["type", "description", "properties", "required", "items", "enum"],
    }
}

/// The named types in lower case.
fn types(dialect: Dialect, fields: &Map<String, Value>) -> Result<Vec<String>, String> {
    let names = match fields.get("type") {
        None => Vec::new(),
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) if matches!(dialect, Dialect::OpenAiStrict | Dialect::Anthropic) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        Some(other) => return Err(format!("`type` is {other}")),
    };
    let is_known = |name: &str| {
        let lower = name.to_ascii_lowercase();
        let is_cased =
            if dialect == Dialect::Gemini { name.to_ascii_uppercase() == name } else { lower == name };
        is_cased
            && matches!(
                lower.as_str(),
                "string" | "number" | "integer" | "boolean" | "array" | "object" | "null"
            )
            && !(dialect == Dialect::Gemini && lower == "null")
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(format!("there is no type `{name}`")),
        None => Ok(names.into_iter().map(str::to_ascii_lowercase).collect()),
    }
}

fn check_enum(dialect: Dialect, fields: &Map<String, Value>, place: &str) -> Result<(), String> {
    let Some(choices) = fields.get("enum") else { return Ok(()) };
    let choices = choices
        .as_array()
        .filter(|choices| !choices.is_empty())
        .ok_or(format!("at `{place}`: `enum` is empty"))?;
    if dialect == Dialect::Gemini {
        let is_text = fields.get("type").and_then(Value::as_str) == Some("STRING");
        if !is_text || choices.iter().any(|value| value.as_str().is_none_or(str::is_empty)) {
            return Err(format!("at `{place}`: `enum` is for texts that are not empty"));
        }
    }
    Ok(())
}

fn check_limits(dialect: Dialect, fields: &Map<String, Value>, place: &str) -> Result<(), String> {
    for (keyword, value) in fields {
        let is_right = match keyword.as_str() {
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                value.is_number()
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
                value.is_u64()
            }
            "uniqueItems" | "nullable" => value.is_boolean(),
            "pattern" | "description" => value.is_string(),
            "format" => value.as_str().is_some_and(|name| match dialect {
                Dialect::Gemini => name == "date-time",
                _ => !name.starts_with("int") && !name.starts_with("uint"),
            }),
            _ => true,
        };
        if !is_right {
            return Err(format!("at `{place}`: `{keyword}` is {value}"));
        }
    }
    Ok(())
}

fn check_object(
    dialect: Dialect,
    fields: &Map<String, Value>,
    place: &str,
    is_object: bool,
) -> Result<(), String> {
    if !is_object {
        return Ok(());
    }
    let fail = |what: String| Err(format!("at `{place}`: {what}"));
    let empty = Map::new();
    let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = fields
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
        return fail(format!("`{name}` is required and no property"));
    }
    match dialect {
        Dialect::Gemini if properties.is_empty() => fail("properties must not be empty".to_owned()),
        Dialect::OpenAiStrict if fields.get("additionalProperties") != Some(&Value::Bool(false)) => {
            fail("`additionalProperties` must be false".to_owned())
        }
        Dialect::OpenAiStrict if required.len() != properties.len() => {
            fail("every property must be required".to_owned())
        }
        Dialect::Anthropic => {
            let is_legal = |name: &str| {
                (1..=64).contains(&name.len())
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
            };
            match properties.keys().find(|name| !is_legal(name)) {
                Some(name) => fail(format!("a property may not be called `{name}`")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

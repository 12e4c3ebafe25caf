//! Shows a result whose shape isn't known: scalars as a list, lists of objects as tables, the rest as JSON.

use super::text::{block, inline, table};
use crate::builtin::route::Language;
use serde_json::{Map, Value};

const MAX_ROWS: usize = 50;
const MAX_COLUMNS: usize = 8;

/// Shows any JSON value.
pub(super) fn render(tool: &str, data: &Value, language: Language) -> String {
    let head = language.pick(format!("`{tool}` answered:"), format!("`{tool}` 결과:"));
    format!("{head}\n\n{}", value(data))
}

/// A value as Markdown.
pub(super) fn value(data: &Value) -> String {
    match data {
        Value::Object(map) => object(map),
        Value::Array(list) if list.iter().any(Value::is_object) => rows(list),
        Value::Array(list) => {
            list.iter().take(MAX_ROWS).map(|item| format!("- {}", cell(item))).collect::<Vec<_>>().join("\n")
        }
        other => cell(other),
    }
}

fn object(map: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    let mut tables = Vec::new();
    for (key, item) in map {
        let label = inline(&key.replace('_', " "), 60);
        match item {
            Value::Null => {}
            Value::Array(list) if list.is_empty() => {}
            Value::Array(list) if list.iter().all(Value::is_object) => {
                tables.push(format!("**{label}**\n\n{}", rows(list)))
            }
            Value::String(text) if text.contains('\n') => {
                tables.push(format!("**{label}**\n\n{}", block(text)))
            }
            other => lines.push(format!("- {label}: {}", cell(other))),
        }
    }
    let mut parts = Vec::new();
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    parts.extend(tables);
    parts.join("\n\n")
}

fn rows(list: &[Value]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for key in list.iter().take(MAX_ROWS).filter_map(Value::as_object).flat_map(Map::keys) {
        if !columns.contains(&key.as_str()) && columns.len() < MAX_COLUMNS {
            columns.push(key);
        }
    }
    let body: Vec<Vec<String>> = list
        .iter()
        .take(MAX_ROWS)
        .map(|row| columns.iter().map(|column| row.get(*column).map_or_else(String::new, cell)).collect())
        .collect();
    let labels: Vec<String> = columns.iter().map(|column| inline(&column.replace('_', " "), 40)).collect();
    let head: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut out = table(&head, &body);
    if list.len() > MAX_ROWS {
        out.push_str(&format!("\n\n… +{}", list.len() - MAX_ROWS));
    }
    out
}

/// A value in one line.
pub(super) fn cell(item: &Value) -> String {
    match item {
        Value::Null => String::new(),
        Value::String(text) => inline(text, 160),
        Value::Number(number) => number
            .as_f64()
            .filter(|_| number.is_f64())
            .map_or_else(|| number.to_string(), |float| format!("{float:.2}")),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(list) if list.iter().all(|item| !item.is_object() && !item.is_array()) => {
            list.iter().take(12).map(cell).collect::<Vec<_>>().join(", ")
        }
        Value::Array(list) => format!("{} ×", list.len()),
        Value::Object(_) => inline(&item.to_string(), 160),
    }
}

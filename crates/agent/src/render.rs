//! A person's answer to a slash command: the result as Markdown, without a model.

use crate::results::Ended;
use serde_json::Value;

/// Most rows of a table.
const MAX_ROWS: usize = 100;
/// Most columns of a table.
const MAX_COLUMNS: usize = 12;
/// Most characters of a cell.
const MAX_CELL: usize = 200;
/// Deepest headings.
const MAX_DEPTH: usize = 3;

/// Writes how a call ended.
pub(crate) fn ended(tool: &str, ended: &Ended) -> String {
    if !ended.succeeded() {
        let reason = ended.error.as_deref().unwrap_or("no reason was given");
        return format!("`{tool}` ended as **{}**: {}", ended.state, inline(reason));
    }
    let mut out = String::new();
    match &ended.result {
        Some(result) => write_value(&mut out, result, 0),
        None => out.push_str("Done; there is no result to show."),
    }
    out.trim_end().to_owned()
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) => {
            let (simple, nested): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_simple(value));
            if !simple.is_empty() {
                out.push_str("| | |\n|---|---|\n");
                for (key, value) in simple {
                    out.push_str(&format!("| {} | {} |\n", inline(key), cell(value)));
                }
                out.push('\n');
            }
            for (key, value) in nested {
                out.push_str(&format!("**{}**\n\n", inline(key)));
                if depth < MAX_DEPTH {
                    write_value(out, value, depth + 1);
                } else {
                    out.push_str(&format!("{}\n\n", cell(value)));
                }
            }
        }
        Value::Array(items) => write_list(out, items),
        Value::String(text) if text.contains('\n') => out.push_str(&block(text)),
        other => out.push_str(&format!("{}\n\n", cell(other))),
    }
}

fn write_list(out: &mut String, items: &[Value]) {
    let mut columns: Vec<&str> = Vec::new();
    for item in items.iter().take(MAX_ROWS) {
        for key in item.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if !columns.contains(&key.as_str()) && columns.len() < MAX_COLUMNS {
                columns.push(key);
            }
        }
    }
    if columns.is_empty() {
        for item in items.iter().take(MAX_ROWS) {
            out.push_str(&format!("- {}\n", cell(item)));
        }
    } else {
        let heads: Vec<String> = columns.iter().map(|column| inline(column)).collect();
        out.push_str(&format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(columns.len())));
        for item in items.iter().take(MAX_ROWS) {
            let cells: Vec<String> =
                columns.iter().map(|column| item.get(column).map(cell).unwrap_or_default()).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    if items.len() > MAX_ROWS {
        out.push_str(&format!("\n… and {} more; the card above has all of them.\n", items.len() - MAX_ROWS));
    }
    out.push('\n');
}

fn is_simple(value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Array(_) => false,
        Value::String(text) => !text.contains('\n'),
        _ => true,
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => inline(text),
        other => inline(&other.to_string()),
    }
}

/// Text on one line that can't break a table or become a link or an image.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(MAX_CELL) {
        match character {
            '|' | '[' | ']' | '<' | '>' | '`' | '*' | '_' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    if text.chars().nth(MAX_CELL).is_some() {
        out.push('…');
    }
    out
}

/// Text of several lines, between fences longer than any in it.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CallState;
    use serde_json::json;

    fn rendered(result: Value) -> String {
        let mut done = Ended::not_run(CallState::Succeeded, "");
        done.result = Some(result);
        ended("t", &done)
    }

    #[test]
    fn objects_and_lists_become_tables() {
        let text = rendered(
            json!({"load1": 0.5, "name": "a|b", "disks": [{"path": "/", "used": 1}, {"path": "/x", "free": 2}]}),
        );
        insta::assert_snapshot!(text, @r"
        | | |
        |---|---|
        | load1 | 0.5 |
        | name | a\|b |

        **disks**

        | path | used | free |
        |---|---|---|
        | / | 1 |  |
        | /x |  | 2 |
        ");
    }

    #[test]
    fn text_cannot_leave_its_block() {
        let text = rendered(json!({"content": "a\n```\n[x](http://y)\n"}));
        assert!(text.contains("````\na\n```\n"), "{text}");
    }

    #[test]
    fn a_failure_says_why() {
        let text = ended("probe_tcp", &Ended::not_run(CallState::Refused, "not now"));
        assert_eq!(text, "`probe_tcp` ended as **refused**: not now");
    }
}

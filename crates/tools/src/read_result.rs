//! Pages through the stored result of an earlier call.

use crate::{Tool, ToolContext};
use async_trait::async_trait;
use gate::AdmittedCall;
use model::{CallId, Class, Scope};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Metadata, SkillError, SkillErrorKind};
use storage::calls::CallRow;

pub(crate) struct ReadResult;

static METADATA: Metadata = Metadata {
    key: "read_result",
    name: "Read a stored result",
    description: "Read more of the stored result of an earlier call of yours, for example one that was cut: page through \
                  its lines, search them, or pick a part with a JSON pointer.",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "sessions",
    result_preview: "lines 201 to 400 of 5123",
    prerequisites: &[],
};

#[derive(Debug, Deserialize)]
struct Params {
    call_id: CallId,
    #[serde(default)]
    pointer: String,
    grep: Option<String>,
    #[serde(default)]
    offset: usize,
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

const DEFAULT_LIMIT: usize = 200;

/// What the lines of one answer may take as JSON, so that the whole answer stays within 64 KiB.
const MAX_BYTES: usize = 60 * 1024;

/// Longer lines are cut.
const MAX_LINE_CHARS: usize = 4_000;

#[async_trait]
impl Tool for ReadResult {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn params(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "call_id": {
                    "type": "string", "format": "uuid",
                    "description": "Id of the call whose result to read."
                },
                "pointer": {
                    "type": "string", "default": "", "maxLength": 1000, "pattern": "^(/.*)?$",
                    "description": "JSON pointer to the part to read, for example `/entries/0/message`; empty for the \
                                    whole. A text is read as its lines, anything else as indented JSON."
                },
                "grep": {
                    "type": "string", "minLength": 1, "maxLength": 500,
                    "description": "Regular expression; only lines that match are counted and read."
                },
                "offset": {
                    "type": "integer", "minimum": 0, "default": 0,
                    "description": "How many lines to skip."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": 2000, "default": DEFAULT_LIMIT,
                    "description": "How many lines to read at most; fewer come when they are long."
                },
            },
            "required": ["call_id"],
            "additionalProperties": false,
        })
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    fn keeps_result(&self) -> bool {
        false
    }

    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        let params: Params = serde_json::from_value(call.args().clone())
            .map_err(|error| SkillError::new(SkillErrorKind::Invalid, error))?;
        let pattern = params.grep.as_deref().map(compile).transpose()?;
        let unavailable =
            |error| SkillError::new(SkillErrorKind::Failed, format!("the result can't be read: {error}"));
        let calls = cx.storage.calls();
        let row = calls.find(params.call_id).await.map_err(unavailable)?;
        let row = row.filter(|row| may_read(call, row)).ok_or_else(|| {
            SkillError::new(SkillErrorKind::NotFound, format!("there is no call {} of yours", params.call_id))
        })?;
        let text = calls.result_text(row.id).await.map_err(unavailable)?.ok_or_else(|| no_result(&row))?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| SkillError::new(SkillErrorKind::Failed, error))?;
        page(&params, &row.tool, &value, pattern.as_ref())
    }
}

/// One's own calls; a model only those of its chat, so that one chat's text doesn't reach another.
fn may_read(call: &AdmittedCall, row: &CallRow) -> bool {
    let principal = call.principal();
    row.person() == principal.person() && (!principal.by_model || row.session == call.request().session)
}

fn no_result(row: &CallRow) -> SkillError {
    let reason = match (row.state.is_final(), row.result_bytes) {
        (false, _) => format!("call {} has no result yet; it is `{}`", row.id, row.state),
        (true, 0) => format!("call {} has no result; it is `{}`", row.id, row.state),
        (true, _) => format!("the result of call {} of `{}` is not stored", row.id, row.tool),
    };
    SkillError::new(SkillErrorKind::NotFound, reason)
}

fn compile(pattern: &str) -> Result<Regex, SkillError> {
    RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|error| {
        SkillError::new(SkillErrorKind::Invalid, format!("`grep` is no regular expression: {error}"))
    })
}

fn page(params: &Params, tool: &str, value: &Value, pattern: Option<&Regex>) -> Result<Value, SkillError> {
    let Params { pointer, offset, .. } = params;
    let part = value.pointer(pointer).ok_or_else(|| missing(pointer, value))?;
    let text = match part {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other)
            .map_err(|error| SkillError::new(SkillErrorKind::Failed, error))?,
    };
    let fitting: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| pattern.is_none_or(|pattern| pattern.is_match(line)))
        .collect();
    let mut lines = Vec::new();
    let mut bytes = 0;
    for (number, line) in fitting.iter().skip(*offset).take(params.limit) {
        let line = json!({"line": number + 1, "text": cut(line)});
        bytes += line.to_string().len() + 1;
        if bytes > MAX_BYTES && !lines.is_empty() {
            break;
        }
        lines.push(line);
    }
    let next = offset + lines.len();
    let next_offset = (next < fitting.len()).then_some(next);
    Ok(json!({
        "call_id": params.call_id, "tool": tool, "pointer": pointer, "total_lines": text.lines().count(),
        "matched_lines": fitting.len(), "offset": offset, "next_offset": next_offset, "lines": lines,
    }))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}… ({} more bytes)", &line[..end], line.len() - end),
    }
}

fn missing(pointer: &str, value: &Value) -> SkillError {
    let keys: Vec<String> = match value {
        Value::Object(fields) => fields.keys().take(20).map(|key| format!("/{key}")).collect(),
        Value::Array(items) => vec![format!("/0 to /{}", items.len().saturating_sub(1))],
        _ => Vec::new(),
    };
    let hint =
        if keys.is_empty() { String::new() } else { format!("; at the top there is {}", keys.join(", ")) };
    SkillError::new(SkillErrorKind::NotFound, format!("the result has nothing at `{pointer}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: Value, value: &Value) -> Result<Value, SkillError> {
        let mut params = params;
        params["call_id"] = json!("01890000-0000-7000-8000-000000000000");
        let params: Params = serde_json::from_value(params).unwrap();
        let pattern = params.grep.as_deref().map(compile).transpose()?;
        page(&params, "tail_file", value, pattern.as_ref())
    }

    fn texts(page: &Value) -> Vec<&str> {
        page["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect()
    }

    #[test]
    fn a_text_is_read_page_by_page_until_its_end() {
        let value = json!({"text": "a\nb\nc\nd\ne"});
        let first = read(json!({"pointer": "/text", "limit": 2}), &value).unwrap();
        assert_eq!(
            (texts(&first), &first["next_offset"], &first["total_lines"]),
            (vec!["a", "b"], &json!(2), &json!(5))
        );
        let last = read(json!({"pointer": "/text", "offset": 4, "limit": 2}), &value).unwrap();
        assert_eq!((texts(&last), &last["next_offset"]), (vec!["e"], &Value::Null));
    }

    #[test]
    fn matching_lines_keep_their_numbers() {
        let value = json!({"text": "ok\nerror one\nok\nerror two"});
        let page = read(json!({"pointer": "/text", "grep": "^error"}), &value).unwrap();
        assert_eq!(
            page["lines"],
            json!([{"line": 2, "text": "error one"}, {"line": 4, "text": "error two"}])
        );
    }

    #[test]
    fn anything_but_a_text_is_read_as_indented_json() {
        let page = read(json!({"pointer": "/a"}), &json!({"a": {"b": 1}})).unwrap();
        assert_eq!(texts(&page), vec!["{", "  \"b\": 1", "}"]);
    }

    #[test]
    fn an_answer_stays_within_64_kib_whatever_the_lines_hold() {
        let text = format!("{}\n", "\u{1}".repeat(3_000)).repeat(400);
        let page = read(json!({"pointer": "/t", "limit": 2000}), &json!({"t": text})).unwrap();
        assert!(page.to_string().len() <= 64 * 1024, "{}", page.to_string().len());
        assert!(page["next_offset"].as_u64().unwrap() > 0);
        let long = read(json!({"pointer": "/t"}), &json!({"t": "x".repeat(1_000_000)})).unwrap();
        assert!(long.to_string().len() <= 64 * 1024);
        assert!(texts(&long)[0].ends_with("… (996000 more bytes)"));
    }

    #[test]
    fn a_pointer_to_nothing_tells_what_there_is() {
        let error = read(json!({"pointer": "/lines"}), &json!({"entries": [], "cursor": "x"})).unwrap_err();
        insta::assert_snapshot!(error.message, @"the result has nothing at `/lines`; at the top there is /entries, /cursor");
    }

    #[test]
    fn a_pattern_that_is_none_is_the_callers_mistake() {
        assert_eq!(read(json!({"grep": "("}), &json!({})).unwrap_err().kind, SkillErrorKind::Invalid);
    }
}

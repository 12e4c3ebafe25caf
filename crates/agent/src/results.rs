//! How calls ended, and what a model reads of it.

use crate::trust;
use crate::view;
use executor::CallOutcome;
use model::{CallId, CallState};
use serde_json::Value;
use storage::calls::CallRow;
use uuid::Uuid;

/// How a call ended, from wherever that is known. All of it is redacted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) state: CallState,
    pub(crate) result: Option<Value>,
    pub(crate) result_bytes: u64,
    pub(crate) error: Option<String>,
    pub(crate) error_kind: Option<String>,
    pub(crate) schema: Option<Value>,
    pub(crate) duration_ms: u64,
    pub(crate) sandbox: Option<String>,
    pub(crate) children: Vec<CallId>,
}

impl Ended {
    /// A call that never ran, for this reason.
    pub(crate) fn not_run(state: CallState, reason: impl Into<String>) -> Self {
        Self {
            state,
            result: None,
            result_bytes: 0,
            error: Some(reason.into()),
            error_kind: None,
            schema: None,
            duration_ms: 0,
            sandbox: None,
            children: Vec::new(),
        }
    }

    /// Whether it did what was asked.
    pub(crate) fn succeeded(&self) -> bool {
        self.state == CallState::Succeeded
    }
}

impl From<CallOutcome> for Ended {
    fn from(outcome: CallOutcome) -> Self {
        Self {
            state: outcome.state,
            result: outcome.result,
            result_bytes: outcome.result_bytes,
            error: outcome.error,
            error_kind: outcome.error_kind.map(|kind| kind.as_str().to_owned()),
            schema: outcome.schema,
            duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
            sandbox: outcome.sandbox,
            children: outcome.children,
        }
    }
}

impl Ended {
    /// What the database knows of a call.
    pub(crate) fn of_row(row: &CallRow, result: Option<Value>) -> Self {
        Self {
            state: row.state,
            result,
            result_bytes: row.result_bytes,
            error: row.error.clone(),
            error_kind: row.error_kind.clone(),
            schema: None,
            duration_ms: row.duration_ms.unwrap_or_default(),
            sandbox: row.sandbox.clone(),
            children: Vec::new(),
        }
    }
}

/// What a model reads of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForModel {
    /// The text.
    pub(crate) content: String,
    /// Whether it holds free text from outside.
    pub(crate) untrusted: bool,
}

/// Writes what a model reads of a call: cut to `max_bytes`, cleaned of terminal codes, and marked with its source
/// where it holds free text.
pub(crate) fn for_model(tool: &str, call: CallId, source: &str, ended: &Ended, max_bytes: usize) -> ForModel {
    // What never ran brings nothing from outside: the words are the gate's.
    let ran = !matches!(
        ended.state,
        CallState::Invalid
            | CallState::Refused
            | CallState::Denied
            | CallState::Expired
            | CallState::AwaitingApproval
    );
    let untrusted = ran && trust::brings_free_text(tool);
    let mut content = match (&ended.result, &ended.error) {
        (Some(result), _) if ended.succeeded() => view::shorten(tool, clean(result)).to_string(),
        (_, Some(error)) => {
            let kind = ended.error_kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            format!("{}{kind}: {}", ended.state, clean_text(error))
        }
        (Some(result), None) => format!("{}: {}", ended.state, clean(result)),
        (None, None) => ended.state.to_string(),
    };
    let whole = content.len();
    if whole > max_bytes {
        let mut end = max_bytes;
        while !content.is_char_boundary(end) {
            end -= 1;
        }
        content.truncate(end);
    }
    if untrusted {
        content = marked(&content, source);
    }
    if whole > max_bytes {
        content.push_str(&format!(
            "\n[Cut: the first {max_bytes} of {whole} bytes. read_result with call_id \"{call}\" reads the rest.]"
        ));
    }
    if let Some(schema) = &ended.schema {
        content.push_str(&format!("\nThe parameters that it takes: {schema}"));
    }
    ForModel { content, untrusted }
}

/// Puts text from outside between marks that it can't forge: the key is made after the text.
fn marked(text: &str, source: &str) -> String {
    let key = Uuid::new_v4().simple().to_string();
    let key = key.get(..12).unwrap_or(&key);
    format!("<untrusted-data source=\"{source}\" key=\"{key}\">\n{text}\n</untrusted-data key=\"{key}\">")
}

/// The text between the marks of [`marked`]; the whole text if it has none.
pub(crate) fn unmarked(content: &str) -> &str {
    let inner = content
        .strip_prefix("<untrusted-data ")
        .and_then(|rest| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.rsplit_once("\n</untrusted-data "));
    inner.map_or(content, |(inner, _)| inner)
}

/// Cleans every text in a value of terminal codes and control characters.
fn clean(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(text)),
        Value::Array(items) => Value::Array(items.iter().map(clean).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), clean(value))).collect())
        }
        other => other.clone(),
    }
}

fn clean_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => match rest.next() {
                // A control sequence ends with a byte of its own range, an operating system command with BEL or ST.
                Some('[') => while rest.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                Some(']') => {
                    while let Some(c) = rest.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\n' | '\t' => out.push(character),
            control if control.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn ended(result: Value) -> Ended {
        let mut ended = Ended::not_run(CallState::Succeeded, "");
        ended.error = None;
        ended.result = Some(result);
        ended
    }

    #[test]
    fn terminal_codes_are_cleaned() {
        assert_eq!(
            clean_text("\u{1b}[1;31mred\u{1b}[0m\u{7} \u{1b}]0;title\u{7}x\u{1b}]8;;a\u{1b}\\y\r\n\tz"),
            "red xy\n\tz"
        );
    }

    #[test]
    fn a_long_result_is_cut_at_a_character_and_names_its_handle() {
        let call = CallId::generate();
        let text = for_model("host_load", call, "s", &ended(json!("한".repeat(100))), 50).content;
        assert!(
            text.starts_with("\"한") && text.contains("read_result") && text.contains(&call.to_string()),
            "{text}"
        );
        assert!(text.len() < 200);
    }

    #[test]
    fn typed_results_and_refusals_are_not_marked() {
        let call = CallId::generate();
        assert!(!for_model("host_load", call, "s", &ended(json!({"load1": 1})), 100).untrusted);
        let refused = Ended::not_run(CallState::Refused, "no");
        assert_eq!(
            for_model("read_journal", call, "s", &refused, 100),
            ForModel { content: "refused: no".to_owned(), untrusted: false }
        );
    }

    proptest! {
        #[test]
        fn text_from_outside_cannot_leave_its_marks(text in "(</untrusted-data key=\"[0-9a-f]{12}\">|<|>|a|\n){0,12}") {
            let content = for_model("read_file", CallId::generate(), "read_file", &ended(json!(text)), 10_000).content;
            let (head, _) = content.split_once('\n').unwrap();
            let key = head.split("key=\"").nth(1).unwrap().trim_end_matches("\">");
            let end = format!("</untrusted-data key=\"{key}\">");
            prop_assert_eq!(content.matches(&end).count(), 1);
            prop_assert!(content.ends_with(&end));
            prop_assert_eq!(unmarked(&content), json!(text).to_string());
        }
    }
}

//! Takes secrets out of texts and values before a model, the audit or the UI sees them.
//!
//! A secret becomes `[redacted:KIND:abcd]`; the four hex digits are a keyed digest, so that the same secret has the
//! same mark within a deployment and nobody can guess it from the mark. Redacting twice changes nothing.

mod names;
mod patterns;
mod stream;

pub use stream::{MAX_HELD_BYTES, RedactedStream};

use names::{is_sensitive_name, is_working_directory};
use patterns::{Pattern, Rule};
use regex::Regex;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;
use storage::MasterKey;

/// A pattern of the configuration that is no regular expression.
#[derive(Clone, Debug, thiserror::Error)]
#[error("security.redaction: `{pattern}` is not a regular expression")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// Why.
    #[source]
    pub source: regex::Error,
}

/// Takes secrets out.
#[derive(Debug)]
pub struct Redactor {
    keys: MasterKey,
    own: Vec<Pattern>,
}

static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| patterns::compiled(r"\[redacted:[a-z0-9-]{1,32}:[0-9a-f]{4}\]"));

/// Redaction can uncover a secret that touched another one; a text is gone over until nothing changes, at most so
/// often.
const MAX_ROUNDS: usize = 8;

impl Redactor {
    /// The built-in patterns and those of `[security.redaction]`. Of a configured pattern that has a group, the first
    /// group is the secret; else all that it matches.
    ///
    /// # Errors
    ///
    /// Fails on the first pattern that is no regular expression.
    pub fn new(keys: MasterKey, configured: &[String]) -> Result<Self, PatternError> {
        let own = configured
            .iter()
            .map(|pattern| {
                Pattern::configured(pattern)
                    .map_err(|source| PatternError { pattern: pattern.clone(), source })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { keys, own })
    }

    /// Takes secrets out of a text.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            match self.redact_once(&redacted) {
                Some(changed) => redacted = Cow::Owned(changed),
                None => break,
            }
        }
        redacted
    }

    /// Takes secrets out of a value: out of every text in it, and whole texts and numbers under keys such as
    /// `password`. A private key that is spread over several texts of a list is taken out of all of them.
    pub fn redact_value(&self, value: &Value) -> Value {
        self.walk(value, false, &mut KeyBlock::Outside)
    }

    /// Whether the value holds a mark of an earlier redaction. Such arguments can't be what was meant.
    pub fn holds_placeholder(value: &Value) -> bool {
        match value {
            Value::String(text) => PLACEHOLDER.is_match(text),
            Value::Array(items) => items.iter().any(Self::holds_placeholder),
            Value::Object(fields) => {
                fields.iter().any(|(key, value)| PLACEHOLDER.is_match(key) || Self::holds_placeholder(value))
            }
            _ => false,
        }
    }

    fn walk(&self, value: &Value, sensitive: bool, block: &mut KeyBlock) -> Value {
        match value {
            Value::String(text) if sensitive => Value::String(self.whole(text)),
            Value::Number(number) if sensitive => Value::String(self.mark("password", &number.to_string())),
            Value::String(text) => Value::String(self.text_in_block(text, block)),
            Value::Array(items) => {
                // A block never reaches beyond the list in which it began.
                let mut inner = KeyBlock::Outside;
                let mut option = false;
                let walked = items.iter().map(|item| {
                    // In a list of arguments, `--password` is followed by the secret.
                    let sensitive = sensitive || (option && item.is_string());
                    option = item.as_str().is_some_and(is_sensitive_option);
                    self.walk_item(item, sensitive, &mut inner)
                });
                Value::Array(walked.collect())
            }
            Value::Object(fields) => self.walk_fields(fields, sensitive, &mut KeyBlock::Outside),
            other => other.clone(),
        }
    }

    /// An item of a list: if it is an object, its own texts share the list's block, as the lines of a journal do.
    fn walk_item(&self, item: &Value, sensitive: bool, block: &mut KeyBlock) -> Value {
        match item {
            Value::Object(fields) => self.walk_fields(fields, sensitive, block),
            other => self.walk(other, sensitive, block),
        }
    }

    fn walk_fields(&self, fields: &Map<String, Value>, sensitive: bool, block: &mut KeyBlock) -> Value {
        let walked = fields.iter().map(|(key, value)| {
            let sensitive = sensitive
                || (is_sensitive_name(key)
                    && !value.as_str().is_some_and(|text| is_working_directory(key, text)));
            (self.redact(key).into_owned(), self.walk(value, sensitive, block))
        });
        Value::Object(walked.collect())
    }

    fn text_in_block(&self, text: &str, block: &mut KeyBlock) -> String {
        let before = *block;
        *block = before.after(text);
        if before == KeyBlock::Inside && patterns::is_key_material(text) {
            return self.whole(text);
        }
        self.redact(text).into_owned()
    }

    fn whole(&self, text: &str) -> String {
        let is_mark = PLACEHOLDER.find(text).is_some_and(|found| found.len() == text.len());
        if text.is_empty() || is_mark { text.to_owned() } else { self.mark("password", text) }
    }

    fn mark(&self, kind: &str, secret: &str) -> String {
        let digest = self.keys.keyed_digest("redaction", b"", secret.as_bytes());
        format!("[redacted:{kind}:{}]", digest.get(..4).unwrap_or("0000"))
    }

    /// One round; `None` if there was nothing to take out.
    fn redact_once(&self, text: &str) -> Option<String> {
        let spans = self.spans(text);
        (!spans.is_empty()).then(|| self.without(text, spans))
    }

    /// The text with a mark in the place of each span.
    fn without(&self, text: &str, spans: impl IntoIterator<Item = Span>) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut position = 0;
        for span in spans {
            redacted.push_str(&text[position..span.start]);
            redacted.push_str(&self.mark(span.kind, &text[span.start..span.end]));
            position = span.end;
        }
        redacted.push_str(&text[position..]);
        redacted
    }

    /// What one round takes out, in order and without overlaps.
    fn spans(&self, text: &str) -> Vec<Span> {
        let marks: Vec<Range<usize>> = PLACEHOLDER.find_iter(text).map(|mark| mark.range()).collect();
        let mut found: Vec<Span> = Vec::new();
        for pattern in patterns::BUILTIN.iter().chain(&self.own) {
            find_all(pattern, text, &marks, &mut found);
        }
        // Marks of earlier rounds stay: what overlaps one is cut down to what is around it.
        let mut spans: Vec<Span> = found.into_iter().flat_map(|span| span.without(&marks)).collect();
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

/// Where a list of texts stands with regard to a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyBlock {
    Outside,
    Inside,
}

impl KeyBlock {
    fn after(self, text: &str) -> Self {
        let begins = patterns::KEY_BEGIN.find_iter(text).last().map(|found| found.end());
        let ends = patterns::KEY_END.find_iter(text).last().map(|found| found.end());
        match (begins, ends) {
            (Some(begin), Some(end)) if end > begin => Self::Outside,
            (Some(_), _) => Self::Inside,
            (None, Some(_)) => Self::Outside,
            (None, None) => self,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    kind: &'static str,
}

impl Span {
    /// The parts of it that no mark covers. A part next to a mark may be a rest of a secret and stays a span of its
    /// own.
    fn without(self, marks: &[Range<usize>]) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut start = self.start;
        for mark in marks.iter().filter(|mark| mark.start < self.end && mark.end > self.start) {
            if mark.start > start {
                parts.push(Self { start, end: mark.start, ..self });
            }
            start = start.max(mark.end);
        }
        if start < self.end {
            parts.push(Self { start, ..self });
        }
        parts
    }
}

fn find_all(pattern: &Pattern, text: &str, marks: &[Range<usize>], found: &mut Vec<Span>) {
    let mut position = 0;
    while position <= text.len() {
        let Some(captures) = pattern.regex.captures_at(text, position) else { return };
        let Some(whole) = captures.get(0) else { return };
        // The words inside of a mark are ours: `password:ab12]` is no assignment.
        if let Some(mark) = marks.iter().find(|mark| mark.contains(&whole.start())) {
            position = mark.end;
            continue;
        }
        let secret = (1..captures.len()).rev().find_map(|group| match (pattern.rule, group) {
            // Group 1 of an assignment is its name.
            (Rule::Assignment, 1) => None,
            _ => captures.get(group),
        });
        let secret = secret.unwrap_or(whole);
        let accepted = match pattern.rule {
            Rule::Always => !secret.is_empty(),
            Rule::Assignment => {
                captures.get(1).is_some_and(|name| {
                    is_sensitive_name(name.as_str()) && !is_working_directory(name.as_str(), secret.as_str())
                }) && !is_no_secret(secret.as_str())
            }
            Rule::UrlPassword => !secret.is_empty() && !is_port_and_path(secret.as_str()),
        };
        if accepted {
            found.push(Span { start: secret.start(), end: secret.end(), kind: pattern.kind });
        }
        // An assignment that isn't one may hide another in what looked like its value.
        let next = match (accepted, pattern.rule, captures.get(1)) {
            (false, Rule::Assignment, Some(name)) => name.end(),
            _ => whole.end(),
        };
        position = if next > position { next } else { next_character(text, position) };
    }
}

fn next_character(text: &str, position: usize) -> usize {
    text[position..].chars().next().map_or(text.len() + 1, |character| position + character.len_utf8())
}

/// What stands where a secret would and is none: nothing, a word for nothing, stars, a variable's name, the scheme in
/// front of a credential.
fn is_no_secret(value: &str) -> bool {
    let value = value.trim();
    let is_variable = value.strip_prefix("${").is_some_and(|rest| rest.ends_with('}'));
    value.is_empty()
        || is_variable
        || value.chars().all(|character| character == '*')
        || ["null", "none", "nil", "true", "false", "bearer", "basic", "digest", "negotiate"]
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word))
}

/// `--password` and its like, without the value.
fn is_sensitive_option(item: &str) -> bool {
    item.strip_prefix("--").is_some_and(|name| !name.contains(['=', ' ']) && is_sensitive_name(name))
}

/// `5000/image` in `http://registry:5000/image@sha256:…` is no password.
fn is_port_and_path(value: &str) -> bool {
    value
        .split_once('/')
        .is_some_and(|(port, _)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;

//! Reads fields of a JSON object one by one, and keeps whatever is wrong with them.

use crate::problem::{Fault, Problem};
use serde_json::{Map, Value};

/// What is read of one object. Whatever isn't read is an unknown field.
pub(super) struct Fields<'a> {
    at: String,
    object: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Opens an object; anything else is a problem.
    pub(super) fn open(at: &str, value: &'a Value, problems: &mut Vec<Problem>) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { at: at.to_owned(), object, known: Vec::new() }),
            other => {
                let message = format!("must be an object, not {}", kind(other));
                problems.push(Problem::new(Fault::NotAnObject, at, message));
                None
            }
        }
    }

    /// The place of a field.
    pub(super) fn place(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    pub(super) fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.object.get(name)
    }

    /// A text of 1 to `max` characters without control characters.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        max: usize,
        problems: &mut Vec<Problem>,
    ) -> Option<String> {
        let value = self.get(name)?;
        text_of(value, &self.place(name), max, problems)
    }

    /// As [`Fields::text`], but the field must be there.
    pub(super) fn required(
        &mut self,
        name: &'static str,
        max: usize,
        problems: &mut Vec<Problem>,
    ) -> Option<String> {
        if !self.object.contains_key(name) {
            self.missing(name, problems);
        }
        self.text(name, max, problems)
    }

    pub(super) fn missing(&self, name: &str, problems: &mut Vec<Problem>) {
        problems.push(Problem::new(Fault::MissingField, self.place(name), "is required"));
    }

    /// A whole number in a range.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        range: std::ops::RangeInclusive<u64>,
        problems: &mut Vec<Problem>,
    ) -> Option<u64> {
        let value = self.get(name)?;
        let place = self.place(name);
        let wanted = format!("must be a whole number from {} to {}", range.start(), range.end());
        match value {
            Value::Number(number) => match number.as_u64() {
                Some(number) if range.contains(&number) => return Some(number),
                _ => problems.push(Problem::new(Fault::OutOfRange, place, format!("{wanted}, not {number}"))),
            },
            other => {
                problems.push(Problem::new(Fault::WrongType, place, format!("{wanted}, not {}", kind(other))))
            }
        }
        None
    }

    pub(super) fn flag(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                let message = format!("must be true or false, not {}", kind(other));
                problems.push(Problem::new(Fault::WrongType, self.place(name), message));
                None
            }
        }
    }

    /// A list of different texts, each with its place.
    pub(super) fn texts(
        &mut self,
        name: &'static str,
        max_items: usize,
        problems: &mut Vec<Problem>,
    ) -> Vec<(String, String)> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let place = self.place(name);
        let Some(items) = list_of(value, &place, max_items, problems) else { return Vec::new() };
        let mut texts: Vec<(String, String)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = format!("{place}[{index}]");
            let Some(text) = text_of(item, &at, 1000, problems) else { continue };
            if texts.iter().any(|(_, other)| *other == text) {
                problems.push(Problem::new(Fault::DuplicateItem, at, format!("`{text}` is there twice")));
            } else {
                texts.push((at, text));
            }
        }
        texts
    }

    /// Complains about whatever was not asked for.
    pub(super) fn close(self, problems: &mut Vec<Problem>) {
        for name in self.object.keys().filter(|name| !self.known.contains(&name.as_str())) {
            let name: String = name.chars().filter(|character| !character.is_control()).take(60).collect();
            let message = format!("is not known; known are {}", self.known.join(", "));
            problems.push(Problem::new(Fault::UnknownField, self.place(&name), message));
        }
    }
}

/// A list of at most so many items.
pub(super) fn list_of<'a>(
    value: &'a Value,
    at: &str,
    max_items: usize,
    problems: &mut Vec<Problem>,
) -> Option<&'a [Value]> {
    match value {
        Value::Array(items) if items.len() > max_items => {
            let message = format!("{} items; at most {max_items} fit", items.len());
            problems.push(Problem::new(Fault::TooManyItems, at, message));
            None
        }
        Value::Array(items) => Some(items),
        other => {
            let message = format!("must be a list, not {}", kind(other));
            problems.push(Problem::new(Fault::WrongType, at, message));
            None
        }
    }
}

fn text_of(value: &Value, at: &str, max: usize, problems: &mut Vec<Problem>) -> Option<String> {
    let problem = match value {
        Value::String(text) if text.trim().is_empty() => (Fault::EmptyText, "must not be empty".to_owned()),
        Value::String(text) if text.chars().count() > max => {
            (Fault::TextTooLong, format!("{} characters; at most {max} fit", text.chars().count()))
        }
        Value::String(text) if text.chars().any(char::is_control) => {
            (Fault::ControlCharacter, "holds a control character; write one line of plain text".to_owned())
        }
        Value::String(text) => return Some(text.clone()),
        other => (Fault::WrongType, format!("must be a text, not {}", kind(other))),
    };
    problems.push(Problem::new(problem.0, at, problem.1));
    None
}

/// What a JSON value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

//! Puts the calls of an answer together from pieces, as servers really send them.
//!
//! Servers disagree about which field names a call: some leave the index out, some give every call index 0, some
//! repeat ids, some leave them blank. A piece goes to the call that it names best; where it can't be an old one,
//! it begins a new one. Arguments are taken as they are: what doesn't parse is handed on as bad, never mended.

use crate::{BadArguments, LlmError, ToolCall};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Most calls in one answer. Far more than is ever run in one round.
const MAX_CALLS: usize = 128;
/// Most bytes of arguments of one call.
const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;
/// Most characters of bad arguments that are kept.
const MAX_RAW_CHARS: usize = 2_000;

/// One piece of a call.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    /// Which call, if the server says so.
    pub(crate) index: Option<i64>,
    /// The call's id, if it is in this piece.
    pub(crate) id: Option<&'a str>,
    /// The tool's name, if it is in this piece.
    pub(crate) name: Option<&'a str>,
    /// More of the arguments: text, or all of them as an object.
    pub(crate) arguments: Option<&'a Value>,
}

/// The calls of one answer so far.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Vec<Partial>,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<i64>,
    id: String,
    name: String,
    text: String,
    object: Option<Map<String, Value>>,
}

impl Partial {
    /// Whether nothing can be missing from the arguments.
    fn is_whole(&self) -> bool {
        self.object.is_some()
            || (!self.text.trim().is_empty()
                && serde_json::from_str::<serde::de::IgnoredAny>(&self.text).is_ok())
    }

    fn append(&mut self, arguments: &Value) -> Result<(), LlmError> {
        match arguments {
            Value::Null => return Ok(()),
            Value::String(more) if more.is_empty() => return Ok(()),
            Value::Object(fields) if self.text.is_empty() && self.object.is_none() => {
                self.object = Some(fields.clone());
                return Ok(());
            }
            _ => {}
        }
        // Both forms for one call make no sense together; joined as text they won't parse, and so won't run.
        if let Some(object) = self.object.take() {
            self.text.push_str(&Value::Object(object).to_string());
        }
        match arguments {
            Value::String(more) => self.text.push_str(more),
            other => self.text.push_str(&other.to_string()),
        }
        if self.text.len() > MAX_ARGUMENT_BYTES {
            return Err(LlmError::Protocol(format!(
                "the arguments of one call are larger than {MAX_ARGUMENT_BYTES} bytes"
            )));
        }
        Ok(())
    }

    fn arguments(self) -> Result<Value, BadArguments> {
        match self.object {
            Some(fields) => Ok(Value::Object(fields)),
            None => parse_arguments(&self.text),
        }
    }
}

/// Reads the arguments of a call. Nothing at all and `null` both mean that there are none.
pub(crate) fn parse_arguments(text: &str) -> Result<Value, BadArguments> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let bad = |reason: String| BadArguments { raw: text.chars().take(MAX_RAW_CHARS).collect(), reason };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(bad("the arguments must be a JSON object".to_owned())),
        Err(error) => Err(bad(format!("the arguments are not valid JSON: {error}"))),
    }
}

impl Calls {
    /// Takes one piece. Returns the position and name of a call that it begins.
    ///
    /// # Errors
    ///
    /// Fails when there are too many calls or too many arguments to be an answer.
    pub(crate) fn add(&mut self, piece: &Piece<'_>) -> Result<Option<(usize, String)>, LlmError> {
        let id = piece.id.map(str::trim).unwrap_or_default();
        let name = piece.name.map(str::trim).unwrap_or_default();
        let has_arguments = match piece.arguments {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        };
        let found = self.find(piece.index, id, name, has_arguments);
        let (position, is_new) = match found {
            Some(position) => (position, false),
            None => {
                if self.calls.len() >= MAX_CALLS {
                    return Err(LlmError::Protocol(format!("more than {MAX_CALLS} calls in one answer")));
                }
                self.calls.push(Partial { index: piece.index, ..Partial::default() });
                (self.calls.len() - 1, true)
            }
        };
        let Some(call) = self.calls.get_mut(position) else { return Ok(None) };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        if let Some(arguments) = piece.arguments {
            call.append(arguments)?;
        }
        Ok(is_new.then(|| (position, call.name.clone())))
    }

    /// The call that a piece continues, or `None` if it begins one.
    fn find(&self, index: Option<i64>, id: &str, name: &str, has_arguments: bool) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let candidate = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None => Some(last),
        };
        let Some(position) = candidate else {
            // An index or id that is new, but nothing that begins a call: more of the last one.
            let is_rest = name.is_empty() && (id.is_empty() || self.calls[last].id == id);
            return is_rest.then_some(last);
        };
        let call = &self.calls[position];
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let other_name = !name.is_empty() && !call.name.is_empty() && name != call.name;
        // Some servers repeat id and name in every piece, others reuse them for the next call. The next call has
        // begun if this one has all of its arguments and more come along.
        let again = !name.is_empty()
            && !call.name.is_empty()
            && (call.is_whole() && has_arguments || index.is_none() && id.is_empty());
        (!(other_id || other_name || again)).then_some(position)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Ends the answer: every call gets an id of its own and its arguments read.
    pub(crate) fn finish(self) -> Vec<ToolCall> {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let given: BTreeSet<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        let mut counter = 0;
        self.calls
            .into_iter()
            .map(|call| {
                let mut id = call.id.clone();
                while id.is_empty() || !taken.insert(id.clone()) {
                    id = loop {
                        counter += 1;
                        let made = format!("call_{counter}");
                        if !given.contains(&made) {
                            break made;
                        }
                    };
                }
                ToolCall { id, name: call.name.clone(), args: call.arguments() }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn arguments_are_read_or_bad_but_never_mended() {
        for (text, expected) in [
            ("", Some(json!({}))),
            ("  ", Some(json!({}))),
            ("null", Some(json!({}))),
            ("{}", Some(json!({}))),
            (r#"{"a":1}"#, Some(json!({"a": 1}))),
            (r#"{"a":1"#, None),
            (r#"{"a":1}{"a":1}"#, None),
            (r#"{'a':1}"#, None),
            ("[1]", None),
            ("7", None),
            (r#""{\"a\":1}""#, None),
            ("```json\n{}\n```", None),
        ] {
            assert_eq!(parse_arguments(text).ok(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_always_unique_and_never_blank(ids in prop::collection::vec("(| |a|call_1|call_2)", 0..12)) {
            let mut calls = Calls::default();
            for (index, id) in ids.iter().enumerate() {
                let index = i64::try_from(index).unwrap();
                calls.add(&Piece { index: Some(index), id: Some(id), name: Some("t"), arguments: Some(&json!("{}")) }).unwrap();
            }
            let done = calls.finish();
            prop_assert_eq!(done.len(), ids.len());
            let unique: BTreeSet<&str> = done.iter().map(|call| call.id.as_str()).collect();
            prop_assert_eq!(unique.len(), done.len());
            prop_assert!(done.iter().all(|call| !call.id.trim().is_empty()));
        }

        #[test]
        fn arguments_cut_anywhere_are_whole_again(value in "[a-z\"\\\\é한]{0,20}", cut in any::<prop::sample::Index>()) {
            let text = json!({"value": value}).to_string();
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let (first, second) = text.split_at(places[cut.index(places.len())]);
            let mut calls = Calls::default();
            calls.add(&Piece { index: Some(0), id: Some("a"), name: Some("t"), arguments: Some(&json!(first)) }).unwrap();
            calls.add(&Piece { index: Some(0), arguments: Some(&json!(second)), ..Piece::default() }).unwrap();
            prop_assert_eq!(calls.finish()[0].args.clone().unwrap(), json!({"value": value}));
        }
    }
}

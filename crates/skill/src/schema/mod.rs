//! Validation of arguments against the full JSON Schema, with answers that help a model or a person to mend them.

mod document;
mod evaluate;
mod format;
mod number;
mod pattern;
#[cfg(test)]
mod tests;
mod uri;

use document::Document;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// Makes the JSON Schema (draft 2020-12) of a parameter struct: subschemas inline, unknown keys refused.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        fields.remove("title");
        fields.entry("type").or_insert_with(|| json!("object"));
        fields.entry("properties").or_insert_with(|| json!({}));
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema
}

/// Checks arguments against one schema: every keyword of draft 2020-12, with formats asserted. `$schema` is not looked at,
/// and nothing is ever fetched: a schema refers to its own parts only.
///
/// Our own and not a crate's, because that was a fifth of the edge: see docs/decisions/0007.
#[derive(Debug)]
pub struct Validator {
    document: Document,
}

/// A schema that is not valid JSON Schema.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the parameter schema is not valid: {0}")]
pub struct SchemaError(String);

/// One thing that is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer into the arguments; empty for the whole.
    pub at: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Everything that is wrong with arguments. At most 16 problems are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidArguments {
    /// Each problem.
    pub problems: Vec<Problem>,
}

impl fmt::Display for InvalidArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            if problem.at.is_empty() {
                f.write_str(&problem.message)?;
            } else {
                write!(f, "`{}`: {}", problem.at.trim_start_matches('/'), problem.message)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for InvalidArguments {}

impl Validator {
    /// Takes a schema.
    ///
    /// # Errors
    ///
    /// Fails if `schema` is not valid JSON Schema, refers to something outside of itself, or has a pattern that
    /// can't be matched in linear time (look-around, back references).
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Document::new(schema.clone()).map(|document| Self { document }).map_err(SchemaError)
    }

    /// Checks arguments.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with them, up to 16 problems.
    pub fn check(&self, args: &Value) -> Result<(), InvalidArguments> {
        evaluate::check(&self.document, args).map_err(|problems| InvalidArguments { problems })
    }
}

/// A text of the schema's or the arguments' in a message: quoted, and short.
fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
    }
}

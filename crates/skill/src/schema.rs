//! Validation of arguments against the full JSON Schema, with answers that help a model or a person to mend them.

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

/// Checks arguments against one schema. Compiled once.
pub struct Validator {
    compiled: jsonschema::Validator,
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
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

const MAX_PROBLEMS: usize = 16;

impl Validator {
    /// Compiles a schema. Formats are asserted.
    ///
    /// # Errors
    ///
    /// Fails if `schema` is not valid JSON Schema.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let compiled = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(schema)
            .map_err(|error| SchemaError(error.to_string()))?;
        Ok(Self { compiled })
    }

    /// Checks arguments.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with them, up to 16 problems.
    pub fn check(&self, args: &Value) -> Result<(), InvalidArguments> {
        let problems: Vec<Problem> = self
            .compiled
            .iter_errors(args)
            .take(MAX_PROBLEMS)
            .map(|error| Problem {
                at: error.instance_path().to_string(),
                message: shorten(&error.to_string()),
            })
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(InvalidArguments { problems }) }
    }
}

/// The validator quotes the whole instance; a large or secret one must not come back in an error.
fn shorten(message: &str) -> String {
    const MAX_CHARS: usize = 200;
    if message.chars().count() <= MAX_CHARS {
        return message.to_owned();
    }
    let tail: String =
        message.chars().rev().take(MAX_CHARS - 1).collect::<Vec<_>>().into_iter().rev().collect();
    format!("…{tail}")
}

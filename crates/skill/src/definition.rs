//! A capability's description as data: what travels to the manager, into the catalogue and into approvals.

use crate::{Metadata, Prerequisite};
use model::{Class, Scope, canonical};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A capability's description as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// Unique per scope; 1–64 of `[a-z0-9_]`.
    pub key: String,
    /// A short name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The least class that any call of it has.
    pub class: Class,
    /// Where it runs.
    pub scope: Scope,
    /// The group under which it is listed.
    pub category: String,
    /// JSON Schema (draft 2020-12) of its parameters, an object schema.
    pub params: Value,
    /// What a result looks like, in one line.
    pub result_preview: String,
    /// What the host must have, in words.
    #[serde(default)]
    pub prerequisites: Vec<String>,
}

impl Definition {
    /// Joins metadata and a parameter schema.
    pub fn new(metadata: &Metadata, params: Value) -> Self {
        Self {
            key: metadata.key.to_owned(),
            name: metadata.name.to_owned(),
            description: metadata.description.to_owned(),
            class: metadata.class,
            scope: metadata.scope,
            category: metadata.category.to_owned(),
            params,
            result_preview: metadata.result_preview.to_owned(),
            prerequisites: metadata.prerequisites.iter().map(|need| Prerequisite::describe(*need)).collect(),
        }
    }

    /// SHA-256 (hex) over the canonical form. Changes whenever anything about the definition changes, which voids
    /// what people approved of the old one.
    pub fn hash(&self) -> String {
        canonical::digest(&json!({
            "key": self.key, "name": self.name, "description": self.description, "class": self.class,
            "scope": self.scope, "category": self.category, "params": self.params,
            "result_preview": self.result_preview, "prerequisites": self.prerequisites,
        }))
    }

    /// Whether `key` is 1–64 of `[a-z0-9_]`.
    pub fn is_legal_key(key: &str) -> bool {
        (1..=64).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

//! Undoes in a call's arguments what was changed in the form that the provider was told: renamed properties, null for
//! "left out", JSON as text. Nothing else is touched; bad arguments stay bad.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is to be undone in one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Restore {
    /// Nothing.
    #[default]
    Same,
    /// It was asked for as JSON in a text.
    Json,
    /// In properties.
    Object(BTreeMap<String, Property>),
    /// In each item.
    Items(Box<Self>),
    /// In one of several forms.
    Any(Vec<Self>),
}

/// What is to be undone in one property.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Property {
    /// Its own name, if it was sent by another.
    pub(super) original: Option<String>,
    /// Whether null stands for leaving it out.
    pub(super) drop_null: bool,
    /// What is to be undone in its value.
    pub(super) inner: Restore,
}

impl Restore {
    pub(super) const fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    pub(super) fn property(&mut self, sent: &str, property: Property) {
        if let Self::Object(properties) = self {
            properties.insert(sent.to_owned(), property);
        }
    }

    pub(super) fn items(inner: Self) -> Self {
        if inner.is_same() { Self::Same } else { Self::Items(Box::new(inner)) }
    }

    pub(super) fn any(forms: Vec<Self>) -> Self {
        if forms.iter().all(Self::is_same) { Self::Same } else { Self::Any(forms) }
    }

    fn is_same(&self) -> bool {
        match self {
            Self::Same => true,
            Self::Json => false,
            Self::Object(properties) => properties.values().all(|property| {
                property.original.is_none() && !property.drop_null && property.inner.is_same()
            }),
            Self::Items(inner) => inner.is_same(),
            Self::Any(forms) => forms.iter().all(Self::is_same),
        }
    }

    /// Undoes it.
    pub(super) fn apply(&self, value: Value) -> Value {
        match (self, value) {
            (Self::Json, Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            (Self::Object(properties), Value::Object(fields)) => {
                Value::Object(apply_to_fields(properties, fields))
            }
            (Self::Items(inner), Value::Array(items)) => {
                Value::Array(items.into_iter().map(|item| inner.apply(item)).collect())
            }
            (Self::Any(forms), value) => match forms.iter().find(|form| form.fits(&value)) {
                Some(form) => form.apply(value),
                None => value,
            },
            (_, value) => value,
        }
    }

    /// Whether a value may be of this form, as far as that is known here.
    fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Object(properties), Value::Object(fields)) => {
                fields.keys().all(|name| properties.contains_key(name))
            }
            (Self::Items(_), Value::Array(_)) => true,
            // Beside other forms a plain text stays one.
            (Self::Json, Value::String(text)) => {
                matches!(serde_json::from_str(text), Ok(Value::Object(_) | Value::Array(_)))
            }
            (Self::Any(forms), value) => forms.iter().any(|form| form.fits(value)),
            _ => false,
        }
    }
}

fn apply_to_fields(
    properties: &BTreeMap<String, Property>,
    fields: Map<String, Value>,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in fields {
        let Some(property) = properties.get(&name) else {
            out.insert(name, value);
            continue;
        };
        if property.drop_null && value.is_null() {
            continue;
        }
        let name = property.original.clone().unwrap_or(name);
        out.insert(name, property.inner.apply(value));
    }
    out
}

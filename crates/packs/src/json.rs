//! Reads JSON as people mean it: a field that is there twice is an error, not the last one silently.

use crate::problem::{Fault, Problem};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Largest manifest, in bytes.
pub(crate) const MAX_MANIFEST_BYTES: usize = 256 * 1024;

const TWICE: &str = "the field is there twice: ";

/// Reads one JSON text.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Problem> {
    if text.len() > MAX_MANIFEST_BYTES {
        let message = format!("{} bytes; a manifest has at most {MAX_MANIFEST_BYTES}", text.len());
        return Err(Problem::new(Fault::TooLarge, "", message));
    }
    serde_json::from_slice::<Strict>(text).map(|strict| strict.0).map_err(|error| {
        let message = error.to_string();
        let fault = if message.starts_with(TWICE) { Fault::DuplicateField } else { Fault::NotJson };
        Problem::new(fault, format!("line {}", error.line()), message)
    })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StrictSeed.deserialize(deserializer).map(Self)
    }
}

struct StrictSeed;

impl<'de> DeserializeSeed<'de> for StrictSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(StrictSeed)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(StrictSeed)?;
            if object.contains_key(&name) {
                return Err(de::Error::custom(format_args!("{TWICE}`{name}`")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

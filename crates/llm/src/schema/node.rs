//! A schema as it is understood: no references, no `allOf`, unions flattened as far as nothing is lost.

use serde_json::Value;
use std::collections::BTreeSet;

/// Which types a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Every integer is a number, so that narrowing is an intersection of bits.
    pub(super) const NUMBER: Self = Self(4 | 8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(127);

    /// The single types, in the order in which they are told.
    const SINGLE: [(Self, &'static str); 7] = [
        (Self::STRING, "string"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::BOOLEAN, "boolean"),
        (Self::ARRAY, "array"),
        (Self::OBJECT, "object"),
        (Self::NULL, "null"),
    ];

    /// The type of that name, in any case: Gemini's are in capitals.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::SINGLE.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(types, _)| *types)
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() && number.as_f64().is_some_and(|n| n.fract() != 0.0) => {
                Self::NUMBER
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0 && other != Self::NONE
    }

    /// Whether a value of this type may be a value of that one.
    pub(super) fn admits(self, value: &Value) -> bool {
        let own = Self::of(value);
        // A number with a fraction needs the whole of NUMBER, an integer only its own bit.
        self.has(own)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// The single types that it is made of, with their names.
    pub(super) fn singles(self) -> Vec<(Self, &'static str)> {
        let mut left = self;
        let mut out = Vec::new();
        for (single, name) in Self::SINGLE {
            if left.has(single) {
                left = left.without(single);
                out.push((single, name));
            }
        }
        out
    }

    pub(super) fn words(self) -> String {
        let names: Vec<&str> = self.singles().into_iter().map(|(_, name)| name).collect();
        names.join(" or ")
    }
}

/// What is said of an object's other names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Additional {
    /// Nothing.
    #[default]
    Unsaid,
    /// There are none.
    Closed,
    /// Any.
    Open,
    /// Any, with values of this form.
    Of(Box<Node>),
}

/// One schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) types: Types,
    pub(super) description: Option<String>,
    /// The only values, if they are listed.
    pub(super) choices: Option<Vec<Value>>,
    pub(super) default: Option<Value>,
    pub(super) examples: Vec<Value>,
    pub(super) properties: Vec<(String, Self)>,
    pub(super) required: BTreeSet<String>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Self>>,
    /// Items at fixed places.
    pub(super) tuple: Vec<Self>,
    /// Bounds, each a keyword of JSON Schema with a value of the right kind.
    pub(super) limits: Vec<(&'static str, Value)>,
    /// Forms of which a value has one; each is complete in itself.
    pub(super) alternatives: Vec<Self>,
    /// What can only be told in words.
    pub(super) notes: Vec<String>,
}

impl Node {
    /// A schema that says nothing.
    pub(super) fn any() -> Self {
        Self {
            types: Types::ALL,
            description: None,
            choices: None,
            default: None,
            examples: Vec::new(),
            properties: Vec::new(),
            required: BTreeSet::new(),
            additional: Additional::Unsaid,
            items: None,
            tuple: Vec::new(),
            limits: Vec::new(),
            alternatives: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn of(types: Types) -> Self {
        Self { types, ..Self::any() }
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn limit(&self, keyword: &str) -> Option<&Value> {
        self.limits.iter().find(|(known, _)| *known == keyword).map(|(_, value)| value)
    }

    pub(super) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, node)| node)
    }

    /// Whether nothing but types (and words about it) is said.
    pub(super) fn is_bare(&self) -> bool {
        self.choices.is_none()
            && self.properties.is_empty()
            && self.required.is_empty()
            && self.additional == Additional::Unsaid
            && self.items.is_none()
            && self.tuple.is_empty()
            && self.limits.is_empty()
            && self.alternatives.is_empty()
    }

    /// What is said of values of this one type.
    pub(super) fn narrowed(&self, single: Types) -> Self {
        let mut out = Self::of(single);
        out.choices =
            self.choices.as_ref().map(|all| all.iter().filter(|v| single.admits(v)).cloned().collect());
        out.limits =
            self.limits.iter().filter(|(keyword, _)| single.has(subject(keyword))).cloned().collect();
        if single == Types::OBJECT {
            out.properties.clone_from(&self.properties);
            out.required.clone_from(&self.required);
            out.additional = self.additional.clone();
        }
        if single == Types::ARRAY {
            out.items.clone_from(&self.items);
            out.tuple.clone_from(&self.tuple);
        }
        out
    }
}

/// The type of which a bound speaks.
fn subject(keyword: &str) -> Types {
    match keyword {
        "minLength" | "maxLength" | "pattern" => Types::STRING,
        "minItems" | "maxItems" | "uniqueItems" => Types::ARRAY,
        "minProperties" | "maxProperties" => Types::OBJECT,
        "format" => Types::STRING,
        _ => Types::INTEGER,
    }
}

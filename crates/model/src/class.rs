//! How much harm a capability can do, and where it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Decides what must happen before a call may run. Ordered from harmless to harmful, so that the stricter
/// of two classes is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Reads only. Needs nobody's consent.
    Safe,
    /// Changes something that can be put right. Needs one approval.
    Mutating,
    /// Can destroy. Needs a signed procedure and two people.
    Dangerous,
}

impl Class {
    /// The word used in the database, the API and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Mutating => "mutating",
            Self::Dangerous => "dangerous",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Class {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "safe" => Ok(Self::Safe),
            "mutating" => Ok(Self::Mutating),
            "dangerous" => Ok(Self::Dangerous),
            other => Err(UnknownWord { word: other.to_owned(), expected: "safe, mutating or dangerous" }),
        }
    }
}

/// Where a capability runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On a host, in its edge.
    Host,
    /// Inside the manager.
    Manager,
}

impl Scope {
    /// The word used in the database, the API and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Manager => "manager",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "host" => Ok(Self::Host),
            "manager" => Ok(Self::Manager),
            other => Err(UnknownWord { word: other.to_owned(), expected: "host or manager" }),
        }
    }
}

/// A word that stands for none of the values of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not {expected}")]
pub struct UnknownWord {
    /// The word that was read.
    pub word: String,
    /// The words that would have been right.
    pub expected: &'static str,
}

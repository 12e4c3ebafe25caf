//! What is wrong with a pack, by name and in words.

use serde::Serialize;
use std::fmt;

/// The kinds of things that can be wrong with a pack. Each has a name that stays, so that tests and people can
/// look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation; `docs/packs.md` has a sentence for each")]
pub enum Fault {
    NotJson,
    DuplicateField,
    TooLarge,
    NotAnObject,
    UnknownField,
    MissingField,
    WrongType,
    EmptyText,
    TextTooLong,
    ControlCharacter,
    BadName,
    BadVersion,
    BadCategory,
    EntryAbsolute,
    EntryOutside,
    EntryNotFound,
    EntryNotRegular,
    EntryNotExecutable,
    EntryWorldWritable,
    NoSkills,
    TooManySkills,
    BadKey,
    DuplicateKey,
    UnknownClass,
    UnknownScope,
    BadParams,
    ReservedParameter,
    BadEnvironmentName,
    ReservedEnvironmentName,
    TooManyItems,
    DuplicateItem,
    OutOfRange,
    PathNotAbsolute,
    PathNotPlain,
    SafeSkillWrites,
    SafeSkillSocket,
    BadPrerequisite,
    NotReadable,
    BadOwner,
    Writable,
    BadFile,
    TooManyFiles,
    TooMuchData,
    LinkOutside,
    KeyTaken,
    NameTaken,
    NotKept,
}

impl Fault {
    /// The name, in `snake_case`.
    pub fn name(self) -> String {
        // `EntryNotFound` becomes `entry_not_found`.
        let mut name = String::new();
        for character in format!("{self:?}").chars() {
            if character.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(character.to_ascii_lowercase());
        }
        name
    }
}

/// One thing that is wrong with a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Which.
    pub fault: Fault,
    /// Where: a place in the manifest such as `skills[1].key`, or a path in the pack; empty for the whole.
    pub at: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(fault: Fault, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { fault, at: at.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.name())?;
        if !self.at.is_empty() {
            write!(f, " at `{}`", self.at)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong with a pack; at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PackError {
    /// In the order in which they were met.
    pub problems: Vec<Problem>,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl From<Problem> for PackError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

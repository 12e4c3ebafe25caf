//! What a caller can do about a failure.

use serde::{Deserialize, Serialize};

/// What a caller can do about a failure. Small on purpose: a variant exists only where some client must act
/// differently on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// Nobody is signed in, or the credentials don't hold.
    Unauthenticated,
    /// Signed in, but not allowed.
    Forbidden,
    /// There is no such thing, or it isn't the caller's to see.
    NotFound,
    /// It clashes with what is there.
    Conflict,
    /// Too much at once; try again later.
    TooMany,
    /// A part that is needed can't be reached; try again later.
    Unavailable,
    /// A defect of ours.
    Internal,
}

/// Tells the kind of an error. Kinds become HTTP statuses in one place of `api`.
pub trait Classify: std::error::Error {
    /// The kind of this error.
    fn kind(&self) -> ErrorKind;
}

//! Short ways to make the errors that skills return.

use skill::{SkillError, SkillErrorKind};
use std::fmt::Display;
use std::io;

pub(crate) fn invalid(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::Invalid, message)
}

pub(crate) fn refused(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::Refused, message)
}

pub(crate) fn not_found(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::NotFound, message)
}

pub(crate) fn denied(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::PermissionDenied, message)
}

pub(crate) fn unsupported(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::Unsupported, message)
}

pub(crate) fn timed_out(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::Timeout, message)
}

pub(crate) fn too_large(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::TooLarge, message)
}

pub(crate) fn failed(message: impl Display) -> SkillError {
    SkillError::new(SkillErrorKind::Failed, message)
}

/// What `error` means, when `what` was tried, for example "open `/etc/hosts`".
pub(crate) fn of_io(what: impl Display, error: &io::Error) -> SkillError {
    let kind = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SkillErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => SkillErrorKind::PermissionDenied,
        io::ErrorKind::TimedOut => SkillErrorKind::Timeout,
        io::ErrorKind::InvalidFilename => SkillErrorKind::Invalid,
        _ => SkillErrorKind::Failed,
    };
    SkillError::new(kind, format!("could not {what}: {}", plain(error)))
}

/// The reason of an I/O error without Rust's "(os error 2)".
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text,
    }
}

/// Runs work that blocks (file systems, regular expressions) off the runtime's threads.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| failed("the work on the host ended unexpectedly"))?
}

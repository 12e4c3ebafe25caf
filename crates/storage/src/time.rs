//! Times as both databases keep them: microseconds since the epoch.

use crate::StorageError;
use model::Timestamp;

/// Microseconds since the epoch.
pub fn micros(at: Timestamp) -> i64 {
    at.timestamp_micros()
}

/// The moment that many microseconds after the epoch.
///
/// # Errors
///
/// Fails if it lies outside of what a timestamp can hold.
pub fn from_micros(micros: i64) -> Result<Timestamp, StorageError> {
    Timestamp::from_timestamp_micros(micros)
        .ok_or_else(|| StorageError::corrupt(format!("the time {micros}")))
}

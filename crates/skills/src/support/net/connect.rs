//! Connects to the first address of a list that answers, and says why the others didn't.

use super::resolve::NoAddress;
use crate::support::errors::plain;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Why one address could not be reached.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// The address; none when the name has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Why it failed.
    pub(crate) error_kind: FailureKind,
    /// Why it failed, in words.
    pub(crate) error: String,
}

/// The ways in which reaching something fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Something answered that nobody listens there.
    Refused,
    /// Nothing answered in time.
    Timeout,
    /// There is no way to the address.
    Unreachable,
    /// The name has no address.
    Dns,
    /// The TLS handshake failed.
    Tls,
    /// The answer is not HTTP, or it broke off.
    Protocol,
    /// Anything else.
    Other,
}

/// A connection, and how it came about.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) stream: TcpStream,
    pub(crate) address: SocketAddr,
    /// Of the address that answered.
    pub(crate) elapsed: Duration,
    /// The addresses before it.
    pub(crate) failed_before: Vec<Failure>,
}

impl Failure {
    pub(crate) fn dns(reason: &NoAddress) -> Self {
        Self { address: None, error_kind: FailureKind::Dns, error: reason.to_string() }
    }

    pub(crate) fn new(error_kind: FailureKind, error: impl Into<String>) -> Self {
        Self { address: None, error_kind, error: error.into() }
    }
}

/// Tries the addresses in turn until one connects. Each gets a fair share of the time that is left, so that a silent
/// one doesn't use it all up.
///
/// # Errors
///
/// Every address failed: one failure for each, or none for an empty list.
pub(crate) async fn connect_any(
    addresses: &[SocketAddr],
    within: Duration,
) -> Result<Connected, Vec<Failure>> {
    let deadline = Instant::now() + within;
    let mut failed_before = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        let begun = Instant::now();
        let left = deadline.saturating_duration_since(begun);
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(1);
        let (error_kind, error) = match timeout_at(begun + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                return Ok(Connected { stream, address: *address, elapsed: begun.elapsed(), failed_before });
            }
            Ok(Err(error)) => (kind_of(&error), plain(&error)),
            Err(_) => (FailureKind::Timeout, format!("no answer within {} ms", share.as_millis())),
        };
        failed_before.push(Failure { address: Some(address.to_string()), error_kind, error });
    }
    Err(failed_before)
}

/// What an error of a connection means.
pub(crate) fn kind_of(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => FailureKind::Refused,
        io::ErrorKind::TimedOut => FailureKind::Timeout,
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => FailureKind::Unreachable,
        _ => FailureKind::Other,
    }
}

/// Milliseconds with three places.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

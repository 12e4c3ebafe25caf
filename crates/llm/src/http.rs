//! Transport.
use std::time::Duration;

/// Where a model is served.
#[derive(Clone, Debug)]
pub struct Endpoint;

/// How long to wait for a model server.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
}

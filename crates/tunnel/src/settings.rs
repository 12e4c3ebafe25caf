//! Times and sizes of the tunnel. Everybody runs with the defaults; tests shorten the times.

use std::time::Duration;

/// Times and sizes of one end of the tunnel.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Without a byte from the other end for this long, it is asked for a sign of life.
    pub ping_interval: Duration,
    /// A connection without a byte from the other end for this long is dropped, so the answer to a ping may take this
    /// long less the interval.
    pub quiet_limit: Duration,
    /// For the TCP connection, the proxy and the TLS handshake together.
    pub handshake_timeout: Duration,
    /// How long the edge waits for the manager's first word after the handshake. With TLS 1.3 an edge learns only
    /// then whether its certificate was accepted.
    pub accept_timeout: Duration,
    /// How long a connection that is being drained may last.
    pub drain_limit: Duration,
    /// Flow-control window of one call's result, in bytes.
    pub stream_window: u32,
    /// Flow-control window of the whole connection, in bytes. At least twice the bulk streams' windows together, so
    /// that readers that are stuck don't block the others.
    pub connection_window: u32,
    /// Calls at once on one connection.
    pub max_streams: u32,
    /// Bytes that the kernel may hold unsent, so that a pong isn't stuck behind bulk.
    pub unsent_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ping_interval: Duration::from_secs(10),
            quiet_limit: Duration::from_secs(14),
            handshake_timeout: Duration::from_secs(10),
            accept_timeout: Duration::from_secs(15),
            drain_limit: Duration::from_secs(300),
            stream_window: 256 * 1024,
            connection_window: 16 * 1024 * 1024,
            max_streams: 256,
            unsent_bytes: 64 * 1024,
        }
    }
}

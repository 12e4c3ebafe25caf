//! The tunnel's messages and services, generated from `proto/steadyhand/v1`.

/// Version 1 of the protocol.
pub mod v1 {
    #![allow(
        missing_docs,
        unused_qualifications,
        clippy::all,
        clippy::unwrap_used,
        clippy::allow_attributes_without_reason,
        reason = "generated code"
    )]
    tonic::include_proto!("steadyhand.v1");
}

/// ALPN of the reversed tunnel: after the handshake the dialling edge is the gRPC server.
pub const ALPN_EDGE: &[u8] = b"steadyhand-edge/1";

/// ALPN of enrolment: ordinary HTTP/2, the manager is the gRPC server.
pub const ALPN_ENROLL: &[u8] = b"h2";

/// No message is larger, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Largest piece of a result in one message, in bytes.
pub const CHUNK_BYTES: usize = 256 * 1024;

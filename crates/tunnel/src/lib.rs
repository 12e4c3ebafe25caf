//! The tunnel between manager and edges: certificates, enrolment, and the reversed connection; both ends.
//!
//! The edge opens a TLS connection, and then serves gRPC on it; the manager is the client. Nothing here stores or
//! decides: which edge is revoked, which token is good and what a call does is up to `fleet` and `edge`.
//!
//! | manager | edge |
//! |---|---|
//! | [`pki::Authority`], [`ManagerTls`] | [`pki::EdgeIdentity`], [`JoinToken`] |
//! | [`Listener::start`], [`Listener::accept`] | [`enroll`], [`rejoin`], [`dial`] |
//! | [`open`] → [`EdgeClient`], [`ConnectionHandle`] | [`serve`] |

pub mod pki;
pub mod trace;

mod backoff;
mod bounds;
mod connection;
mod dial;
mod ended;
mod enroll;
mod error;
mod h2;
mod handshake;
mod io;
mod listener;
mod manager_tls;
mod proxy;
mod serve;
mod settings;
mod spiffe;
mod status;
mod token;
mod verify;

pub use backoff::{Backoff, RECONNECT_MAX, RECONNECT_MIN, reconnect_wait};
pub use connection::{ConnectionHandle, EdgeClient, open};
pub use dial::{DialConfig, EdgeLink, dial};
pub use ended::Ended;
pub use enroll::{enroll, rejoin};
pub use error::TunnelError;
pub use h2::{PacedBody, PacedResponse, Requester};
pub use handshake::{Claimed, HandshakeFailure, HandshakeReason, ManagerRefusal};
pub use io::{Activity, Watched};
pub use listener::{EdgeStream, Listener, ListenerConfig, OnFailure, PeerAddress};
pub use manager_tls::ManagerTls;
pub use proxy::{Address, Proxy};
pub use serve::serve;
pub use settings::Settings;
pub use spiffe::{BadName, Deployment, SpiffeId};
pub use status::{code_of, kind_of, status_of};
pub use token::{BadToken, JoinToken, Pin, secret_digest_of};

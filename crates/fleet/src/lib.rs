//! The hosts: who may join, who is there, and how an admitted call reaches one of them.
//!
//! Presence is a fact of this process: it lives in memory, with a generation for each connection, so that the end of an
//! old connection never marks a newer one offline and a restarted manager believes nobody to be there. What must
//! outlive a restart (who is enrolled, certificates, epochs) is in `storage`.
//!
//! Calls come in only as [`gate::AdmittedCall`]s, through [`gate::HostDispatcher`].

mod connection;
mod described;
mod directory;
mod dispatch;
mod enrollment;
mod error;
mod fleet;
mod freeze;
mod hosts;
mod identity;
mod journaled;
mod local_calls;
mod renew;
mod resolve;
mod token;
mod trace;
mod view;

pub use error::FleetError;
pub use fleet::{Fleet, FleetConfig, FleetParts};
pub use storage::edges::{Contestant, EnrollmentToken, Labels, TokenState};
pub use token::{MAX_TOKEN_TTL, NewToken};
pub use view::{CertificateView, HostView, LoadView, SkillView};

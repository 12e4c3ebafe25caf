//! Keys and certificates: the deployment's authority on the manager, the identity of an edge on its disk.

mod authority;
mod certificate;
mod error;
mod files;
mod identity;
mod rejoin;

pub use authority::{Authority, IssuedCertificate, ManagerCertificate};
pub use certificate::CertificateFacts;
pub(crate) use certificate::spki_of;
pub use error::PkiError;
pub use identity::{EdgeIdentity, EdgeKey};
pub use rejoin::{REJOIN_WINDOW, RejoinProof, sign_rejoin, verify_rejoin};

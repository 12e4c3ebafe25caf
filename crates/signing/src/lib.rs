//! What people sign, and how that is checked: procedures (SOPs), the list of approvers, and the statement of one call.
//!
//! Pure: no clock, no files, no network, no state. Both doors link it. What has to be remembered between calls (nonces
//! that were used, runs that were counted, the highest version of the list) is the caller's to keep; [`check`] tells
//! what to hold against it.

mod approvers;
mod encoding;
mod error;
mod evidence;
mod keys;
mod signature;
mod sop;
mod statement;
#[cfg(test)]
mod tests;
mod webauthn;

pub use approvers::{Approver, ApproverKey, ApproverList};
pub use error::{DocumentError, EvidenceError, KeyError};
pub use evidence::{CallFacts, Evidence, MAX_EVIDENCE_BYTES, Pins, Proof, SignedDocument, check};
pub use keys::{MIN_RSA_BITS, RootKey, SopKey};
pub use signature::{Signature, SignatureKind};
pub use sop::{Sop, Step, Targets};
pub use statement::{SopRef, Statement};
pub use webauthn::RelyingParty;

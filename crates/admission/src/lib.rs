//! The edge's door: nothing on a host runs but for an [`AcceptedCall`], and only [`Admission`] makes one.
//!
//! The manager has decided before; this crate decides again, from what the edge itself knows: the skill, its
//! arguments, its class, the evidence, and whether this call was here before. It trusts nothing that the manager says
//! about harmlessness, and it never runs one call id twice.

mod any_skill;
mod call;
mod door;
mod durable;
mod ended;
mod evidence;
mod journal;
mod ledger;
mod memory;
mod nonces;

pub use any_skill::AnySkill;
pub use call::{AcceptedCall, Refusal, RefusalKind, Request};
pub use door::{Admission, Limits, Parts, Ticket, Unmet};
pub use durable::replace_file;
pub use ended::{Ended, Recall};
pub use evidence::{ApprovalProof, Approvals, Evidence, EvidenceVerifier, LocalRoot};
pub use journal::{
    Accepted, Asked, CancelKept, Journal, JournalError, JournalOptions, Known, LocalCall, LocalCalls,
    MAX_KEPT_RESULT_BYTES, Marks, Point, Unwatched, Watcher, What, When,
};
pub use ledger::Ledger;
pub use nonces::{Nonce, NonceError, Nonces};

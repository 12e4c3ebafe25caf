//! The gate: decides on every call, puts it on record, and is the sole maker of [`AdmittedCall`].
//!
//! A call is normalised and validated, narrowed, held against policy and class, and written down; only then does an
//! [`AdmittedCall`] exist, and nothing runs without one. Running stays out: the executor does that. So do the hosts:
//! the fleet implements [`HostDirectory`] and [`HostDispatcher`].

mod admitted;
pub mod approvals;
mod decide;
mod error;
mod explain;
mod gate;
mod groups;
mod hosts;
mod limits;
pub mod packs;
mod places;
mod policy;
mod procedures;
mod progress;
mod reach;
mod reasons;
mod record;
pub mod redact;
mod request;
mod review;
mod rule;
pub mod signatures;
mod start;

pub use admitted::AdmittedCall;
pub use approvals::{ApprovalRules, Decider, Ruled, Ruling, WaitingCall};
pub use decide::{Decision, Facts, SaidBy, decide};
pub use error::GateError;
pub use explain::{Explanation, Fate};
pub use gate::{Admission, Gate, GateParts, Rejection};
pub use groups::{GROUPS, groups_of};
pub use hosts::{
    ApprovalProof, Challenge, Dispatched, HostDirectory, HostDispatcher, HostFacts, HostState, SigningFacts,
    SkillFacts,
};
pub use limits::CallLimits;
pub use packs::{OwnPacks, PackBook, PackFacts, PackProblem};
pub use places::ProbeRules;
pub use policy::{Policy, PolicyProblem, RawToolPolicy, ToolPolicy};
pub use procedures::{
    Approvers, CheckedSop, CoveringStep, Imported, NamedStep, NamedStepProblem, Procedure, SigningBook,
    SigningPins, SopState,
};
pub use progress::CallProgress;
pub use record::{FinishedCall, LocalCall, Recorded, Recorder};
pub use redact::{PatternError, RedactedStream, Redactor};
pub use request::{CallRequest, EdgeIdProblem, Narrowing, Principal, Taint, TurnRef, take_edge_id};
pub use rule::{PolicyPlace, PolicyRule, Rule};
pub use start::Start;

//! The words that every part of Steadyhand shares: ids, classes, call states, roles, errors, time.
//!
//! No input or output and no async code lives here, so that the edge and the manager can both use it.

mod approval;
mod call;
pub mod canonical;
mod class;
mod error;
mod ids;
pub mod order;
mod reach;
mod role;
mod time;
mod words;

pub use approval::{ApprovalDecision, ApprovalState, ClassReason, GrantState};
pub use call::{CallState, Origin, PolicyDecision, UnknownState};
pub use class::{Class, Scope};
pub use error::{Classify, ErrorKind};
pub use ids::{ApprovalId, CallId, EdgeId, GrantId, SessionId, TurnId, UserId};
pub use reach::{LabelSelector, MAX_REACH_ENTRIES, Reach, SelectorProblem};
pub use role::{Role, Roles};
pub use time::{Clock, SystemClock, Timestamp};

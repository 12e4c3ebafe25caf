//! The one door: takes an admitted call to a tool's body or to a host, and puts its end on record.
//!
//! There is no other way to a tool's body, and none to a host: both want an `AdmittedCall`, which only the gate makes.
//! Whatever happens to a call (an answer, a panic, its deadline, a stop, a caller who went away), its row is ended,
//! once, with what is true.

mod children;
mod executor;
mod outcome;
mod own_time;
mod packs;
mod run;
mod running;
mod trace;
mod waiting;

pub use executor::{Executor, ExecutorParts};
pub use outcome::CallOutcome;
pub use own_time::{OwnTime, Pause};
pub use storage::calls::CallChange;
pub use trace::call_span;

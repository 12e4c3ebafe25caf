//! Runs a child process under limits that the kernel keeps: the backends behind [`skill::sandbox::Sandbox`].
//!
//! [`Children`] chooses a backend and tries it. Each child is started through a helper, the agent's own binary executed
//! again ([`helper`]), so that nothing of the agent leaks into it and preparing it needs no care for the agent's threads.
//! What may run is not decided here.

mod accounts;
mod capture;
mod cgroup;
mod children;
mod config;
mod error;
mod helper;
pub mod hidden;
mod kernel;
mod run;
mod spawn;
mod spec;
mod wrap;

pub use children::Children;
pub use config::{Backend, Resources, SandboxConfig};
pub use error::SandboxError;
pub use helper::{HELPER_ARGUMENT, helper};
pub use kernel::Offers;

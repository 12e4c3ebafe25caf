//! The agent on a host: it dials the manager, serves the manager's calls on that connection, and runs skills, each only
//! behind admission. The binary `steadyhand-edge` is a thin shell around this library, so that tests run real edges.
//!
//! | on the disk | what |
//! |---|---|
//! | `/etc/steadyhand/edge.toml` | configuration, [`EdgeConfig`] |
//! | `<dir>/identity.pem` | key, certificate and authority, 0600 |
//! | `<dir>/state.json` | epoch and the like, kept durably before the manager is answered |
//! | `<dir>/packs/` | copies of packs, each under its digest; packs run from here |
//! | `<dir>/calls.journal` | calls that change something: accepted and ended, each on the disk before anything follows |
//! | `<dir>/local/` | the same for `skills run --local`, a file for each call until the manager has been told |
//! | `<dir>/signed.json` | what is remembered of signed calls: the list's highest version, runs of each step |
//! | `<dir>/refusals.json` | calls that were refused for their evidence, the last 256 |
//! | `<dir>/connection.json` | how the last connection went, for `doctor` |
//! | `<dir>/lock` | held while an edge runs, so that a second one doesn't start |

mod agent;
mod boot;
pub mod classify;
mod config;
mod describe;
pub mod doctor;
mod enroll;
mod error;
mod execute;
mod files;
mod load;
pub mod local;
mod own;
pub mod packs;
mod pins;
mod refusals;
mod renew;
mod report;
mod service;
mod signed;
mod state;

pub use admission::ApprovalProof;
pub use agent::{Options, run};
pub use config::{
    ChangesConfig, EdgeConfig, FilesConfig, LimitsConfig, LogConfig, LogFormat, PacksConfig, ProbesConfig,
    ResourcesSection, SandboxSection, SecurityConfig, SkillsConfig, ToolSet, TunnelConfig,
};
pub use enroll::enroll;
pub use error::EdgeError;
pub use files::{DEFAULT_CONFIG, DEFAULT_DIR, DataDir};
pub use pins::{ApproversSection, SopSection};
pub use refusals::{Refusals, RefusedCall};
pub use state::{ConnectionPhase, LastConnection};

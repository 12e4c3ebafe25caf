//! Loads packs (a `skill.json` and an executable) and runs their skills in the sandbox.
//!
//! A pack is read once, into a copy of the agent's own; the digest, the manifest and the entry are those of the copy,
//! and the copy is what runs. So nothing that happens to the pack's directory later changes what was decided on.
//!
//! A skill's program runs only for an [`admission::AcceptedCall`]. For the skills of scope `manager`, which run beside
//! the manager, its executor starts [`PackSkill::command`] for a call that its gate has admitted.

mod files;
mod findings;
mod json;
mod load;
mod manifest;
mod problem;
mod skill;
mod watch;

pub use self::skill::{PROGRESS_LINES, PackRequest, PackSkill};
pub use findings::{Findings, examine};
pub use load::{BrokenPack, Environment, LoadRules, Loaded, Pack, lint, load};
pub use manifest::{LimitsManifest, Manifest, Need, SandboxManifest, SkillManifest};
pub use problem::{Fault, PackError, Problem};
pub use watch::PackWatch;

//! What several skills share.

pub(crate) mod any_skill;
pub(crate) mod errors;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod later;
pub(crate) mod net;
pub(crate) mod real_host;
pub(crate) mod registry;

//! What several skills share.

pub(crate) mod account;
pub(crate) mod changes;
pub(crate) mod child;
pub(crate) mod errors;
pub(crate) mod files;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod journal;
pub(crate) mod machine;
pub(crate) mod net;
pub(crate) mod pattern;
pub(crate) mod real_host;
pub(crate) mod registry;
pub(crate) mod systemd;
pub(crate) mod when;

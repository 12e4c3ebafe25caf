//! Reading files of the host under rules: never a secret, never outside of the configured roots, never something that
//! blocks.

pub(crate) mod facts;
pub(crate) mod forwards;
pub(crate) mod open;
pub(crate) mod rotation;
pub(crate) mod rules;
pub(crate) mod tail;
pub(crate) mod top;
pub(crate) mod walk;

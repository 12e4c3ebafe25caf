//! Commands that a list of options can't describe.

pub(crate) mod find;
pub(crate) mod network;
pub(crate) mod services;
pub(crate) mod shell;
pub(crate) mod text;
pub(crate) mod wrappers;

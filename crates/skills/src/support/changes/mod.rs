//! Changing files of the host under rules: only below the configured roots, never the agent's own files, and always by
//! descriptor, so that nothing can be swapped in between.

pub(crate) mod captures;
pub(crate) mod place;
pub(crate) mod tree;
pub(crate) mod versions;

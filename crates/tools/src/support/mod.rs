//! What several tools share.

pub(crate) mod batch;

//! Backends that are programs of others. The child is put into their sandbox by the helper's inner stage, which takes
//! what they don't: the user, the system calls, the limits.

use crate::SandboxError;
use crate::config::{Backend, SandboxConfig};
use crate::spec::{By, Spec};
use std::path::PathBuf;

/// Whether a backend's program is there.
///
/// # Errors
///
/// Says what is missing.
pub(crate) fn available(backend: Backend) -> Result<(), String> {
    Err(format!("{backend} is not supported"))
}

/// Where the private temporary directory is.
pub(crate) fn private_tmp(_backend: Backend) -> PathBuf {
    PathBuf::from("/tmp")
}

/// The command line that holds a child.
pub(crate) fn by(
    backend: Backend,
    _spec: &Spec,
    _config: &SandboxConfig,
    _name: &str,
) -> Result<By, SandboxError> {
    Err(SandboxError::Refused(format!("{backend} is not supported")))
}

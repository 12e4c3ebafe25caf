//! What a running skill is given.

use crate::Host;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a running skill is given. It reaches the machine only through `host`.
#[derive(Clone, Debug)]
pub struct SkillContext {
    /// The machine.
    pub host: Arc<dyn Host>,
    /// Fires when the call is to stop. Skills that hold a future need not look: it is dropped.
    pub cancel: CancellationToken,
}

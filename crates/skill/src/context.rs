//! What a running skill is given.

use crate::Host;
use crate::sandbox::{NoChildren, Sandbox};
use model::{CallId, Class};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a running skill is given. It reaches the machine only through `host`, and starts programs only through
/// `sandbox`.
#[derive(Clone, Debug)]
pub struct SkillContext {
    /// The machine.
    pub host: Arc<dyn Host>,
    /// Runs child processes.
    pub sandbox: Arc<dyn Sandbox>,
    /// Fires when the call is to stop. Skills that hold a future need not look: it is dropped.
    pub cancel: CancellationToken,
    /// Which call this is.
    pub call_id: CallId,
    /// The class that the call was accepted with: what it runs may not need more.
    pub class: Class,
    /// When the call is stopped, if there is a limit.
    pub deadline: Option<Instant>,
    /// Where lines of progress go, for people. A line that finds no room is dropped: nothing waits for whoever reads
    /// them. `None`: nobody does.
    pub progress: Option<mpsc::Sender<String>>,
}

impl SkillContext {
    /// A context of a fresh safe call without children and without a deadline.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self {
            host,
            sandbox: Arc::new(NoChildren),
            cancel: CancellationToken::new(),
            call_id: CallId::generate(),
            class: Class::Safe,
            deadline: None,
            progress: None,
        }
    }
}

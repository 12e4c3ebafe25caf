//! The calls that run, so that each can be stopped by its id.

use model::CallId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The calls that run. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<HashMap<CallId, CancellationToken>>>);

/// Takes the call off the list when it is dropped.
#[derive(Debug)]
pub(crate) struct Listed {
    list: Running,
    call: CallId,
}

impl Running {
    pub(crate) fn list(&self, call: CallId, stop: CancellationToken) -> Listed {
        self.lock().insert(call, stop);
        Listed { list: self.clone(), call }
    }

    /// Stops a call; false if it doesn't run.
    pub(crate) fn stop(&self, call: CallId) -> bool {
        match self.lock().get(&call) {
            Some(stop) => {
                stop.cancel();
                true
            }
            None => false,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, CancellationToken>> {
        // Each change is one step, so a panic elsewhere leaves no half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.list.lock().remove(&self.call);
    }
}

//! The calls that a tool makes: each is gated, has its own row, and names the tool's call as its parent.

use crate::executor::Stops;
use crate::{Executor, OwnTime, call_span};
use async_trait::async_trait;
use gate::{AdmittedCall, CallRequest};
use model::{CallId, CallState, Scope};
use skill::{Caller, ChildCall, ChildOutcome};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Makes calls on behalf of one tool's call.
pub(crate) struct Children {
    executor: Executor,
    parent: CallRequest,
    timeout: Duration,
    /// The parent's clock, and those that are patient with it.
    patient: Vec<OwnTime>,
    stop: CancellationToken,
    ids: Mutex<Vec<CallId>>,
}

/// What is left to the parent after its children's deadline, so that it can still answer with those that ended.
const RESERVE: Duration = Duration::from_secs(2);

impl Children {
    pub(crate) fn new(executor: Executor, parent: &AdmittedCall, stops: &Stops, own_time: OwnTime) -> Self {
        let mut patient = vec![own_time];
        patient.extend_from_slice(&stops.patient);
        Self {
            executor,
            parent: parent.request().clone(),
            timeout: parent.timeout(),
            patient,
            stop: stops.cancel.clone(),
            ids: Mutex::default(),
        }
    }

    pub(crate) fn ids(&self) -> Vec<CallId> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn request(&self, child: ChildCall) -> CallRequest {
        let passed = self.patient.first().map(OwnTime::passed).unwrap_or_default();
        let left = self.timeout.saturating_sub(passed);
        let timeout = left.saturating_sub(RESERVE).max(left / 2);
        CallRequest {
            call_id: CallId::generate(),
            scope: Scope::Host,
            key: child.key,
            edge: Some(child.edge),
            args: child.args,
            parent: Some(self.parent.call_id),
            timeout: Some(timeout),
            ..self.parent.clone()
        }
    }
}

#[async_trait]
impl Caller for Children {
    async fn call(&self, child: ChildCall) -> ChildOutcome {
        let request = self.request(child);
        let call_id = request.call_id;
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(call_id);
        let span = call_span(&request);
        match self.executor.request_in(span, request, self.stop.child_token(), &self.patient).await {
            Ok(outcome) => {
                ChildOutcome { call_id, state: outcome.state, result: outcome.result, error: outcome.error }
            }
            Err(problem) => ChildOutcome {
                call_id,
                state: CallState::Failed,
                result: None,
                error: Some(problem.to_string()),
            },
        }
    }
}

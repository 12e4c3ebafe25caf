//! The door itself.

use crate::packs::PackBodies;
use crate::running::Running;
use crate::trace::{call_span, note_end};
use crate::{CallChange, CallOutcome, OwnTime};
use arc_swap::ArcSwap;
use gate::Decider;
use gate::signatures::Opened;
use gate::{
    Admission, AdmittedCall, CallProgress, CallRequest, Gate, GateError, HostDirectory, HostDispatcher,
};
use model::{ApprovalId, CallId, CallState};
use skill::Capability;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use storage::{Actor, Storage};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tools::Tool;
use tracing::{Instrument, Span, error};

/// What an executor is made of.
pub struct ExecutorParts {
    /// Decides on calls and puts them on record.
    pub gate: Arc<Gate>,
    /// Where results are kept.
    pub storage: Storage,
    /// The inventory.
    pub hosts: Arc<dyn HostDirectory>,
    /// Brings calls to hosts.
    pub dispatcher: Arc<dyn HostDispatcher>,
    /// The bodies of manager tools; `tools::ALL`.
    pub tools: Vec<&'static dyn Tool>,
}

/// Runs calls. The only way to a tool's body and to a host. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) gate: Arc<Gate>,
    pub(crate) storage: Storage,
    pub(crate) hosts: Arc<dyn HostDirectory>,
    pub(crate) dispatcher: Arc<dyn HostDispatcher>,
    pub(crate) tools: BTreeMap<&'static str, &'static dyn Tool>,
    pub(crate) running: Running,
    /// The packs beside the manager.
    pub(crate) packs: ArcSwap<PackBodies>,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("running", &self.inner.running.count()).finish_non_exhaustive()
    }
}

/// What may end a call from outside.
#[derive(Clone, Debug)]
pub(crate) struct Stops {
    /// Somebody stops it.
    pub(crate) cancel: CancellationToken,
    /// Whoever asked went away. Ends only safe calls: others belong to the edge's journal, not to who waits.
    pub(crate) abandoned: CancellationToken,
    /// The clocks that stand still while the call waits for a person.
    pub(crate) patient: Vec<OwnTime>,
}

impl Stops {
    /// Only a stop by somebody.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { cancel, abandoned: CancellationToken::new(), patient: Vec::new() }
    }
}

impl Executor {
    /// Joins the parts.
    pub fn new(parts: ExecutorParts) -> Self {
        let ExecutorParts { gate, storage, hosts, dispatcher, tools } = parts;
        let tools = tools.into_iter().map(|tool| (tool.metadata().key, tool)).collect();
        let (running, packs) = (Running::default(), ArcSwap::default());
        Self { inner: Arc::new(Inner { gate, storage, hosts, dispatcher, tools, running, packs }) }
    }

    /// Runs an admitted call to its end and puts that on record. The one door: no capability runs but through here.
    ///
    /// Cancel safety: the call runs on a task of its own. When this future is dropped, a safe call is stopped and its
    /// row is ended as cancelled; any other runs on.
    pub async fn call(&self, call: AdmittedCall, cancel: CancellationToken) -> CallOutcome {
        let (id, tool) = (call.call_id(), call.key().to_owned());
        let span = call_span(call.request());
        let executor = self.clone();
        let work = move |stops| async move { executor.run(call, stops).await };
        let outcome = detached(span, cancel, Vec::new(), work).await;
        match outcome {
            Some(outcome) => outcome,
            None => self.lost(id, tool).await,
        }
    }

    /// Asks the gate and, if it admits, runs the call; if a person has to allow it first, waits for that. A rejection is
    /// an outcome too.
    ///
    /// Cancel safety: as [`Executor::call`].
    ///
    /// # Errors
    ///
    /// Fails if the request can't be put on record. Then nothing ran.
    pub async fn request(
        &self,
        request: CallRequest,
        cancel: CancellationToken,
    ) -> Result<CallOutcome, GateError> {
        let span = call_span(&request);
        self.request_in(span, request, cancel, &[]).await
    }

    /// As [`Executor::request`], in a span that the asker made with [`call_span`]: one whose parent has ended, as
    /// the model's request has that asked for the call. The `patient` clocks stand still while a person is waited for.
    ///
    /// Cancel safety: as [`Executor::call`].
    ///
    /// # Errors
    ///
    /// Fails if the request can't be put on record. Then nothing ran.
    pub async fn request_in(
        &self,
        span: Span,
        request: CallRequest,
        cancel: CancellationToken,
        patient: &[OwnTime],
    ) -> Result<CallOutcome, GateError> {
        let (id, tool) = (request.call_id, request.key.clone());
        let executor = self.clone();
        let outcome = detached(span, cancel, patient.to_vec(), move |stops| async move {
            let tool = request.key.clone();
            Ok(match executor.inner.gate.admit(request).await? {
                Admission::Admitted(call) => executor.run(*call, stops).await,
                Admission::Waiting(waiting) => executor.wait(waiting, stops).await,
                Admission::Rejected(rejection) => {
                    crate::run::count(&tool, rejection.state, None);
                    note_end(rejection.state);
                    CallOutcome::rejected(tool, rejection)
                }
            })
        });
        match outcome.await {
            Some(outcome) => outcome,
            None => Ok(self.lost(id, tool).await),
        }
    }

    /// Puts a call on record that its asker won't have made, for this reason. An outcome like any other refusal.
    ///
    /// # Errors
    ///
    /// Fails if it can't be put on record.
    pub async fn refuse(&self, request: CallRequest, reason: String) -> Result<CallOutcome, GateError> {
        let tool = request.key.clone();
        let span = call_span(&request);
        let rejection = self.inner.gate.refuse(request, reason).instrument(span).await?;
        crate::run::count(&tool, rejection.state, None);
        Ok(CallOutcome::rejected(tool, rejection))
    }

    /// Stops a running or waiting call by its id; false if it does neither. The call then ends as cancelled, unless it ended by
    /// itself just before.
    pub fn cancel(&self, call: CallId) -> bool {
        self.inner.running.stop(call)
    }

    /// Shows what is to be signed for a call, as [`Gate::open_statement`] does, with a nonce of its host.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn open_statement(
        &self,
        who: &Decider,
        id: ApprovalId,
        actor: Actor,
    ) -> Result<Opened, GateError> {
        self.inner.gate.open_statement(who, id, actor, self.inner.dispatcher.as_ref()).await
    }

    /// Changes of calls from this moment on.
    pub fn changes(&self) -> broadcast::Receiver<CallChange> {
        self.inner.storage.call_changes()
    }

    /// Lines of progress of calls that run, from this moment on. Whoever reads too slowly misses some.
    pub fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.inner.gate.progress()
    }

    /// Why calls of a capability are refused whoever asks; `None` if they can run.
    pub fn refusal_of(&self, capability: &Capability) -> Option<String> {
        self.inner.gate.refusal_of(capability)
    }

    /// The gate.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.inner.gate
    }

    /// Ends a call whose task is gone, which is a defect.
    async fn lost(&self, call_id: CallId, tool: String) -> CallOutcome {
        const REASON: &str = "the call ended because of a defect in the manager";
        error!(call.id = %call_id, tool, "the task of a call ended badly");
        let finished = gate::FinishedCall::without_result(CallState::Failed, REASON);
        if let Err(problem) = self.inner.gate.recorder().finish(call_id, finished).await {
            error!(call.id = %call_id, error = %problem, "the end of a call could not be put on record");
        }
        CallOutcome {
            call_id,
            tool,
            state: CallState::Failed,
            result: None,
            result_bytes: 0,
            error: Some(REASON.to_owned()),
            error_kind: None,
            schema: None,
            duration: Duration::ZERO,
            sandbox: None,
            children: Vec::new(),
        }
    }
}

/// Runs `work` on a task of its own, so that it comes to its end even when this future is dropped; it is told then.
/// `None` if the task panicked or the runtime is shutting down.
async fn detached<W, F>(
    span: Span,
    cancel: CancellationToken,
    patient: Vec<OwnTime>,
    work: W,
) -> Option<F::Output>
where
    W: FnOnce(Stops) -> F,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let abandoned = CancellationToken::new();
    let stops = Stops { cancel, abandoned: abandoned.clone(), patient };
    let guard = abandoned.drop_guard();
    let outcome = tokio::spawn(work(stops).instrument(span)).await;
    drop(guard);
    outcome.ok()
}

//! Runs accepted calls, and turns what comes of them into the events that the manager reads.

use admission::{
    AcceptedCall, Admission, CancelKept, Ended, Evidence, JournalError, Recall, Refusal, RefusalKind,
    Request, Ticket,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, stream};
use model::{CallId, CallState, Class, Origin};
use proto::v1::{self, ExecuteEvent, ExecuteRequest, evidence, execute_event};
use serde_json::Value;
use signing::MAX_EVIDENCE_BYTES;
use skill::sandbox::{Noted, Sandbox};
use skill::{DuplicateKey, Host, SkillContext, SkillError, SkillErrorKind};
use skills::Registry;
use std::any::Any;
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::Status;

/// Most bytes of arguments.
const MAX_ARGS_BYTES: usize = 768 * 1024;

/// Most bytes of arguments and signed evidence together.
const MAX_SIGNED_BYTES: usize = 1_000_000;

/// Most bytes of a result: what the manager's spool takes.
const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// Largest result that `Outcome` carries, and that is worth remembering.
pub(crate) const MAX_REMEMBERED_BYTES: usize = 512 * 1024;

/// Lines of progress that wait to be looked at.
const PROGRESS_LINES: usize = 16;

/// Most bytes of a line of progress that are sent.
const MAX_PROGRESS_BYTES: usize = 1024;

/// How long until the next one is sent. Of those in between, the latest.
const PROGRESS_GAP: Duration = Duration::from_millis(250);

/// The latest line of progress of a call; empty before the first.
type Said = watch::Receiver<String>;

/// Runs calls behind the door.
#[derive(Debug)]
pub(crate) struct Runner {
    admission: Admission,
    registry: Arc<ArcSwap<Registry>>,
    host: Arc<dyn Host>,
    sandbox: Arc<dyn Sandbox>,
    running: Mutex<HashMap<CallId, Running>>,
}

/// A call that runs.
#[derive(Clone, Debug)]
struct Running {
    /// Stops it.
    stop: CancellationToken,
    /// For a call of the journal, which runs on a task of its own: how it ended, as soon as it has.
    end: Option<watch::Receiver<Option<Arc<Ended>>>>,
    said: Said,
}

/// An accepted call. A safe one runs as its end is polled and is cancelled when that is dropped; any other runs on a
/// task of its own, and this only waits for it.
pub(crate) struct Started {
    pub(crate) class: Class,
    pub(crate) end: End,
    pub(crate) said: Said,
}

/// How a call ends; `None` if its task is gone, because the edge is stopping. Then its journal tells after the next
/// start.
type End = BoxFuture<'static, Option<Ended>>;

impl Runner {
    pub(crate) fn new(
        admission: Admission,
        registry: Arc<ArcSwap<Registry>>,
        host: Arc<dyn Host>,
        sandbox: Arc<dyn Sandbox>,
    ) -> Self {
        Self { admission, registry, host, sandbox, running: Mutex::default() }
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The skills as they are now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Puts other skills in place. Calls that run keep theirs.
    pub(crate) fn replace_registry(&self, registry: Registry) -> Result<(), DuplicateKey> {
        let catalogue = registry.catalogue()?;
        // Whoever was accepted for a new skill finds its body.
        self.registry.store(Arc::new(registry));
        self.admission.replace_catalogue(catalogue);
        Ok(())
    }

    pub(crate) fn host(&self) -> &dyn Host {
        self.host.as_ref()
    }

    /// Lets a call through the door. Waits for the disk if it isn't safe. To be called on the runtime.
    pub(crate) fn start(self: &Arc<Self>, request: Request) -> Result<Started, Refusal> {
        let (call, ticket) = self.admission.accept(request)?;
        let (call_id, class) = (call.call_id(), call.class());
        let stop = CancellationToken::new();
        let listed = Listed { runner: Arc::clone(self), call_id, stop: stop.clone() };
        let (say, said) = watch::channel(String::new());
        if !ticket.is_journaled() {
            self.lock().insert(call_id, Running { stop, end: None, said: said.clone() });
            return Ok(Started { class, end: run(listed, call, ticket, say).map(Some).boxed(), said });
        }
        let (told, end) = watch::channel(None);
        self.lock().insert(call_id, Running { stop, end: Some(end.clone()), said: said.clone() });
        // It belongs to the journal, not to whoever waits.
        tokio::spawn(async move {
            let ended = run(listed, call, ticket, say).await;
            told.send_replace(Some(Arc::new(ended)));
        });
        Ok(Started { class, end: told_end(end), said })
    }

    /// A call of the journal that runs; `None` if no such call does.
    pub(crate) fn attach(&self, call_id: CallId) -> Option<Started> {
        let Running { end, said, .. } = self.lock().get(&call_id)?.clone();
        Some(Started { class: Class::Mutating, end: told_end(end?), said })
    }

    /// Stops a running call. Says whether there was one.
    fn stop(&self, call_id: CallId) -> bool {
        self.lock().get(&call_id).inspect(|running| running.stop.cancel()).is_some()
    }

    /// Stops a running call. With a `seq` the wish is on the disk before anything else happens, and a call that hasn't
    /// come won't start. Says whether there was one.
    pub(crate) fn cancel(&self, call_id: CallId, seq: u64) -> Result<bool, JournalError> {
        if seq > 0 && self.admission.cancel(call_id, seq)? != CancelKept::Asked {
            return Ok(false);
        }
        Ok(self.stop(call_id))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a call of the journal has ended.
fn told_end(mut end: watch::Receiver<Option<Arc<Ended>>>) -> End {
    async move { end.wait_for(Option::is_some).await.ok().and_then(|ended| ended.as_deref().cloned()) }
        .boxed()
}

/// Runs an accepted call to its end, and keeps that.
async fn run(listed: Listed, call: AcceptedCall, ticket: Ticket, say: watch::Sender<String>) -> Ended {
    let runner = &listed.runner;
    let deadline = call.deadline();
    let skill = runner.registry().get(call.skill()).cloned();
    // What was accepted is what runs, also where it was replaced a moment ago.
    let Some(skill) = skill.filter(|skill| skill.capability().hash() == call.definition_hash()) else {
        let message = format!("`{}` changed as it was to run; try again", call.skill());
        return finish(ticket, Err(SkillError::new(SkillErrorKind::NotFound, message)), None).await;
    };
    let noted = Arc::new(Noted::new(Arc::clone(&runner.sandbox)));
    let (progress, lines) = mpsc::channel(PROGRESS_LINES);
    let cx = SkillContext {
        progress: Some(progress),
        sandbox: Arc::clone(&noted) as Arc<dyn Sandbox>,
        cancel: listed.stop.clone(),
        call_id: listed.call_id,
        class: call.class(),
        deadline: Some(deadline),
        ..SkillContext::new(Arc::clone(&runner.host))
    };
    let body = AssertUnwindSafe(skill.run(call, &cx)).catch_unwind();
    let result = tokio::select! {
        biased;
        () = listed.stop.cancelled() => Err(SkillError::new(SkillErrorKind::Cancelled, "stopped on request")),
        result = timeout_at(deadline, body) => match result {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(panicked(panic.as_ref())),
            Err(_) => {
                let after = humantime::format_duration(Duration::from_millis(ticket.elapsed().as_millis() as u64));
                Err(SkillError::new(SkillErrorKind::Timeout, format!("not done after {after}: stopped at its deadline")))
            }
        },
        never = keep_latest(lines, say) => match never {},
    };
    finish(ticket, result, noted.held()).await
}

/// Keeps the latest line for whoever listens.
async fn keep_latest(mut lines: mpsc::Receiver<String>, say: watch::Sender<String>) -> Infallible {
    while let Some(mut line) = lines.recv().await {
        line.truncate(line.floor_char_boundary(MAX_PROGRESS_BYTES));
        say.send_replace(line);
    }
    pending().await
}

/// The next line, not before `due`. Cancel safe: a line that isn't handed out is the next one, or there is a later one.
async fn next_line(said: &mut Said, due: Instant) -> String {
    sleep_until(due).await;
    if said.changed().await.is_err() {
        // The call is at its end.
        pending::<()>().await;
    }
    said.borrow_and_update().clone()
}

/// Takes the call off the list of running ones and tells its body that it is over, however it ended.
struct Listed {
    runner: Arc<Runner>,
    call_id: CallId,
    stop: CancellationToken,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.stop.cancel();
        self.runner.lock().remove(&self.call_id);
    }
}

fn panicked(panic: &(dyn Any + Send)) -> SkillError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(panic = text, "a skill panicked");
    SkillError::new(SkillErrorKind::Failed, "the skill met a defect of its own; the edge's log has more")
}

/// Puts the result into words and on record.
async fn finish(ticket: Ticket, result: Result<Value, SkillError>, sandbox: Option<String>) -> Ended {
    let result = result.and_then(|value| {
        let text = serde_json::to_vec(&value).map_err(|error| {
            SkillError::new(SkillErrorKind::Failed, format!("the result is no JSON: {error}"))
        })?;
        if text.len() > MAX_RESULT_BYTES {
            let message =
                format!("the result has {} bytes, more than {MAX_RESULT_BYTES}; ask for less", text.len());
            return Err(SkillError::new(SkillErrorKind::TooLarge, message));
        }
        Ok(Bytes::from(text))
    });
    let duration = ticket.elapsed();
    let ended = match result {
        Ok(text) => Ended {
            state: CallState::Succeeded,
            error_kind: None,
            error: None,
            result_bytes: text.len() as u64,
            result: Some(text),
            duration,
            sandbox,
        },
        Err(SkillError { kind, message }) => Ended {
            state: match kind {
                SkillErrorKind::Timeout => CallState::TimedOut,
                SkillErrorKind::Cancelled => CallState::Cancelled,
                _ => CallState::Failed,
            },
            error_kind: Some(kind),
            error: Some(message),
            result: None,
            result_bytes: 0,
            duration,
            sandbox,
        },
    };
    let mut remembered = ended.clone();
    remembered.result = remembered.result.filter(|text| text.len() <= MAX_REMEMBERED_BYTES);
    if ticket.is_journaled() {
        // A panic there would be a defect; the call stays open on record, and the next start settles it.
        if tokio::task::spawn_blocking(move || ticket.finish(remembered)).await.is_err() {
            tracing::error!("the end of a call was not kept");
        }
    } else {
        ticket.finish(remembered);
    }
    ended
}

/// Whether the signed evidence of a call is as small as it has to be.
///
/// # Errors
///
/// Says what would be right.
pub(crate) fn check_evidence_size(request: &ExecuteRequest) -> Result<(), String> {
    let Some(evidence::Kind::Signed(signed)) =
        request.evidence.as_ref().and_then(|evidence| evidence.kind.as_ref())
    else {
        return Ok(());
    };
    let bytes = signed.evidence.len();
    if bytes > MAX_EVIDENCE_BYTES {
        return Err(format!("the evidence has {bytes} bytes, and at most {MAX_EVIDENCE_BYTES} are taken"));
    }
    let together = bytes + request.args_json.len();
    if together > MAX_SIGNED_BYTES {
        return Err(format!(
            "evidence and arguments have {together} bytes together, and at most {MAX_SIGNED_BYTES} are taken"
        ));
    }
    Ok(())
}

/// Reads a call from the wire.
///
/// # Errors
///
/// Fails on what no manager of ours would send.
pub(crate) fn read_request(request: ExecuteRequest) -> Result<Request, Status> {
    let bad = |what: String| Status::invalid_argument(what);
    if request.args_json.len() > MAX_ARGS_BYTES {
        return Err(bad(format!("the arguments have more than {MAX_ARGS_BYTES} bytes")));
    }
    let args: Value = serde_json::from_str(&request.args_json)
        .map_err(|error| bad(format!("the arguments are no JSON: {error}")))?;
    let class: Class = request.class.parse().map_err(|error| bad(format!("class: {error}")))?;
    let origin: Origin = request.origin.parse().map_err(|error| bad(format!("origin: {error}")))?;
    if origin == Origin::Local {
        return Err(bad("origin: `local` is for this host itself".to_owned()));
    }
    if request.deadline_ms == 0 {
        return Err(bad("the deadline is missing".to_owned()));
    }
    Ok(Request {
        call_id: read_call_id(&request.call_id)?,
        seq: request.seq,
        skill: request.skill,
        args,
        class: Some(class),
        definition_hash: Some(request.definition_hash),
        timeout: Duration::from_millis(u64::from(request.deadline_ms)),
        evidence: match request.evidence.and_then(|evidence| evidence.kind) {
            None | Some(evidence::Kind::None(_)) => Evidence::None,
            Some(evidence::Kind::ManagerApproval(approval)) => {
                Evidence::ManagerApproval { approval_id: approval.approval_id }
            }
            Some(evidence::Kind::Signed(signed)) => Evidence::Signed { evidence: signed.evidence },
        },
        origin,
    })
}

pub(crate) fn read_call_id(text: &str) -> Result<CallId, Status> {
    text.parse().map_err(|_| Status::invalid_argument(format!("`{text}` is no call id")))
}

/// The events of an accepted call, from `offset` bytes of its result on. Polling them runs a safe call; dropping them
/// stops it.
pub(crate) fn events(
    started: Started,
    offset: usize,
) -> impl Stream<Item = Result<ExecuteEvent, Status>> + Send + 'static {
    enum Step {
        Accept(Started),
        Run(End, Said, Instant),
        Send(Box<Ended>, usize),
        Done,
    }
    stream::unfold(Step::Accept(started), move |mut step| async move {
        loop {
            step = match step {
                Step::Accept(Started { class, end, said }) => {
                    let accepted =
                        event(execute_event::Event::Accepted(v1::Accepted { class: class.to_string() }));
                    return Some((Ok(accepted), Step::Run(end, said, Instant::now())));
                }
                Step::Run(mut end, mut said, due) => tokio::select! {
                    biased;
                    ended = &mut end => match ended {
                        Some(ended) => Step::Send(Box::new(ended), offset),
                        None => return Some((Err(Status::unavailable("the edge is stopping")), Step::Done)),
                    },
                    line = next_line(&mut said, due) => {
                        let next = Step::Run(end, said, Instant::now() + PROGRESS_GAP);
                        return Some((Ok(event(execute_event::Event::Progress(line))), next));
                    }
                },
                Step::Send(ended, offset) => {
                    let (event, offset) = next_piece(&ended, offset);
                    let next = offset.map_or(Step::Done, |offset| Step::Send(ended, offset));
                    return Some((Ok(event), next));
                }
                Step::Done => return None,
            };
        }
    })
}

/// What is left to tell of a call that has ended, from `offset` bytes of its result on.
pub(crate) fn remaining_events(
    ended: Ended,
    offset: usize,
) -> impl Stream<Item = Result<ExecuteEvent, Status>> + Send + 'static {
    stream::unfold(Some(offset), move |offset| {
        let piece = offset.map(|offset| next_piece(&ended, offset));
        async move { piece.map(|(event, offset)| (Ok(event), offset)) }
    })
}

/// The next event of a call that has ended, and where the one after it begins; `None` after the outcome.
fn next_piece(ended: &Ended, offset: usize) -> (ExecuteEvent, Option<usize>) {
    let text = ended.result.as_ref().filter(|text| offset < text.len());
    match text {
        Some(text) => {
            let end = text.len().min(offset + proto::CHUNK_BYTES);
            let chunk = text.slice(offset..end);
            (event(execute_event::Event::ResultChunk(chunk)), Some(end))
        }
        None => (event(execute_event::Event::Outcome(outcome(ended))), None),
    }
}

/// The one event of a call that was refused.
pub(crate) fn refused(refusal: &Refusal) -> ExecuteEvent {
    let kind = match refusal.kind {
        RefusalKind::UnknownSkill => SkillErrorKind::NotFound,
        RefusalKind::Unmet => SkillErrorKind::Unsupported,
        RefusalKind::InvalidArguments => SkillErrorKind::Invalid,
        RefusalKind::Busy => SkillErrorKind::Busy,
        RefusalKind::DefinitionChanged
        | RefusalKind::Frozen
        | RefusalKind::Evidence
        | RefusalKind::Duplicate
        | RefusalKind::Conflict
        | RefusalKind::Tombstone
        | RefusalKind::Journal => SkillErrorKind::Refused,
    };
    event(execute_event::Event::Outcome(v1::CallOutcome {
        state: CallState::Refused.to_string(),
        error_kind: kind.as_str().to_owned(),
        error: refusal.reason.clone(),
        result_bytes: 0,
        duration_ms: 0,
        sandbox: String::new(),
    }))
}

fn event(event: execute_event::Event) -> ExecuteEvent {
    ExecuteEvent { event: Some(event) }
}

pub(crate) fn outcome(ended: &Ended) -> v1::CallOutcome {
    v1::CallOutcome {
        state: ended.state.to_string(),
        error_kind: ended.error_kind.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        error: ended.error.clone().unwrap_or_default(),
        result_bytes: ended.result_bytes,
        duration_ms: ended.duration.as_millis() as u64,
        sandbox: ended.sandbox.clone().unwrap_or_default(),
    }
}

/// The answer to `Outcome`.
pub(crate) fn recalled(recall: Recall) -> v1::OutcomeResponse {
    use v1::outcome_response::Found;
    let (found, result) = match recall {
        Recall::Running => (Found::Running(v1::StillRunning {}), Bytes::new()),
        Recall::Absent => (Found::Absent(v1::Absent {}), Bytes::new()),
        Recall::Ended(ended) => (Found::Ended(outcome(&ended)), ended.result.clone().unwrap_or_default()),
    };
    v1::OutcomeResponse { found: Some(found), result }
}

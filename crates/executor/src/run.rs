//! One call, from its admission to its end on record.

use crate::children::Children;
use crate::executor::{Inner, Stops};
use crate::trace::note_end;
use crate::{CallOutcome, Executor, OwnTime};
use bytes::Bytes;
use futures::FutureExt;
use gate::{AdmittedCall, Dispatched, FinishedCall, Recorded};
use metrics::{counter, gauge, histogram};
use model::{CallId, CallState, Class, EdgeId, Scope};
use serde_json::Value;
use skill::{SkillError, SkillErrorKind, Source};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::Actor;
use storage::calls::Settled;
use tokio_util::sync::CancellationToken;
use tools::ToolContext;
use tracing::{Span, debug, error, info, warn};

/// How long a host may take to answer after it was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How much longer than its host a call may take, so that the host's own words about its deadline arrive.
const SLACK: Duration = Duration::from_secs(1);

/// How often the end of a call is tried to be put on record.
const RECORD_ATTEMPTS: u32 = 3;

/// How long until it is tried again after that; it doubles up to the second.
const RECORD_AGAIN: Duration = Duration::from_millis(250);
const RECORD_AGAIN_MOST: Duration = Duration::from_secs(30);

/// Why a call is to end before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Cancelled,
    Abandoned,
    Deadline,
}

impl Cut {
    fn state(self) -> CallState {
        match self {
            Self::Cancelled | Self::Abandoned => CallState::Cancelled,
            Self::Deadline => CallState::TimedOut,
        }
    }

    fn kind(self) -> SkillErrorKind {
        match self {
            Self::Cancelled | Self::Abandoned => SkillErrorKind::Cancelled,
            Self::Deadline => SkillErrorKind::Timeout,
        }
    }

    fn reason(self, call: &AdmittedCall) -> String {
        match self {
            Self::Cancelled => "The call was stopped.".to_owned(),
            Self::Abandoned => "The call was stopped because nobody waits for it any more.".to_owned(),
            Self::Deadline => format!("The call took longer than {} s.", call.timeout().as_secs_f32()),
        }
    }
}

impl Executor {
    pub(crate) async fn run(&self, call: AdmittedCall, stops: Stops) -> CallOutcome {
        let stop = stops.cancel.child_token();
        let own_time = OwnTime::new();
        let stops = Stops { cancel: stop.clone(), ..stops };
        let _listed = self.inner.running.list(call.call_id(), stop);
        gauge!("steadyhand_calls_running").increment(1.0);
        let span = Span::current();
        span.record("tool", call.key());
        span.record("call.class", call.class().as_str());
        let started = Instant::now();
        let (mut finished, children) = match call.capability().definition().scope {
            Scope::Manager if is_of_pack(&call) => {
                (self.run_pack(&call, &stops, &own_time).await, Vec::new())
            }
            Scope::Manager => self.run_tool(&call, &stops, &own_time).await,
            Scope::Host => (run_on_host(&self.inner, &call, &stops, &own_time).await, Vec::new()),
        };
        let duration = started.elapsed();
        gauge!("steadyhand_calls_running").decrement(1.0);
        finished.duration = Some(duration);
        let (error_kind, sandbox) = (finished.error_kind, finished.sandbox.clone());
        let recorded = self.record(&call, finished).await;
        count(call.key(), recorded.state, Some(duration));
        note_end(recorded.state);
        info!(call.id = %call.call_id(), tool = call.key(), state = %recorded.state, duration_ms = duration.as_millis() as u64, "call ended");
        CallOutcome {
            call_id: call.call_id(),
            tool: call.key().to_owned(),
            state: recorded.state,
            result: recorded.result,
            result_bytes: recorded.result_bytes,
            error: recorded.error,
            error_kind,
            schema: None,
            duration,
            sandbox,
            children,
        }
    }

    async fn run_tool(
        &self,
        call: &AdmittedCall,
        stops: &Stops,
        own_time: &OwnTime,
    ) -> (FinishedCall, Vec<CallId>) {
        let Some(tool) = self.inner.tools.get(call.key()) else {
            let reason = format!("`{}` is listed but has no body in this manager", call.key());
            return (failed(SkillErrorKind::Unsupported, reason), Vec::new());
        };
        let children = Arc::new(Children::new(self.clone(), call, stops, own_time.clone()));
        let context = ToolContext {
            caller: Arc::clone(&children) as Arc<dyn skill::Caller>,
            // As the person behind the call sees it.
            hosts: self.inner.gate.hosts_of(call.principal().person()),
            storage: self.inner.storage.clone(),
            clock: Arc::clone(self.inner.storage.clock()),
        };
        let body = AssertUnwindSafe(tool.run(&context, call)).catch_unwind();
        let mut finished = tokio::select! {
            biased;
            answer = body => match answer {
                Ok(answer) => answered(answer),
                Err(_) => failed(SkillErrorKind::Failed, format!("`{}` failed because of a defect in it", call.key())),
            },
            // The body is dropped, and with it whatever it waits for.
            cut = cut(call, stops, own_time, Duration::ZERO) => cut_short(cut, call),
        };
        finished.keep_result = tool.keeps_result();
        (finished, children.ids())
    }

    /// Puts the end on record. If that can't be done, the caller doesn't learn the result either: what isn't on record
    /// didn't happen.
    async fn record(&self, call: &AdmittedCall, finished: FinishedCall) -> Recorded {
        for attempt in 1..=RECORD_ATTEMPTS {
            match self.inner.gate.finish(call, finished.clone()).await {
                Ok(recorded) => {
                    if let Settled::Before(state) = recorded.settled {
                        warn!(call.id = %call.call_id(), state = %state, "the call had been ended by somebody else");
                    }
                    return recorded;
                }
                Err(problem) => {
                    error!(call.id = %call.call_id(), attempt, error = %problem, "the end of a call could not be put on record");
                }
            }
        }
        self.record_later(call.call_id(), finished);
        Recorded {
            settled: Settled::Before(CallState::Running),
            state: CallState::Unknown,
            result: None,
            result_bytes: 0,
            error: Some("The call ran, but how it ended could not be put on record.".to_owned()),
        }
    }
}

impl Executor {
    /// Tries on until the end is on record: the disk may have been full, and a row that says `running` for ever would
    /// be a lie.
    fn record_later(&self, call: CallId, finished: FinishedCall) {
        let recorder = self.inner.gate.recorder().clone();
        tokio::spawn(async move {
            let mut wait = RECORD_AGAIN;
            loop {
                tokio::time::sleep(wait).await;
                match recorder.finish(call, finished.clone()).await {
                    Ok(_) => return info!(call.id = %call, "the end of a call is on record after all"),
                    Err(problem) => {
                        debug!(call.id = %call, error = %problem, "the end of a call still can't be recorded")
                    }
                }
                wait = (wait * 2).min(RECORD_AGAIN_MOST);
            }
        });
    }
}

fn is_of_pack(call: &AdmittedCall) -> bool {
    matches!(call.capability().source(), Source::Pack(_))
}

async fn run_on_host(inner: &Inner, call: &AdmittedCall, stops: &Stops, own_time: &OwnTime) -> FinishedCall {
    let Some(edge) = call.edge() else {
        return failed(SkillErrorKind::Invalid, "the call names no host".to_owned());
    };
    let told = CancellationToken::new();
    let dispatch = AssertUnwindSafe(inner.dispatcher.dispatch(call, told.clone())).catch_unwind();
    tokio::pin!(dispatch);
    let cut = tokio::select! {
        biased;
        answer = &mut dispatch => return dispatched(call, edge, answer.ok(), None),
        cut = cut(call, stops, own_time, SLACK) => cut,
    };
    told.cancel();
    // It may have ended just before it was told; then that is the truth.
    match tokio::time::timeout(GRACE, dispatch).await {
        Ok(answer) => dispatched(call, edge, answer.ok(), Some(cut)),
        Err(_) => no_answer(call, cut),
    }
}

/// Waits for whatever ends the call from outside.
pub(crate) async fn cut(call: &AdmittedCall, stops: &Stops, own_time: &OwnTime, slack: Duration) -> Cut {
    tokio::select! {
        () = stops.cancel.cancelled() => Cut::Cancelled,
        () = stops.abandoned.cancelled(), if call.class() == Class::Safe => Cut::Abandoned,
        () = own_time.reaches(call.timeout() + slack) => Cut::Deadline,
    }
}

fn dispatched(
    call: &AdmittedCall,
    edge: EdgeId,
    answer: Option<Dispatched>,
    cut: Option<Cut>,
) -> FinishedCall {
    let Some(answer) = answer else {
        let state = if call.class() == Class::Safe { CallState::Failed } else { CallState::Unknown };
        return FinishedCall::without_result(
            state,
            "the way to the host failed because of a defect in the manager",
        );
    };
    if let Some(class) = answer.edge_class.filter(|class| *class > call.class()) {
        warn!(call.id = %call.call_id(), edge.id = %edge, class = %class, "the edge classed a call higher than the manager");
    }
    let actor = Actor::Edge(edge);
    match (answer.state, cut) {
        // The host stopped because it was told to; why it was told is ours to say.
        (CallState::Cancelled, Some(cut)) => {
            FinishedCall { sandbox: answer.sandbox, actor, ..cut_short(cut, call) }
        }
        (state, _) if CallState::Running.may_become(state) => FinishedCall {
            state,
            result: answer.result,
            error: answer.error,
            error_kind: answer.error_kind,
            sandbox: answer.sandbox,
            actor,
            ..FinishedCall::without_result(state, "")
        },
        (state, _) => {
            failed(SkillErrorKind::Failed, format!("the host ended the call as `{state}`, which is no end"))
        }
    }
}

/// A host that doesn't even answer to being told to stop. A safe call leaves nothing behind; of others nobody knows.
fn no_answer(call: &AdmittedCall, cut: Cut) -> FinishedCall {
    let mut finished = cut_short(cut, call);
    if call.class() != Class::Safe {
        finished.state = CallState::Unknown;
        finished.error =
            Some("The host did not answer; its journal will tell how the call ended.".to_owned());
    }
    finished
}

pub(crate) fn answered(answer: Result<Value, SkillError>) -> FinishedCall {
    match answer {
        Ok(value) => FinishedCall {
            result: Some(Bytes::from(value.to_string())),
            error: None,
            ..FinishedCall::without_result(CallState::Succeeded, "")
        },
        Err(SkillError { kind, message }) => {
            let state = match kind {
                SkillErrorKind::Timeout => CallState::TimedOut,
                SkillErrorKind::Cancelled => CallState::Cancelled,
                _ => CallState::Failed,
            };
            FinishedCall { error_kind: Some(kind), ..FinishedCall::without_result(state, message) }
        }
    }
}

pub(crate) fn cut_short(cut: Cut, call: &AdmittedCall) -> FinishedCall {
    FinishedCall {
        error_kind: Some(cut.kind()),
        ..FinishedCall::without_result(cut.state(), cut.reason(call))
    }
}

pub(crate) fn failed(kind: SkillErrorKind, reason: String) -> FinishedCall {
    FinishedCall { error_kind: Some(kind), ..FinishedCall::without_result(CallState::Failed, reason) }
}

/// Counts an ended call. Keys that no catalogue holds come from outside and would make labels without end.
pub(crate) fn count(tool: &str, state: CallState, duration: Option<Duration>) {
    let known = duration.is_some();
    let tool = if known { tool.to_owned() } else { "not run".to_owned() };
    counter!("steadyhand_calls_total", "tool" => tool.clone(), "state" => state.as_str()).increment(1);
    if let Some(duration) = duration {
        histogram!("steadyhand_call_duration_seconds", "tool" => tool).record(duration.as_secs_f64());
    }
}

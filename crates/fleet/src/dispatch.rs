//! Bringing an admitted call to its host, and what comes of it back.

use crate::Fleet;
use crate::fleet::Inner;
use crate::hosts::{Host, Live};
use crate::resolve::ask_outcome;
use crate::trace::{note_execution, trace_parent, tunnel_span};
use crate::view::state_of;
use async_trait::async_trait;
use bytes::Bytes;
use gate::{AdmittedCall, Challenge, Dispatched, HostDispatcher, HostState};
use model::{CallId, CallState, Class, EdgeId};
use proto::v1::{self, ExecuteEvent, ExecuteRequest, execute_event};
use skill::SkillErrorKind;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status, Streaming};
use tracing::Instrument as _;
use tunnel::trace::inject;

/// Most bytes of one result.
const MAX_SPOOL_BYTES: usize = 16 * 1024 * 1024;

/// How long after a call's deadline its outcome may come: the edge ends the call itself.
const GRACE: Duration = Duration::from_secs(5);

/// How long a host may take to give a nonce.
const CHALLENGE_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of a nonce.
const NONCE_BYTES: usize = 32;

#[async_trait]
impl HostDispatcher for Fleet {
    async fn dispatch(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched {
        self.bring(call, cancel).instrument(tunnel_span(call)).await
    }

    async fn challenge(&self, edge: EdgeId) -> Result<Challenge, String> {
        let live = reach(self.inner(), edge)?;
        let mut client = live.client.clone();
        let asked = client.challenge(v1::ChallengeRequest {});
        let answer = match tokio::time::timeout(CHALLENGE_LIMIT, asked).await {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return Err(format!("the host gives no nonce: {}", status.message())),
            Err(_) => {
                let limit = CHALLENGE_LIMIT.as_secs();
                return Err(format!("the host did not give a nonce within {limit} s"));
            }
        };
        if answer.nonce.len() != NONCE_BYTES {
            return Err(format!("the host gave a nonce of {} bytes, not {NONCE_BYTES}", answer.nonce.len()));
        }
        let nonce = answer.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Challenge { nonce, instance: live.instance_id })
    }
}

impl Fleet {
    async fn bring(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched {
        let Some(edge) = call.edge() else {
            return failed(SkillErrorKind::Invalid, "the call names no host".to_owned());
        };
        let live = match reach(self.inner(), edge) {
            Ok(live) => live,
            Err(reason) => return failed(SkillErrorKind::Failed, reason),
        };
        if let Some(seq) = call.seq() {
            return crate::journaled::dispatch(self.inner(), call, seq, edge, live, cancel).await;
        }
        let request = request_of(call, self.inner().now());
        let limit = Duration::from_millis(u64::from(request.get_ref().deadline_ms)) + GRACE;
        let run = tokio::time::timeout(limit, run(self.inner(), edge, live, request, call));
        tokio::select! {
            biased;
            // Dropping the stream is what stops a safe call on the edge.
            () = cancel.cancelled() => without_result(CallState::Cancelled, SkillErrorKind::Cancelled, "stopped on request".to_owned()),
            ended = run => ended.unwrap_or_else(|_| {
                let reason = format!("the host did not end the call within {} s of its deadline; it was stopped there", GRACE.as_secs());
                without_result(CallState::TimedOut, SkillErrorKind::Timeout, reason)
            }),
        }
    }
}

/// The connection of a host, or why there is none.
fn reach(inner: &Inner, edge: EdgeId) -> Result<Live, String> {
    inner.hosts.with(edge, reachable).unwrap_or_else(|| Err(format!("there is no host {edge}")))
}

fn reachable(host: &Host) -> Result<Live, String> {
    let name = &host.record.name;
    let (state, reason) = state_of(host);
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    match (state, &host.live) {
        (HostState::Online, Some(live)) if live.handle.is_open() => Ok(live.clone()),
        (HostState::Revoked, _) => Err(format!("host `{name}` is revoked{why}")),
        (HostState::Quarantined, _) => Err(format!("host `{name}` is quarantined{why}")),
        (HostState::NeverSeen, _) => Err(format!("host `{name}` is enrolled but has never connected{why}")),
        _ => {
            let since =
                host.record.last_seen_at.map(|at| format!(" since {}", at.format("%Y-%m-%d %H:%M:%S UTC")));
            Err(format!("host `{name}` is offline{}{why}; nothing was sent to it", since.unwrap_or_default()))
        }
    }
}

pub(crate) fn request_of(call: &AdmittedCall, now: model::Timestamp) -> Request<ExecuteRequest> {
    let left = (call.deadline() - now).to_std().unwrap_or_default().max(Duration::from_millis(1));
    let mut request = Request::new(ExecuteRequest {
        call_id: call.call_id().to_string(),
        seq: call.seq().unwrap_or(0),
        skill: call.key().to_owned(),
        args_json: call.args().to_string(),
        class: call.class().to_string(),
        definition_hash: call.capability().hash().to_owned(),
        deadline_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
        evidence: Some(v1::Evidence { kind: Some(evidence_of(call)) }),
        origin: call.origin().to_string(),
    });
    inject(request.metadata_mut(), &trace_parent(call.call_id()));
    request
}

fn evidence_of(call: &AdmittedCall) -> v1::evidence::Kind {
    if let Some(evidence) = call.evidence() {
        return v1::evidence::Kind::Signed(v1::SignedApproval { evidence: evidence.to_vec() });
    }
    match call.approval() {
        Some(approval) => {
            v1::evidence::Kind::ManagerApproval(v1::ManagerApproval { approval_id: approval.to_owned() })
        }
        None => v1::evidence::Kind::None(v1::NoEvidence {}),
    }
}

/// Runs the call on the host, over another connection if the first was being replaced just then.
async fn run(
    inner: &Inner,
    edge: EdgeId,
    live: Live,
    request: Request<ExecuteRequest>,
    call: &AdmittedCall,
) -> Dispatched {
    let call_id = call.call_id();
    let again = copy_of(&request);
    let status = match collect(inner, &live, request, call).await {
        Ok(ended) => return ended,
        Err(status) => status,
    };
    let newer = inner.hosts.live(edge).filter(|newer| newer.generation != live.generation);
    if status.code() == Code::Unavailable
        && let Some(newer) = newer
    {
        // The edge runs one call id once, so sending it again is safe even if it did arrive.
        return match collect(inner, &newer, again, call).await {
            Ok(ended) => ended,
            Err(status) => settle(inner, edge, &newer, call_id, &status).await,
        };
    }
    settle(inner, edge, &live, call_id, &status).await
}

pub(crate) fn copy_of(request: &Request<ExecuteRequest>) -> Request<ExecuteRequest> {
    let mut copy = Request::new(request.get_ref().clone());
    *copy.metadata_mut() = request.metadata().clone();
    copy
}

/// Reads the call's events to the end, into a spool that never grows beyond its cap.
async fn collect(
    inner: &Inner,
    live: &Live,
    request: Request<ExecuteRequest>,
    call: &AdmittedCall,
) -> Result<Dispatched, Status> {
    let mut client = live.client.clone();
    let events = client.execute(request).await?.into_inner();
    let heard = |heard: Heard<'_>| match heard {
        Heard::Accepted => {}
        Heard::Progress(line) => call.tell_progress(line),
        Heard::Outcome(outcome) => note_execution(outcome, inner.now()),
    };
    read_events(events, heard).await
}

/// What is told of a call while its events are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Heard<'a> {
    /// The edge has let it through.
    Accepted,
    /// A line for people.
    Progress(&'a str),
    /// It has ended.
    Outcome(&'a v1::CallOutcome),
}

/// Reads a call's events to the end, into a spool that never grows beyond its cap. `heard` is told of its milestones.
pub(crate) async fn read_events(
    mut events: Streaming<ExecuteEvent>,
    mut heard: impl FnMut(Heard<'_>),
) -> Result<Dispatched, Status> {
    let mut spool: Vec<u8> = Vec::new();
    let mut edge_class = None;
    while let Some(ExecuteEvent { event }) = events.message().await? {
        match event {
            Some(execute_event::Event::Accepted(told)) => {
                edge_class = told.class.parse::<Class>().ok();
                heard(Heard::Accepted);
            }
            Some(execute_event::Event::ResultChunk(chunk)) => {
                if spool.len() + chunk.len() > MAX_SPOOL_BYTES {
                    let reason = format!("the result has more than {MAX_SPOOL_BYTES} bytes; ask for less");
                    return Ok(failed(SkillErrorKind::TooLarge, reason));
                }
                spool.extend_from_slice(&chunk);
            }
            Some(execute_event::Event::Outcome(outcome)) => {
                heard(Heard::Outcome(&outcome));
                return Ok(Dispatched { edge_class, ..dispatched(outcome, spool.into()) });
            }
            Some(execute_event::Event::Progress(line)) => heard(Heard::Progress(&line)),
            // A newer edge may tell things that this manager doesn't know.
            None => {}
        }
    }
    Err(Status::data_loss("the edge ended the call without an outcome"))
}

/// What an outcome and its result come to.
pub(crate) fn dispatched(outcome: v1::CallOutcome, result: Bytes) -> Dispatched {
    let state = outcome.state.parse::<CallState>().ok().filter(|state| state.is_final());
    let kind =
        Some(outcome.error_kind.as_str()).filter(|kind| !kind.is_empty()).map(SkillErrorKind::from_word);
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    match state {
        Some(CallState::Succeeded) if outcome.result_bytes == result.len() as u64 => Dispatched {
            state: CallState::Succeeded,
            result: Some(result),
            error: None,
            error_kind: None,
            sandbox: text(outcome.sandbox),
            edge_class: None,
        },
        Some(CallState::Succeeded) => failed(
            SkillErrorKind::Failed,
            format!(
                "the call succeeded, but only {} of its result's {} bytes arrived",
                result.len(),
                outcome.result_bytes
            ),
        ),
        Some(state) => Dispatched {
            state,
            result: None,
            error: text(outcome.error),
            error_kind: kind,
            sandbox: text(outcome.sandbox),
            edge_class: None,
        },
        None => failed(
            SkillErrorKind::Failed,
            format!("the edge told an outcome that isn't one: `{}`", outcome.state),
        ),
    }
}

/// A call that went out and whose stream broke. Where the host is still there, it is asked; else it will be.
async fn settle(inner: &Inner, edge: EdgeId, live: &Live, call_id: CallId, status: &Status) -> Dispatched {
    if status.code() == Code::InvalidArgument {
        return failed(
            SkillErrorKind::Invalid,
            format!("the edge could not read the call: {}", status.message()),
        );
    }
    if live.handle.is_open()
        && let Some(found) = ask_outcome(&live.client, call_id, 0).await
    {
        return found.ended(inner, edge, 0);
    }
    inner.hosts.change(edge, |host| host.lost.push(call_id));
    // It may be back already, and then nobody would ask until its next connection.
    let newer = inner.hosts.live(edge).filter(|newer| newer.generation != live.generation);
    if let Some(newer) = newer
        && let Some(found) = ask_outcome(&newer.client, call_id, 0).await
    {
        inner.hosts.change(edge, |host| host.lost.retain(|lost| *lost != call_id));
        return found.ended(inner, edge, 0);
    }
    tracing::warn!(edge.id = %edge, call.id = %call_id, reason = status.message(), "the connection was lost during a call");
    without_result(
        CallState::Unknown,
        SkillErrorKind::Failed,
        "the connection to the host was lost during the call; how it ended will be asked for when the host is back".to_owned(),
    )
}

pub(crate) fn failed(kind: SkillErrorKind, error: String) -> Dispatched {
    without_result(CallState::Failed, kind, error)
}

pub(crate) fn without_result(state: CallState, kind: SkillErrorKind, error: String) -> Dispatched {
    Dispatched {
        state,
        result: None,
        error: Some(error),
        error_kind: Some(kind),
        sandbox: None,
        edge_class: None,
    }
}

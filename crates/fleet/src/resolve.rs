//! Calls whose end the manager doesn't know: the host is asked when it is back. Nothing is ever run again.

use crate::dispatch::{dispatched, failed, read_events};
use crate::fleet::Inner;
use futures::StreamExt as _;
use gate::{Dispatched, FinishedCall};
use model::{CallId, CallState, EdgeId};
use proto::v1::{self, outcome_response::Found as Outcome};
use skill::SkillErrorKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use storage::Actor;
use storage::calls::{CallChange, CallFilter};
use tokio::sync::broadcast::{self, error::RecvError};
use tunnel::EdgeClient;

/// How many calls one host can be asked about; it remembers no more.
const MAX_UNKNOWN: u32 = 1000;

/// How often a call that still runs there is asked about again, after it was told to stop.
const ASK_AGAIN: Duration = Duration::from_millis(200);
const MAX_ASKS: u32 = 50;

/// How many calls of one host are asked about at once.
const MAX_AT_ONCE: usize = 16;

/// Asks a host about every call of it that is `unknown`.
pub(crate) async fn resolve_unknown(inner: &Arc<Inner>, edge: EdgeId, client: &EdgeClient) {
    let filter = CallFilter { edge: Some(edge), state: Some(CallState::Unknown), ..CallFilter::default() };
    let rows = match inner.parts.storage.calls().list(&filter, None, MAX_UNKNOWN).await {
        Ok(rows) => rows,
        Err(error) => return tracing::error!(%error, edge.id = %edge, "unknown calls can't be read"),
    };
    let mut calls: BTreeMap<CallId, Unknown> = rows
        .into_iter()
        .map(|row| {
            let unknown = Unknown {
                seq: row.seq.unwrap_or(0),
                stop: row.seq.is_some() && row.cancel_requested_at.is_some(),
            };
            (row.id, unknown)
        })
        .collect();
    for call_id in inner.hosts.with(edge, |host| host.lost.clone()).unwrap_or_default() {
        calls.entry(call_id).or_default();
    }
    // A call that still runs there holds up no other.
    let asking = calls.into_iter().map(|(call_id, unknown)| resolve(inner, edge, client, call_id, unknown));
    futures::stream::iter(asking).buffer_unordered(MAX_AT_ONCE).collect::<()>().await;
}

/// A call whose end isn't known.
#[derive(Clone, Copy, Debug, Default)]
struct Unknown {
    /// Its number there; 0 for a safe call.
    seq: u64,
    /// Somebody wanted it stopped, and the host may not have heard of it.
    stop: bool,
}

async fn resolve(inner: &Inner, edge: EdgeId, client: &EdgeClient, call_id: CallId, unknown: Unknown) {
    let Unknown { seq, stop } = unknown;
    if stop {
        let request = v1::CancelRequest { call_id: call_id.to_string(), seq };
        if client.clone().cancel(request).await.is_err() {
            return;
        }
    }
    // Gone again: the next connection asks.
    let Some(found) = ask_outcome(client, call_id, seq).await else { return };
    let found = found.ended(inner, edge, seq);
    let state = found.state;
    let finished = FinishedCall {
        state,
        result: found.result,
        error: found.error,
        error_kind: found.error_kind,
        sandbox: found.sandbox,
        duration: None,
        keep_result: true,
        actor: Actor::Edge(edge),
    };
    match inner.parts.recorder.finish(call_id, finished).await {
        Ok(_) => {
            tracing::info!(edge.id = %edge, call.id = %call_id, %state, "the end of a call became known");
            inner.hosts.change(edge, |host| host.lost.retain(|lost| *lost != call_id));
        }
        Err(error) => {
            tracing::error!(%error, call.id = %call_id, "the end of a call can't be put on record")
        }
    }
}

/// Tells a host up to which number its calls are final here, so that it may forget them.
pub(crate) async fn acknowledge(inner: &Inner, edge: EdgeId) {
    let Some(acknowledging) = inner.hosts.with(edge, |host| Arc::clone(&host.acknowledging)) else { return };
    let _acknowledging = acknowledging.lock().await;
    let Some(live) = inner.hosts.live(edge) else { return };
    let edges = inner.parts.storage.edges();
    let through = match edges.final_through(edge).await {
        Ok((through, known)) if through > known => through,
        Ok(_) => return,
        Err(error) => return tracing::error!(%error, edge.id = %edge, "final calls can't be counted"),
    };
    if let Err(status) = live.client.clone().acknowledge(v1::AcknowledgeRequest { through }).await {
        return tracing::warn!(edge.id = %edge, %status, "an edge can't forget calls that are final; it will be told again");
    }
    if let Err(error) = edges.acknowledged(edge, through).await {
        tracing::error!(%error, edge.id = %edge, "what an edge has forgotten can't be noted");
    }
}

/// Follows how calls go: a call of a journal that is final is acknowledged, and one that became unknown while its host
/// is connected is asked about at once.
pub(crate) async fn follow_calls(inner: Arc<Inner>, mut changes: broadcast::Receiver<CallChange>) {
    let stop = inner.stop.clone();
    loop {
        let change = match stop.run_until_cancelled(changes.recv()).await {
            None | Some(Err(RecvError::Closed)) => return,
            // Those that were missed are looked after with the next one of their host, or at its next connection.
            Some(Err(RecvError::Lagged(_))) => continue,
            Some(Ok(change)) => change,
        };
        let Some(edge) = change.journaled_on else { continue };
        let inner = Arc::clone(&inner);
        if change.state.is_final() {
            tokio::spawn(async move { acknowledge(&inner, edge).await });
        } else if change.state == CallState::Unknown
            && let Some(live) = inner.hosts.live(edge)
        {
            tokio::spawn(async move { resolve_unknown(&inner, edge, &live.client).await });
        }
    }
}

/// What a host knows of a call.
pub(crate) enum Found {
    /// How it ended.
    Ended(Dispatched),
    /// Nothing, and it won't run there any more.
    Absent,
}

impl Found {
    /// What that comes to.
    pub(crate) fn ended(self, inner: &Inner, edge: EdgeId, seq: u64) -> Dispatched {
        match self {
            Self::Ended(ended) => ended,
            Self::Absent => never_heard_of(inner, edge, seq),
        }
    }
}

/// What it means that a host knows nothing of a call.
fn never_heard_of(inner: &Inner, edge: EdgeId, seq: u64) -> Dispatched {
    if seq == 0 {
        return absent(
            "outcome lost: the host knows nothing of this call; its edge was restarted, or the call never arrived, and it won't run any more",
        );
    }
    let (lost, known) = inner
        .hosts
        .with(edge, |host| (host.record.lost_through, host.record.acknowledged_through))
        .unwrap_or_default();
    if seq <= lost {
        absent(
            "outcome lost, effect possible: the host's journal was replaced by an older one that doesn't hold this call",
        )
    } else if seq <= known {
        absent(
            "outcome lost, effect possible: the host was told before that this call is final; this manager was restored from a backup",
        )
    } else {
        absent("the call never arrived at the host: nothing was done, and it won't run any more")
    }
}

fn absent(reason: &str) -> Dispatched {
    failed(SkillErrorKind::Failed, reason.to_owned())
}

/// How a call ended, as far as the edge remembers; `None` if it can't be asked now. A call of its journal that still runs
/// is waited for.
pub(crate) async fn ask_outcome(client: &EdgeClient, call_id: CallId, seq: u64) -> Option<Found> {
    let mut client = client.clone();
    for _ in 0..MAX_ASKS {
        let request = v1::OutcomeRequest { call_id: call_id.to_string(), seq };
        let v1::OutcomeResponse { found, result } = client.outcome(request).await.ok()?.into_inner();
        match found? {
            Outcome::Ended(outcome) if outcome.result_bytes == result.len() as u64 => {
                return Some(Found::Ended(dispatched(outcome, result)));
            }
            Outcome::Ended(outcome) => {
                return fetch(&mut client, call_id, seq, Some(outcome)).await.map(Found::Ended);
            }
            Outcome::Absent(_) => return Some(Found::Absent),
            Outcome::Running(_) if seq > 0 => {
                if let Some(ended) = fetch(&mut client, call_id, seq, None).await {
                    return Some(Found::Ended(ended));
                }
            }
            Outcome::Running(_) => {
                // Nobody waits for a safe call whose stream is gone.
                client.cancel(v1::CancelRequest { call_id: call_id.to_string(), seq }).await.ok()?;
            }
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
    None
}

/// Fetches a result that was too large for the answer, or waits for a call that still runs.
async fn fetch(
    client: &mut EdgeClient,
    call_id: CallId,
    seq: u64,
    outcome: Option<v1::CallOutcome>,
) -> Option<Dispatched> {
    let request = v1::AttachRequest { call_id: call_id.to_string(), offset: 0, seq };
    match client.attach(request).await {
        Ok(events) => read_events(events.into_inner(), |_| {}).await.ok(),
        Err(status) if status.code() == tonic::Code::DataLoss => {
            outcome.map(|outcome| without_its_result(&outcome, seq))
        }
        Err(_) => None,
    }
}

/// A call that succeeded with a result that nobody has any more. What it changed is changed.
fn without_its_result(outcome: &v1::CallOutcome, seq: u64) -> Dispatched {
    let error = format!(
        "the call succeeded, but its result of {} bytes is lost: the host no longer has it",
        outcome.result_bytes
    );
    let state = if seq > 0 { CallState::Succeeded } else { CallState::Failed };
    Dispatched { state, ..failed(SkillErrorKind::Failed, error) }
}

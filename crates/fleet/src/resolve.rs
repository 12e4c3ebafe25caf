//! Calls whose end the manager doesn't know: the host is asked when it is back. Nothing is ever run again.

use crate::dispatch::{dispatched, failed};
use crate::fleet::Inner;
use gate::{Dispatched, FinishedCall};
use model::{CallId, CallState, EdgeId};
use proto::v1::{self, execute_event, outcome_response::Found};
use skill::SkillErrorKind;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use storage::Actor;
use storage::calls::CallFilter;
use tunnel::EdgeClient;

/// How many calls one host can be asked about; it remembers no more.
const MAX_UNKNOWN: u32 = 1000;

/// How often a call that still runs there is asked about again, after it was told to stop.
const ASK_AGAIN: Duration = Duration::from_millis(200);
const MAX_ASKS: u32 = 50;

/// Asks a host that is back about every call of it that is `unknown`.
pub(crate) async fn resolve_unknown(inner: &Arc<Inner>, edge: EdgeId, client: &EdgeClient) {
    let filter = CallFilter { edge: Some(edge), state: Some(CallState::Unknown), ..CallFilter::default() };
    let mut calls: BTreeSet<CallId> = match inner.parts.storage.calls().list(&filter, None, MAX_UNKNOWN).await
    {
        Ok(rows) => rows.into_iter().map(|row| row.id).collect(),
        Err(error) => {
            tracing::error!(%error, edge.id = %edge, "unknown calls can't be read");
            return;
        }
    };
    calls.extend(inner.hosts.with(edge, |host| host.lost.clone()).unwrap_or_default());
    for call_id in calls {
        // Gone again: the next connection asks.
        let Some(found) = ask_outcome(client, call_id).await else { return };
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
}

/// How a call ended, as far as the edge remembers; `None` if it can't be asked now.
pub(crate) async fn ask_outcome(client: &EdgeClient, call_id: CallId) -> Option<Dispatched> {
    let mut client = client.clone();
    for _ in 0..MAX_ASKS {
        let request = v1::OutcomeRequest { call_id: call_id.to_string() };
        let v1::OutcomeResponse { found, result } = client.outcome(request).await.ok()?.into_inner();
        match found? {
            Found::Ended(outcome) if outcome.result_bytes == result.len() as u64 => {
                return Some(dispatched(outcome, result));
            }
            Found::Ended(outcome) => return fetch(&mut client, call_id, outcome).await,
            Found::Absent(_) => {
                return Some(failed(
                    SkillErrorKind::Failed,
                    "outcome lost: the host knows nothing of this call; its edge was restarted, or the call never arrived, and it won't run any more".to_owned(),
                ));
            }
            Found::Running(_) => {
                // Nobody waits for a safe call whose stream is gone.
                client.cancel(v1::CancelRequest { call_id: call_id.to_string() }).await.ok()?;
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
    }
    None
}

/// Fetches a result that was too large for the answer.
async fn fetch(client: &mut EdgeClient, call_id: CallId, outcome: v1::CallOutcome) -> Option<Dispatched> {
    let lost = |outcome: &v1::CallOutcome| {
        let error = format!(
            "the call succeeded, but its result of {} bytes is lost: the host no longer has it",
            outcome.result_bytes
        );
        Some(failed(SkillErrorKind::Failed, error))
    };
    let request = v1::AttachRequest { call_id: call_id.to_string(), offset: 0 };
    let mut events = match client.attach(request).await {
        Ok(events) => events.into_inner(),
        Err(status) if status.code() == tonic::Code::DataLoss => return lost(&outcome),
        Err(_) => return None,
    };
    let mut spool: Vec<u8> = Vec::new();
    while let Ok(Some(event)) = events.message().await {
        match event.event {
            Some(execute_event::Event::ResultChunk(chunk)) => spool.extend_from_slice(&chunk),
            Some(execute_event::Event::Outcome(outcome)) => return Some(dispatched(outcome, spool.into())),
            _ => {}
        }
    }
    None
}

//! Bringing a call that isn't safe to its host. There it belongs to the host's journal: a lost connection only detaches
//! from it, and stopping it takes an explicit word that the host keeps.

use crate::dispatch::{Heard, copy_of, failed, read_events, request_of, without_result};
use crate::fleet::Inner;
use crate::hosts::Live;
use crate::resolve::ask_outcome;
use crate::trace::note_execution;
use gate::{AdmittedCall, Dispatched};
use model::{CallId, CallState, EdgeId};
use proto::v1::{self, ExecuteRequest};
use skill::SkillErrorKind;
use std::sync::Arc;
use std::time::Duration;
use storage::Actor;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};

/// How long after a call's deadline its outcome may come: the edge ends the call itself.
const GRACE: Duration = Duration::from_secs(5);

/// How long after it was told to stop a call's outcome may come. The executor waits a little longer.
const STOP_GRACE: Duration = Duration::from_secs(4);

/// One dispatch.
#[derive(Clone, Copy)]
struct Numbered {
    edge: EdgeId,
    call_id: CallId,
    seq: u64,
}

/// Sends the call to its host and waits for its end.
pub(crate) async fn dispatch(
    inner: &Arc<Inner>,
    call: &AdmittedCall,
    seq: u64,
    edge: EdgeId,
    live: Live,
    cancel: CancellationToken,
) -> Dispatched {
    let numbered = Numbered { edge, call_id: call.call_id(), seq };
    let request = request_of(call, inner.now());
    let limit = Duration::from_millis(u64::from(request.get_ref().deadline_ms)) + GRACE;
    let run = tokio::time::timeout(limit, run(inner, numbered, live, request, call));
    tokio::pin!(run);
    let ended = tokio::select! {
        biased;
        ended = &mut run => ended.ok(),
        () = cancel.cancelled() => {
            stop(inner, numbered).await;
            tokio::time::timeout(STOP_GRACE, run).await.ok().and_then(Result::ok)
        }
    };
    ended.unwrap_or_else(|| unknown("the host has not told how the call ended; its journal will"))
}

/// Runs the call on the host, over another connection if the first was being replaced just then.
async fn run(
    inner: &Arc<Inner>,
    numbered: Numbered,
    live: Live,
    request: Request<ExecuteRequest>,
    call: &AdmittedCall,
) -> Dispatched {
    let again = copy_of(&request);
    let mut status = match execute(inner, numbered, &live, request, call).await {
        Ok(ended) => return ended,
        Err(status) => status,
    };
    let mut last = live;
    let newer = inner.hosts.live(numbered.edge).filter(|newer| newer.generation != last.generation);
    if status.code() == Code::Unavailable
        && let Some(newer) = newer
    {
        // The host runs one call id once, and answers a second delivery with the first one's end.
        status = match execute(inner, numbered, &newer, again, call).await {
            Ok(ended) => return ended,
            Err(status) => status,
        };
        last = newer;
    }
    if status.code() == Code::InvalidArgument {
        let reason = format!("the edge could not read the call: {}", status.message());
        return failed(SkillErrorKind::Invalid, reason);
    }
    if last.handle.is_open()
        && let Some(found) = ask_outcome(&last.client, numbered.call_id, numbered.seq).await
    {
        return found.ended(inner, numbered.edge, numbered.seq);
    }
    tracing::warn!(edge.id = %numbered.edge, call.id = %numbered.call_id, reason = status.message(), "the connection was lost during a call; it goes on in the host's journal");
    unknown(
        "the connection to the host was lost during the call, which goes on there; how it ends will be asked for when the \
         host is back",
    )
}

async fn execute(
    inner: &Arc<Inner>,
    Numbered { edge, seq, .. }: Numbered,
    live: &Live,
    request: Request<ExecuteRequest>,
    call: &AdmittedCall,
) -> Result<Dispatched, Status> {
    let mut client = live.client.clone();
    let events = client.execute(request).await?.into_inner();
    let heard = |heard: Heard<'_>| {
        match heard {
            Heard::Outcome(outcome) => return note_execution(outcome, inner.now()),
            Heard::Progress(line) => return call.tell_progress(line),
            Heard::Accepted => {}
        }
        let inner = Arc::clone(inner);
        // From now on an edge whose journal doesn't know this number is an older copy.
        tokio::spawn(async move {
            if let Err(error) = inner.parts.storage.edges().confirm_seq(edge, seq).await {
                tracing::warn!(%error, edge.id = %edge, seq, "could not note that an edge has accepted a call");
            }
        });
    };
    read_events(events, heard).await
}

/// Has a call stopped: the wish is on record here, and the host keeps it before it answers.
async fn stop(inner: &Inner, Numbered { edge, call_id, seq }: Numbered) {
    if let Err(error) = inner.parts.storage.calls().request_cancel(call_id, Actor::System).await {
        tracing::error!(%error, call.id = %call_id, "the wish to stop a call can't be kept");
    }
    let Some(live) = inner.hosts.live(edge) else { return };
    let mut client = live.client.clone();
    let request = v1::CancelRequest { call_id: call_id.to_string(), seq };
    if let Err(status) = client.cancel(request).await {
        tracing::warn!(edge.id = %edge, call.id = %call_id, %status, "a call can't be stopped now; the host will be told when it is back");
    }
}

fn unknown(reason: &str) -> Dispatched {
    without_result(CallState::Unknown, SkillErrorKind::Failed, reason.to_owned())
}

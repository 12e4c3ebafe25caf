//! Calls that root made on a host itself: the host tells of them, they are put on record, and the host forgets them.

use crate::fleet::Inner;
use gate::{FinishedCall, GateError, LocalCall};
use model::{CallId, CallState, Class, EdgeId, Timestamp};
use proto::v1;
use serde_json::Value;
use skill::SkillErrorKind;
use std::time::Duration;
use storage::{Actor, StorageError};
use tunnel::EdgeClient;

/// How many are put on record before the host is told to forget them.
const BATCH: usize = 64;

/// Takes over what a host has to tell of its local calls.
pub(crate) async fn fetch_local_calls(inner: &Inner, edge: EdgeId, client: &EdgeClient) {
    let mut client = client.clone();
    let mut calls = match client.local_calls(v1::LocalCallsRequest {}).await {
        Ok(calls) => calls.into_inner(),
        // An edge of before doesn't know the question.
        Err(status) => return tracing::debug!(edge.id = %edge, %status, "no local calls can be had"),
    };
    let mut done = Vec::new();
    // Gone again: what isn't forgotten is told again.
    while let Ok(Some(call)) = calls.message().await {
        let id = call.call_id.clone();
        if !put_on_record(inner, edge, call).await {
            break;
        }
        done.push(id);
        if done.len() >= BATCH && !forget(&mut client, std::mem::take(&mut done)).await {
            return;
        }
    }
    if !done.is_empty() {
        forget(&mut client, done).await;
    }
}

async fn forget(client: &mut EdgeClient, call_ids: Vec<String>) -> bool {
    let forgotten = client.forget_local(v1::ForgetLocalRequest { call_ids }).await;
    if let Err(status) = &forgotten {
        tracing::warn!(%status, "a host can't forget local calls; it will tell of them again");
    }
    forgotten.is_ok()
}

/// Puts one call on record. Says whether the host may forget it.
async fn put_on_record(inner: &Inner, edge: EdgeId, told: v1::LocalCall) -> bool {
    let call = match read(inner, edge, told) {
        Ok(call) => call,
        Err(problem) => {
            tracing::error!(edge.id = %edge, problem, "a host told of a local call that can't be read; it is left out");
            return true;
        }
    };
    let call_id = call.call_id;
    match inner.parts.recorder.record_local(call).await {
        Ok(fresh) => {
            if fresh {
                tracing::info!(edge.id = %edge, call.id = %call_id, "root made a call on the host itself");
            }
            true
        }
        // Nothing that the host tells changes another call.
        Err(GateError::Record { source: StorageError::Conflict { reason }, .. }) => {
            tracing::error!(edge.id = %edge, call.id = %call_id, reason, "a host told of a local call under a taken id; it is left out");
            true
        }
        Err(error) => {
            tracing::error!(%error, edge.id = %edge, call.id = %call_id, "a local call can't be put on record");
            false
        }
    }
}

fn read(inner: &Inner, edge: EdgeId, told: v1::LocalCall) -> Result<LocalCall, String> {
    let call_id: CallId = told.call_id.parse().map_err(|_| format!("`{}` is no call id", told.call_id))?;
    let args = match told.args_json.as_str() {
        "" => Value::Object(serde_json::Map::new()),
        text => serde_json::from_str(text).map_err(|error| format!("its arguments are no JSON: {error}"))?,
    };
    let outcome = told.outcome.ok_or("it has no outcome")?;
    let state = outcome.state.parse::<CallState>().ok().filter(|state| CallState::Running.may_become(*state));
    let started_at: Timestamp =
        told.started_at.parse().map_err(|_| format!("`{}` is no time", told.started_at))?;
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let kind = text(outcome.error_kind).map(|kind| SkillErrorKind::from_word(&kind));
    Ok(LocalCall {
        call_id,
        edge,
        edge_name: inner.hosts.with(edge, |host| host.record.name.clone()),
        skill: told.skill,
        // Who doesn't say how harmless it was gets the strictest reading.
        class: told.class.parse().unwrap_or(Class::Dangerous),
        args,
        definition_hash: told.definition_hash.chars().take(64).collect(),
        started_at,
        finished: FinishedCall {
            state: state.ok_or_else(|| format!("`{}` is no end", outcome.state))?,
            result: Some(told.result).filter(|result| !result.is_empty()),
            error: text(outcome.error),
            error_kind: kind,
            sandbox: text(outcome.sandbox),
            duration: Some(Duration::from_millis(outcome.duration_ms)),
            keep_result: true,
            actor: Actor::Edge(edge),
        },
    })
}

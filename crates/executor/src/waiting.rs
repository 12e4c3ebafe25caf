//! Calls that wait for a person: until somebody decides, the time to decide is over, or nobody wants them any more;
//! then they start, once, or end. What is decided is read from the database, so a restart changes nothing.

use crate::executor::Stops;
use crate::trace::{call_span_of, note_end};
use crate::{CallOutcome, Executor};
use gate::{FinishedCall, Start, WaitingCall};
use model::{ApprovalState, CallId, CallState, Timestamp};
use skill::SkillErrorKind;
use std::time::Duration;
use storage::approvals::Approval;
use storage::{Actor, StorageError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info, warn};

/// How long until the database is asked again that didn't answer; it doubles up to the second.
const AGAIN: Duration = Duration::from_millis(250);
const AGAIN_MOST: Duration = Duration::from_secs(30);

/// How long an approved call waits for a host that isn't connected; a host that lost its connection is back by then.
const HOST_MAY_BE_AWAY: Duration = Duration::from_secs(90);

/// What to do after a look at a call that waits.
enum Next {
    Ended(Box<CallOutcome>),
    Start(Box<gate::AdmittedCall>),
    /// Look again when something changes, at this time at the latest.
    Wait(Timestamp),
}

impl Executor {
    /// Takes up the calls that an earlier manager left waiting for people, or approved and not started. Each comes to
    /// its end on a task of its own. To be called once at the start, after the gate's own recovery. Returns how many
    /// there are.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn recover(&self) -> Result<usize, StorageError> {
        let storage = &self.inner.storage;
        let mut count = 0;
        for call in storage.approvals().waiting().await? {
            let Some(approval) = storage.approvals().of_call(call).await? else { continue };
            let Some(waiting) = WaitingCall::of(&approval) else { continue };
            if self.has_lost_its_parent(&approval).await? {
                let reason = "The call that asked for it ended with the manager; nothing was run.";
                storage.approvals().withdraw(call, Actor::System, reason.to_owned()).await?;
                continue;
            }
            count += 1;
            let executor = self.clone();
            let span = call_span_of(&approval.call);
            let stops = Stops::new(CancellationToken::new());
            tokio::spawn(async move { executor.wait(waiting, stops).await }.instrument(span));
        }
        Ok(count)
    }

    /// Stops a call whether it waits for a person or runs. Of one that waits, this is on record when it returns.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn withdraw(&self, call: CallId, reason: &str) -> Result<(), StorageError> {
        self.inner.storage.approvals().withdraw(call, Actor::System, reason.to_owned()).await?;
        self.cancel(call);
        Ok(())
    }

    async fn has_lost_its_parent(&self, approval: &Approval) -> Result<bool, StorageError> {
        let Some(parent) = approval.call.parent else { return Ok(false) };
        let parent = self.inner.storage.calls().find(parent).await?;
        Ok(parent.is_none_or(|parent| parent.state.is_final()))
    }

    /// Brings a waiting call to its end.
    pub(crate) async fn wait(&self, waiting: WaitingCall, stops: Stops) -> CallOutcome {
        let started = {
            let stop = stops.cancel.child_token();
            let _listed = self.inner.running.list(waiting.call_id, stop.clone());
            let _still: Vec<_> = stops.patient.iter().map(crate::OwnTime::pause).collect();
            self.until_decided(&waiting, &stop, &stops).await
        };
        match started {
            Ok(call) => {
                // Whoever asked may be gone since long; a decision was made all the same.
                let stops =
                    if stops.abandoned.is_cancelled() { Stops::new(stops.cancel.clone()) } else { stops };
                self.run(*call, stops).await
            }
            Err(outcome) => {
                crate::run::count(&waiting.tool, outcome.state, None);
                note_end(outcome.state);
                info!(call.id = %waiting.call_id, state = %outcome.state, "a call that waited for a person was not run");
                *outcome
            }
        }
    }

    /// The started call, or how it ended without.
    async fn until_decided(
        &self,
        waiting: &WaitingCall,
        stop: &CancellationToken,
        stops: &Stops,
    ) -> Result<Box<gate::AdmittedCall>, Box<CallOutcome>> {
        let storage = &self.inner.storage;
        // Listened to before the first look, so that no change is missed.
        let mut decisions = storage.approval_changes();
        let mut calls = storage.call_changes();
        let mut hosts = self.inner.hosts.changes();
        let mut host = HostWatch::default();
        let mut again = AGAIN;
        loop {
            let next = match self.look(waiting, &mut host).await {
                Ok(Next::Ended(outcome)) => return Err(outcome),
                Ok(Next::Start(call)) => return Ok(call),
                Ok(Next::Wait(until)) => {
                    again = AGAIN;
                    self.left(until)
                }
                Err(problem) => {
                    error!(call.id = %waiting.call_id, error = %problem, "a call that waits could not be looked after");
                    again = (again * 2).min(AGAIN_MOST);
                    again
                }
            };
            let gone = async {
                stops.abandoned.cancelled().await;
                if !waiting.is_child {
                    // It runs all the same after the decision; its row tells how it went.
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = stop.cancelled() => self.give_up(waiting, "It was stopped before it ran.").await,
                () = gone => self.give_up(waiting, "The call that asked for it has ended; nothing was run.").await,
                () = heard(&mut decisions, |change| change.call_id == waiting.call_id) => {}
                () = heard(&mut calls, |change| change.call_id == waiting.call_id) => {}
                () = heard_of(&mut hosts, host.edge), if host.is_watched() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    fn left(&self, until: Timestamp) -> Duration {
        // A moment more than none, so that a clock that stands still doesn't make this spin.
        (until - self.inner.storage.now()).to_std().unwrap_or_default().max(Duration::from_millis(10))
    }

    async fn look(
        &self,
        waiting: &WaitingCall,
        host: &mut HostWatch,
    ) -> Result<Next, Box<dyn std::error::Error + Send + Sync>> {
        let storage = &self.inner.storage;
        let found = storage.approvals().of_call(waiting.call_id).await?;
        let approval = found.ok_or_else(|| StorageError::not_found("the approval of a call"))?;
        if approval.call.state != CallState::AwaitingApproval {
            return Ok(Next::Ended(Box::new(outcome_of(waiting, approval.call.state, approval.call.error))));
        }
        host.edge = approval.call.edge;
        let open = approval.signing.as_ref().and_then(|signing| signing.statement.as_ref());
        host.may_void = open.is_some();
        if approval.state == ApprovalState::Pending {
            if self.inner.gate.reopen_if_void(&approval).await? {
                info!(call.id = %waiting.call_id, "what was signed for a call is void: its host's edge has restarted");
            }
            if approval.decide_by > storage.now() {
                return Ok(Next::Wait(approval.decide_by));
            }
            storage.approvals().expire(waiting.call_id).await?;
            // It was decided or has expired; the next look tells.
            return Ok(Next::Wait(storage.now()));
        }
        match self.inner.gate.admit_approved(waiting.call_id).await? {
            Start::Admitted(call) => Ok(Next::Start(call)),
            Start::Rejected(rejection) => {
                Ok(Next::Ended(Box::new(outcome_of(waiting, rejection.state, Some(rejection.reason)))))
            }
            Start::Reopened => {
                info!(call.id = %waiting.call_id, "what was signed for a call is void: its host's edge has restarted");
                host.away_until = None;
                Ok(Next::Wait(storage.now()))
            }
            Start::HostAway(valid_until) => {
                let until =
                    *host.away_until.get_or_insert_with(|| valid_until.min(storage.now() + HOST_MAY_BE_AWAY));
                if until > storage.now() {
                    return Ok(Next::Wait(until));
                }
                let reason = "It was approved, but its host was not connected and did not come back in time.";
                let finished = FinishedCall::without_result(CallState::Refused, reason);
                let recorded = self.inner.gate.recorder().finish(waiting.call_id, finished).await?;
                Ok(Next::Ended(Box::new(outcome_of(waiting, recorded.state, recorded.error))))
            }
        }
    }

    async fn give_up(&self, waiting: &WaitingCall, reason: &str) {
        let withdrawn =
            self.inner.storage.approvals().withdraw(waiting.call_id, Actor::System, reason.to_owned()).await;
        if let Err(problem) = withdrawn {
            warn!(call.id = %waiting.call_id, error = %problem, "a call that waits could not be withdrawn; it is tried again");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Waits for a change that is meant, or until some were missed.
async fn heard<T: Clone>(changes: &mut broadcast::Receiver<T>, is_meant: impl Fn(&T) -> bool) {
    loop {
        match changes.recv().await {
            Ok(change) if !is_meant(&change) => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// What of its host a waiting call looks after.
#[derive(Debug, Default)]
struct HostWatch {
    edge: Option<model::EdgeId>,
    /// It was approved, and waits so long for its host to come back.
    away_until: Option<Timestamp>,
    /// A restart of the host's edge voids what people have signed.
    may_void: bool,
}

impl HostWatch {
    const fn is_watched(&self) -> bool {
        self.away_until.is_some() || self.may_void
    }
}

async fn heard_of(hosts: &mut Option<broadcast::Receiver<model::EdgeId>>, edge: Option<model::EdgeId>) {
    match hosts {
        Some(hosts) => heard(hosts, |changed| Some(*changed) == edge).await,
        None => std::future::pending().await,
    }
}

fn outcome_of(waiting: &WaitingCall, state: CallState, error: Option<String>) -> CallOutcome {
    let kind = match state {
        CallState::Cancelled => SkillErrorKind::Cancelled,
        _ => SkillErrorKind::Refused,
    };
    CallOutcome {
        error_kind: Some(kind),
        ..CallOutcome::not_run(waiting.call_id, waiting.tool.clone(), state, error)
    }
}

//! Turns that another process left: continued where that can be done truthfully, else closed.
//!
//! A call is never made twice. One that has a row left the manager, and its end is taken from the row; only one
//! without a row is made, under the id that it already has.

use crate::answer::last_user_text;
use crate::command::{self, Command};
use crate::events;
use crate::history::{Said, SaidCall};
use crate::results::Ended;
use crate::runner::{Ending, Fault, Runner, Start};
use crate::service::{Inner, command_label, stopped_before};
use model::{CallId, CallState};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::turns::{Lease, Turn, TurnWrite};
use storage::{Storage, StorageError};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;
use tracing::error;

/// How often one turn is taken over before it is closed: it may be what kills the process.
const MAX_EPOCH: i64 = 5;

/// Takes a turn over.
pub(crate) async fn resume(inner: &Arc<Inner>, turn: Turn) {
    let lease = Lease { turn: turn.id, epoch: turn.epoch };
    match prepare(inner, &turn, lease).await {
        Ok((runner, start)) => inner.start(runner, start),
        Err(problem) => {
            error!(error = %problem, turn.id = %turn.id, "a turn could not be taken over");
            inner
                .fail(lease, &format!("the manager was restarted, and the turn could not go on: {problem}"))
                .await;
        }
    }
}

async fn prepare(
    inner: &Arc<Inner>,
    turn: &Turn,
    lease: Lease,
) -> Result<(Runner, Start), Box<dyn std::error::Error + Send + Sync>> {
    let history = inner.storage.chats().history(turn.session).await?;
    let mut runner = Runner::new(
        Arc::clone(inner),
        lease,
        turn.session,
        turn.user,
        turn.roles.clone(),
        command_label("resumed"),
    );
    runner.remember(&history);
    runner.untrusted |= turn.untrusted;
    runner.token = turn.token.clone();
    if let Some(user) = inner.storage.users().find(turn.user).await? {
        runner.user_name = user.display_name;
    }
    let is_words = last_user_text(&runner.said)
        .is_none_or(|text| matches!(command::read(text, &inner.catalogue.load(), &[]), Command::Words));
    if is_words {
        let session = inner.storage.chats().find(turn.session, turn.user).await?;
        let model = session.and_then(|session| session.model);
        let provider = inner.models.provider_for(model.as_deref()).await?;
        runner.label = provider.label();
        runner.provider = Some(provider);
    }
    let age = (inner.clock.now() - turn.started_at).to_std().unwrap_or_default();
    // Waiting for people uses up none of a turn's time.
    let at_work = age.saturating_sub(inner.storage.approvals().waited_in(turn.id).await?);
    let expired = turn.epoch > MAX_EPOCH || at_work > inner.limits.turn;
    Ok((runner, Start::Resume { stop_requested: turn.stop_requested, expired }))
}

impl Runner {
    /// Goes on where the other process stopped.
    pub(crate) async fn resume(&mut self, stop_requested: bool, expired: bool) -> Result<Ending, Fault> {
        for message in self.inner.storage.turns().unfinished_messages(self.lease.turn).await? {
            self.write(TurnWrite {
                drop_deltas_of: Some(message),
                events: vec![events::superseded(message)],
                ..TurnWrite::default()
            })
            .await?;
        }
        let this_turn = self.this_turn();
        for call in this_turn.calls.iter().filter(|_| self.label.builtin) {
            // The router's tables are made of whole results, which the conversation doesn't hold.
            if let Some(ended) = known_end(&self.inner.storage, call.id).await? {
                self.data.extend(ended.result.map(|result| (call.id, result)));
            }
        }
        let may_run = !stop_requested && !expired;
        let is_command = self.provider.is_none();
        let mut last = None;
        for call in this_turn.open {
            last = Some((call.tool.clone(), self.close(call, may_run, is_command).await?));
        }
        if stop_requested {
            return Ok(Ending::stopped());
        }
        if expired {
            return Ok(Ending::interrupted("the manager was restarted while it was at work"));
        }
        self.requests = this_turn.answers;
        if is_command {
            return self.resume_command(last, this_turn.answers, this_turn.calls).await;
        }
        for (tool, args, failed) in this_turn.ended {
            if let Some(reason) = self.guard.note(&tool, &args, failed) {
                return Ok(Ending::limited(reason));
            }
        }
        // The last message is the model's own answer: only the end was missing.
        if matches!(self.said.last(), Some(Said::Assistant { calls, .. }) if calls.is_empty()) {
            return Ok(Ending::answered());
        }
        self.converse().await
    }

    async fn resume_command(
        &mut self,
        last: Option<(String, Ended)>,
        answers: u32,
        calls: Vec<SaidCall>,
    ) -> Result<Ending, Fault> {
        if let Some((tool, ended)) = last {
            return self.show_command(&tool, Some(ended)).await;
        }
        if let Some(call) = calls.last().filter(|_| answers == 1) {
            let ended = known_end(&self.inner.storage, call.id).await?;
            return self.show_command(&call.tool, ended).await;
        }
        if answers > 0 {
            return Ok(Ending::answered());
        }
        let text = last_user_text(&self.said).unwrap_or_default().to_owned();
        let command = command::read(&text, &self.inner.catalogue.load(), &self.hosts());
        match command {
            Command::Call { capability, edge, args } => {
                let planned = self.plan_command(&capability, edge, args);
                self.command(planned).await
            }
            Command::Wrong(reason) => {
                self.say(&reason).await?;
                Ok(Ending::answered())
            }
            Command::Words => Ok(Ending::interrupted("the manager was restarted while it was at work")),
        }
    }

    /// Brings a call without a result to its end.
    async fn close(&mut self, call: SaidCall, may_run: bool, by_person: bool) -> Result<Ended, Fault> {
        if !may_run {
            // It may be waiting for a person still; the turn won't wait with it.
            self.inner
                .executor
                .withdraw(call.id, "The turn that it belongs to has ended; nothing was run.")
                .await?;
        }
        let known = self.settled_end(call.id).await?;
        let planned = self.plan_as(call.id, call.tool, call.args, by_person);
        let done = match known {
            Some(ended) => vec![self.record(&planned, ended).await?],
            None if may_run => {
                let id = planned.id;
                let results = self.run_all(vec![planned]).await?;
                let ended = results.into_iter().find(|(call, _)| *call == id).map(|(_, ended)| ended);
                return Ok(ended.unwrap_or_else(stopped_before));
            }
            None => vec![self.record(&planned, stopped_before()).await?],
        };
        let results = self.take_in(done)?;
        Ok(results.into_iter().next().map_or_else(stopped_before, |(_, ended)| ended))
    }

    /// How a call with a row ended: one that waits for a person is waited for as long as that takes, any other only a
    /// while, for its host to tell. `None` if it has no row.
    async fn settled_end(&self, id: CallId) -> Result<Option<Ended>, Fault> {
        // Listened to before the first look, so that no change is missed.
        let mut changes = self.inner.storage.call_changes();
        let stop = self.stop();
        let mut give_up = Box::pin(sleep(self.inner.limits.resolve_wait));
        // Whether the call waited for a person in this process, and so was started by it, if at all.
        let mut is_ours = false;
        let mut is_stopped = false;
        loop {
            let Some(ended) = known_end(&self.inner.storage, id).await? else { return Ok(None) };
            let is_waiting = ended.state == CallState::AwaitingApproval;
            is_ours |= is_waiting;
            if ended.state.is_final() || (is_ours && ended.state == CallState::Unknown) {
                return Ok(Some(ended));
            }
            let _patience = is_waiting.then(|| self.own_time.pause());
            let told = async {
                loop {
                    match changes.recv().await {
                        Ok(change) if change.call_id != id => {}
                        // Some were missed: look again. None will come any more: wait for the time to pass.
                        Ok(_) | Err(RecvError::Lagged(_)) => return,
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            };
            tokio::select! {
                () = told => {}
                () = &mut give_up, if is_stopped || !is_ours => return Ok(Some(untold(ended))),
                () = stop.token.cancelled(), if !is_stopped => {
                    if !is_ours {
                        return Ok(Some(untold(ended)));
                    }
                    is_stopped = true;
                    self.inner.executor.withdraw(id, "It was stopped before it ran.").await?;
                    give_up = Box::pin(sleep(self.inner.limits.stop_grace));
                }
            }
        }
    }

    /// What this turn has said so far.
    fn this_turn(&self) -> ThisTurn {
        let begin = self.said.iter().rposition(|said| matches!(said, Said::User { .. })).unwrap_or(0);
        let mut turn = ThisTurn::default();
        let mut results = BTreeSet::new();
        for said in self.said.iter().skip(begin) {
            match said {
                Said::Assistant { calls, .. } => {
                    turn.answers += 1;
                    turn.calls.extend(calls.iter().cloned());
                }
                Said::Tool { call, is_error, .. } => {
                    results.insert(*call);
                    if let Some(made) = turn.calls.iter().find(|made| made.id == *call) {
                        let args = made.args.clone().unwrap_or_else(|bad| Value::String(bad.raw));
                        turn.ended.push((made.tool.clone(), args, *is_error));
                    }
                }
                Said::User { .. } => {}
            }
        }
        turn.open = turn.calls.iter().filter(|call| !results.contains(&call.id)).cloned().collect();
        turn
    }
}

/// A call of which its host has told nothing yet.
fn untold(ended: Ended) -> Ended {
    Ended {
        state: CallState::Unknown,
        error: Some(
            "the manager was restarted while it ran, and its host has not told how it ended; it was not run again"
                .to_owned(),
        ),
        ..ended
    }
}

#[derive(Default)]
struct ThisTurn {
    answers: u32,
    calls: Vec<SaidCall>,
    /// Calls without a result.
    open: Vec<SaidCall>,
    ended: Vec<(String, Value, bool)>,
}

/// What the database knows of a call's end; `None` if it has no row and so never left the manager.
async fn known_end(storage: &Storage, id: CallId) -> Result<Option<Ended>, StorageError> {
    let Some(row) = storage.calls().find(id).await? else { return Ok(None) };
    let result =
        if row.state == CallState::Succeeded { storage.calls().result_text(id).await? } else { None };
    let result = result.and_then(|text| serde_json::from_str(&text).ok());
    Ok(Some(Ended::of_row(&row, result)))
}

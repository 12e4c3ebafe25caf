//! One turn at work.

use crate::guard::LoopGuard;
use crate::history::{self, Said};
use crate::results::Ended;
use crate::round::Planned;
use crate::service::{Cut, Inner, MaybeProvider, Stop};
use crate::{events, render, trust};
use executor::OwnTime;
use futures::StreamExt;
use llm::builtin::Builtin;
use llm::{HostRef, ModelEvent, ModelLabel, ModelRequest, Provider};
use model::{CallId, Roles, SessionId, UserId};
use serde_json::Value;
use skill::Capability;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use storage::StorageError;
use storage::calls::CallToken;
use storage::chats::StoredMessage;
use storage::turns::{Lease, NewMessage, TurnWrite};
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};
use tracing::{error, info, warn};
use uuid::Uuid;

/// How long until the end of a turn is tried to be written again; it doubles up to the second.
const FINISH_AGAIN: Duration = Duration::from_millis(250);
const FINISH_AGAIN_MOST: Duration = Duration::from_secs(30);

/// One turn at work. Only its own task has it.
pub(crate) struct Runner {
    pub(crate) inner: Arc<Inner>,
    pub(crate) lease: Lease,
    pub(crate) session: SessionId,
    pub(crate) user: UserId,
    pub(crate) user_name: String,
    pub(crate) roles: Roles,
    /// The API token through which the turn was asked for.
    pub(crate) token: Option<CallToken>,
    pub(crate) label: ModelLabel,
    pub(crate) provider: MaybeProvider,
    /// The whole chat, this turn last.
    pub(crate) said: Vec<Said>,
    /// Whole results of this turn, for the builtin router's tables.
    pub(crate) data: BTreeMap<CallId, Value>,
    /// Whether free text from outside is in what the model reads.
    pub(crate) untrusted: bool,
    pub(crate) guard: LoopGuard,
    /// Model requests that were answered or are being asked.
    pub(crate) requests: u32,
    /// The trace context of the last one. It is the parent of the calls that it asked for, though it has ended.
    pub(crate) asked: Option<opentelemetry::Context>,
    /// How long the turn has been at work, without waiting for people.
    pub(crate) own_time: OwnTime,
    stop: Arc<Stop>,
}

/// How a turn begins.
pub(crate) enum Start {
    /// With a request to the model.
    Ask,
    /// With the person's own call.
    Call { capability: Arc<Capability>, edge: Option<i64>, args: Value },
    /// With nothing but an answer.
    Say(String),
    /// Where another process left it.
    Resume { stop_requested: bool, expired: bool },
}

/// How a turn ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) outcome: &'static str,
    pub(crate) reason: Option<String>,
}

impl Ending {
    pub(crate) fn answered() -> Self {
        Self { outcome: "answered", reason: None }
    }

    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self { outcome: "failed", reason: Some(reason.into()) }
    }

    pub(crate) fn limited(reason: impl Into<String>) -> Self {
        Self { outcome: "limited", reason: Some(reason.into()) }
    }

    pub(crate) fn interrupted(reason: impl Into<String>) -> Self {
        Self { outcome: "interrupted", reason: Some(reason.into()) }
    }

    pub(crate) fn stopped() -> Self {
        Self { outcome: "stopped", reason: Some("stopped by its owner".to_owned()) }
    }
}

/// Why a turn can't go on here.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Another worker has it, or it has ended. Nothing more may be written.
    Lost,
    /// The database failed.
    Storage(StorageError),
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict { .. } => Self::Lost,
            other => Self::Storage(other),
        }
    }
}

impl Runner {
    pub(crate) fn new(
        inner: Arc<Inner>,
        lease: Lease,
        session: SessionId,
        user: UserId,
        roles: Roles,
        label: ModelLabel,
    ) -> Self {
        Self {
            inner,
            lease,
            session,
            user,
            user_name: String::new(),
            roles,
            token: None,
            label,
            provider: None,
            said: Vec::new(),
            data: BTreeMap::new(),
            untrusted: false,
            guard: LoopGuard::default(),
            requests: 0,
            asked: None,
            own_time: OwnTime::new(),
            stop: Arc::new(Stop::default()),
        }
    }

    /// What cuts the turn short.
    pub(crate) fn stop(&self) -> Arc<Stop> {
        Arc::clone(&self.stop)
    }

    /// Takes in what was said before. Free text that the model will read again still taints what it asks for.
    pub(crate) fn remember(&mut self, history: &[StoredMessage]) {
        self.untrusted |= history.iter().any(|message| message.untrusted);
        self.said.extend(history.iter().filter_map(Said::of));
    }

    /// Does the turn's work to its end.
    pub(crate) async fn run(mut self, start: Start) {
        let keeper = Keeper(tokio::spawn(keep(
            Arc::clone(&self.inner),
            self.lease,
            self.stop(),
            self.own_time.clone(),
        )));
        let done = self.work(start).await;
        drop(keeper);
        let ending = match done {
            Ok(ending) => ending,
            Err(Fault::Lost) => {
                warn!("another worker has taken this turn, or it was ended");
                return;
            }
            Err(Fault::Storage(problem)) => {
                error!(error = %problem, "a turn could not be written");
                Ending::failed("the chat could not be written to the database")
            }
        };
        info!(outcome = ending.outcome, requests = self.requests, "a turn ended");
        metrics::counter!("steadyhand_turns_total", "outcome" => ending.outcome).increment(1);
        let finish = TurnWrite { finish: Some((ending.outcome, ending.reason)), ..TurnWrite::default() };
        let mut wait = FINISH_AGAIN;
        // The disk may have been full; a turn that stays at work for ever would lock its chat.
        while let Err(fault) = self.write(finish.clone()).await {
            error!(fault = ?fault, "the end of a turn could not be written");
            if matches!(fault, Fault::Lost) {
                return;
            }
            sleep(wait).await;
            wait = (wait * 2).min(FINISH_AGAIN_MOST);
        }
    }

    async fn work(&mut self, start: Start) -> Result<Ending, Fault> {
        match start {
            Start::Ask => self.converse().await,
            Start::Say(text) => {
                self.say(&text).await?;
                Ok(Ending::answered())
            }
            Start::Call { capability, edge, args } => {
                let planned = self.plan_command(&capability, edge, args);
                self.command(planned).await
            }
            Start::Resume { stop_requested, expired } => self.resume(stop_requested, expired).await,
        }
    }

    /// Asks the model, makes its calls, and asks again, until it answers or a limit is reached.
    pub(crate) async fn converse(&mut self) -> Result<Ending, Fault> {
        loop {
            if let Some(ending) = self.cut() {
                return Ok(ending);
            }
            let limit = self.inner.limits.model_requests;
            if self.requests >= limit {
                return Ok(Ending::limited(format!("the model gave no answer within {limit} requests")));
            }
            let may_call = self.requests + 1 < limit;
            match self.ask(may_call).await? {
                Asked::Ended(ending) => return Ok(ending),
                Asked::Calls(planned) => {
                    if let Some(reason) = self.make_calls(planned).await? {
                        self.write_events(vec![events::notice(&format!("Stopped, because {reason}."))])
                            .await?;
                        return Ok(Ending::limited(reason));
                    }
                }
            }
        }
    }

    /// Makes a person's own call and shows its result.
    pub(crate) async fn command(&mut self, planned: Planned) -> Result<Ending, Fault> {
        let (id, tool) = (planned.id, planned.tool.clone());
        let answer = Answer {
            id: Uuid::now_v7(),
            text: "",
            calls: std::slice::from_ref(&planned),
            provider_data: None,
        };
        self.commit_answer(answer, TurnWrite::default()).await?;
        let results = self.run_all(vec![planned]).await?;
        let ended = results.into_iter().find(|(call, _)| *call == id).map(|(_, ended)| ended);
        self.show_command(&tool, ended).await
    }

    pub(crate) async fn show_command(&mut self, tool: &str, ended: Option<Ended>) -> Result<Ending, Fault> {
        if let Some(ending) = self.cut() {
            return Ok(ending);
        }
        if let Some(ended) = ended {
            let text = match ended.succeeded() {
                true => self.shown_by_router().await,
                false => None,
            };
            self.say(&text.unwrap_or_else(|| render::ended(tool, &ended))).await?;
        }
        Ok(Ending::answered())
    }

    /// How the builtin router shows the results of this turn.
    async fn shown_by_router(&self) -> Option<String> {
        let begin = self.said.iter().rposition(|said| matches!(said, Said::User { .. }))?;
        let label = Builtin.label();
        let request = ModelRequest {
            messages: history::told(
                self.said.get(begin..)?,
                &label,
                &self.data,
                self.inner.limits.history_bytes,
            ),
            hosts: self.hosts(),
            ..ModelRequest::default()
        };
        let mut stream = Builtin.stream(request, self.stop().token.clone());
        while let Some(event) = stream.next().await {
            if let Ok(ModelEvent::Completed(completion)) = event {
                return Some(completion.text).filter(|text| !text.trim().is_empty());
            }
        }
        None
    }

    /// Answers without a model.
    pub(crate) async fn say(&mut self, text: &str) -> Result<(), Fault> {
        let answer = Answer { id: Uuid::now_v7(), text, calls: &[], provider_data: None };
        self.commit_answer(answer, TurnWrite::default()).await
    }

    /// Keeps an assistant message with its calls, before any of them is made.
    pub(crate) async fn commit_answer(
        &mut self,
        answer: Answer<'_>,
        mut write: TurnWrite,
    ) -> Result<(), Fault> {
        let Answer { id, text, calls, provider_data } = answer;
        let said = Said::Assistant {
            text: text.to_owned(),
            calls: calls.iter().map(Planned::said).collect(),
            provider_data: provider_data.map(|data| (self.label.clone(), data)),
        };
        let names: Vec<(CallId, &str)> = calls.iter().map(|call| (call.id, call.tool.as_str())).collect();
        write.messages = vec![NewMessage { id, body: said.body(), untrusted: false }];
        write.drop_deltas_of = Some(id);
        write.events.insert(0, events::message(id, text, &names));
        if !calls.is_empty() {
            write.events.push(events::phase("tools", self.requests.max(1)));
            write.events.extend(calls.iter().map(|call| events::tool_call(&call.card)));
        }
        self.write(write).await?;
        self.said.push(said);
        Ok(())
    }

    /// How the turn ends if it is cut short.
    pub(crate) fn cut(&self) -> Option<Ending> {
        self.stop.why().map(|why| match why {
            Cut::Stopped => Ending::stopped(),
            Cut::TimeUp => {
                Ending::limited(format!("it took longer than {} s", self.inner.limits.turn.as_secs()))
            }
            Cut::LeaseLost => Ending::interrupted("another process has taken it"),
        })
    }

    /// The hosts that the person behind the turn reaches.
    pub(crate) fn hosts(&self) -> Vec<HostRef> {
        self.inner.hosts.hosts(&self.inner.storage.users().reach_of(self.user))
    }

    /// The places that the operator named in this chat.
    pub(crate) fn named_places(&self) -> Vec<String> {
        trust::named_places(self.said.iter().filter_map(|said| match said {
            Said::User { text } => Some(text.as_str()),
            _ => None,
        }))
    }

    pub(crate) async fn write(&self, write: TurnWrite) -> Result<(), Fault> {
        if let Some(last) = self.inner.storage.turns().write(self.lease, write).await? {
            self.inner.tell(last);
        }
        Ok(())
    }

    pub(crate) async fn write_events(&self, events: Vec<storage::chats::NewEvent>) -> Result<(), Fault> {
        self.write(TurnWrite { events, ..TurnWrite::default() }).await
    }
}

/// What a request to the model came to.
pub(crate) enum Asked {
    /// It wants calls made. They are kept already.
    Calls(Vec<Planned>),
    /// The turn is at its end.
    Ended(Ending),
}

/// An assistant message that is about to be kept. Redacted.
pub(crate) struct Answer<'a> {
    pub(crate) id: Uuid,
    pub(crate) text: &'a str,
    pub(crate) calls: &'a [Planned],
    /// What the provider wants back.
    pub(crate) provider_data: Option<Value>,
}

/// Stops its task when it is dropped.
struct Keeper(JoinHandle<()>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Keeps the lease, and cuts the turn short when its time is up or the lease is lost.
async fn keep(inner: Arc<Inner>, lease: Lease, stop: Arc<Stop>, own_time: OwnTime) {
    let hold = inner.limits.lease;
    let mut beat = interval(hold / 3);
    beat.tick().await;
    let time_up = own_time.reaches(inner.limits.turn);
    tokio::pin!(time_up);
    let mut is_up = false;
    let mut failures = 0;
    loop {
        tokio::select! {
            () = &mut time_up, if !is_up => {
                is_up = true;
                stop.cut(Cut::TimeUp);
            }
            _ = beat.tick() => match inner.storage.turns().renew(lease, hold).await {
                Ok(true) => {
                    failures = 0;
                    // A stop that came while no task held the turn is only in the database.
                    if inner.storage.turns().find(lease.turn).await.is_ok_and(|turn| turn.is_some_and(|turn| turn.stop_requested)) {
                        stop.cut(Cut::Stopped);
                    }
                }
                Ok(false) => return stop.cut(Cut::LeaseLost),
                Err(problem) => {
                    warn!(error = %problem, "a turn's lease could not be renewed");
                    failures += 1;
                    if failures >= 3 {
                        return stop.cut(Cut::LeaseLost);
                    }
                }
            },
        }
    }
}

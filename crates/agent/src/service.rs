//! The agent as others hold it: begins turns, stops them, and takes over what another process left.

use crate::command::{self, Command};
use crate::results::Ended;
use crate::runner::{Runner, Start};
use crate::{AccessMode, AgentConfig, AgentError, HostList, Limits, ModelDirectory, events, history::Said};
use arc_swap::ArcSwap;
use executor::Executor;
use futures::FutureExt;
use gate::Redactor;
use llm::{ModelLabel, Provider};
use model::{Clock, Roles, SessionId, TurnId, UserId};
use skill::Catalogue;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use storage::calls::CallToken;
use storage::turns::{Lease, NewMessage, NewTurn, TurnWrite};
use storage::{Storage, StorageError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

/// Most characters of a title that is taken from a message.
const TITLE_CHARS: usize = 60;

/// What the agent works with.
pub struct AgentParts {
    /// The database.
    pub storage: Storage,
    /// The one door.
    pub executor: Executor,
    /// Every capability.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// The hosts.
    pub hosts: Arc<dyn HostList>,
    /// The models.
    pub models: Arc<dyn ModelDirectory>,
    /// Hides secrets.
    pub redactor: Arc<Redactor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Access and limits.
    pub config: AgentConfig,
}

/// A message of an operator.
#[derive(Clone, Debug)]
pub struct SubmitTurn {
    /// The chat.
    pub session: SessionId,
    /// Who asks; the chat must be theirs.
    pub user: UserId,
    /// What to call them.
    pub user_name: String,
    /// What they may do. Their model's calls have the same rights.
    pub roles: Roles,
    /// The API token through which they ask.
    pub token: Option<CallToken>,
    /// What they wrote.
    pub text: String,
}

/// The agent. Cheap to clone; turns at work are dropped with the last clone, and [`Agent::recover`] of the next
/// process takes them over.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
    _end: Arc<AbortAll>,
}

pub(crate) struct Inner {
    pub(crate) storage: Storage,
    pub(crate) executor: Executor,
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    pub(crate) hosts: Arc<dyn HostList>,
    pub(crate) models: Arc<dyn ModelDirectory>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    access: RwLock<AccessMode>,
    /// This process, in leases.
    pub(crate) worker: Uuid,
    running: Mutex<BTreeMap<TurnId, Running>>,
    last_event: watch::Sender<i64>,
    /// Tells the views what is shown of approvals; others write that.
    listening: OnceLock<()>,
    at_work: watch::Sender<usize>,
}

struct Running {
    user: UserId,
    stop: Arc<Stop>,
    task: AbortHandle,
}

/// Why a turn is cut short. The first reason counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Its owner stopped it.
    Stopped,
    /// It took too long.
    TimeUp,
    /// Another worker has it.
    LeaseLost,
}

/// Cuts a turn short.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    why: OnceLock<Cut>,
}

impl Stop {
    pub(crate) fn cut(&self, why: Cut) {
        let _ = self.why.set(why);
        self.token.cancel();
    }

    pub(crate) fn why(&self) -> Option<Cut> {
        self.why.get().copied()
    }
}

struct AbortAll(Arc<Inner>);

impl Drop for AbortAll {
    fn drop(&mut self) {
        for running in self.0.running().values() {
            running.task.abort();
        }
    }
}

impl Inner {
    fn running(&self) -> MutexGuard<'_, BTreeMap<TurnId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, turn: TurnId) {
        let mut running = self.running();
        running.remove(&turn);
        self.at_work.send_replace(running.len());
    }

    /// Tells the views that there is something new up to this id.
    pub(crate) fn tell(&self, last: i64) {
        self.last_event.send_if_modified(|known| {
            let is_newer = last > *known;
            *known = last.max(*known);
            is_newer
        });
    }

    async fn tell_all(&self) -> Result<(), StorageError> {
        self.tell(self.storage.chats().last_event_id().await?);
        Ok(())
    }

    /// Begins, once, to tell the views of what is written into chats with each change of an approval.
    fn listen(self: &Arc<Self>) {
        self.listening.get_or_init(|| {
            let mut changes = self.storage.approval_changes();
            let inner = Arc::downgrade(self);
            tokio::spawn(async move {
                while !matches!(changes.recv().await, Err(RecvError::Closed)) {
                    let Some(inner) = inner.upgrade() else { return };
                    if let Err(problem) = inner.tell_all().await {
                        error!(error = %problem, "an approval could not be shown yet");
                    }
                }
            });
        });
    }

    /// Starts a turn's task.
    pub(crate) fn start(self: &Arc<Self>, runner: Runner, start: Start) {
        let (turn, user, stop) = (runner.lease.turn, runner.user, runner.stop());
        let inner = Arc::clone(self);
        // Not a child for the log: a span lives as long as its children, and the request that began the turn is
        // answered long before it ends.
        let span = info_span!(parent: None, "turn", turn.id = %turn, session.id = %runner.session);
        // Without a tracer there is nothing to attach it to.
        let _ = span.set_parent(tracing::Span::current().context());
        let mut running = self.running();
        let task = tokio::spawn(
            async move {
                let lease = runner.lease;
                if AssertUnwindSafe(runner.run(start)).catch_unwind().await.is_err() {
                    error!("a turn panicked");
                    inner.fail(lease, "an internal error; the log has more").await;
                }
                inner.leave(turn);
            }
            .instrument(span),
        );
        running.insert(turn, Running { user, stop, task: task.abort_handle() });
        self.at_work.send_replace(running.len());
    }

    /// Ends a turn that its own task can't end.
    pub(crate) async fn fail(&self, lease: Lease, reason: &str) {
        let finish = TurnWrite { finish: Some(("failed", Some(reason.to_owned()))), ..TurnWrite::default() };
        match self.storage.turns().write(lease, finish).await {
            Ok(Some(last)) => self.tell(last),
            Ok(None) => {}
            Err(error) => error!(error = %error, turn.id = %lease.turn, "a failed turn could not be closed"),
        }
    }
}

impl Agent {
    /// Puts the agent together. Nothing runs before [`Agent::recover`] or [`Agent::submit`].
    pub fn new(parts: AgentParts) -> Self {
        let inner = Arc::new(Inner {
            storage: parts.storage,
            executor: parts.executor,
            catalogue: parts.catalogue,
            hosts: parts.hosts,
            models: parts.models,
            redactor: parts.redactor,
            clock: parts.clock,
            limits: parts.config.limits,
            access: RwLock::new(parts.config.access),
            worker: Uuid::new_v4(),
            running: Mutex::new(BTreeMap::new()),
            last_event: watch::Sender::new(0),
            listening: OnceLock::new(),
            at_work: watch::Sender::new(0),
        });
        Self { _end: Arc::new(AbortAll(Arc::clone(&inner))), inner }
    }

    /// Who may chat.
    pub fn access(&self) -> AccessMode {
        *self.inner.access.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes who may chat. Turns at work go on.
    pub fn set_access(&self, mode: AccessMode) {
        *self.inner.access.write().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// The highest committed event id, as it rises. Read the events from the database.
    pub fn events(&self) -> watch::Receiver<i64> {
        self.inner.last_event.subscribe()
    }

    /// Waits until this process has no turn at work.
    pub async fn idle(&self) {
        // Can't fail: this agent holds the sender.
        let _ = self.inner.at_work.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Tells the views of events that others wrote (a renamed chat).
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn announce(&self) -> Result<(), AgentError> {
        Ok(self.inner.tell_all().await?)
    }

    /// Takes over the turns that a dead process left, and continues or closes them. Call it once at the start, after
    /// the gate's own recovery. Returns how many there were.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn recover(&self) -> Result<usize, AgentError> {
        self.inner.listen();
        self.inner.tell_all().await?;
        let limits = &self.inner.limits;
        let turns =
            self.inner.storage.turns().take_over(self.inner.worker, limits.sole_worker, limits.lease).await?;
        let count = turns.len();
        for turn in turns {
            crate::recover::resume(&self.inner, turn).await;
        }
        Ok(count)
    }

    /// Keeps an operator's message and begins its turn. What happens then is in the events.
    ///
    /// # Errors
    ///
    /// Fails if the person may not chat, the chat isn't theirs or is busy, or its model can't be used.
    pub async fn submit(&self, submit: SubmitTurn) -> Result<TurnId, AgentError> {
        let inner = &self.inner;
        inner.listen();
        if !self.access().admits(&submit.roles) {
            return Err(AgentError::NoAccess);
        }
        check_text(&submit.text, inner.limits.message_chars)?;
        let session = inner.storage.chats().find(submit.session, submit.user).await?;
        let session = session.ok_or(AgentError::NoSession(submit.session))?;
        if session.running_turn.is_some() {
            return Err(AgentError::Busy);
        }
        if inner.running().len() >= inner.limits.turns {
            return Err(AgentError::TooMany(inner.limits.turns));
        }
        let hosts = inner.hosts.hosts(&inner.storage.users().reach_of(submit.user));
        let (start, provider, label) = match command::read(&submit.text, &inner.catalogue.load(), &hosts) {
            Command::Words => {
                let provider = inner.models.provider_for(session.model.as_deref()).await?;
                let label = provider.label();
                (Start::Ask, Some(provider), label)
            }
            Command::Wrong(reason) => (Start::Say(reason), None, command_label("help")),
            Command::Call { capability, edge, args } => {
                let label = command_label(&capability.definition().key);
                (Start::Call { capability, edge, args }, None, label)
            }
        };
        let shown = inner.redactor.redact(&submit.text).into_owned();
        let history = inner.storage.chats().history(session.id).await?;
        let id = TurnId::generate();
        let message = Uuid::now_v7();
        let new = NewTurn {
            id,
            session: session.id,
            user: submit.user,
            roles: submit.roles.clone(),
            token: submit.token.clone(),
            worker: inner.worker,
            lease: inner.limits.lease,
            message: NewMessage {
                id: message,
                body: Said::User { text: shown.clone() }.body(),
                untrusted: false,
            },
            events: vec![
                events::user_message(message, &shown, submit.user, &submit.user_name),
                events::turn_started(&label),
            ],
            title: title(&shown),
        };
        let lease = inner.storage.turns().begin(new).await.map_err(|error| match error {
            StorageError::Conflict { .. } => AgentError::Busy,
            StorageError::NotFound { .. } => AgentError::NoSession(submit.session),
            other => AgentError::Storage(other),
        })?;
        let mut runner = Runner::new(Arc::clone(inner), lease, session.id, submit.user, submit.roles, label);
        runner.user_name = submit.user_name;
        runner.token = submit.token;
        runner.provider = provider;
        runner.remember(&history);
        runner.said.push(Said::User { text: shown });
        inner.start(runner, start);
        inner.tell_all().await?;
        Ok(id)
    }

    /// Stops a turn: its model request and its calls. `false` if it isn't at work or is somebody else's.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn stop(&self, turn: TurnId, by: UserId) -> Result<bool, AgentError> {
        // Noted first, so that it holds even if this process dies before the turn has ended.
        let noted = self.inner.storage.turns().request_stop(turn, by).await?;
        if let Some(running) = self.inner.running().get(&turn).filter(|running| running.user == by) {
            running.stop.cut(Cut::Stopped);
        }
        Ok(noted)
    }
}

fn check_text(text: &str, limit: usize) -> Result<(), AgentError> {
    if text.trim().is_empty() {
        return Err(AgentError::BadMessage("the message is empty".to_owned()));
    }
    if text.chars().nth(limit).is_some() {
        return Err(AgentError::BadMessage(format!("the message is longer than {limit} characters")));
    }
    Ok(())
}

/// What answers a slash command, in the place of a model.
pub(crate) fn command_label(tool: &str) -> ModelLabel {
    ModelLabel { provider: "command".to_owned(), model: tool.to_owned(), builtin: true }
}

/// The title of a chat from its first message: its first line, cut between words.
fn title(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    let Some((end, _)) = line.char_indices().nth(TITLE_CHARS) else { return line.to_owned() };
    let cut = line.get(..end).unwrap_or(line);
    let cut = cut.rsplit_once(char::is_whitespace).map_or(cut, |(head, _)| head);
    format!("{}…", cut.trim_end())
}

/// The provider of a turn, where it has one.
pub(crate) type MaybeProvider = Option<Arc<dyn Provider>>;

/// A call that a stop kept from being made.
pub(crate) fn stopped_before() -> Ended {
    Ended::not_run(model::CallState::Cancelled, "it was not run: the turn was stopped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        assert_eq!(title("  how loaded is this host?\nand why"), "how loaded is this host?");
        let long = "please tell me in all detail what the matter with the machine in the cellar is";
        assert_eq!(title(long), "please tell me in all detail what the matter with the…");
        assert_eq!(title(&"가".repeat(80)).chars().count(), 61);
    }
}

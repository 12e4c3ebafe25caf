//! The checks, in order, and the guard that sees to it that every accepted call ends in the journal.

use crate::journal::Journal;
use crate::{
    AcceptedCall, Ended, Evidence, EvidenceVerifier, LocalRoot, Recall, Refusal, RefusalKind, Request,
};
use model::{CallId, CallState, Class, Scope};
use skill::{Capability, Catalogue, SkillErrorKind};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// Tells what this host lacks for a skill, in words; empty if nothing.
pub type Unmet = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// How much the edge takes on at once, and how much it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls at once. Default: 32.
    pub max_running: usize,
    /// Outcomes and tombstones remembered. Default: 1,000.
    pub max_remembered: usize,
    /// Bytes of results remembered, all together. Default: 2 MiB.
    pub max_result_bytes: usize,
    /// Longest time that a call may ask for. Default: 1 h.
    pub max_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_running: 32,
            max_remembered: 1000,
            max_result_bytes: 2 * 1024 * 1024,
            max_timeout: Duration::from_secs(3600),
        }
    }
}

/// The edge's door. Cheap to clone; all clones are one door.
#[derive(Clone)]
pub struct Admission {
    inner: Arc<Inner>,
}

struct Inner {
    catalogue: RwLock<Arc<Catalogue>>,
    unmet: Unmet,
    limits: Limits,
    verifier: Arc<dyn EvidenceVerifier>,
    holds_read_only: bool,
    frozen: AtomicBool,
    state: Mutex<State>,
}

struct State {
    journal: Journal,
    running: usize,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("limits", &self.inner.limits).finish_non_exhaustive()
    }
}

/// What a door is made of.
pub struct Parts {
    /// The skills behind it.
    pub catalogue: Catalogue,
    /// Tells what this host lacks for a skill.
    pub unmet: Unmet,
    /// How much it takes on at once.
    pub limits: Limits,
    /// Judges the evidence of calls that aren't safe.
    pub verifier: Arc<dyn EvidenceVerifier>,
    /// Whether the host's sandbox holds the read-only profile. Where not, safe calls of skills that start programs
    /// which their arguments choose count as mutating.
    pub holds_read_only: bool,
}

impl Parts {
    /// The door to the skills of `catalogue`, which lets safe calls through, and what root on this host asks for. No
    /// sandbox holds the read-only profile.
    pub fn new(catalogue: Catalogue, unmet: Unmet, limits: Limits) -> Self {
        Self { catalogue, unmet, limits, verifier: Arc::new(LocalRoot), holds_read_only: false }
    }
}

impl Admission {
    /// Makes the door of [`Parts::new`].
    pub fn new(catalogue: Catalogue, unmet: Unmet, limits: Limits) -> Self {
        Self::of(Parts::new(catalogue, unmet, limits))
    }

    /// Makes the door.
    pub fn of(parts: Parts) -> Self {
        let Parts { catalogue, unmet, limits, verifier, holds_read_only } = parts;
        let journal = Journal::new(limits.max_remembered, limits.max_result_bytes);
        let state = Mutex::new(State { journal, running: 0 });
        let frozen = AtomicBool::new(false);
        let catalogue = RwLock::new(Arc::new(catalogue));
        Self { inner: Arc::new(Inner { catalogue, unmet, limits, verifier, holds_read_only, frozen, state }) }
    }

    /// The least class that any call of a skill has on this host: above the definition's own where the sandbox can't
    /// hold what the skill starts.
    pub fn least_class(&self, capability: &Capability) -> Class {
        let own = capability.definition().class;
        if capability.is_subprocess() && !self.inner.holds_read_only { own.max(Class::Mutating) } else { own }
    }

    /// The skills behind the door.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.inner.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other skills behind the door. Calls that were accepted before keep theirs.
    pub fn replace_catalogue(&self, catalogue: Catalogue) {
        *self.inner.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }

    /// Stops or allows mutating and dangerous calls.
    pub fn freeze(&self, frozen: bool) {
        self.inner.frozen.store(frozen, Ordering::SeqCst);
    }

    /// Whether mutating and dangerous calls are stopped.
    pub fn is_frozen(&self) -> bool {
        self.inner.frozen.load(Ordering::SeqCst)
    }

    /// How many calls run.
    pub fn running(&self) -> usize {
        self.inner.lock().running
    }

    /// What is remembered of a call. Where nothing is, a tombstone stays, so that a late delivery of it is refused.
    pub fn recall(&self, call_id: CallId) -> Recall {
        self.inner.lock().journal.recall(call_id)
    }

    /// Lets a call through, or says why not. The ticket must be kept for as long as the call runs.
    ///
    /// # Errors
    ///
    /// A refusal; nothing ran, and nothing is remembered of the call.
    pub fn accept(&self, request: Request) -> Result<(AcceptedCall, Ticket), Refusal> {
        let inner = &self.inner;
        let refuse = |kind, class, reason: String| Err(Refusal { kind, reason, class });
        let catalogue = self.catalogue();
        let Some(capability) = catalogue.get(Scope::Host, &request.skill) else {
            let reason = format!("this edge has no skill `{}`", request.skill);
            return refuse(RefusalKind::UnknownSkill, None, reason);
        };
        if let Err(problems) = capability.check(&request.args) {
            return refuse(
                RefusalKind::InvalidArguments,
                None,
                format!("the arguments don't fit: {problems}"),
            );
        }
        let own = capability.class_of(&request.args).max(self.least_class(capability));
        let class = request.class.map_or(own, |theirs| theirs.max(own));
        if request.definition_hash.as_deref().is_some_and(|hash| hash != capability.hash()) {
            let reason = format!(
                "the definition of `{}` is another one here than in the manager; their versions differ",
                request.skill
            );
            return refuse(RefusalKind::DefinitionChanged, Some(class), reason);
        }
        if class > Class::Safe {
            if self.is_frozen() {
                let reason = format!("this edge is frozen: it takes no {class} calls");
                return refuse(RefusalKind::Frozen, Some(class), reason);
            }
            if let Err(reason) = inner.verifier.verify(&request, class) {
                return refuse(RefusalKind::Evidence, Some(class), reason);
            }
        }
        let unmet = (inner.unmet)(&request.skill);
        if !unmet.is_empty() {
            let reason = format!("`{}` can't run on this host: {}", request.skill, unmet.join("; "));
            return refuse(RefusalKind::Unmet, Some(class), reason);
        }
        self.enter(request, Arc::clone(capability), class)
    }

    /// The last check and the entry into the journal, under one lock, so that of two deliveries of one call one runs.
    fn enter(
        &self,
        request: Request,
        capability: Arc<Capability>,
        class: Class,
    ) -> Result<(AcceptedCall, Ticket), Refusal> {
        let Request { call_id, args, origin, timeout, .. } = request;
        let now = Instant::now();
        let mut state = self.inner.lock();
        let (kind, reason) = match state.journal.look(call_id) {
            Some(Recall::Absent) => (
                RefusalKind::Tombstone,
                format!("call {call_id} came too late: the manager was told that it isn't here"),
            ),
            Some(_) => (RefusalKind::Duplicate, format!("call {call_id} was accepted before; it runs once")),
            None if state.running >= self.inner.limits.max_running => (
                RefusalKind::Busy,
                format!("this edge already runs {} calls, its limit; try again", state.running),
            ),
            None => {
                state.journal.start(call_id);
                state.running += 1;
                drop(state);
                let deadline = now + timeout.min(self.inner.limits.max_timeout);
                let call = AcceptedCall { call_id, capability, args, class, origin, deadline };
                let ticket = Ticket { inner: Arc::clone(&self.inner), call_id, accepted: now, open: true };
                return Ok((call, ticket));
            }
        };
        Err(Refusal { kind, reason, class: Some(class) })
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while an accepted call runs. However the running ends, the journal hears of it: dropping the ticket without a
/// word means that the call was cancelled.
#[derive(Debug)]
#[must_use = "dropping it ends the call in the journal"]
pub struct Ticket {
    inner: Arc<Inner>,
    call_id: CallId,
    accepted: Instant,
    open: bool,
}

impl Ticket {
    /// The call that it is for.
    pub fn call_id(&self) -> CallId {
        self.call_id
    }

    /// How long the call has been running.
    pub fn elapsed(&self) -> Duration {
        self.accepted.elapsed()
    }

    /// Keeps how the call ended.
    pub fn finish(mut self, ended: Ended) {
        self.close(ended);
    }

    fn close(&mut self, ended: Ended) {
        if std::mem::take(&mut self.open) {
            let mut state = self.inner.lock();
            state.running -= 1;
            state.journal.end(self.call_id, ended);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let duration = self.accepted.elapsed();
        self.close(Ended {
            state: CallState::Cancelled,
            error_kind: Some(SkillErrorKind::Cancelled),
            error: Some("stopped before it ended".to_owned()),
            result: None,
            result_bytes: 0,
            duration,
        });
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inner")
    }
}

impl Request {
    /// A call that somebody on the host itself asks for.
    pub fn local(skill: impl Into<String>, args: serde_json::Value, euid: u32, timeout: Duration) -> Self {
        Self {
            call_id: CallId::generate(),
            skill: skill.into(),
            args,
            class: None,
            definition_hash: None,
            timeout,
            evidence: Evidence::Local { euid },
            origin: model::Origin::Local,
        }
    }
}

//! The checks, in order, and the guard that sees to it that every accepted call ends in the journal.

use crate::journal::{Asked, Journal, JournalError, Known};
use crate::memory::Memory;
use crate::{
    Accepted, AcceptedCall, CancelKept, Ended, EvidenceVerifier, LocalRoot, Marks, Nonces, Recall, Refusal,
    RefusalKind, Request,
};
use model::{CallId, CallState, Class, Origin, Scope, Timestamp};
use signing::Proof;
use skill::{Capability, Catalogue, SkillErrorKind};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// Most bytes of a local call's arguments that are kept for the manager's audit.
const MAX_KEPT_ARGS_BYTES: usize = 64 * 1024;

/// Tells what this host lacks for a skill, in words; empty if nothing.
pub type Unmet = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// How much the edge takes on at once, and how much it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls at once, of any class. Default: 32.
    pub max_running: usize,
    /// Outcomes and tombstones of safe calls remembered. Default: 1,000.
    pub max_remembered: usize,
    /// Bytes of results of safe calls remembered, all together. Default: 2 MiB.
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
    journal: Journal,
    nonces: Nonces,
    frozen: AtomicBool,
    /// Held from the using up of a proof until the call is journaled, so that of two deliveries of a call the second finds
    /// the first on record, instead of its own proof used up.
    proving: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
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
    /// Where calls that aren't safe are put on record before they run.
    pub journal: Journal,
    /// The single-use numbers that go into signed statements. The verifier may hold a clone.
    pub nonces: Nonces,
}

impl Parts {
    /// The door to the skills of `catalogue`, which lets safe calls through, and what root on this host asks for. No
    /// sandbox holds the read-only profile, and the journal ends with the process.
    pub fn new(catalogue: Catalogue, unmet: Unmet, limits: Limits) -> Self {
        Self {
            catalogue,
            unmet,
            limits,
            verifier: Arc::new(LocalRoot),
            holds_read_only: false,
            journal: Journal::in_memory(),
            nonces: Nonces::default(),
        }
    }
}

impl Admission {
    /// Makes the door of [`Parts::new`].
    pub fn new(catalogue: Catalogue, unmet: Unmet, limits: Limits) -> Self {
        Self::of(Parts::new(catalogue, unmet, limits))
    }

    /// Makes the door.
    pub fn of(parts: Parts) -> Self {
        let Parts { catalogue, unmet, limits, verifier, holds_read_only, journal, nonces } = parts;
        let memory = Memory::new(limits.max_remembered, limits.max_result_bytes);
        let state = Mutex::new(State { memory, running: 0 });
        let frozen = AtomicBool::new(false);
        let catalogue = RwLock::new(Arc::new(catalogue));
        let inner = Inner {
            catalogue,
            unmet,
            limits,
            verifier,
            holds_read_only,
            journal,
            nonces,
            frozen,
            proving: Mutex::new(()),
            state,
        };
        Self { inner: Arc::new(inner) }
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

    /// What is remembered of a call. Where nothing is, a tombstone stays, so that a late delivery of it is refused. With
    /// a `seq`, the journal is asked, and this may wait for the disk.
    ///
    /// # Errors
    ///
    /// Fails if the tombstone can't be kept.
    pub fn recall(&self, call_id: CallId, seq: u64) -> Result<Recall, JournalError> {
        if seq > 0 {
            return self.inner.journal.recall(call_id, seq);
        }
        Ok(self.inner.lock().memory.recall(call_id))
    }

    /// Puts on record that a call of the journal is to be stopped; one that isn't here won't start any more. Waits for
    /// the disk.
    ///
    /// # Errors
    ///
    /// Fails if that can't be kept.
    pub fn cancel(&self, call_id: CallId, seq: u64) -> Result<CancelKept, JournalError> {
        self.inner.journal.cancel(call_id, seq)
    }

    /// Forgets every call up to this seq. Waits for the disk.
    ///
    /// # Errors
    ///
    /// Fails if that can't be kept.
    pub fn acknowledge(&self, through: u64) -> Result<(), JournalError> {
        self.inner.journal.acknowledge(through)
    }

    /// How far the journal is.
    pub fn marks(&self) -> Marks {
        self.inner.journal.marks()
    }

    /// Whether the journal can't be read to its end, so that its marks are not what they should be.
    pub fn is_journal_damaged(&self) -> bool {
        self.inner.journal.is_damaged()
    }

    /// The single-use numbers that go into signed statements.
    pub fn nonces(&self) -> &Nonces {
        &self.inner.nonces
    }

    /// Lets a call through, or says why not. The ticket must be kept for as long as the call runs. A call that isn't safe
    /// is in the journal when this returns, so this may wait for the disk.
    ///
    /// # Errors
    ///
    /// A refusal; nothing ran, and nothing is remembered of the call.
    pub fn accept(&self, request: Request) -> Result<(AcceptedCall, Ticket), Refusal> {
        let inner = &self.inner;
        let refuse = |kind, class, reason: String| Err(Refusal { kind, reason, class });
        // What was decided before isn't decided again, whatever has changed since.
        if let Some(known) = inner.journal.look(request.call_id, request.seq) {
            return Err(known_refusal(&request, &known, None));
        }
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
        let mut proof = None;
        if class > Class::Safe {
            if self.is_frozen() {
                let reason = format!("this edge is frozen: it takes no {class} calls");
                return refuse(RefusalKind::Frozen, Some(class), reason);
            }
            match inner.verifier.verify(&request, class, capability.hash()) {
                Ok(proved) => proof = proved,
                Err(reason) => return refuse(RefusalKind::Evidence, Some(class), reason),
            }
            if request.seq == 0 && request.origin != Origin::Local {
                let reason = format!(
                    "`{}` is {class} here, and the call has no number to be journaled under",
                    request.skill
                );
                return refuse(RefusalKind::Evidence, Some(class), reason);
            }
        }
        let unmet = (inner.unmet)(&request.skill);
        if !unmet.is_empty() {
            let reason = format!("`{}` can't run on this host: {}", request.skill, unmet.join("; "));
            return refuse(RefusalKind::Unmet, Some(class), reason);
        }
        self.enter(request, Arc::clone(capability), class, proof)
    }

    /// The last check and the entry on record, so that of two deliveries of one call one runs.
    fn enter(
        &self,
        request: Request,
        capability: Arc<Capability>,
        class: Class,
        proof: Option<Proof>,
    ) -> Result<(AcceptedCall, Ticket), Refusal> {
        let call_id = request.call_id;
        let now = Instant::now();
        let timeout = request.timeout.min(self.inner.limits.max_timeout);
        self.take_place(call_id, class).map_err(|(kind, reason)| Refusal {
            kind,
            reason,
            class: Some(class),
        })?;
        if class > Class::Safe
            && let Err(refusal) = self.prove_and_journal(&request, &capability, class, timeout, proof)
        {
            self.inner.lock().running -= 1;
            return Err(refusal);
        }
        let Request { args, origin, .. } = request;
        let deadline = now + timeout;
        let call = AcceptedCall { call_id, capability, args, class, origin, deadline };
        let inner = Arc::clone(&self.inner);
        let ticket = Ticket { inner, call_id, accepted: now, journaled: class > Class::Safe, open: true };
        Ok((call, ticket))
    }

    /// Takes one of the places for calls that run; a safe call is remembered with it.
    fn take_place(&self, call_id: CallId, class: Class) -> Result<(), (RefusalKind, String)> {
        let mut state = self.inner.lock();
        match state.memory.look(call_id) {
            Some(Recall::Absent) => {
                let reason = format!("call {call_id} came too late: the manager was told that it isn't here");
                return Err((RefusalKind::Tombstone, reason));
            }
            Some(_) => {
                let reason = format!("call {call_id} was accepted before; it runs once");
                return Err((RefusalKind::Duplicate, reason));
            }
            None => {}
        }
        if state.running >= self.inner.limits.max_running {
            let reason = format!("this edge already runs {} calls, its limit; try again", state.running);
            return Err((RefusalKind::Busy, reason));
        }
        if class == Class::Safe {
            state.memory.start(call_id);
        }
        state.running += 1;
        Ok(())
    }

    /// Uses up the proof, if people have signed, and puts the call on the disk before it runs.
    fn prove_and_journal(
        &self,
        request: &Request,
        capability: &Capability,
        class: Class,
        timeout: Duration,
        proof: Option<Proof>,
    ) -> Result<(), Refusal> {
        let Request { call_id, skill, seq, .. } = request;
        let Some(proof) = proof else {
            self.journal(request, capability, class, timeout)?;
            tracing::info!(call.id = %call_id, seq, skill, %class, "call accepted");
            return Ok(());
        };
        let _one_at_a_time = self.inner.proving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.inner.journal.look(*call_id, *seq) {
            return Err(known_refusal(request, &known, Some(class)));
        }
        self.inner.verifier.use_up(&proof).map_err(|problem| Refusal {
            kind: RefusalKind::Evidence,
            reason: format!("`{skill}` is {class} here: {problem}"),
            class: Some(class),
        })?;
        self.journal(request, capability, class, timeout)?;
        let sop = proof.step.as_ref().map(|(sop, _)| format!("{} {} {}", sop.id, sop.version, sop.step));
        tracing::info!(call.id = %call_id, seq, skill, %class, people = ?proof.people, sop, "signed call accepted");
        Ok(())
    }

    /// Puts a call that isn't safe on the disk before it runs.
    fn journal(
        &self,
        request: &Request,
        capability: &Capability,
        class: Class,
        timeout: Duration,
    ) -> Result<(), Refusal> {
        let asked = (request.origin == Origin::Local).then(|| Asked {
            args: Some(request.args.clone()).filter(|args| args.to_string().len() <= MAX_KEPT_ARGS_BYTES),
            definition_hash: capability.hash().to_owned(),
        });
        let accepted = Accepted {
            call_id: request.call_id,
            seq: request.seq,
            skill: request.skill.clone(),
            class,
            payload: request.payload(),
            origin: request.origin,
            // The journal fills these in.
            boot_id: String::new(),
            at: Timestamp::UNIX_EPOCH,
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            settles_by_boot: capability.settles_by_boot(),
            asked,
        };
        self.inner.journal.accept(accepted).map_err(|error| match error {
            JournalError::Known(known) => known_refusal(request, &known, Some(class)),
            JournalError::Full(reason) | JournalError::Unusable(reason) => {
                Refusal { kind: RefusalKind::Journal, reason, class: Some(class) }
            }
        })
    }
}

/// Why a call isn't let through that the journal knows something of.
fn known_refusal(request: &Request, known: &Known, class: Option<Class>) -> Refusal {
    let call_id = request.call_id;
    let (kind, reason) = match known {
        Known::Accepted { payload } if *payload == request.payload() => {
            (RefusalKind::Duplicate, format!("call {call_id} was accepted before; it runs once"))
        }
        Known::Accepted { .. } => (
            RefusalKind::Conflict,
            format!(
                "another call was accepted under the id {call_id}: its skill, arguments, definition or class differ"
            ),
        ),
        Known::Buried | Known::Acknowledged { .. } => {
            (RefusalKind::Tombstone, format!("call {call_id} came too late: {known}"))
        }
    };
    Refusal { kind, reason, class }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while an accepted call runs. For a safe call, dropping the ticket without a word means that the call was
/// cancelled. For any other it means that nobody knows: it stays open on record, and the next start of the edge
/// settles it.
#[derive(Debug)]
#[must_use = "dropping it ends a safe call"]
pub struct Ticket {
    inner: Arc<Inner>,
    call_id: CallId,
    accepted: Instant,
    journaled: bool,
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

    /// Whether the call is in the journal. Then [`Ticket::finish`] waits for the disk.
    pub fn is_journaled(&self) -> bool {
        self.journaled
    }

    /// Keeps how the call ended.
    pub fn finish(mut self, ended: Ended) {
        if self.journaled {
            self.inner.journal.end(self.call_id, &ended);
        }
        self.close(ended);
    }

    fn close(&mut self, ended: Ended) {
        if std::mem::take(&mut self.open) {
            let mut state = self.inner.lock();
            state.running -= 1;
            if !self.journaled {
                state.memory.end(self.call_id, ended);
            }
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
            sandbox: None,
        });
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inner")
    }
}

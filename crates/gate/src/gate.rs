//! The gate itself.

use crate::decide::{Decision, Facts, decide};
use crate::limits::{Limiter, Permit};
use crate::packs::PackBook;
use crate::progress::{CallProgress, ProgressTeller};
use crate::review::{Outcome, Review, Reviewer, lacking};
use crate::{
    AdmittedCall, CallLimits, CallRequest, FinishedCall, GateError, HostDirectory, ProbeRules, Recorded,
    Recorder, Redactor, ToolPolicy,
};
use arc_swap::ArcSwap;
use model::{CallId, CallState, PolicyDecision, Role, Roles, Timestamp};
use serde_json::Value;
use skill::{Capability, Catalogue, Definition};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use storage::Storage;
use storage::calls::{CallFilter, NewCall, TurnLease};
use tokio::sync::broadcast;
use tracing::{debug, info};

/// What a gate is made of.
pub struct GateParts {
    /// Where calls are put on record.
    pub storage: Storage,
    /// What can be called.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// What the configuration says about tools.
    pub policy: ToolPolicy,
    /// Takes secrets out of whatever is put on record.
    pub redactor: Arc<Redactor>,
    /// The inventory.
    pub hosts: Arc<dyn HostDirectory>,
    /// What the configuration says about probes.
    pub probes: ProbeRules,
    /// How many calls may be made.
    pub limits: CallLimits,
}

/// Decides on calls and puts them on record. The only maker of [`AdmittedCall`].
pub struct Gate {
    storage: Storage,
    catalogue: Arc<ArcSwap<Catalogue>>,
    policy: ToolPolicy,
    redactor: Arc<Redactor>,
    hosts: Arc<dyn HostDirectory>,
    probes: ProbeRules,
    limits: CallLimits,
    limiter: Limiter,
    recorder: Recorder,
    packs: PackBook,
    progress: ProgressTeller,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The gate's answer. It is on record.
#[derive(Debug)]
pub enum Admission {
    /// The call may run, and its `running` row is durable.
    Admitted(Box<AdmittedCall>),
    /// It may not, and the row says why.
    Rejected(Rejection),
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// Its id.
    pub call_id: CallId,
    /// `invalid` or `refused`.
    pub state: CallState,
    /// A sentence for the operator and the model. Redacted.
    pub reason: String,
    /// For `invalid`: what the arguments should look like.
    pub schema: Option<Value>,
}

/// Calls of the last hour that are counted again after a restart, at most.
const REMEMBERED: u32 = 50_000;

impl Gate {
    /// Joins the parts.
    pub fn new(parts: GateParts) -> Self {
        let GateParts { storage, catalogue, policy, redactor, hosts, probes, limits } = parts;
        let recorder = Recorder::new(storage.clone(), Arc::clone(&redactor));
        let limiter = Limiter::new(limits);
        let packs = PackBook::new(storage.clone(), Arc::clone(&catalogue));
        let progress = ProgressTeller::new(Arc::clone(&redactor));
        Self {
            packs,
            storage,
            catalogue,
            policy,
            redactor,
            hosts,
            probes,
            limits,
            limiter,
            recorder,
            progress,
        }
    }

    /// Decides on a request and puts the answer on record. When this returns, the row and its audit entry are
    /// durable; when it fails, nothing may run.
    ///
    /// Cancel safety: a dropped future may leave a `running` row behind that nobody ends before the next start; the
    /// executor therefore admits on a task of its own.
    ///
    /// # Errors
    ///
    /// Fails if the answer can't be put on record, the id was used before, or the turn has another worker.
    pub async fn admit(&self, request: CallRequest) -> Result<Admission, GateError> {
        self.decide_on(request, None, None).await
    }

    /// Puts a call on record that its asker won't have made, for this reason: as `refused`, whatever else could be
    /// said of it. Nothing runs.
    ///
    /// # Errors
    ///
    /// Fails if it can't be put on record, the id was used before, or the turn has another worker.
    pub async fn refuse(&self, request: CallRequest, reason: String) -> Result<Rejection, GateError> {
        let call_id = request.call_id;
        Ok(match self.decide_on(request, Some(reason.clone()), None).await? {
            Admission::Rejected(rejection) => rejection,
            // Never: a given reason refuses.
            Admission::Admitted(_) => Rejection { call_id, state: CallState::Refused, reason, schema: None },
        })
    }

    /// As [`Gate::admit`], as if a person had approved whatever needs an approval. For tests of what comes after the
    /// gate; no shipped program is built with it.
    ///
    /// # Errors
    ///
    /// As [`Gate::admit`].
    #[cfg(feature = "testing")]
    pub async fn admit_as_approved(
        &self,
        request: CallRequest,
        approval: &str,
    ) -> Result<Admission, GateError> {
        self.decide_on(request, None, Some(approval.to_owned())).await
    }

    /// Decides; `refusal` is a reason that is there before anything is looked at, `approval` what a person decided.
    async fn decide_on(
        &self,
        mut request: CallRequest,
        refusal: Option<String>,
        approval: Option<String>,
    ) -> Result<Admission, GateError> {
        let call = request.call_id;
        let catalogue = self.catalogue.load_full();
        let own_packs = self.packs.own();
        let reviewer = Reviewer {
            catalogue: &catalogue,
            policy: &self.policy,
            hosts: self.hosts.as_ref(),
            probes: &self.probes,
            own_packs: &own_packs,
        };
        let Review { class, definition_hash, edge_name, outcome } = reviewer.review(&mut request);
        let outcome = match (refusal, outcome, &approval) {
            (Some(reason), _, _) => Outcome::Refuse { policy: PolicyDecision::Deny, reason },
            (None, Outcome::Refuse { policy: PolicyDecision::Supervised, reason }, Some(_)) => catalogue
                .get(request.scope, &request.key)
                .map_or(Outcome::Refuse { policy: PolicyDecision::Supervised, reason }, |known| {
                    Outcome::Run(Arc::clone(known))
                }),
            (None, outcome, _) => outcome,
        };
        let now = self.storage.now();
        let timeout = request.timeout.unwrap_or(self.limits.default_timeout).min(self.limits.max_timeout);
        let deadline = now + timeout;
        let (outcome, permit) = self.within_limits(outcome, &request, now);
        let verdict = Verdict::of(&outcome, &self.redactor);

        let row = NewCall {
            id: call,
            session: request.session,
            turn: request.turn.map(|turn| turn.id),
            parent: request.parent,
            tool: self.redactor.redact(&request.key).chars().take(200).collect(),
            class,
            scope: request.scope,
            args_redacted: self.redactor.redact_value(&request.args),
            args_exact: request.args.clone(),
            definition_hash,
            state: verdict.state,
            error: verdict.reason.clone(),
            edge: request.edge,
            edge_name,
            caller: request.caller.user,
            caller_role: request.caller.role_word().to_owned(),
            on_behalf_of: request.caller.on_behalf_of,
            token: request.caller.token.clone(),
            origin: request.origin,
            policy: verdict.policy,
            deadline: (verdict.state == CallState::Running).then_some(deadline),
        };
        let lease = request.turn.map(|turn| TurnLease { turn: turn.id, epoch: turn.epoch });
        let created = self.storage.calls().create(row, lease).await;
        let seq = created.map_err(|source| GateError::Record { call, source })?;

        match (outcome, permit) {
            (Outcome::Run(capability), Some(permit)) => {
                let admitted = AdmittedCall::new(
                    request,
                    capability,
                    class,
                    deadline,
                    timeout,
                    permit,
                    self.progress.clone(),
                );
                Ok(Admission::Admitted(Box::new(admitted.with_approval(seq, approval))))
            }
            (outcome, _) => {
                let schema = if let Outcome::Invalid { schema, .. } = outcome { schema } else { None };
                let reason = verdict.reason.unwrap_or_default();
                debug!(call.id = %call, tool = %request.key, state = %verdict.state, "call not admitted");
                Ok(Admission::Rejected(Rejection { call_id: call, state: verdict.state, reason, schema }))
            }
        }
    }

    /// Takes a place for a call that may run, or turns it into a refusal that names the limit.
    fn within_limits(
        &self,
        outcome: Outcome,
        request: &CallRequest,
        now: Timestamp,
    ) -> (Outcome, Option<Permit>) {
        if !matches!(outcome, Outcome::Run(_)) {
            return (outcome, None);
        }
        match self.limiter.take(now, request.caller.person(), &request.key) {
            Ok(permit) => (outcome, Some(permit)),
            Err(reason) => (Outcome::Refuse { policy: PolicyDecision::Deny, reason }, None),
        }
    }

    /// Puts the end of an admitted call on record. Of any number of attempts one wins.
    ///
    /// # Errors
    ///
    /// Fails if it can't be put on record.
    pub async fn finish(&self, call: &AdmittedCall, finished: FinishedCall) -> Result<Recorded, GateError> {
        self.recorder.finish(call.call_id(), finished).await
    }

    /// Why calls of a capability are refused whoever asks; `None` if they can run. For lists of capabilities.
    pub fn refusal_of(&self, capability: &Capability) -> Option<String> {
        let Definition { key, scope, .. } = capability.definition();
        let roles = Roles::new([Role::Admin]);
        let facts = Facts {
            key,
            class: capability.least_class(),
            policy: self.policy.of(*scope, key, capability.source()),
            roles: &roles,
            needs_look: None,
        };
        match decide(&facts) {
            Decision::Run => lacking(capability),
            Decision::Refuse { reason, .. } => Some(reason),
        }
    }

    /// The packs that an admin accepted.
    pub fn packs(&self) -> &PackBook {
        &self.packs
    }

    /// Lines of progress of calls that run, from this moment on. Whoever reads too slowly misses some.
    pub fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.progress.listen()
    }

    /// What ends calls. For the fleet, which resolves unknown ones.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Settles what an earlier manager left `running` (`unknown` on hosts, `failed` in the manager) and counts its
    /// calls of the last hour. To be called once at the start, before any call is admitted.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn recover(&self) -> Result<Vec<CallId>, GateError> {
        let settled = self.storage.calls().settle_left_running().await.map_err(GateError::Recover)?;
        if !settled.is_empty() {
            info!(calls = settled.len(), "settled calls that were running when the manager stopped");
        }
        self.packs.load().await.map_err(GateError::Recover)?;
        let filter = CallFilter { from: Some(self.storage.now() - HOUR), ..CallFilter::default() };
        let mut recent =
            self.storage.calls().list(&filter, None, REMEMBERED).await.map_err(GateError::Recover)?;
        recent.reverse();
        for row in recent.iter().filter(|row| row.started_at.is_some()) {
            self.limiter.remember(row.created_at, row.person(), &row.tool);
        }
        Ok(settled)
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// What is written down of an outcome.
struct Verdict {
    state: CallState,
    policy: PolicyDecision,
    reason: Option<String>,
}

impl Verdict {
    fn of(outcome: &Outcome, redactor: &Redactor) -> Self {
        let redacted = |reason: &String| Some(redactor.redact(reason).into_owned());
        match outcome {
            Outcome::Run(_) => {
                Self { state: CallState::Running, policy: PolicyDecision::Allow, reason: None }
            }
            // Arguments are checked before policy is asked; nothing was allowed.
            Outcome::Invalid { reason, .. } => {
                Self { state: CallState::Invalid, policy: PolicyDecision::Deny, reason: redacted(reason) }
            }
            Outcome::Refuse { policy, reason } => {
                Self { state: CallState::Refused, policy: *policy, reason: redacted(reason) }
            }
        }
    }
}

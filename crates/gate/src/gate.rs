//! The gate itself.

use crate::approvals::{Standing, binding};
use crate::decide::{Decision, Facts, decide};
use crate::limits::{Limiter, Permit, Towards};
use crate::packs::PackBook;
use crate::procedures::SigningBook;
use crate::progress::{CallProgress, ProgressTeller};
use crate::reach::Reached;
use crate::review::{Needs, Outcome, Question, Review, Reviewer, lacking};
use crate::rule::Rule;
use crate::{
    AdmittedCall, ApprovalRules, CallLimits, CallRequest, FinishedCall, GateError, HostDirectory, Narrowing,
    ProbeRules, Recorded, Recorder, Redactor, SigningPins, ToolPolicy, WaitingCall,
};
use arc_swap::ArcSwap;
use model::{ApprovalId, CallId, CallState, Class, GrantId, PolicyDecision, Role, Roles, Scope, Timestamp};
use serde_json::Value;
use skill::{Capability, Catalogue, Definition};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use storage::approvals::{Granted, NewApproval, NewSigning};
use storage::calls::{CallFilter, NewCall, TurnLease};
use storage::{Storage, StorageError};
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
    /// How approvals are given.
    pub approvals: ApprovalRules,
    /// What the configuration trusts in signed documents.
    pub signing: SigningPins,
}

/// Decides on calls and puts them on record. The only maker of [`AdmittedCall`].
pub struct Gate {
    pub(crate) storage: Storage,
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    policy: ToolPolicy,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) hosts: Arc<dyn HostDirectory>,
    probes: ProbeRules,
    limits: CallLimits,
    pub(crate) approvals: ApprovalRules,
    pub(crate) limiter: Limiter,
    pub(crate) recorder: Recorder,
    packs: PackBook,
    pub(crate) signing: SigningBook,
    pub(crate) progress: ProgressTeller,
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
    /// A person has to allow it first. Its row and the question are durable.
    Waiting(WaitingCall),
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
        let GateParts { storage, catalogue, policy, redactor, hosts, probes, limits, approvals, signing } =
            parts;
        let signing = SigningBook::new(storage.clone(), signing);
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
            approvals,
            limiter,
            recorder,
            signing,
            progress,
        }
    }

    /// Decides on a request and puts the answer on record. When this returns, the row and its audit entry are
    /// durable; when it fails, nothing may run. What needs a person's approval runs by a grant that covers it, or waits.
    ///
    /// Cancel safety: a dropped future may leave a `running` row behind that nobody ends before the next start; the
    /// executor therefore admits on a task of its own.
    ///
    /// # Errors
    ///
    /// Fails if the answer can't be put on record, the id was used before, or the turn has another worker.
    pub async fn admit(&self, request: CallRequest) -> Result<Admission, GateError> {
        self.decide_on(request, None).await
    }

    /// Puts a call on record that its asker won't have made, for this reason: as `refused`, whatever else could be
    /// said of it. Nothing runs.
    ///
    /// # Errors
    ///
    /// Fails if it can't be put on record, the id was used before, or the turn has another worker.
    pub async fn refuse(&self, request: CallRequest, reason: String) -> Result<Rejection, GateError> {
        let call_id = request.call_id;
        Ok(match self.decide_on(request, Some(reason.clone())).await? {
            Admission::Rejected(rejection) => rejection,
            // Never: a given reason refuses.
            Admission::Admitted(_) | Admission::Waiting(_) => {
                Rejection { call_id, state: CallState::Refused, reason, schema: None }
            }
        })
    }

    /// Takes secrets out of a text that a person gave.
    pub fn redact(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    /// Which limit a call would reach now, in a sentence.
    pub(crate) fn limit_reached(&self, request: &CallRequest) -> Option<String> {
        self.limiter.look(self.storage.now(), &Towards::of(request))
    }

    /// Looks at a request as it is now; normalises its arguments.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, which knows how often steps of procedures have run.
    pub(crate) async fn review(&self, request: &mut CallRequest) -> Result<Review, StorageError> {
        let mut review = self.review_unread(request);
        let covered = match &review.outcome {
            Outcome::Ask(_, Question { needs: Some(Needs { covered: Some(covered), .. }), .. }) => {
                covered.clone()
            }
            _ => return Ok(review),
        };
        let Some(edge) = request.edge else { return Ok(review) };
        let runs = self.storage.sops().runs(&covered.step, edge).await?;
        if runs >= covered.maximum_runs {
            let reason = used_up(&covered);
            review.outcome = Outcome::Refuse { policy: PolicyDecision::Supervised, reason };
            review.rule = Rule::Procedure;
        }
        Ok(review)
    }

    fn review_unread(&self, request: &mut CallRequest) -> Review {
        let catalogue = self.catalogue.load_full();
        let own_packs = self.packs.own();
        let imported = self.signing.imported();
        let reach = self.storage.users().reach_of(request.caller.person());
        let hosts = Reached::new(Arc::clone(&self.hosts), Arc::clone(&reach));
        let reviewer = Reviewer {
            catalogue: &catalogue,
            policy: &self.policy,
            hosts: &hosts,
            reach: &reach,
            probes: &self.probes,
            own_packs: &own_packs,
            freezes: &self.storage.freezes().current(),
            imported: &imported,
            pins: self.signing.pins(),
            now: self.storage.now(),
        };
        reviewer.review(request)
    }

    /// Decides; `refusal` is a reason that is there before anything is looked at.
    async fn decide_on(
        &self,
        mut request: CallRequest,
        refusal: Option<String>,
    ) -> Result<Admission, GateError> {
        let call = request.call_id;
        let review = self.review(&mut request).await;
        let mut review = review.map_err(|source| GateError::Record { call, source })?;
        if let Some(reason) = refusal {
            review.outcome = Outcome::Refuse { policy: PolicyDecision::Deny, reason };
        }
        if let Outcome::Ask(capability, question) = &review.outcome {
            let (capability, question) = (Arc::clone(capability), question.clone());
            let by_grant = if question.needs.is_some() {
                // No grant is a signature.
                self.may_be_asked(&mut review, &request, None).await?
            } else {
                self.by_grant(&mut review, &request, &capability).await?
            };
            match by_grant {
                ByGrant::Admitted(seq, grant, permit) => {
                    let timeout = self.timeout_of(&request);
                    let admitted = self.admitted(request, capability, review.class, timeout, permit);
                    let admitted = admitted.with_approval(seq, Some(grant.to_string()));
                    return Ok(Admission::Admitted(Box::new(admitted)));
                }
                ByGrant::Ask(note) => return self.ask(review, request, &capability, question, note).await,
                // The review has the reason.
                ByGrant::Refused => {}
            }
        }
        let (call, class, now) = (request.call_id, review.class, self.storage.now());
        let timeout = self.timeout_of(&request);
        let deadline = now + timeout;
        let outcome = std::mem::replace(&mut review.outcome, nothing());
        let (outcome, permit) = self.within_limits(outcome, &request, now);
        let verdict = Verdict::of(&outcome, &self.redactor);
        let row = self.row_of(&request, &review, &verdict, deadline);
        let created = self.storage.calls().create(row, lease_of(&request)).await;
        let seq = created.map_err(|source| GateError::Record { call, source })?;

        match (outcome, permit) {
            (Outcome::Run(capability), Some(permit)) => {
                let admitted = self.admitted(request, capability, class, timeout, permit);
                Ok(Admission::Admitted(Box::new(admitted.with_approval(seq, None))))
            }
            (outcome, _) => {
                let schema = if let Outcome::Invalid { schema, .. } = outcome { schema } else { None };
                let reason = verdict.reason.unwrap_or_default();
                debug!(call.id = %call, tool = %request.key, state = %verdict.state, "call not admitted");
                Ok(Admission::Rejected(Rejection { call_id: call, state: verdict.state, reason, schema }))
            }
        }
    }

    /// Lets a call run by a grant that covers it. What stands in the way is put into the review.
    async fn by_grant(
        &self,
        review: &mut Review,
        request: &CallRequest,
        capability: &Arc<Capability>,
    ) -> Result<ByGrant, GateError> {
        let call = request.call_id;
        let record = |source| GateError::Record { call, source };
        let host = request.edge.and_then(|edge| self.hosts.host(edge));
        let found = self.standing(request, review.class, &review.definition_hash, host.as_ref()).await;
        let Standing { usable, note } = found.map_err(record)?;
        let refuse = |review: &mut Review, reason| {
            review.outcome = Outcome::Refuse { policy: PolicyDecision::Deny, reason };
            Ok(ByGrant::Refused)
        };
        if usable.is_empty() {
            return self.may_be_asked(review, request, note).await;
        }
        if let Err(reason) = self.may_change_anything(request, review.class) {
            return refuse(review, reason);
        }
        let now = self.storage.now();
        let permit = match self.limiter.take(now, Towards::of(request)) {
            Ok(permit) => permit,
            Err(reason) => return refuse(review, reason),
        };
        let outcome = Outcome::Run(Arc::clone(capability));
        let verdict = Verdict { policy: PolicyDecision::Supervised, ..Verdict::of(&outcome, &self.redactor) };
        let row = self.row_of(request, review, &verdict, now + self.timeout_of(request));
        for grant in usable {
            let created = self.storage.calls().create_granted(row.clone(), grant, lease_of(request)).await;
            if let Granted::Started(seq) = created.map_err(record)? {
                return Ok(ByGrant::Admitted(seq, grant, permit));
            }
        }
        Ok(ByGrant::Ask(None))
    }

    /// Whether people can be asked: only so many calls of one person wait.
    async fn may_be_asked(
        &self,
        review: &mut Review,
        request: &CallRequest,
        note: Option<String>,
    ) -> Result<ByGrant, GateError> {
        let call = request.call_id;
        let full = self.too_many_wait(request).await;
        Ok(match full.map_err(|source| GateError::Record { call, source })? {
            Some(reason) => {
                review.outcome = Outcome::Refuse { policy: PolicyDecision::Deny, reason };
                ByGrant::Refused
            }
            None => ByGrant::Ask(note),
        })
    }

    /// Puts a call on record that waits for a person.
    async fn ask(
        &self,
        review: Review,
        request: CallRequest,
        capability: &Capability,
        Question { why, needs }: Question,
        grant_note: Option<String>,
    ) -> Result<Admission, GateError> {
        let call = request.call_id;
        let verdict =
            Verdict { state: CallState::AwaitingApproval, policy: PolicyDecision::Supervised, reason: None };
        let now = self.storage.now();
        let row = self.row_of(&request, &review, &verdict, now);
        let has_hidden = row.args_redacted != request.args;
        let mut reasons = review.class_reasons.clone();
        for reason in &mut reasons {
            reason.text = self.redactor.redact(&reason.text).into_owned();
            if has_hidden {
                // The places are those of the exact text, which isn't shown.
                (reason.start, reason.end) = (None, None);
            }
        }
        let host = request.edge.and_then(|edge| self.hosts.host(edge));
        let approval = NewApproval {
            id: ApprovalId::generate(),
            tool_label: capability.definition().name.clone(),
            why: self.redactor.redact(&why).into_owned(),
            grant_note,
            reasons,
            has_hidden,
            edge_labels: host.map(|host| host.labels),
            binding: binding(&request, &review.definition_hash),
            timeout: self.timeout_of(&request),
            narrowed_to: match &request.narrowing {
                Narrowing::All => None,
                Narrowing::Only(keys) => Some(keys.clone()),
            },
            decide_within: self.approvals.decide_by(review.class),
            signing: needs.map(|needs| NewSigning {
                needed: needs.people,
                independent_needed: needs.independent,
                sop: needs.covered.map(|covered| covered.step),
            }),
        };
        let waiting = WaitingCall {
            call_id: call,
            approval_id: approval.id,
            tool: request.key.clone(),
            is_child: request.parent.is_some(),
        };
        let created = self.storage.calls().create_waiting(row, approval, lease_of(&request)).await;
        created.map_err(|source| GateError::Record { call, source })?;
        info!(call.id = %call, approval.id = %waiting.approval_id, tool = %request.key, "a call waits for a person");
        Ok(Admission::Waiting(waiting))
    }

    /// A call whose `running` row is durable; its time begins to run.
    pub(crate) fn admitted(
        &self,
        request: CallRequest,
        capability: Arc<Capability>,
        class: Class,
        timeout: Duration,
        permit: Permit,
    ) -> AdmittedCall {
        let deadline = self.storage.now() + timeout;
        AdmittedCall::new(request, capability, class, deadline, timeout, permit, self.progress.clone())
    }

    fn timeout_of(&self, request: &CallRequest) -> Duration {
        request.timeout.unwrap_or(self.limits.default_timeout).min(self.limits.max_timeout)
    }

    /// What is written down of a request.
    fn row_of(
        &self,
        request: &CallRequest,
        review: &Review,
        verdict: &Verdict,
        deadline: Timestamp,
    ) -> NewCall {
        NewCall {
            id: request.call_id,
            session: request.session,
            turn: request.turn.map(|turn| turn.id),
            parent: request.parent,
            tool: self.redactor.redact(&request.key).chars().take(200).collect(),
            class: review.class,
            scope: request.scope,
            args_redacted: self.redactor.redact_value(&request.args),
            args_exact: request.args.clone(),
            definition_hash: review.definition_hash.clone(),
            state: verdict.state,
            error: verdict.reason.clone(),
            edge: request.edge,
            edge_name: review.edge_name.clone(),
            caller: request.caller.user,
            caller_role: request.caller.role_word().to_owned(),
            on_behalf_of: request.caller.on_behalf_of,
            token: request.caller.token.clone(),
            origin: request.origin,
            policy: verdict.policy,
            deadline: (verdict.state == CallState::Running).then_some(deadline),
            approval: None,
        }
    }

    /// Why no more calls of the person may wait for a decision; `None` if they may.
    pub(crate) async fn too_many_wait(&self, request: &CallRequest) -> Result<Option<String>, StorageError> {
        let most = self.limits.per_person_at_once;
        if most == 0 {
            return Ok(None);
        }
        let waiting = self.storage.approvals().pending_of(request.caller.person()).await?;
        Ok((waiting >= u64::from(most)).then(|| {
            format!("At most {most} calls of one person may wait for a decision; decide on some first.")
        }))
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
        match self.limiter.take(now, Towards::of(request)) {
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
            Decision::Run | Decision::Ask { .. } => lacking(capability),
            Decision::Procedure if *scope == Scope::Manager => {
                Some(format!("`{key}` is dangerous, and nothing dangerous runs beside the manager."))
            }
            Decision::Procedure if self.signing.pins().sop_keys.is_empty() => Some(format!(
                "`{key}` is dangerous: it needs a signed procedure (SOP), and this manager's configuration pins no key \
                 for those ([security.sop] trusted_keys)."
            )),
            Decision::Procedure => None,
            Decision::Refuse { reason, .. } => Some(reason),
        }
    }

    /// The packs that an admin accepted.
    pub fn packs(&self) -> &PackBook {
        &self.packs
    }

    /// The procedures and the list of approvers.
    pub fn signing(&self) -> &SigningBook {
        &self.signing
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
        self.signing.load().await.map_err(GateError::Recover)?;
        let filter = CallFilter { from: Some(self.storage.now() - HOUR), ..CallFilter::default() };
        let mut recent =
            self.storage.calls().list(&filter, None, REMEMBERED).await.map_err(GateError::Recover)?;
        recent.reverse();
        for row in recent.iter().filter(|row| row.started_at.is_some()) {
            self.limiter.remember(row.created_at, Towards::new(row.person(), &row.tool, row.edge));
        }
        Ok(settled)
    }
}

/// What came of a look for grants.
enum ByGrant {
    /// One covers the call, and its `running` row is durable: its number on its host, and the grant.
    Admitted(Option<u64>, GrantId, Permit),
    /// None is used; why, if one would cover it.
    Ask(Option<String>),
    /// One covers it, and something else stands in the way.
    Refused,
}

/// Why no more calls are made by a step.
pub(crate) fn used_up(covered: &crate::procedures::Covered) -> String {
    format!(
        "The step `{}` of the procedure {} version {} may run {} times on one host, and has.",
        covered.step.step, covered.step.id, covered.step.version, covered.maximum_runs
    )
}

/// What stands in a review whose outcome was taken out.
const fn nothing() -> Outcome {
    Outcome::Refuse { policy: PolicyDecision::Deny, reason: String::new() }
}

fn lease_of(request: &CallRequest) -> Option<TurnLease> {
    request.turn.map(|turn| TurnLease { turn: turn.id, epoch: turn.epoch })
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
            Outcome::Ask(..) => {
                Self { state: CallState::AwaitingApproval, policy: PolicyDecision::Supervised, reason: None }
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

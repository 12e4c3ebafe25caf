//! The start of an approved call: everything is looked at again, from its row alone.

use crate::approvals::binding;
use crate::gate::used_up;
use crate::limits::Towards;
use crate::review::{Needs, Outcome, Review, frozen};
use crate::signatures::newer_version;
use crate::{
    AdmittedCall, CallRequest, FinishedCall, Gate, GateError, HostState, NamedStep, Narrowing, Principal,
    Rejection, Taint, TurnRef,
};
use model::{ApprovalState, CallId, CallState, Class, Scope, Timestamp, UserId};
use skill::Capability;
use std::sync::Arc;
use storage::StorageError;
use storage::approvals::{Approval, Started};

/// The gate's answer to the wish to start an approved call. What is said in it is on record.
#[derive(Debug)]
pub enum Start {
    /// The call may run, and its `running` row is durable. Nobody else starts it.
    Admitted(Box<AdmittedCall>),
    /// It won't run, or somebody else has started it; the row says which.
    Rejected(Rejection),
    /// Its host isn't connected. It waits on, and may start until then.
    HostAway(Timestamp),
    /// What was signed is void, because its host's edge has restarted: it waits for people again, or has expired.
    Reopened,
}

/// Why an approved call doesn't start now.
enum Not {
    /// It never will.
    Ever(CallState, String),
    /// Its host isn't connected.
    HostAway(Timestamp),
    /// What was signed is void.
    Reopened,
    /// The database failed, and nothing is decided.
    Storage(StorageError),
}

impl From<StorageError> for Not {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl Gate {
    /// Starts an approved call after a fresh look at everything that may have changed since it was asked for: the
    /// person, the roles, the policy, the definition, the class, the host, limits, the time. Works from the rows
    /// alone, so also after a restart. Of any number of attempts one starts it.
    ///
    /// # Errors
    ///
    /// Fails if there is no such call, it isn't approved, or the database fails. Then nothing was started.
    pub async fn admit_approved(&self, call: CallId) -> Result<Start, GateError> {
        let found = self.storage.approvals().of_call(call).await.map_err(GateError::Approval)?;
        let approval = found.ok_or_else(|| {
            GateError::Approval(StorageError::not_found(format!("the approval of call {call}")))
        })?;
        if approval.call.state != CallState::AwaitingApproval {
            return Ok(Start::Rejected(rejection_of(&approval)));
        }
        if approval.state != ApprovalState::Approved {
            return Err(GateError::Approval(StorageError::conflict(format!("call {call} isn't approved"))));
        }
        match self.start(&approval).await {
            Ok(Ok(admitted)) => Ok(Start::Admitted(Box::new(admitted))),
            Ok(Err(state)) => Ok(Start::Rejected(Rejection { state, ..rejection_of(&approval) })),
            Err(Not::HostAway(until)) => Ok(Start::HostAway(until)),
            Err(Not::Reopened) => Ok(Start::Reopened),
            Err(Not::Storage(source)) => Err(GateError::Record { call, source }),
            Err(Not::Ever(state, reason)) => {
                let finished = FinishedCall::without_result(state, reason);
                let recorded = self.recorder.finish(call, finished).await?;
                Ok(Start::Rejected(Rejection {
                    call_id: call,
                    state: recorded.state,
                    reason: recorded.error.unwrap_or_default(),
                    schema: None,
                }))
            }
        }
    }

    /// The inner error is the state that somebody else gave the call just before.
    async fn start(&self, approval: &Approval) -> Result<Result<AdmittedCall, CallState>, Not> {
        let row = &approval.call;
        let valid_until = approval.valid_until.unwrap_or(approval.decide_by);
        if valid_until <= self.storage.now() {
            let at = valid_until.format("%Y-%m-%d %H:%M:%S UTC");
            let reason = format!("It was approved, but had not started when that ran out at {at}.");
            return Err(Not::Ever(CallState::Expired, reason));
        }
        let refused =
            |reason: String| Not::Ever(CallState::Refused, format!("It was approved, but: {reason}"));
        if let Some(parent) = row.parent {
            let parent = self.storage.calls().find(parent).await?;
            if parent.is_none_or(|parent| parent.state.is_final()) {
                return Err(refused("The call that asked for it has ended.".to_owned()));
            }
        }
        let mut request = self.request_again(approval).await?.map_err(refused)?;
        let host = request.edge.and_then(|edge| self.hosts.host(edge));
        if host.as_ref().is_some_and(|host| host.state == HostState::Offline) {
            return Err(Not::HostAway(valid_until));
        }
        if self.reopen_if_void(approval).await? {
            return Err(Not::Reopened);
        }
        let Looked { class, capability, needs } =
            self.look_again(approval, &mut request).await?.map_err(refused)?;
        let evidence = match (&needs, &host) {
            (Some(_), Some(host)) => {
                Some(self.evidence(approval, host, &request.args, class).map_err(refused)?)
            }
            _ => None,
        };
        let covered = needs.and_then(|needs| needs.covered);
        let permit = self.limiter.take(self.storage.now(), Towards::of(&request)).map_err(refused)?;
        let timeout = approval.timeout;
        let maximum_runs = covered.as_ref().map(|covered| covered.maximum_runs);
        match self.storage.approvals().start(row.id, timeout, maximum_runs).await? {
            Started::Done(seq) => {
                let admitted = self.admitted(request, capability, class, timeout, permit);
                let admitted = admitted.with_approval(seq, Some(approval.id.to_string()));
                Ok(Ok(admitted.with_evidence(evidence)))
            }
            Started::RunsUsedUp => Err(refused(covered.as_ref().map(used_up).unwrap_or_default())),
            Started::SopRevoked => Err(refused("The procedure was revoked.".to_owned())),
            Started::TurnEnded => Err(refused("The turn that it belongs to has ended.".to_owned())),
            Started::Before(state) => Ok(Err(state)),
        }
    }

    /// The request as it was made, with the rights that its person has now; the inner error says in a sentence why
    /// the person has none.
    async fn request_again(&self, approval: &Approval) -> Result<Result<CallRequest, String>, StorageError> {
        let row = &approval.call;
        let Some(person) = self.storage.users().find(row.person()).await? else {
            return Ok(Err("The person behind it has no account any more.".to_owned()));
        };
        if person.disabled {
            return Ok(Err("The account of the person behind it is disabled.".to_owned()));
        }
        let Some(args) = self.storage.calls().exact_args(row.id).await? else {
            return Ok(Err("Its arguments are gone.".to_owned()));
        };
        let by_model = row.caller == UserId::SYSTEM && row.on_behalf_of.is_some();
        let turn = match row.turn {
            None => None,
            Some(id) => self.storage.turns().find(id).await?.map(|turn| TurnRef { id, epoch: turn.epoch }),
        };
        Ok(Ok(CallRequest {
            call_id: row.id,
            scope: row.scope,
            key: row.tool.clone(),
            edge: row.edge,
            args,
            caller: Principal {
                user: row.caller,
                roles: person.roles,
                on_behalf_of: row.on_behalf_of,
                by_model,
                token: row.token.clone(),
            },
            origin: row.origin,
            session: row.session,
            turn,
            parent: row.parent,
            timeout: Some(approval.timeout),
            // What the turn had taken in isn't kept; the calls that this one makes are held to the stricter rule.
            taint: Taint { untrusted: by_model, named_places: Vec::new() },
            narrowing: approval.narrowed_to.clone().map_or(Narrowing::All, Narrowing::Only),
            sop: approval
                .signing
                .as_ref()
                .and_then(|signing| signing.sop.as_ref())
                .map(|sop| NamedStep { id: sop.id.clone(), step: sop.step.clone() }),
        }))
    }

    /// Looks at an approved request as if it came now. What was approved must be what would run. The inner error says
    /// what isn't.
    async fn look_again(
        &self,
        approval: &Approval,
        request: &mut CallRequest,
    ) -> Result<Result<Looked, String>, StorageError> {
        let review = self.review(request).await?;
        Ok(self.is_what_was_approved(approval, request, review))
    }

    fn is_what_was_approved(
        &self,
        approval: &Approval,
        request: &CallRequest,
        review: Review,
    ) -> Result<Looked, String> {
        self.may_change_anything(request, review.class)?;
        let Review { class, definition_hash, outcome, .. } = review;
        if class > approval.call.class {
            return Err(format!("It is {class} now, and was approved as {}.", approval.call.class));
        }
        let (capability, needs) = match outcome {
            Outcome::Run(capability) => (capability, None),
            Outcome::Ask(capability, question) => (capability, question.needs),
            Outcome::Invalid { reason, .. } | Outcome::Refuse { reason, .. } => return Err(reason),
        };
        if definition_hash != approval.call.definition_hash {
            return Err(format!("`{}` is not what was approved: its definition has changed.", request.key));
        }
        if binding(request, &definition_hash) != approval.binding {
            return Err("What would run is not what was approved.".to_owned());
        }
        let asked = approval.signing.as_ref().and_then(|signing| signing.sop.as_ref());
        let covered = needs.as_ref().and_then(|needs| needs.covered.as_ref());
        match (asked, covered) {
            (Some(asked), Some(covered)) if *asked != covered.step => {
                return Err(newer_version(asked.version, covered.step.version));
            }
            (None, Some(_)) => return Err("It was asked for without a procedure.".to_owned()),
            (Some(_), None) => {
                return Err("It needs no procedure any more; ask again without one.".to_owned());
            }
            _ => {}
        }
        // The number on its host goes with the class that is on record.
        Ok(Looked { class: approval.call.class, capability, needs })
    }

    /// Whether calls that aren't safe may start at all, now and on this host. Asked right before every one of them
    /// starts, whether a person or a grant allowed it.
    pub(crate) fn may_change_anything(&self, request: &CallRequest, class: Class) -> Result<(), String> {
        if class == Class::Safe {
            return Ok(());
        }
        let host = request.edge.and_then(|edge| self.hosts.host(edge));
        let freezes = self.storage.freezes().current();
        if let Some((reason, _)) = frozen(&freezes, class, request.edge, host.as_ref()) {
            return Err(reason);
        }
        if request.scope == Scope::Manager {
            return Ok(());
        }
        match host {
            Some(host) if host.state == HostState::Revoked => {
                Err(format!("Host `{}` was revoked.", host.name))
            }
            Some(_) => Ok(()),
            None => Err("Its host is gone.".to_owned()),
        }
    }
}

/// An approved call that is as it was approved.
struct Looked {
    class: Class,
    capability: Arc<Capability>,
    needs: Option<Needs>,
}

fn rejection_of(approval: &Approval) -> Rejection {
    Rejection {
        call_id: approval.call.id,
        state: approval.call.state,
        reason: approval.call.error.clone().unwrap_or_default(),
        schema: None,
    }
}

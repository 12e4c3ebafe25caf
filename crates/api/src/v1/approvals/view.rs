//! An approval as the API shows it.

use super::signing::SigningView;
use crate::state::AppState;
use crate::v1::freeze::PersonView;
use crate::v1::policy::ClassReasonView;
use crate::words::{CallStateWord, ClassWord, OriginWord, ScopeWord};
use chrono::{DateTime, Utc};
use gate::Decider;
use gate::approvals::{may_be_standing, takes_exact_grants_only};
use model::{
    ApprovalDecision, ApprovalId, ApprovalState, CallId, CallState, Class, EdgeId, Origin, Scope, SessionId,
    TurnId, UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use storage::approvals::Approval;
use utoipa::{IntoParams, ToSchema};

/// Where an approval stands. It leaves `pending` once.
#[derive(ToSchema)]
#[schema(as = ApprovalState, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ApprovalStateWord {
    /// Waits for a person.
    Pending,
    /// Allowed; the call may start until the approval runs out.
    Approved,
    /// A person said no.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// The call was stopped before anybody decided.
    Withdrawn,
}

/// What was decided on a call.
#[derive(ToSchema)]
#[schema(as = ApprovalDecision, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ApprovalDecisionWord {
    /// This call.
    AllowOnce,
    /// This call, and those of this tool in the same chat on the same host.
    AllowChat,
    /// This call, and those that a standing grant describes.
    AllowAlways,
    /// Not this call.
    Deny,
}

/// A question to people whether a call may run, with everything that will run.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalView {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: ApprovalId,
    /// The call.
    #[schema(value_type = Uuid)]
    pub call_id: CallId,
    /// The chat that the call belongs to.
    #[schema(value_type = Option<Uuid>)]
    pub session_id: Option<SessionId>,
    /// What that chat is called.
    pub session_title: Option<String>,
    /// The turn that the call belongs to.
    #[schema(value_type = Option<Uuid>)]
    pub turn_id: Option<TurnId>,
    /// The call of the tool that wants this one made.
    #[schema(value_type = Option<Uuid>)]
    pub parent_call_id: Option<CallId>,
    /// Key of the capability.
    pub tool: String,
    /// The capability's name for people.
    pub tool_name: String,
    /// Where it runs.
    #[schema(value_type = ScopeWord)]
    pub scope: Scope,
    /// The call's class.
    #[schema(value_type = ClassWord)]
    pub class: Class,
    /// The host.
    #[schema(value_type = Option<i64>)]
    pub edge_id: Option<EdgeId>,
    /// The host's name.
    pub edge_name: Option<String>,
    /// The host's labels when it was asked; empty beside the manager.
    pub edge_labels: BTreeMap<String, String>,
    /// All of the arguments, redacted.
    #[schema(value_type = Object)]
    pub args: Value,
    /// Whether redaction hides a part of them.
    pub has_hidden: bool,
    /// Why the call has its class.
    pub reasons: Vec<ClassReasonView>,
    /// Why a person is asked.
    pub why: String,
    /// Why a person is asked although there is a grant.
    pub grant_note: Option<String>,
    /// The version of what would be called.
    pub definition_hash: String,
    /// SHA-256 (hex) over everything that the decision is about.
    pub binding: String,
    /// The person behind the call.
    pub requested_by: PersonView,
    /// Whether a model asks, on that person's behalf.
    pub by_model: bool,
    /// Through which entry point it came.
    #[schema(value_type = OriginWord)]
    pub origin: Origin,
    /// The API token through which the person asked.
    pub token_name: Option<String>,
    /// Where the approval stands.
    #[schema(value_type = ApprovalStateWord)]
    pub state: ApprovalState,
    /// When it was asked.
    pub created_at: DateTime<Utc>,
    /// When it is too late to decide.
    pub decide_by: DateTime<Utc>,
    /// When it left `pending`.
    pub decided_at: Option<DateTime<Utc>>,
    /// Who decided; nobody where it expired or was withdrawn.
    pub decided_by: Option<PersonView>,
    /// What was decided.
    #[schema(value_type = Option<ApprovalDecisionWord>)]
    pub decision: Option<ApprovalDecision>,
    /// What was said about it. Redacted.
    pub note: Option<String>,
    /// Until when the call may start.
    pub valid_until: Option<DateTime<Utc>>,
    /// Where the call stands now.
    #[schema(value_type = CallStateWord)]
    pub call_state: CallState,
    /// Whether the caller may decide now. Where signatures are needed, that is to deny.
    pub may_decide: bool,
    /// Why the caller may not; null once it is decided.
    pub may_not_because: Option<String>,
    /// Whether more than this one call can be allowed at once.
    pub may_always: bool,
    /// Whether a standing grant of this tool takes exact arguments only.
    pub args_scope_fixed: bool,
    /// What has to be signed; null where a decision is enough.
    pub signing: Option<SigningView>,
}

impl ApprovalView {
    /// The view of an approval for somebody.
    pub(crate) fn of(app: &AppState, who: &Decider, approval: Approval) -> Self {
        let right = match approval.state {
            ApprovalState::Pending => app.executor.gate().may_decide(who, &approval),
            _ => Ok(()),
        };
        let may_always = may_be_standing(&approval);
        let shown = app.executor.gate().shown_signing(who, &approval);
        let signing = approval.signing.clone().zip(shown);
        let call = approval.call;
        Self {
            id: approval.id,
            call_id: call.id,
            session_id: call.session,
            session_title: approval.session_title,
            turn_id: call.turn,
            parent_call_id: call.parent,
            tool_name: approval.tool_label,
            scope: call.scope,
            class: call.class,
            edge_id: call.edge,
            edge_name: call.edge_name.clone(),
            edge_labels: approval.edge_labels.unwrap_or_default(),
            requested_by: PersonView {
                id: call.on_behalf_of.unwrap_or(call.caller),
                name: approval.person_name,
            },
            by_model: call.caller == UserId::SYSTEM && call.on_behalf_of.is_some(),
            args: call.args,
            has_hidden: approval.has_hidden,
            reasons: approval.reasons.into_iter().map(ClassReasonView::from).collect(),
            why: approval.why,
            grant_note: approval.grant_note,
            definition_hash: call.definition_hash,
            binding: approval.binding,
            origin: call.origin,
            token_name: call.token.map(|token| token.name),
            state: approval.state,
            created_at: approval.asked_at,
            decide_by: approval.decide_by,
            decided_at: approval.decided_at,
            decided_by: approval.decided_by.map(|id| PersonView {
                id,
                name: approval.decided_by_name.unwrap_or_else(|| format!("user {id}")),
            }),
            decision: approval.decision,
            note: approval.note,
            valid_until: approval.valid_until,
            call_state: call.state,
            may_decide: approval.state == ApprovalState::Pending && right.is_ok(),
            may_not_because: right.err(),
            may_always,
            signing: signing.map(|(signing, shown)| SigningView::new(signing, shown)),
            args_scope_fixed: takes_exact_grants_only(&call.tool),
            tool: call.tool,
        }
    }
}

/// Which approvals. Absent means all.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// Whether they wait for a decision.
    pub(super) state: Option<Waiting>,
}

/// Whether an approval waits for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ApprovalListState)]
pub enum Waiting {
    /// It does.
    Pending,
    /// It doesn't any more: decided, expired or withdrawn.
    Decided,
}

//! Decides on an approval.

use super::view::{ApprovalDecisionWord, ApprovalView};
use crate::auth::Caller;
use crate::auth::rule::Decide;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use axum::extract::State;
use gate::approvals::{GrantWish, WishedArguments, WishedEdges};
use gate::{Ruled, Ruling};
use model::{ApprovalDecision, ApprovalId, ApprovalState};
use serde::Deserialize;
use std::collections::BTreeMap;
use storage::approvals::Approval;
use utoipa::ToSchema;

/// A decision.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What.
    #[schema(value_type = ApprovalDecisionWord)]
    decision: ApprovalDecision,
    /// What is said about it, at most 2,000 characters; the model reads it with a denial.
    note: Option<String>,
    /// With `allow_always`: what the grant covers. If absent: this host, these arguments, 30 days.
    grant: Option<GrantRequest>,
}

/// What a grant is to cover.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// On which hosts.
    edges: GrantEdgesChoice,
    /// With `labels`: all of these, which the host of the call must have.
    labels: Option<BTreeMap<String, String>>,
    /// With which arguments.
    arguments: GrantArgumentsChoice,
    /// For how many hours: 1 to 8,760, for `bash` to 720. If absent: 720.
    expires_in_hours: Option<u32>,
    /// For how many calls. If absent: any number.
    uses: Option<u32>,
}

/// On which hosts a grant covers calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantEdgesChoice {
    /// On that of the call.
    This,
    /// On those with all of some labels.
    Labels,
    /// On any.
    Any,
}

/// With which arguments a grant covers calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantArgumentsChoice {
    /// With exactly those of the call.
    Exact,
    /// With any.
    Any,
}

impl GrantRequest {
    fn read(self) -> Result<GrantWish, ApiError> {
        let edges = match (self.edges, self.labels) {
            (GrantEdgesChoice::Labels, labels) => WishedEdges::Labels(labels.unwrap_or_default()),
            (_, Some(_)) => {
                return Err(ApiError::invalid("/grant/labels", "goes only with `edges` = `labels`"));
            }
            (GrantEdgesChoice::This, None) => WishedEdges::This,
            (GrantEdgesChoice::Any, None) => WishedEdges::Any,
        };
        let arguments = match self.arguments {
            GrantArgumentsChoice::Exact => WishedArguments::Exact,
            GrantArgumentsChoice::Any => WishedArguments::Any,
        };
        Ok(GrantWish { edges, arguments, expires_in_hours: self.expires_in_hours, uses: self.uses })
    }
}

/// Decides on an approval. Of any number of attempts one wins; the others are a conflict that holds the approval as it
/// then stands. Tokens never decide. What needs signatures can only be denied here (422 otherwise).
#[utoipa::path(post, path = "/api/v1/approvals/{id}/decision", operation_id = "decide_approval", tag = "approvals",
    params(("id" = Uuid, Path)), request_body = DecisionRequest, responses((status = OK, body = ApprovalView)),
    security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Decide>,
    Path(id): Path<ApprovalId>,
    Json(request): Json<DecisionRequest>,
) -> Result<axum::Json<ApprovalView>, ApiError> {
    let who = caller.decider();
    let ruling = Ruling {
        decision: request.decision,
        note: request.note,
        grant: request.grant.map(GrantRequest::read).transpose()?,
    };
    match app.executor.gate().decide_approval(&who, id, ruling).await? {
        Ruled::Done(approval) => Ok(axum::Json(ApprovalView::of(&app, &who, *approval))),
        Ruled::Before(approval) => {
            let conflict = ApiError::conflict(how_it_stands(&approval));
            Err(conflict.with_approval(&ApprovalView::of(&app, &who, *approval)))
        }
        Ruled::NotFound => Err(ApiError::not_found("approval")),
        Ruled::Forbidden(reason) => Err(ApiError::forbidden(reason)),
        Ruled::Invalid(reason) => Err(ApiError::invalid("", reason)),
        Ruled::NeedsSignatures(reason) => Err(ApiError::needs_signatures(reason)),
    }
}

pub(super) fn how_it_stands(approval: &Approval) -> String {
    let by = approval.decided_by_name.as_deref().unwrap_or("somebody");
    match approval.state {
        ApprovalState::Pending => "its call has ended".to_owned(),
        ApprovalState::Approved => format!("{by} has allowed it already"),
        ApprovalState::Denied => format!("{by} has denied it already"),
        ApprovalState::Expired => "the time to decide is over".to_owned(),
        ApprovalState::Withdrawn => "the call was stopped before anybody decided".to_owned(),
    }
}

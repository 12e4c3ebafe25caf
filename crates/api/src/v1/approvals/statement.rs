//! Shows what is to be signed for a call.

use super::decide::how_it_stands;
use super::view::ApprovalView;
use crate::auth::Caller;
use crate::auth::rule::Sign;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use gate::signatures::Opened;
use model::ApprovalId;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A statement that the caller may sign.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StatementView {
    /// Its canonical text (RFC 8785 JSON): what a key file signs.
    statement: String,
    /// SHA-256 of the text, in hex: its bytes are the challenge of a passkey.
    digest: String,
    /// The exact arguments of the call. Their hash in the statement can be computed again from these.
    #[schema(value_type = Object)]
    args: Value,
    /// When it is void.
    not_after: DateTime<Utc>,
    /// How many people have to sign.
    signatures_needed: u32,
}

/// Shows what is to be signed for a call, with its exact arguments: to approvers whom the list names. Opens a statement if
/// none is open for the present process of the host's edge, whose nonce it holds.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/statement", operation_id = "open_statement", tag = "approvals",
    params(("id" = Uuid, Path)), responses((status = OK, body = StatementView)),
    security(("cookie" = ["viewer"]), ("token" = ["approvals:sign"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Sign>,
    Path(id): Path<ApprovalId>,
) -> Result<Json<StatementView>, ApiError> {
    let who = caller.decider();
    match app.executor.open_statement(&who, id, caller.actor()).await? {
        Opened::Statement(it) => Ok(Json(StatementView {
            statement: it.text,
            digest: it.digest,
            args: it.args,
            not_after: it.not_after,
            signatures_needed: it.needed,
        })),
        Opened::Before(approval) => {
            let conflict = ApiError::conflict(how_it_stands(&approval));
            Err(conflict.with_approval(&ApprovalView::of(&app, &who, *approval)))
        }
        Opened::NotFound => Err(ApiError::not_found("approval")),
        Opened::Forbidden(reason) => Err(ApiError::forbidden(reason)),
        Opened::Conflict(reason) => Err(ApiError::conflict(reason)),
    }
}

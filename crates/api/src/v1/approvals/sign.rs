//! Takes a signature over the statement of a call.

use super::decide::how_it_stands;
use super::view::ApprovalView;
use crate::auth::Caller;
use crate::auth::rule::Sign;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::state::AppState;
use axum::extract::State;
use gate::signatures::{BroughtSignature, Countersigned};
use model::ApprovalId;
use serde::Deserialize;
use signing::Signature;
use utoipa::ToSchema;

/// A signature over the statement of a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignatureRequest {
    /// The text that was signed, as it was shown.
    statement: String,
    /// The signature.
    #[schema(value_type = SignatureBody)]
    signature: Signature,
    /// The host's name, typed: needed with the last signature for a dangerous call.
    host_name: Option<String>,
}

/// A person's signature.
#[derive(ToSchema)]
#[schema(as = Signature)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct SignatureBody {
    /// The name of the caller's account.
    person: String,
    /// The id of the key on the list of approvers.
    key: String,
    /// The signature, in base64: of a key file over the statement's text, of a passkey over what it signs.
    signature: String,
    /// Of a passkey: `clientDataJSON`, in base64.
    client_data: Option<String>,
    /// Of a passkey: `authenticatorData`, in base64.
    authenticator_data: Option<String>,
}

/// Takes the caller's own signature over the statement that is open. The last one that is needed approves the call. An API
/// token may bring what its owner's key file has signed, and nothing else.
#[utoipa::path(post, path = "/api/v1/approvals/{id}/signatures", operation_id = "sign_approval", tag = "approvals",
    params(("id" = Uuid, Path)), request_body = SignatureRequest, responses((status = OK, body = ApprovalView)),
    security(("cookie" = ["viewer"]), ("token" = ["approvals:sign"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Sign>,
    Path(id): Path<ApprovalId>,
    Json(request): Json<SignatureRequest>,
) -> Result<axum::Json<ApprovalView>, ApiError> {
    let who = caller.decider();
    let brought = BroughtSignature {
        statement: request.statement,
        signature: request.signature,
        host_name: request.host_name,
        actor: caller.actor(),
    };
    match app.executor.gate().sign_approval(&who, id, brought).await? {
        Countersigned::Counted(approval) => Ok(axum::Json(ApprovalView::of(&app, &who, *approval))),
        Countersigned::Before(approval) => {
            let conflict = ApiError::conflict(how_it_stands(&approval));
            Err(conflict.with_approval(&ApprovalView::of(&app, &who, *approval)))
        }
        Countersigned::NotFound => Err(ApiError::not_found("approval")),
        Countersigned::Forbidden(reason) => Err(ApiError::forbidden(reason)),
        Countersigned::Conflict(reason) => Err(ApiError::conflict(reason)),
        Countersigned::Invalid(reason) => Err(ApiError::invalid("", reason)),
    }
}

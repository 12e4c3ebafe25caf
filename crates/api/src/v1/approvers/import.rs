//! Imports a list of approvers.

use super::view::ApproversView;
use super::{bytes, unusable};
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

/// A list of approvers with its signature.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportApproversRequest {
    /// The file as it was signed, in base64.
    document: String,
    /// Its detached signature, in base64.
    signature: String,
}

/// Imports a list of approvers that the root key of the manager's configuration signed. Its version must be above that of
/// the present one.
#[utoipa::path(post, path = "/api/v1/approvers", operation_id = "import_approvers", tag = "signing",
    request_body = ImportApproversRequest, responses((status = OK, body = ApproversView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Json(request): Json<ImportApproversRequest>,
) -> Result<axum::Json<ApproversView>, ApiError> {
    let document = bytes("/document", &request.document)?;
    let signature = bytes("/signature", &request.signature)?;
    let book = app.executor.gate().signing();
    let list = book.check_approvers(&document, &signature).map_err(unusable)?;
    if app.storage.now() >= list.expires {
        let at = list.expires.to_rfc3339();
        return Err(ApiError::invalid("/document", format!("expires: this list expired at {at}")));
    }
    book.import_approvers(&list, document, signature, caller.user.id, caller.actor()).await?;
    Ok(axum::Json(ApproversView::of(&app)))
}

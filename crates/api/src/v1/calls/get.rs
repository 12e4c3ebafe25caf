//! Tells everything about one call.

use super::filter::may_see;
use super::view::{CallView, MAX_INLINE_RESULT_BYTES, Names};
use crate::auth::rule::Read;
use crate::auth::{Caller, Identity};
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use crate::v1::audit::AuditRowView;
use axum::Json;
use axum::extract::State;
use model::CallId;
use serde::Serialize;
use storage::calls::{CallFilter, CallRow};
use utoipa::ToSchema;

/// A call with its records and the calls that it made.
#[derive(Serialize, ToSchema)]
pub struct CallDetail {
    /// The call.
    #[serde(flatten)]
    call: CallView,
    /// What the audit chain says of it, oldest first.
    audit: Vec<AuditRowView>,
    /// The calls that it made, newest first.
    children: Vec<CallView>,
}

const MAX_CHILDREN: u32 = 200;

/// One call with its records. Viewers see their own.
#[utoipa::path(get, path = "/api/v1/calls/{id}", operation_id = "get_call", tag = "calls",
    params(("id" = Uuid, Path)), responses((status = OK, body = CallDetail)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Path(id): Path<CallId>,
) -> Result<Json<CallDetail>, ApiError> {
    let row = visible(&app, &caller, id).await?;
    let names = Names::load(&app).await?;
    let text = match row.result_bytes {
        1..=INLINE => app.storage.calls().result_text(id).await?,
        _ => None,
    };
    let audit = app.storage.audit().of_call(id).await?.into_iter().map(AuditRowView::from).collect();
    let filter = CallFilter { parent: Some(id), ..CallFilter::default() };
    let children = app.storage.calls().list(&filter, None, MAX_CHILDREN).await?;
    Ok(Json(CallDetail {
        call: CallView::of(row, &names).with_result(text.as_deref()),
        audit,
        children: children.into_iter().map(|row| CallView::of(row, &names)).collect(),
    }))
}

const INLINE: u64 = MAX_INLINE_RESULT_BYTES as u64;

/// The call, if there is one that the caller may see.
pub(super) async fn visible(app: &AppState, identity: &Identity, id: CallId) -> Result<CallRow, ApiError> {
    app.storage
        .calls()
        .find(id)
        .await?
        .filter(|row| may_see(app, identity, row))
        .ok_or_else(|| ApiError::not_found("call"))
}

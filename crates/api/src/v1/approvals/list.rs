//! Lists approvals.

use super::view::{ApprovalQuery, ApprovalView, Waiting};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery, bad_cursor};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use storage::approvals::{ApprovalCursor, ApprovalFilter};

/// Lists approvals, newest first: for approvers and admins all on hosts within their reach, for others those of their own
/// calls. A page may be short though more follow.
#[utoipa::path(get, path = "/api/v1/approvals", operation_id = "list_approvals", tag = "approvals",
    params(ApprovalQuery, ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<ApprovalView>)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<ApprovalQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<ApprovalView>>, ApiError> {
    let limit = page.limit()?;
    let cursor: Option<ApprovalCursor> =
        page.key()?.map(|key| key.parse().map_err(|_| bad_cursor())).transpose()?;
    let filter = ApprovalFilter {
        pending: query.state.map(|state| state == Waiting::Pending),
        person: (!caller.sees_all_approvals()).then_some(caller.user.id),
    };
    let one_more = u32::try_from(limit).unwrap_or_default() + 1;
    let found = app.storage.approvals().list(&filter, cursor, one_more).await?;
    let who = caller.decider();
    let mut page = Page::cut(found, limit, |approval| ApprovalCursor::after(approval).to_string());
    page.items.retain(|approval| app.executor.gate().may_see_approval(&who, approval));
    Ok(Json(page.map(|approval| ApprovalView::of(&app, &who, approval))))
}

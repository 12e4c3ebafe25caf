//! Lists grants.

use super::view::GrantView;
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery, bad_cursor};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use storage::grants::GrantCursor;

/// Lists grants, newest first, also those that are over: for approvers and admins all, for others those for their own
/// calls.
#[utoipa::path(get, path = "/api/v1/grants", operation_id = "list_grants", tag = "approvals",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<GrantView>)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<GrantView>>, ApiError> {
    let limit = page.limit()?;
    let cursor: Option<GrantCursor> =
        page.key()?.map(|key| key.parse().map_err(|_| bad_cursor())).transpose()?;
    let person = (!caller.sees_all_approvals()).then_some(caller.user.id);
    let one_more = u32::try_from(limit).unwrap_or_default() + 1;
    let found = app.storage.grants().list(person, cursor, one_more).await?;
    let who = caller.decider();
    let mut page = Page::cut(found, limit, |grant| GrantCursor::after(grant).to_string());
    page.items.retain(|grant| app.executor.gate().may_see_grant(&who, grant));
    Ok(Json(page.map(|grant| GrantView::of(&app, grant))))
}

//! Lists hosts.

use super::view::{HostQuery, HostView};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists the hosts by id that the caller may see.
#[utoipa::path(get, path = "/api/v1/hosts", operation_id = "list_hosts", tag = "hosts",
    params(HostQuery, ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<HostView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<HostQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<HostView>>, ApiError> {
    let limit = page.limit()?;
    let after = page.integer_key()?.unwrap_or(0);
    // Presence is in memory, so all hosts are, and a page is a slice of them.
    let found: Vec<HostView> = app
        .fleet
        .hosts()
        .iter()
        .filter(|host| host.id.0 > after && caller.reaches(host.id, &host.labels))
        .map(HostView::from)
        .filter(|host| query.fits(host))
        .take(usize::try_from(limit).unwrap_or(0) + 1)
        .collect();
    Ok(Json(Page::cut(found, limit, |host| host.id.to_string())))
}

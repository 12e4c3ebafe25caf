//! Lists rows of the audit chain.

use super::view::{AuditQuery, AuditRowView};
use crate::auth::rule::Read;
use crate::auth::{Caller, Identity};
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery, encode};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::CallId;
use storage::audit::{AuditFilter, AuditRow};

/// Rows that are looked through for one page of somebody who sees only their own.
const MAX_SCANNED: u32 = 2000;

/// Lists rows of the chain, newest first. Viewers, and people who are restricted to hosts, see what they did themselves; a
/// page may then be short though more follow.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit", tag = "audit",
    params(AuditQuery, ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<AuditRowView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<AuditQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<AuditRowView>>, ApiError> {
    let limit = page.limit()?;
    let before = page.integer_key()?;
    let call = query
        .call
        .filter(|text| !text.is_empty())
        .map(|text| text.parse::<CallId>().map_err(|error| ApiError::invalid("call", error.to_string())))
        .transpose()?;
    let filter = AuditFilter {
        kind: query.kind.filter(|kind| !kind.is_empty()),
        call,
        from: query.from,
        to: query.to,
    };
    // Rows name hosts in many ways, so whoever doesn't reach all of them sees only their own.
    if caller.sees_all_calls() && caller.user.reach.is_everywhere() {
        let rows = app.storage.audit().list(&filter, before, limit as u32 + 1).await?;
        return Ok(Json(Page::cut(rows, limit, |row| row.seq.to_string()).map(AuditRowView::from)));
    }
    let rows = app.storage.audit().list(&filter, before, MAX_SCANNED).await?;
    Ok(Json(own(rows, &caller, limit as usize)))
}

/// Keeps what the caller did. The cursor points behind the last row that was looked at.
fn own(rows: Vec<AuditRow>, identity: &Identity, limit: usize) -> Page<AuditRowView> {
    let full = rows.len() == MAX_SCANNED as usize;
    let mut last_seq = None;
    let mut items = Vec::new();
    for row in rows {
        if items.len() == limit {
            return Page { items, next_cursor: last_seq.map(|seq: i64| encode(&seq.to_string())) };
        }
        last_seq = Some(row.seq);
        if is_of(&row, identity.user.id.0) {
            items.push(row.into());
        }
    }
    let next_cursor = last_seq.filter(|_| full).map(|seq| encode(&seq.to_string()));
    Page { items, next_cursor }
}

fn is_of(row: &AuditRow, user: i64) -> bool {
    let actor = &row.actor;
    match actor["kind"].as_str() {
        Some("user") => actor["id"] == user,
        Some("token") => actor["user_id"] == user,
        _ => row.payload["on_behalf_of"] == user,
    }
}

//! Lists enrolment tokens.

use super::view::EnrollmentView;
use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Older ones are only in the audit.
const MAX_LISTED: u32 = 1000;

/// Lists enrolment tokens, newest first.
#[utoipa::path(get, path = "/api/v1/enrollment-tokens", operation_id = "list_enrollment_tokens", tag = "hosts",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<EnrollmentView>)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<ManageHosts>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<EnrollmentView>>, ApiError> {
    let limit = page.limit()?;
    let before = page.integer_key()?.unwrap_or(i64::MAX);
    let mut tokens = app.storage.edges().list_tokens(MAX_LISTED).await?;
    tokens.retain(|token| token.id < before);
    let now = app.storage.now();
    let page = Page::cut(tokens, limit, |token| token.id.to_string());
    Ok(Json(page.map(|token| EnrollmentView::of(token, now))))
}

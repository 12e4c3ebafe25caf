//! Lists accounts.

use super::view::UserView;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists accounts by id.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "list_users", tag = "users",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<UserView>)), security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Administer>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<UserView>>, ApiError> {
    let limit = page.limit()?;
    let users = app.storage.users().list(page.integer_key()?.unwrap_or(0), limit + 1).await?;
    Ok(Json(Page::cut(users, limit, |user| user.id.to_string()).map(UserView::from)))
}

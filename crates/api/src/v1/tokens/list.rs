//! Lists the caller's tokens.

use super::view::TokenView;
use crate::auth::Caller;
use crate::auth::rule::OwnAccount;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists one's own tokens by id.
#[utoipa::path(get, path = "/api/v1/tokens", operation_id = "list_tokens", tag = "tokens",
    params(("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<TokenView>)), security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<TokenView>>, ApiError> {
    let limit = page.limit()?;
    let after = page.integer_key()?.unwrap_or(0);
    let tokens = app.storage.tokens().list(caller.user.id, after, limit + 1).await?;
    Ok(Json(Page::cut(tokens, limit, |token| token.id.to_string()).map(TokenView::from)))
}

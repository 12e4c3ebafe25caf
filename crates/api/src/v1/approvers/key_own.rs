//! Lists the caller's own approval keys.

use super::view::OfferView;
use crate::auth::Caller;
use crate::auth::rule::OwnAccount;
use crate::error::ApiError;
use crate::page::Page;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists the keys that the caller offered for the list of approvers, oldest first.
#[utoipa::path(get, path = "/api/v1/account/approver-keys", operation_id = "list_own_approver_keys", tag = "account",
    responses((status = OK, body = Page<OfferView>)), security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
) -> Result<Json<Page<OfferView>>, ApiError> {
    let offers = app.executor.gate().signing().offers(Some(caller.user.id)).await?;
    let items = offers.into_iter().map(|offer| OfferView::of(&app, offer)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

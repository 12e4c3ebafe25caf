//! Lists the keys that people offer.

use super::view::OfferView;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::page::Page;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// Lists the keys that people offer for the list of approvers, oldest first.
#[utoipa::path(get, path = "/api/v1/approvers/offers", operation_id = "list_approver_offers", tag = "signing",
    responses((status = OK, body = Page<OfferView>)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Administer>,
) -> Result<Json<Page<OfferView>>, ApiError> {
    let offers = app.executor.gate().signing().offers(None).await?;
    let items = offers.into_iter().map(|offer| OfferView::of(&app, offer)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

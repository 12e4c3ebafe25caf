//! Procedures (SOPs), by which dangerous calls are made.

mod covering;
mod import;
mod list;
mod revoke;
mod view;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, import::handler))
        .routes(routes!(covering::handler))
        .routes(routes!(revoke::handler))
}

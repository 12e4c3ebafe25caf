//! Packs of hosts and those beside the manager: which there are, and which an admin accepted.

mod accept;
mod list;
mod revoke;
mod view;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler))
        .routes(routes!(accept::handler))
        .routes(routes!(revoke::handler))
}

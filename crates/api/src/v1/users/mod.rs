//! Accounts, for admins.

mod create;
mod delete;
mod list;
mod update;
mod view;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, create::handler))
        .routes(routes!(update::handler, delete::handler))
}

//! Enrolment tokens: what a new host shows once.

mod create;
mod delete;
mod get;
mod list;
mod view;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, create::handler))
        .routes(routes!(get::handler, delete::handler))
}

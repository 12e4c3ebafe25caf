//! Approvals: what waits for a person, what was decided, and deciding.

mod count;
mod decide;
mod get;
mod list;
mod reveal;
mod sign;
mod signing;
mod statement;
mod view;

pub(crate) use view::{ApprovalView, Waiting};

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler))
        .routes(routes!(count::handler))
        .routes(routes!(get::handler))
        .routes(routes!(decide::handler))
        .routes(routes!(reveal::handler))
        .routes(routes!(statement::handler))
        .routes(routes!(sign::handler))
}

//! Calls: run one, look at those that were.

mod cancel;
mod create;
mod filter;
mod get;
mod list;
mod result;
pub(crate) mod view;

pub(crate) use create::{SopChoice, scope_of};
pub(crate) use filter::CallQuery;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, create::handler))
        .routes(routes!(get::handler))
        .routes(routes!(cancel::handler))
        .routes(routes!(result::handler))
}

//! The switch that stops all changes.

mod get;
mod put;
mod view;

pub(crate) use view::PersonView;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get::handler, put::handler))
}

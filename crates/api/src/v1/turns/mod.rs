//! Turns: begin one, stop one.

mod create;
mod stop;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create::handler)).routes(routes!(stop::handler))
}

//! Settings that are neither models nor accounts.

mod get_access;
mod put_access;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_access::handler, put_access::handler))
}

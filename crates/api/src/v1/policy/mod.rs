//! The policy: what would become of a call.

mod explain;
mod view;

pub(crate) use view::ClassReasonView;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(explain::handler))
}

//! The audit chain, and the timeline over calls.

mod density;
mod export;
mod list;
mod verify;
mod view;

pub(crate) use export::ExportFormat;
pub(crate) use view::AuditRowView;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler))
        .routes(routes!(density::handler))
        .routes(routes!(export::handler))
        .routes(routes!(verify::handler))
}

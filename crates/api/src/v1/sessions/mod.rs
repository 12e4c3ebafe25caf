//! One's own chats.

mod create;
mod delete;
mod events;
mod get;
mod list;
mod update;
mod view;

pub(crate) use view::TurnEventView;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, create::handler))
        .routes(routes!(get::handler, update::handler, delete::handler))
        .routes(routes!(events::handler))
}

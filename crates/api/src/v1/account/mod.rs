//! Signing in and out, and one's own account.

mod me;
mod password;
mod sign_in;
mod sign_out;

pub use me::{AccountView, Me};

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(sign_in::handler))
        .routes(routes!(sign_out::handler))
        .routes(routes!(me::handler))
        .routes(routes!(password::handler))
}

//! Model providers.

mod create;
mod delete;
mod list;
mod set_default;
mod test;
mod update;

use crate::error::ApiError;
use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler, create::handler))
        .routes(routes!(update::handler, delete::handler))
        .routes(routes!(test::handler))
        .routes(routes!(set_default::handler))
}

/// Checks an address: http or https, with a host.
fn check_base_url(address: Option<&str>) -> Result<(), ApiError> {
    let Some(address) = address else { return Ok(()) };
    match url::Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => Ok(()),
        _ => Err(ApiError::invalid("/base_url", "must be an http or https address")),
    }
}

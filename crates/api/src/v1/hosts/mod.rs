//! Hosts.

mod allow_rejoin;
mod delete;
mod get;
mod list;
mod read_only;
mod resolve;
mod revoke;
mod update;
mod view;

use crate::error::ApiError;
use crate::state::AppState;
use std::collections::BTreeMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list::handler))
        .routes(routes!(get::handler, update::handler, delete::handler))
        .routes(routes!(read_only::handler))
        .routes(routes!(revoke::handler))
        .routes(routes!(allow_rejoin::handler))
        .routes(routes!(resolve::handler))
}

/// Checks labels: few, short, and of characters that need no quoting in a selector.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), ApiError> {
    let legal = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/');
    if labels.len() > 32 {
        return Err(ApiError::invalid("/labels", "must be at most 32"));
    }
    for (key, value) in labels {
        if key.is_empty() || key.chars().count() > 64 || !key.chars().all(legal) {
            let message = format!("the key `{key}` must be 1 to 64 letters, digits, `.`, `_`, `-` and `/`");
            return Err(ApiError::invalid("/labels", message));
        }
        if value.chars().count() > 64 || !value.chars().all(legal) {
            let message =
                format!("the value of `{key}` must be at most 64 letters, digits, `.`, `_`, `-` and `/`");
            return Err(ApiError::invalid("/labels", message));
        }
    }
    Ok(())
}

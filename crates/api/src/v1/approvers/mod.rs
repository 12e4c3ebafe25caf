//! The list of approvers, and the keys that people offer for it.

mod get;
mod import;
mod key_offer;
mod key_own;
mod key_withdraw;
mod offers;
mod view;

pub(crate) use view::SignatureKindWord;

use crate::error::ApiError;
use crate::state::AppState;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use signing::DocumentError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get::handler, import::handler))
        .routes(routes!(offers::handler))
        .routes(routes!(key_own::handler, key_offer::handler))
        .routes(routes!(key_withdraw::handler))
}

/// Bytes in base64.
pub(super) fn bytes(at: &str, text: &str) -> Result<Vec<u8>, ApiError> {
    STANDARD
        .decode(text.trim())
        .map_err(|_| ApiError::invalid(at, "expected standard base64 with padding (RFC 4648 §4)"))
}

/// A document that nobody trusts, or that can't be read.
pub(super) fn unusable(error: DocumentError) -> ApiError {
    ApiError::invalid("/document", error.to_string())
}

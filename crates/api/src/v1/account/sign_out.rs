//! Ends the caller's sign-in.

use crate::auth::rule::SignedIn;
use crate::auth::{Caller, Credential, cookie};
use crate::error::ApiError;
use crate::state::AppState;
use axum::extract::State;
use axum_extra::extract::CookieJar;
use http::StatusCode;

/// Signs out.
#[utoipa::path(post, path = "/api/v1/sign-out", operation_id = "sign_out", tag = "account",
    responses((status = NO_CONTENT)), security(("cookie" = [])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<SignedIn>,
    jar: CookieJar,
) -> Result<(CookieJar, StatusCode), ApiError> {
    if let Credential::Cookie { sign_in, .. } = caller.credential {
        app.storage.signins().end(sign_in, caller.user.id).await?;
        app.access_has_changed();
    }
    Ok((cookie::clear(jar, app.config.secure_cookies), StatusCode::NO_CONTENT))
}

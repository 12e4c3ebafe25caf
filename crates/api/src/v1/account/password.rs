//! Changes the caller's password. Ends all of their sign-ins and starts a new one here.

use super::me::Me;
use super::sign_in::start;
use crate::auth::rule::SignedIn;
use crate::auth::{Caller, password};
use crate::error::ApiError;
use crate::extract::Json;
use crate::middleware::client_address;
use crate::state::AppState;
use axum::extract::State;
use axum_extra::extract::CookieJar;
use http::{Extensions, HeaderMap};
use model::ErrorKind;
use serde::Deserialize;
use utoipa::ToSchema;

/// The old password and the new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordRequest {
    /// The password that holds.
    current: String,
    /// The one that is to hold: at least 12 characters, not the name.
    new: String,
}

/// Changes the password.
#[utoipa::path(post, path = "/api/v1/me/password", operation_id = "change_password", tag = "account",
    request_body = PasswordRequest, responses((status = OK, body = Me)), security(("cookie" = [])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<SignedIn>,
    jar: CookieJar,
    headers: HeaderMap,
    extensions: Extensions,
    Json(request): Json<PasswordRequest>,
) -> Result<(CookieJar, axum::Json<Me>), ApiError> {
    let address = client_address(&app, &extensions, &headers);
    let name = &caller.user.name;
    if let Err(wait) = app.throttle.take(&app.storage, name, address).await? {
        return Err(ApiError::new(ErrorKind::TooMany, "too many attempts; wait a moment")
            .retry_after(wait.as_secs() + 1));
    }
    let hash = app.storage.users().credentials(name).await?.and_then(|known| known.password_hash);
    if !app.hasher.verify(request.current.clone(), hash).await? {
        return Err(ApiError::invalid("/current", "isn't the password of this account"));
    }
    app.throttle.give_back(&app.storage, name, address).await?;
    password::check_rules(&request.new, name).map_err(|reason| ApiError::invalid("/new", reason))?;
    if request.new == request.current {
        return Err(ApiError::invalid("/new", "must differ from the current password"));
    }
    let hash = app.hasher.hash(request.new).await?;
    app.storage.users().choose_password(caller.user.id, hash).await?;
    app.access_has_changed();
    let user =
        app.storage.users().find(caller.user.id).await?.ok_or_else(|| ApiError::not_found("account"))?;
    let (jar, identity) = start(&app, jar, user, address.to_string()).await?;
    Ok((jar, axum::Json(Me::of(&app, &identity).await?)))
}

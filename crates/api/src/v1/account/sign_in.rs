//! Signs a person in. Says the same, after the same time, whatever was wrong.

use super::me::Me;
use crate::auth::password::MAX_BYTES;
use crate::auth::{Credential, Identity, cookie, secret};
use crate::error::ApiError;
use crate::extract::Json;
use crate::middleware::client_address;
use crate::state::AppState;
use axum::extract::State;
use axum_extra::extract::CookieJar;
use http::{Extensions, HeaderMap};
use model::ErrorKind;
use serde::Deserialize;
use storage::signins::NewSignIn;
use storage::users::{User, UserKind};
use utoipa::ToSchema;

/// What is needed to sign in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInRequest {
    /// The account's name; its case doesn't matter.
    name: String,
    /// The password.
    password: String,
}

/// Signs in.
#[utoipa::path(post, path = "/api/v1/sign-in", operation_id = "sign_in", tag = "account",
    request_body = SignInRequest, responses((status = OK, body = Me)), security(()))]
pub(super) async fn handler(
    State(app): State<AppState>,
    jar: CookieJar,
    headers: HeaderMap,
    extensions: Extensions,
    Json(request): Json<SignInRequest>,
) -> Result<(CookieJar, axum::Json<Me>), ApiError> {
    let address = client_address(&app, &extensions, &headers);
    let name = request.name.trim().to_lowercase();
    if let Err(wait) = app.throttle.take(&app.storage, &name, address).await? {
        metrics::counter!("steadyhand_sign_ins_total", "outcome" => "throttled").increment(1);
        return Err(ApiError::new(ErrorKind::TooMany, "too many attempts to sign in; wait a moment")
            .retry_after(wait.as_secs() + 1));
    }
    let Some(user) = check_password(&app, &name, request.password, &address.to_string()).await? else {
        metrics::counter!("steadyhand_sign_ins_total", "outcome" => "failed").increment(1);
        return Err(ApiError::new(ErrorKind::Unauthenticated, "the name or the password is wrong"));
    };
    metrics::counter!("steadyhand_sign_ins_total", "outcome" => "succeeded").increment(1);
    app.throttle.give_back(&app.storage, &name, address).await?;
    // A cookie that was there before is never taken over, or somebody could have planted it.
    end_present(&app, &jar).await?;
    let (jar, identity) = start(&app, jar, user, address.to_string()).await?;
    Ok((jar, axum::Json(Me::of(&app, &identity).await?)))
}

async fn check_password(
    app: &AppState,
    name: &str,
    password: String,
    address: &str,
) -> Result<Option<User>, ApiError> {
    let known = app.storage.users().credentials(name).await?;
    let usable = known.filter(|known| known.user.kind == UserKind::Person && !known.user.disabled);
    let hash = usable.as_ref().and_then(|known| known.password_hash.clone());
    let too_long = password.len() > MAX_BYTES;
    let fits = app.hasher.verify(if too_long { String::new() } else { password }, hash).await? && !too_long;
    match usable {
        Some(known) if fits => Ok(Some(known.user)),
        other => {
            let user = other.map(|known| known.user.id);
            app.storage.signins().record_failure(user, address, "wrong name or password").await?;
            Ok(None)
        }
    }
}

async fn end_present(app: &AppState, jar: &CookieJar) -> Result<(), ApiError> {
    if let Some(present) = jar.get(cookie::NAME) {
        let hash = secret::hash(present.value());
        if let Some((sign_in, user)) = app.storage.signins().find(&hash, app.config.idle_timeout).await? {
            app.storage.signins().end(sign_in.id, user.id).await?;
            app.access_has_changed();
        }
    }
    Ok(())
}

/// Makes a new sign-in with a new cookie.
pub(super) async fn start(
    app: &AppState,
    jar: CookieJar,
    user: User,
    address: String,
) -> Result<(CookieJar, Identity), ApiError> {
    let token = secret::random_text();
    let new = NewSignIn {
        user_id: user.id,
        token_hash: secret::hash(&token),
        address,
        expires_at: app.storage.now() + app.config.absolute_timeout,
    };
    let sign_in = app.storage.signins().create(new).await?;
    let credential = Credential::Cookie { sign_in: sign_in.id, csrf_token: secret::csrf_of(&token) };
    Ok((cookie::set(jar, token, app.config.secure_cookies), Identity { user, credential }))
}

//! The caller of a request: authenticated, and allowed by the route's rule.

use crate::auth::rule::{Rule, TokenScope, Tokens};
use crate::auth::{cookie, secret};
use crate::error::ApiError;
use crate::state::AppState;
use axum::extract::FromRequestParts;
use axum_extra::extract::CookieJar;
use gate::{Decider, Principal};
use http::request::Parts;
use http::{HeaderMap, Method, header};
use model::{EdgeId, ErrorKind, Role, Timestamp};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;
use storage::Actor;
use storage::calls::CallToken;
use storage::users::User;

/// How the caller showed who they are.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A browser's cookie.
    Cookie {
        /// The sign-in's id.
        sign_in: i64,
        /// Goes with every request that changes something.
        csrf_token: String,
    },
    /// An API token.
    Token {
        /// The token's id.
        id: i64,
        /// What its owner calls it.
        name: String,
        /// What it may be used for.
        scopes: Vec<String>,
    },
}

/// Somebody whose credentials hold.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The account.
    pub user: User,
    /// How it was shown.
    pub credential: Credential,
}

impl Identity {
    /// How the audit names them.
    pub fn actor(&self) -> Actor {
        match &self.credential {
            Credential::Cookie { .. } => Actor::User(self.user.id),
            Credential::Token { id, .. } => Actor::Token(*id, self.user.id),
        }
    }

    /// The token through which they ask, if they do.
    pub fn token(&self) -> Option<CallToken> {
        match &self.credential {
            Credential::Cookie { .. } => None,
            Credential::Token { id, name, .. } => Some(CallToken { id: *id, name: name.clone() }),
        }
    }

    /// The person as the gate sees them.
    pub fn principal(&self) -> Principal {
        let person = Principal::person_at_browser(self.user.id, self.user.roles.clone());
        Principal { token: self.token(), ..person }
    }

    /// The person as somebody who decides.
    pub fn decider(&self) -> Decider {
        let by_token = matches!(self.credential, Credential::Token { .. });
        Decider { user: self.user.id, name: self.user.name.clone(), roles: self.user.roles.clone(), by_token }
    }

    /// Whether they may see and use a host, whose labels in the inventory are these.
    pub fn reaches(&self, edge: EdgeId, labels: &BTreeMap<String, String>) -> bool {
        self.user.reach.includes(edge, labels)
    }

    /// Whether they see approvals of other people's calls, and their grants.
    pub fn sees_all_approvals(&self) -> bool {
        self.user.roles.include(Role::Approver) || self.user.roles.include(Role::Admin)
    }

    /// Whether they see other people's calls in the audit.
    pub fn sees_all_calls(&self) -> bool {
        self.user.roles.include(Role::Operator) || self.user.roles.include(Role::Approver)
    }

    /// Whether the rule lets them through.
    ///
    /// # Errors
    ///
    /// Tells what is missing.
    pub fn check<R: Rule>(&self) -> Result<(), ApiError> {
        if self.user.must_change_password && !R::BEFORE_PASSWORD_CHANGE {
            return Err(ApiError::must_change_password());
        }
        if let Credential::Token { scopes, .. } = &self.credential {
            match R::TOKENS {
                Tokens::Any => {}
                Tokens::Never => {
                    return Err(ApiError::forbidden("this needs a person who is signed in; tokens may not"));
                }
                Tokens::With(scope) => require_scope(scopes, scope)?,
            }
        }
        match R::ROLE {
            Some(role) if !self.user.roles.include(role) => {
                Err(ApiError::forbidden(format!("this needs the role {role}")))
            }
            _ => Ok(()),
        }
    }
}

fn require_scope(scopes: &[String], scope: TokenScope) -> Result<(), ApiError> {
    if scopes.iter().any(|held| held == scope.as_str()) {
        return Ok(());
    }
    Err(ApiError::forbidden(format!("this token lacks the scope `{}`", scope.as_str())))
}

/// A caller whom the rule `R` lets through. A handler that takes one can't be called by anybody else.
#[derive(Clone, Debug)]
pub struct Caller<R> {
    identity: Identity,
    rule: PhantomData<R>,
}

impl<R> Deref for Caller<R> {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.identity
    }
}

impl<R: Rule> FromRequestParts<AppState> for Caller<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, ApiError> {
        let identity = authenticate(app, &parts.headers, Use::Counts).await?;
        tracing::Span::current().record("user.id", identity.user.id.0);
        check_csrf(&identity, &parts.method, &parts.headers)?;
        identity.check::<R>()?;
        Ok(Self { identity, rule: PhantomData })
    }
}

/// Whether asking counts as using the credentials, so that they don't run out for being idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It does.
    Counts,
    /// It doesn't: an open page alone keeps nobody signed in.
    DoesNotCount,
}

/// Finds out who is asking. A token counts before a cookie.
///
/// # Errors
///
/// Fails if nobody is signed in or the credentials don't hold, without saying which.
pub async fn authenticate(app: &AppState, headers: &HeaderMap, counts: Use) -> Result<Identity, ApiError> {
    if let Some(authorization) = headers.get(header::AUTHORIZATION) {
        let token = authorization
            .to_str()
            .ok()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .filter(|token| token.starts_with(secret::TOKEN_PREFIX))
            .ok_or_else(not_signed_in)?;
        return by_token(app, token, counts).await;
    }
    let jar = CookieJar::from_headers(headers);
    match jar.get(cookie::NAME) {
        Some(cookie) => by_cookie(app, cookie.value(), counts).await,
        None => Err(not_signed_in()),
    }
}

async fn by_cookie(app: &AppState, token: &str, counts: Use) -> Result<Identity, ApiError> {
    let found = app.storage.signins().find(&secret::hash(token), app.config.idle_timeout).await?;
    let (sign_in, user) = found.ok_or_else(not_signed_in)?;
    if counts == Use::Counts && is_older_than_a_minute(app.storage.now(), Some(sign_in.last_seen_at)) {
        app.storage.signins().touch(sign_in.id).await?;
    }
    let credential = Credential::Cookie { sign_in: sign_in.id, csrf_token: secret::csrf_of(token) };
    Ok(Identity { user, credential })
}

async fn by_token(app: &AppState, token: &str, counts: Use) -> Result<Identity, ApiError> {
    let found = app.storage.tokens().find(&secret::hash(token)).await?;
    let (token, user) = found.ok_or_else(not_signed_in)?;
    if counts == Use::Counts && is_older_than_a_minute(app.storage.now(), token.last_used_at) {
        app.storage.tokens().touch(token.id).await?;
    }
    Ok(Identity {
        user,
        credential: Credential::Token { id: token.id, name: token.name, scopes: token.scopes },
    })
}

/// Uses are noted to the minute, so that reading doesn't become writing.
fn is_older_than_a_minute(now: Timestamp, last: Option<Timestamp>) -> bool {
    last.is_none_or(|last| {
        now - last >= chrono::TimeDelta::from_std(Duration::from_secs(60)).unwrap_or_default()
    })
}

/// A request with a cookie that changes something must repeat what only our own pages know.
fn check_csrf(identity: &Identity, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let Credential::Cookie { csrf_token, .. } = &identity.credential else { return Ok(()) };
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let given = headers.get(cookie::CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if secret::equal(given, csrf_token) {
        return Ok(());
    }
    Err(ApiError {
        slug: "csrf",
        title: "CSRF token is missing or wrong",
        ..ApiError::forbidden(format!(
            "send the `csrf_token` of `/api/v1/me` in the header `{}`",
            cookie::CSRF_HEADER
        ))
    })
}

fn not_signed_in() -> ApiError {
    ApiError::new(ErrorKind::Unauthenticated, "sign in first, or send a token that is valid")
}

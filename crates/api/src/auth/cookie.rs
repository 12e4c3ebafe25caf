//! The cookie of a sign-in.

use axum_extra::extract::CookieJar;
use axum_extra::extract::cookie::{Cookie, SameSite};

/// Its name.
pub const NAME: &str = "steadyhand_session";

/// The header that repeats the CSRF token on every request that isn't a GET.
pub const CSRF_HEADER: &str = "x-steadyhand-csrf";

/// Adds the cookie. It lasts as long as the browser; the sign-in behind it ends by itself.
pub fn set(jar: CookieJar, token: String, secure: bool) -> CookieJar {
    jar.add(base(token, secure))
}

/// Takes the cookie away.
pub fn clear(jar: CookieJar, secure: bool) -> CookieJar {
    let mut cookie = base(String::new(), secure);
    cookie.make_removal();
    jar.add(cookie)
}

fn base(token: String, secure: bool) -> Cookie<'static> {
    Cookie::build((NAME, token)).path("/").http_only(true).same_site(SameSite::Strict).secure(secure).build()
}

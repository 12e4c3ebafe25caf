//! Refuses requests for names that aren't ours (DNS rebinding: a page of another site whose name suddenly points at
//! the loopback address), and requests that change something and come from another site.

use crate::error::ApiError;
use crate::state::AppState;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{Extensions, HeaderMap, Method, Uri, header};
use model::ErrorKind;

/// Checks host and origin.
pub async fn check(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let Some(authority) = authority_of(request.uri(), request.headers()) else {
        return ApiError::new(ErrorKind::Invalid, "the request doesn't say which host it is for")
            .into_response();
    };
    if !is_allowed(authority.host(), &app.config.allowed_hosts) {
        return ApiError {
            status: http::StatusCode::MISDIRECTED_REQUEST,
            slug: "misdirected",
            title: "Not the host asked for",
            ..ApiError::forbidden(format!(
                "this console isn't `{}`; add the name to `http.allowed_hosts` if it should be",
                authority.host()
            ))
        }
        .into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        && is_cross_site(request.headers(), &authority)
    {
        return ApiError {
            slug: "cross-site",
            title: "Cross-site request",
            ..ApiError::forbidden("another site's page may not change anything here")
        }
        .into_response();
    }
    next.run(request).await
}

fn authority_of(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    // HTTP/2 has it in the target, HTTP/1.1 in the header.
    uri.authority().cloned().or_else(|| headers.get(header::HOST)?.to_str().ok()?.parse().ok())
}

fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let host = host.trim_end_matches('.');
    allowed.is_empty() || allowed.iter().any(|name| name.eq_ignore_ascii_case(host))
}

/// What browsers say about where a request comes from. Programs say nothing, and hold no cookies of ours either.
fn is_cross_site(headers: &HeaderMap, authority: &Authority) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    match text("origin") {
        None => false,
        Some(origin) => {
            let host = origin.parse::<Uri>().ok().and_then(|origin| origin.authority().cloned());
            host.is_none_or(|origin| !origin.as_str().eq_ignore_ascii_case(authority.as_str()))
        }
    }
}

/// The address of whoever sent the request: the peer, or what a trusted proxy says.
pub(crate) fn client_address(
    app: &AppState,
    extensions: &Extensions,
    headers: &HeaderMap,
) -> std::net::IpAddr {
    let peer = extensions
        .get::<axum::extract::ConnectInfo<std::net::SocketAddr>>()
        .map_or(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), |info| info.0.ip().to_canonical());
    if !app.config.trusted_proxies.contains(&peer) {
        return peer;
    }
    headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|hop| hop.trim().parse().ok())
        .rfind(|hop| !app.config.trusted_proxies.contains(hop))
        .unwrap_or(peer)
}

/// Whether a program of this machine asks, itself and not through a proxy, which also connects from here.
pub(crate) fn is_local(extensions: &Extensions, headers: &HeaderMap) -> bool {
    let forwarded =
        ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name));
    let peer = extensions.get::<axum::extract::ConnectInfo<std::net::SocketAddr>>();
    !forwarded && peer.is_some_and(|info| info.0.ip().to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_listed_names_are_ours() {
        let ours = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        for host in ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]"] {
            assert!(is_allowed(host, &ours), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.2", ""] {
            assert!(!is_allowed(host, &ours), "{host}");
        }
    }

    #[test]
    fn another_origin_is_cross_site_and_a_program_is_not() {
        let authority: Authority = "localhost:7180".parse().unwrap();
        assert!(!is_cross_site(&headers(&[]), &authority));
        assert!(!is_cross_site(&headers(&[("origin", "http://localhost:7180")]), &authority));
        for origin in ["http://evil.example", "http://localhost:7181", "null", ""] {
            assert!(is_cross_site(&headers(&[("origin", origin)]), &authority), "{origin}");
        }
        assert!(is_cross_site(&headers(&[("sec-fetch-site", "same-site")]), &authority));
    }
}

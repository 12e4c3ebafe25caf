//! The console's files, embedded in the binary. Unknown paths get the page itself, which then finds its way.

use crate::error::ApiError;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

const INDEX: &str = "index.html";

/// Serves a file of the console, or its page.
pub async fn serve(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    if path.starts_with("api/") || path == "api" {
        return ApiError::of_status(StatusCode::NOT_FOUND).into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let is_page = !path.is_empty() && Files::get(path).is_none();
    // A missing script must not be answered with a page: browsers would report nonsense.
    if is_page && path.starts_with("assets/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let name = if path.is_empty() || is_page { INDEX } else { path };
    match Files::get(name) {
        Some(file) => answer(name, file, request.headers()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn answer(name: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", hex::encode(&file.metadata.sha256_hash()[..16]));
    // Names under assets/ change with their content; everything else is asked for anew and mostly answered with 304.
    let cache = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let unchanged = asked
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|known| known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag));
    let (encoding, data) = match compressed(name, asked) {
        Some((encoding, packed)) => (Some(encoding), packed.data),
        None => (None, file.data),
    };
    let mut response =
        if unchanged { StatusCode::NOT_MODIFIED.into_response() } else { Body::from(data).into_response() };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(value) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, value);
    }
    if !unchanged {
        if let Ok(value) = HeaderValue::from_str(file.metadata.mimetype()) {
            headers.insert(header::CONTENT_TYPE, value);
        }
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
    }
    response
}

/// The build may have packed the file; what it has not is packed on the way out.
fn compressed(name: &str, asked: &HeaderMap) -> Option<(&'static str, EmbeddedFile)> {
    let accepted = asked.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    let accepts = |word: &str| {
        accepted.split(',').any(|coding| {
            let (coding, quality) = coding.split_once(';').unwrap_or((coding, ""));
            coding.trim() == word && quality.trim() != "q=0"
        })
    };
    [("br", "br"), ("gzip", "gz")]
        .into_iter()
        .filter(|(encoding, _)| accepts(encoding))
        .find_map(|(encoding, suffix)| Files::get(&format!("{name}.{suffix}")).map(|file| (encoding, file)))
}

//! Extractors whose rejections are problem details.

use crate::error::ApiError;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use serde::de::DeserializeOwned;

/// A JSON body.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(body)) => Ok(Self(body)),
            Err(JsonRejection::JsonDataError(error)) => {
                Err(ApiError::invalid("", reason(&error.body_text())))
            }
            Err(JsonRejection::JsonSyntaxError(error)) => {
                Err(ApiError::invalid("", format!("the body isn't JSON: {}", reason(&error.body_text()))))
            }
            Err(other) => Err(ApiError::of_status(other.status())),
        }
    }
}

/// Parameters of the query string.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        axum::extract::Query::<T>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|error: QueryRejection| ApiError::invalid("", reason(&error.body_text())))
    }
}

/// Parameters of the path. One that can't be read names nothing that exists.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            .map_err(|_: PathRejection| ApiError::not_found("thing"))
    }
}

/// Drops the frame's own introduction, which says nothing to a client.
fn reason(text: &str) -> String {
    let text =
        text.strip_prefix("Failed to deserialize the JSON body into the target type: ").unwrap_or(text);
    let text = text.strip_prefix("Failed to parse the request body as JSON: ").unwrap_or(text);
    text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text).to_owned()
}

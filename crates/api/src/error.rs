//! Errors as RFC 9457 problem details. The one place where the kind of an error becomes an HTTP status.

use crate::v1::approvals::ApprovalView;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use model::{Classify, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldProblem {
    /// JSON pointer into the request's body, or the name of a query parameter; empty for the whole.
    pub at: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The body of every response that tells of an error (`application/problem+json`, RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Which problem, as a URN that stays the same.
    #[serde(rename = "type")]
    pub kind: String,
    /// The problem in a few words, the same for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The path that was asked for.
    pub instance: String,
    /// The id of this request, also in the manager's log.
    pub request_id: String,
    /// Each thing that is wrong with the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// Of a decision that came too late: the approval as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ApprovalView>)]
    pub approval: Option<Value>,
}

/// Why a request failed. Every fallible part of a handler turns into it.
#[derive(Clone, Debug)]
pub struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) slug: &'static str,
    pub(crate) title: &'static str,
    pub(crate) detail: String,
    pub(crate) errors: Vec<FieldProblem>,
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) approval: Option<Box<Value>>,
}

impl ApiError {
    /// An error of this kind with what happened.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        let (status, slug, title) = describe(kind);
        Self {
            status,
            slug,
            title,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_seconds: None,
            approval: None,
        }
    }

    /// There is no such thing, or it isn't the caller's to see.
    pub fn not_found(what: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("there is no such {what}"))
    }

    /// The request itself is wrong, in this field.
    pub fn invalid(at: impl Into<String>, message: impl Into<String>) -> Self {
        let message = message.into();
        let at = at.into();
        let detail = if at.is_empty() {
            message.clone()
        } else {
            format!("`{}`: {message}", at.trim_start_matches('/'))
        };
        let mut error = Self::new(ErrorKind::Invalid, detail);
        error.errors.push(FieldProblem { at, message });
        error
    }

    /// Signed in, but not allowed.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, detail)
    }

    /// It clashes with what is there.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, detail)
    }

    /// A call that no decision allows, but signatures.
    pub(crate) fn needs_signatures(detail: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            slug: "needs-signatures",
            title: "Signatures are needed",
            ..Self::new(ErrorKind::Invalid, detail)
        }
    }

    /// The account's password must be changed first.
    pub(crate) fn must_change_password() -> Self {
        Self {
            slug: "must-change-password",
            title: "Password must be changed",
            ..Self::forbidden("this account's password must be changed before anything else")
        }
    }

    /// Shows the approval on which somebody else has decided.
    pub(crate) fn with_approval(mut self, approval: &ApprovalView) -> Self {
        self.approval = serde_json::to_value(approval).ok().map(Box::new);
        self
    }

    /// Asks the client to wait.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds.max(1));
        self
    }

    /// A bare status that some layer answered with.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        let (slug, title, detail) = match status {
            StatusCode::NOT_FOUND => ("not-found", "Not found", "there is nothing at this path"),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("method-not-allowed", "Method not allowed", "this path doesn't take this method")
            }
            StatusCode::PAYLOAD_TOO_LARGE => ("too-large", "Too large", "the request's body is too large"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ("unsupported-media-type", "Unsupported media type", "send `content-type: application/json`")
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => {
                ("unavailable", "Not available", UNAVAILABLE)
            }
            status if status.is_client_error() => ("invalid", "Invalid request", "the request can't be read"),
            _ => ("internal", "Internal error", INTERNAL),
        };
        Self {
            status,
            slug,
            title,
            detail: detail.to_owned(),
            errors: Vec::new(),
            retry_after_seconds: None,
            approval: None,
        }
    }

    /// The body, for this request.
    pub(crate) fn problem(&self, instance: &str, request_id: &str) -> Problem {
        Problem {
            kind: format!("urn:steadyhand:problem:{}", self.slug),
            title: self.title.to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            instance: instance.to_owned(),
            request_id: request_id.to_owned(),
            errors: self.errors.clone(),
            approval: self.approval.as_deref().cloned(),
        }
    }
}

const INTERNAL: &str = "something went wrong in the manager; its log tells more under this request id";
const UNAVAILABLE: &str = "a part that is needed can't be reached; try again in a moment";

const fn describe(kind: ErrorKind) -> (StatusCode, &'static str, &'static str) {
    match kind {
        ErrorKind::Invalid => (StatusCode::BAD_REQUEST, "invalid", "Invalid request"),
        ErrorKind::Unauthenticated => (StatusCode::UNAUTHORIZED, "unauthenticated", "Not signed in"),
        ErrorKind::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "Not allowed"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not-found", "Not found"),
        ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict", "Conflict"),
        ErrorKind::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests"),
        ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not available"),
        ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
    }
}

/// Errors of the crates below. What only helps an attacker or a developer goes to the log, not to the client.
impl<E: Classify> From<E> for ApiError {
    fn from(error: E) -> Self {
        match error.kind() {
            kind @ (ErrorKind::Internal | ErrorKind::Unavailable) => {
                let chain = chain_of(&error);
                tracing::error!(error = %chain, "request failed");
                Self::new(kind, if kind == ErrorKind::Internal { INTERNAL } else { UNAVAILABLE })
            }
            kind => Self::new(kind, error.to_string()),
        }
    }
}

fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl IntoResponse for ApiError {
    /// Leaves the body to the middleware, which knows the request's path and id.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

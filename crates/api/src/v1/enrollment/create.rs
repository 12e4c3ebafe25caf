//! Makes an enrolment token.

use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::v1::hosts::check_labels;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::ToSchema;

/// A new enrolment token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateEnrollmentRequest {
    /// What the host that joins with it gets.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// How long it can be used, 60–3600 s. Default: 900.
    ttl_seconds: Option<u64>,
}

/// A new enrolment token, which is shown this once.
#[derive(Serialize, ToSchema)]
pub struct CreatedEnrollment {
    /// Its id, to ask what became of it.
    id: i64,
    /// The token, with the pin of the manager's authority in it. Kept nowhere.
    token: String,
    /// What to run on the host.
    command: String,
    /// SHA-256 of the public key of the manager's authority.
    ca_pin: String,
    /// When it ends.
    expires_at: DateTime<Utc>,
}

const MIN_TTL_SECONDS: u64 = 60;
const MAX_TTL_SECONDS: u64 = 3600;
const DEFAULT_TTL_SECONDS: u64 = 900;

/// Makes a token with which one host can join.
#[utoipa::path(post, path = "/api/v1/enrollment-tokens", operation_id = "create_enrollment_token", tag = "hosts",
    request_body = CreateEnrollmentRequest, responses((status = CREATED, body = CreatedEnrollment)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<ManageHosts>,
    Json(request): Json<CreateEnrollmentRequest>,
) -> Result<(StatusCode, axum::Json<CreatedEnrollment>), ApiError> {
    check_labels(&request.labels)?;
    let ttl = match request.ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS) {
        seconds @ MIN_TTL_SECONDS..=MAX_TTL_SECONDS => Duration::from_secs(seconds),
        _ => {
            let bounds = format!("must be {MIN_TTL_SECONDS} to {MAX_TTL_SECONDS}");
            return Err(ApiError::invalid("/ttl_seconds", bounds));
        }
    };
    let made = app.fleet.create_token(request.labels, ttl, caller.user.id, caller.actor()).await?;
    let created = CreatedEnrollment {
        id: made.id,
        command: made.command,
        ca_pin: made.ca_pin,
        expires_at: made.expires_at,
        token: made.token,
    };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

//! Checks the audit chain.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use model::ErrorKind;
use serde::Serialize;
use utoipa::ToSchema;

/// What the check found.
#[derive(Serialize, ToSchema)]
pub struct Verification {
    /// Whether every row is as it was written.
    ok: bool,
    /// Rows that were checked.
    rows: u64,
    /// The last row that is right.
    through_seq: i64,
    /// Calls whose rows are what the chain says.
    calls: u64,
    /// What is wrong with the row after it, or with the first call that isn't as the chain says.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Checks every row of the chain, and every call against it. One check at a time: it reads all of the log.
#[utoipa::path(get, path = "/api/v1/audit/verify", operation_id = "verify_audit", tag = "audit",
    responses((status = OK, body = Verification)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
) -> Result<Json<Verification>, ApiError> {
    let Ok(_turn) = app.verifying.try_lock() else {
        return Err(ApiError::new(ErrorKind::TooMany, "the chain is being checked already").retry_after(5));
    };
    let found = app.storage.audit().verify().await?;
    Ok(Json(Verification {
        ok: found.ok,
        rows: found.rows,
        through_seq: found.through_seq,
        calls: found.calls,
        problem: found.problem,
    }))
}

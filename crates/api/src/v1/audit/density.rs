//! Counts calls over time, for the strip above the timeline.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::state::AppState;
use crate::v1::calls::CallQuery;
use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How finely.
#[derive(Deserialize)]
pub struct BucketQuery {
    buckets: Option<u32>,
}

/// Calls of a stretch of time.
#[derive(Serialize, ToSchema)]
pub struct DensityBucket {
    /// Where the stretch begins.
    from: DateTime<Utc>,
    /// How many calls were received in it.
    count: u64,
    /// How many of them did not succeed.
    failed: u64,
}

/// Counts calls in equal stretches from `from` to `to` (default: the last day).
#[utoipa::path(get, path = "/api/v1/audit/density", operation_id = "audit_density", tag = "audit",
    params(CallQuery, ("buckets" = Option<u32>, Query, description = "1–500; default 60")),
    responses((status = OK, body = Vec<DensityBucket>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<CallQuery>,
    Query(buckets): Query<BucketQuery>,
) -> Result<Json<Vec<DensityBucket>>, ApiError> {
    let buckets = match buckets.buckets.unwrap_or(60) {
        buckets @ 1..=500 => buckets,
        _ => return Err(ApiError::invalid("buckets", "must be 1 to 500")),
    };
    let to = query.to.unwrap_or_else(|| app.storage.now());
    let from = query.from.unwrap_or(to - chrono::TimeDelta::days(1));
    if from >= to {
        return Err(ApiError::invalid("from", "must be before `to`"));
    }
    let filter = query.filter(&app, &caller)?;
    let counted = app.storage.calls().density(&filter, from, to, buckets).await?;
    let view = |bucket: storage::calls::DensityBucket| DensityBucket {
        from: bucket.from,
        count: bucket.count,
        failed: bucket.failed,
    };
    Ok(Json(counted.into_iter().map(view).collect()))
}

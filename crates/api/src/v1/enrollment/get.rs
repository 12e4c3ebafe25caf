//! Tells what became of an enrolment token.

use super::view::EnrollmentView;
use crate::auth::Caller;
use crate::auth::rule::ManageHosts;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;

/// What became of an enrolment token.
#[utoipa::path(get, path = "/api/v1/enrollment-tokens/{id}", operation_id = "get_enrollment_token", tag = "hosts",
    params(("id" = i64, Path)), responses((status = OK, body = EnrollmentView)),
    security(("cookie" = ["operator"]), ("token" = ["hosts"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<ManageHosts>,
    Path(id): Path<i64>,
) -> Result<Json<EnrollmentView>, ApiError> {
    let token = app.storage.edges().token(id).await?;
    let token = token.ok_or_else(|| ApiError::not_found("enrolment token"))?;
    Ok(Json(EnrollmentView::of(token, app.storage.now())))
}

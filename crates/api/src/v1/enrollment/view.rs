//! An enrolment token as the API shows it.

use chrono::{DateTime, Utc};
use model::EdgeId;
use serde::Serialize;
use std::collections::BTreeMap;
use storage::edges::{EnrollmentToken, TokenState};
use utoipa::ToSchema;

/// What became of an enrolment token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnrollmentState {
    /// It can be used.
    Open,
    /// A host joined with it.
    Used,
    /// Its time is over.
    Expired,
    /// It was taken back.
    Revoked,
}

/// An enrolment token, without the token.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = EnrollmentToken)]
pub struct EnrollmentView {
    /// Its id.
    pub id: i64,
    /// What became of it.
    pub state: EnrollmentState,
    /// What the host that joins with it gets.
    pub labels: BTreeMap<String, String>,
    /// The host that joined with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    pub edge_id: Option<EdgeId>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
}

impl EnrollmentView {
    pub(super) fn of(token: EnrollmentToken, now: DateTime<Utc>) -> Self {
        Self {
            id: token.id,
            state: match token.state(now) {
                TokenState::Open => EnrollmentState::Open,
                TokenState::Used => EnrollmentState::Used,
                TokenState::Expired => EnrollmentState::Expired,
                TokenState::Revoked => EnrollmentState::Revoked,
            },
            labels: token.labels,
            edge_id: token.edge,
            created_at: token.created_at,
            expires_at: token.expires_at,
        }
    }
}

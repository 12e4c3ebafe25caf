//! A token as its owner sees it, without the token itself.

use crate::auth::TokenScope;
use chrono::{DateTime, Utc};
use serde::Serialize;
use storage::tokens::ApiToken;
use utoipa::ToSchema;

/// An API token.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Token)]
pub struct TokenView {
    /// Its id.
    pub id: i64,
    /// What its owner calls it.
    pub name: String,
    /// The token's first characters, to recognise it by.
    pub hint: String,
    /// What it may be used for.
    #[schema(value_type = Vec<TokenScope>)]
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it ends; absent is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<DateTime<Utc>>,
}

impl From<ApiToken> for TokenView {
    fn from(token: ApiToken) -> Self {
        Self {
            id: token.id,
            name: token.name,
            hint: token.hint,
            scopes: token.scopes,
            created_at: token.created_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
        }
    }
}

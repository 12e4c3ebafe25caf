//! An account as admins see it, and how a change of one is answered.

use crate::error::ApiError;
use crate::words::RoleWord;
use chrono::{DateTime, Utc};
use model::{Role, Roles, UserId};
use serde::Serialize;
use std::str::FromStr;
use storage::users::{User, UserKind, UserOutcome};
use utoipa::ToSchema;

/// An account.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct UserView {
    /// Its id.
    #[schema(value_type = i64)]
    pub id: UserId,
    /// The name to sign in with.
    pub name: String,
    /// The name shown to others.
    pub display_name: String,
    /// `person`, or `service` for the local command line, which nobody can sign in as or change.
    #[schema(value_type = UserKindWord)]
    pub kind: &'static str,
    /// What it may do.
    #[schema(value_type = Vec<RoleWord>)]
    pub roles: Roles,
    /// Can't sign in, and its tokens don't work.
    pub disabled: bool,
    /// Its password was set by somebody else and must be changed.
    pub must_change_password: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Who is behind an account.
#[derive(ToSchema)]
#[schema(as = UserKind, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum UserKindWord {
    /// Somebody who signs in.
    Person,
    /// A program of this machine.
    Service,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            name: user.name,
            display_name: user.display_name,
            kind: match user.kind {
                UserKind::Person => "person",
                UserKind::Service => "service",
            },
            roles: user.roles,
            disabled: user.disabled,
            must_change_password: user.must_change_password,
            created_at: user.created_at,
        }
    }
}

/// Turns the outcome of a change into an answer.
pub(super) fn answer(outcome: UserOutcome) -> Result<UserView, ApiError> {
    match outcome {
        UserOutcome::Done(user) => Ok(user.into()),
        UserOutcome::NotFound => Err(ApiError::not_found("account")),
        UserOutcome::NameTaken => Err(ApiError::conflict("another account has this name")),
        UserOutcome::LastAdmin => Err(ApiError::conflict("nobody would be left to administer the manager")),
        UserOutcome::Service => Err(ApiError::conflict("this account belongs to the manager itself")),
    }
}

/// Reads roles; at least one.
pub(super) fn roles_of(words: &[String]) -> Result<Roles, ApiError> {
    if words.is_empty() {
        return Err(ApiError::invalid("/roles", "at least one role is needed"));
    }
    let roles: Result<Vec<Role>, _> = words.iter().map(|word| Role::from_str(word)).collect();
    Ok(Roles::new(roles.map_err(|error| ApiError::invalid("/roles", error.to_string()))?))
}

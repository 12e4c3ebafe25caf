//! An account as admins see it, and how a change of one is answered.

use crate::error::ApiError;
use crate::state::AppState;
use crate::words::RoleWord;
use chrono::{DateTime, Utc};
use model::{EdgeId, LabelSelector, MAX_REACH_ENTRIES, Reach, Role, Roles, UserId};
use serde::{Deserialize, Serialize};
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
    /// Which hosts it may see and use.
    pub hosts: UserHosts,
    /// Can't sign in, and its tokens don't work.
    pub disabled: bool,
    /// Its password was set by somebody else and must be changed.
    pub must_change_password: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Which hosts an account may see and use: those that are named, and those with the labels. Nothing named is all hosts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserHosts {
    /// Hosts by their ids.
    #[serde(default)]
    pub edge_ids: Vec<i64>,
    /// Hosts by their labels in the inventory: `env=staging`, or several that a host must have together, such as
    /// `env=staging,role=web`.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl From<&Reach> for UserHosts {
    fn from(reach: &Reach) -> Self {
        Self {
            edge_ids: reach.edges.iter().map(|edge| edge.0).collect(),
            labels: reach.labels.iter().map(ToString::to_string).collect(),
        }
    }
}

impl UserHosts {
    /// Reads it; every host that is named must be there.
    pub(super) fn reach(&self, app: &AppState) -> Result<Reach, ApiError> {
        if self.edge_ids.len().max(self.labels.len()) > MAX_REACH_ENTRIES {
            return Err(ApiError::invalid("/hosts", format!("must be at most {MAX_REACH_ENTRIES} of each")));
        }
        let edges = self.edge_ids.iter().map(|id| match app.fleet.host(EdgeId(*id)) {
            Some(host) => Ok(host.id),
            None => Err(ApiError::invalid("/hosts/edge_ids", format!("there is no host with the id {id}"))),
        });
        let labels = self.labels.iter().map(|text| {
            text.parse::<LabelSelector>()
                .map_err(|problem| ApiError::invalid("/hosts/labels", problem.to_string()))
        });
        Ok(Reach { edges: edges.collect::<Result<_, _>>()?, labels: labels.collect::<Result<_, _>>()? })
    }
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
            hosts: UserHosts::from(&user.reach),
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

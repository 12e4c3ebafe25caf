//! Who may do what.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A role that a person holds. Admin includes operator, which includes viewer; an approver is a viewer who
/// decides. A person may hold several.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks, chats, and starts safe calls.
    Viewer,
    /// Also starts mutating and dangerous calls.
    Operator,
    /// A viewer who also decides approvals.
    Approver,
    /// Everything but approving, which needs the role of its own.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: &'static [Self] = &[Self::Viewer, Self::Operator, Self::Approver, Self::Admin];

    /// The word used in the database and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = crate::UnknownState;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|role| role.as_str() == word).ok_or_else(|| crate::UnknownState {
            word: word.to_owned(),
            expected: "admin approver operator viewer",
        })
    }
}

/// The set of roles of one person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Roles(Vec<Role>);

impl Roles {
    /// Makes a set; doubles are dropped.
    pub fn new(roles: impl IntoIterator<Item = Role>) -> Self {
        let mut roles: Vec<Role> = roles.into_iter().collect();
        roles.sort_unstable();
        roles.dedup();
        Self(roles)
    }

    /// The roles that were given, without those that they include.
    pub fn iter(&self) -> impl Iterator<Item = Role> + '_ {
        self.0.iter().copied()
    }

    /// Whether a holder of these roles has the rights of `role`.
    pub fn include(&self, role: Role) -> bool {
        self.0.iter().any(|held| match role {
            Role::Viewer => true,
            Role::Operator => matches!(held, Role::Operator | Role::Admin),
            Role::Approver => matches!(held, Role::Approver),
            Role::Admin => matches!(held, Role::Admin),
        })
    }

    /// The role written into audit rows: the strongest one held.
    pub fn strongest(&self) -> Option<Role> {
        self.0.iter().copied().max()
    }

    /// Whether no role is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_is_an_operator_and_a_viewer_but_decides_nothing_alone() {
        let admin = Roles::new([Role::Admin]);
        assert!(admin.include(Role::Operator) && admin.include(Role::Viewer));
        assert!(!admin.include(Role::Approver));
    }

    #[test]
    fn an_approver_may_look_but_not_operate() {
        let approver = Roles::new([Role::Approver]);
        assert!(approver.include(Role::Viewer));
        assert!(!approver.include(Role::Operator));
    }

    #[test]
    fn nobody_has_no_rights() {
        assert!(!Roles::default().include(Role::Viewer));
    }
}

//! The decision, without clock, storage or network.

use crate::Policy;
use model::{Class, PolicyDecision, Role, Roles};

/// What the decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Key of the capability.
    pub key: &'a str,
    /// Class of the call.
    pub class: Class,
    /// What the configuration says about the tool.
    pub policy: Policy,
    /// The roles of the person behind the call.
    pub roles: &'a Roles,
    /// Why a safe call has to be looked at by a person all the same.
    pub needs_look: Option<&'a str>,
}

/// What is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Run,
    /// A person has to allow it first.
    Ask {
        /// Why: a sentence for the person who is asked.
        reason: String,
        /// Which of the facts says so.
        by: SaidBy,
    },
    /// A signed procedure must cover it, and two people must sign it.
    Procedure,
    /// It may not; the reason is for the operator and the model.
    Refuse {
        /// Whether a person could allow it or nobody.
        policy: PolicyDecision,
        /// A sentence.
        reason: String,
        /// Which of the facts says so.
        by: SaidBy,
    },
}

/// Which of the facts has the last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidBy {
    /// The configuration.
    Policy,
    /// The roles of the person: this one is needed.
    Role(Role),
    /// The class.
    Class,
    /// The place that a probe would go to.
    Look,
}

/// Decides what happens to a call: the stricter of policy and class counts. Silence means "ask a person".
pub fn decide(facts: &Facts<'_>) -> Decision {
    let Facts { key, class, policy, roles, needs_look } = *facts;
    let deny = |by, reason: String| Decision::Refuse { policy: PolicyDecision::Deny, reason, by };
    let ask = |by, reason: String| Decision::Ask { reason, by };
    if policy == Policy::Deny {
        let reason = format!("The configuration denies `{key}` ([security.tool_policy]).");
        return deny(SaidBy::Policy, reason);
    }
    let needed = if class == Class::Safe { Role::Viewer } else { Role::Operator };
    if !roles.include(needed) {
        let reason = format!("Starting a {class} call such as `{key}` needs the role {needed} or admin.");
        return deny(SaidBy::Role(needed), reason);
    }
    match class {
        Class::Dangerous => Decision::Procedure,
        Class::Mutating => {
            ask(SaidBy::Class, format!("`{key}` changes something: it needs the approval of a person."))
        }
        Class::Safe if policy == Policy::Supervised => ask(
            SaidBy::Policy,
            format!("The configuration puts `{key}` under supervision: it needs the approval of a person."),
        ),
        Class::Safe => match needs_look {
            Some(reason) => ask(SaidBy::Look, format!("{reason} It needs the approval of a person.")),
            None => Decision::Run,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `run`, `ask`, `procedure` or `deny` for each class, policy, role and outgoing probe.
    #[test]
    fn the_whole_table() {
        use Policy::{Allow, Deny, Supervised};
        let viewer = Roles::new([Role::Viewer]);
        let operator = Roles::new([Role::Operator]);
        let approver = Roles::new([Role::Approver]);
        let admin = Roles::new([Role::Admin]);
        let nobody = Roles::default();
        let look = Some("The host was not named.");
        for (class, policy, roles, needs_look, expected) in [
            (Class::Safe, Allow, &viewer, None, "run"),
            (Class::Safe, Allow, &approver, None, "run"),
            (Class::Safe, Allow, &operator, None, "run"),
            (Class::Safe, Allow, &admin, None, "run"),
            (Class::Safe, Allow, &nobody, None, "deny"),
            (Class::Safe, Allow, &viewer, look, "ask"),
            (Class::Safe, Allow, &admin, look, "ask"),
            (Class::Safe, Supervised, &admin, None, "ask"),
            (Class::Safe, Deny, &admin, None, "deny"),
            (Class::Safe, Deny, &admin, look, "deny"),
            (Class::Mutating, Allow, &viewer, None, "deny"),
            (Class::Mutating, Allow, &approver, None, "deny"),
            (Class::Mutating, Allow, &operator, None, "ask"),
            (Class::Mutating, Allow, &admin, None, "ask"),
            (Class::Mutating, Supervised, &operator, None, "ask"),
            (Class::Mutating, Deny, &admin, None, "deny"),
            (Class::Dangerous, Allow, &viewer, None, "deny"),
            (Class::Dangerous, Allow, &operator, None, "procedure"),
            (Class::Dangerous, Supervised, &admin, None, "procedure"),
            (Class::Dangerous, Deny, &admin, None, "deny"),
        ] {
            let decision = decide(&Facts { key: "tool", class, policy, roles, needs_look });
            let word = match &decision {
                Decision::Run => "run",
                Decision::Ask { .. } => "ask",
                Decision::Procedure => "procedure",
                Decision::Refuse { .. } => "deny",
            };
            assert_eq!(word, expected, "{class} {policy:?} {roles:?} {needs_look:?}: {decision:?}");
        }
    }

    #[test]
    fn no_class_but_safe_ever_runs() {
        for class in [Class::Mutating, Class::Dangerous] {
            for policy in [Policy::Allow, Policy::Supervised, Policy::Deny] {
                for role in Role::ALL {
                    let roles = Roles::new([*role]);
                    let facts = Facts { key: "tool", class, policy, roles: &roles, needs_look: None };
                    assert_ne!(decide(&facts), Decision::Run);
                }
            }
        }
    }
}

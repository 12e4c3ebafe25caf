//! Says what would become of a call, without making it: the gate's own review, put into words.

use crate::approvals::Standing;
use crate::review::{Needs, Outcome, Question, Review};
use crate::{CallRequest, Gate, GateError, Principal, Rule};
use model::{Class, ClassReason, GrantId, Role};
use serde::Serialize;

/// What would become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It would run.
    Run,
    /// A person would be asked.
    Ask,
    /// It would be refused.
    Deny,
    /// Its arguments are wrong.
    Invalid,
}

impl Fate {
    /// The word used in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Invalid => "invalid",
        }
    }
}

/// What would become of a call, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What would become of it.
    pub fate: Fate,
    /// Its class.
    pub class: Class,
    /// Why it has that class; empty where its arguments are wrong.
    pub class_reasons: Vec<ClassReason>,
    /// Which rule has the last word.
    pub rule: Rule,
    /// A sentence. Redacted.
    pub reason: String,
    /// Who may allow it, in words; `None` if nobody has to.
    pub approvers: Option<&'static str>,
    /// The grant that lets it run, so that nobody is asked.
    pub grant: Option<GrantId>,
}

/// What the review and the grants say, in words.
struct Said {
    fate: Fate,
    rule: Rule,
    reason: String,
    grant: Option<GrantId>,
}

impl Gate {
    /// Says what [`Gate::admit`] would answer at this moment, by the same review. Puts nothing on record and counts
    /// towards no limit.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn explain(&self, mut request: CallRequest) -> Result<Explanation, GateError> {
        let review = self.review(&mut request).await.map_err(GateError::Approval)?;
        let Review { class, class_reasons, definition_hash, outcome, rule, .. } = review;
        let said = |fate, reason| Said { fate, rule: rule.clone(), reason, grant: None };
        let asks = matches!(outcome, Outcome::Ask(..));
        let needs = match &outcome {
            Outcome::Ask(_, question) => question.needs.clone(),
            _ => None,
        };
        let said = match outcome {
            Outcome::Invalid { reason, .. } => said(Fate::Invalid, reason),
            Outcome::Refuse { reason, .. } => said(Fate::Deny, reason),
            Outcome::Run(_) => self.if_limits_allow(&request, said(Fate::Run, AT_ONCE.to_owned())),
            Outcome::Ask(_, Question { why, needs: Some(_) }) => {
                match self.too_many_wait(&request).await.map_err(GateError::Approval)? {
                    Some(reason) => Said { rule: Rule::Limits, ..said(Fate::Deny, reason) },
                    None => said(Fate::Ask, why),
                }
            }
            Outcome::Ask(_, Question { why, needs: None }) => {
                let host = request.edge.and_then(|edge| self.hosts.host(edge));
                let standing = self.standing(&request, class, &definition_hash, host.as_ref());
                let Standing { usable, note } = standing.await.map_err(GateError::Approval)?;
                match usable.first() {
                    Some(grant) => {
                        let said =
                            said(Fate::Run, format!("{why} A grant gives it, so it would run at once."));
                        let said = Said { rule: Rule::Grant, grant: Some(*grant), ..said };
                        self.if_limits_allow(&request, said)
                    }
                    None => {
                        let full = self.too_many_wait(&request).await.map_err(GateError::Approval)?;
                        let note = note.map(|note| format!(" {note}")).unwrap_or_default();
                        match full {
                            Some(reason) => Said { rule: Rule::Limits, ..said(Fate::Deny, reason) },
                            None => said(Fate::Ask, why + &note),
                        }
                    }
                }
            }
        };
        Ok(Explanation {
            fate: said.fate,
            class,
            class_reasons: class_reasons
                .into_iter()
                .map(|reason| ClassReason { text: self.redact(&reason.text), ..reason })
                .collect(),
            rule: said.rule,
            reason: self.redact(&said.reason),
            approvers: (asks && said.fate != Fate::Deny).then(|| self.approvers_of(&request, needs.as_ref())),
            grant: said.grant,
        })
    }

    fn if_limits_allow(&self, request: &CallRequest, said: Said) -> Said {
        match self.limit_reached(request) {
            Some(reason) => Said { fate: Fate::Deny, rule: Rule::Limits, reason, grant: None },
            None => said,
        }
    }

    /// Who may allow a call that a person may allow.
    fn approvers_of(&self, request: &CallRequest, needs: Option<&Needs>) -> &'static str {
        match needs {
            Some(Needs { people: 1, .. }) => {
                return "One approver, by signature, who isn't the person behind the call.";
            }
            Some(_) => return "Two approvers, each by signature, neither of them the person behind the call.",
            None => {}
        }
        let Principal { roles, token, .. } = &request.caller;
        if token.is_none() && self.approvals.self_approval && roles.include(Role::Operator) {
            "The person behind the call, or any person with the role approver."
        } else {
            "Another person, with the role approver."
        }
    }
}

const AT_ONCE: &str = "It would run at once.";

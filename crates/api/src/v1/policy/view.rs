//! What would become of a call, as the API shows it.

use crate::words::ClassWord;
use gate::{Explanation, Fate};
use model::{Class, ClassReason};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a call has its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ClassReason)]
pub struct ClassReasonView {
    /// A short sentence.
    pub text: String,
    /// Where in `args.command` the part begins that it is about, in UTF-16 code units, as JavaScript counts; null for the
    /// whole call.
    pub start: Option<u32>,
    /// Where that part ends.
    pub end: Option<u32>,
}

impl From<ClassReason> for ClassReasonView {
    fn from(reason: ClassReason) -> Self {
        Self { text: reason.text, start: reason.start, end: reason.end }
    }
}

/// What would become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyFate {
    /// It would run.
    Run,
    /// A person would be asked.
    Ask,
    /// It would be refused.
    Deny,
    /// Its arguments are wrong.
    Invalid,
}

/// Who would have to allow a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NeededApproval {
    /// In words.
    pub who: String,
    /// The grant that would do it, so that nobody is asked.
    pub grant_id: Option<String>,
}

/// What would become of a call, and why.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PolicyExplanation)]
pub struct PolicyExplanationView {
    /// What would become of it.
    pub decision: PolicyFate,
    /// Its class; where its arguments are wrong, the least that any call of it has.
    #[schema(value_type = ClassWord)]
    pub class: Class,
    /// Why it has that class.
    pub class_reasons: Vec<ClassReasonView>,
    /// Which rule has the last word, for example `security.tool_policy.groups.files = supervised`.
    pub rule: String,
    /// A sentence.
    pub reason: String,
    /// Who would have to allow it; null where nobody would be asked.
    pub approval: Option<NeededApproval>,
}

impl From<Explanation> for PolicyExplanationView {
    fn from(explanation: Explanation) -> Self {
        Self {
            decision: match explanation.fate {
                Fate::Run => PolicyFate::Run,
                Fate::Ask => PolicyFate::Ask,
                Fate::Deny => PolicyFate::Deny,
                Fate::Invalid => PolicyFate::Invalid,
            },
            class: explanation.class,
            class_reasons: explanation.class_reasons.into_iter().map(ClassReasonView::from).collect(),
            rule: explanation.rule.to_string(),
            reason: explanation.reason,
            approval: explanation.approvers.map(|who| NeededApproval {
                who: who.to_owned(),
                grant_id: explanation.grant.map(|grant| grant.to_string()),
            }),
        }
    }
}

//! A procedure as the API shows it.

use crate::v1::freeze::PersonView;
use chrono::{DateTime, Utc};
use gate::{Imported, Procedure, SopState};
use model::{Timestamp, UserId};
use serde::Serialize;
use serde_json::Value;
use signing::{Sop, Step, Targets};
use std::collections::BTreeMap;
use storage::sops::StoredSop;
use utoipa::ToSchema;

/// How a procedure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SopState)]
pub enum SopStateWord {
    /// Calls can be made by it.
    Active,
    /// It is valid only later.
    NotYet,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
    /// A newer version counts.
    Superseded,
    /// The manager's configuration doesn't trust the key any more that signed it.
    Untrusted,
}

impl From<SopState> for SopStateWord {
    fn from(state: SopState) -> Self {
        match state {
            SopState::Active => Self::Active,
            SopState::NotYet => Self::NotYet,
            SopState::Expired => Self::Expired,
            SopState::Revoked => Self::Revoked,
            SopState::Superseded => Self::Superseded,
            SopState::Untrusted => Self::Untrusted,
        }
    }
}

/// One thing that a procedure allows.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SopStep)]
pub struct StepView {
    /// Its name within the procedure.
    pub name: String,
    /// Key of the skill.
    pub skill: String,
    /// JSON Schema that the arguments must satisfy, beside the skill's own.
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// Whether it may run on every host.
    pub any_host: bool,
    /// Else: the labels that a host must have in its own configuration.
    pub labels: BTreeMap<String, String>,
    /// How often it may run in all, on one host.
    pub maximum_runs: u32,
}

impl From<&Step> for StepView {
    fn from(step: &Step) -> Self {
        let (any_host, labels) = match &step.targets {
            Targets::AnyHost => (true, BTreeMap::new()),
            Targets::Labels(labels) => (false, labels.clone()),
        };
        Self {
            name: step.name.clone(),
            skill: step.skill.clone(),
            parameters: step.parameters.clone(),
            any_host,
            labels,
            maximum_runs: step.maximum_runs,
        }
    }
}

/// A procedure.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Sop)]
pub struct SopView {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// From when it may be used.
    pub valid_from: DateTime<Utc>,
    /// Until when it may be used.
    pub valid_until: DateTime<Utc>,
    /// What it allows.
    pub steps: Vec<StepView>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// When it was imported.
    pub imported_at: DateTime<Utc>,
    /// By whom.
    pub imported_by: PersonView,
    /// How it stands.
    pub state: SopStateWord,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// By whom.
    pub revoked_by: Option<PersonView>,
    /// The whole text, as it was signed.
    pub document: String,
}

pub(super) fn person(id: UserId, name: Option<&String>) -> PersonView {
    PersonView { id, name: name.cloned().unwrap_or_else(|| format!("user {id}")) }
}

impl SopView {
    /// The view of an imported procedure.
    pub(super) fn of(imported: &Imported, procedure: &Procedure, now: Timestamp) -> Self {
        let text = String::from_utf8_lossy(&procedure.stored.document).into_owned();
        // What isn't trusted any more is still shown for what it says.
        let sop = procedure.sop.as_ref().ok().cloned().or_else(|| Sop::parse(&text).ok());
        Self::new(&procedure.stored, sop.as_ref(), text, imported.state_of(procedure, now).into())
    }

    fn new(stored: &StoredSop, sop: Option<&Sop>, document: String, state: SopStateWord) -> Self {
        Self {
            id: stored.id.clone(),
            version: stored.version,
            title: sop.map(|sop| sop.title.clone()).unwrap_or_default(),
            description: sop.map(|sop| sop.description.clone()).unwrap_or_default(),
            valid_from: sop.map_or(stored.imported_at, |sop| sop.valid_from),
            valid_until: sop.map_or(stored.imported_at, |sop| sop.valid_until),
            steps: sop.into_iter().flat_map(|sop| &sop.steps).map(StepView::from).collect(),
            signer: stored.signer.clone(),
            imported_at: stored.imported_at,
            imported_by: person(stored.imported_by, stored.imported_by_name.as_ref()),
            state,
            revoked_at: stored.revoked_at,
            revoked_by: stored.revoked_by.map(|id| person(id, stored.revoked_by_name.as_ref())),
            document,
        }
    }
}

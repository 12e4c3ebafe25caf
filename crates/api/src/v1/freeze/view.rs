//! Whether changes are frozen, as the API shows it.

use crate::state::AppState;
use chrono::{DateTime, Utc};
use model::UserId;
use serde::Serialize;
use utoipa::ToSchema;

/// A person, by account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Person)]
pub struct PersonView {
    /// The account.
    #[schema(value_type = i64)]
    pub id: UserId,
    /// Its name.
    pub name: String,
}

/// Whether changes are frozen.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = FreezeState)]
pub struct FreezeView {
    /// Whether all mutating and dangerous calls are refused, here and on every host.
    pub frozen: bool,
    /// Since when.
    pub since: Option<DateTime<Utc>>,
    /// Who froze them.
    pub by: Option<PersonView>,
    /// Why, in that person's words.
    pub reason: Option<String>,
}

impl FreezeView {
    /// What holds now.
    pub(super) fn of(app: &AppState) -> Self {
        let state = app.storage.freezes().current();
        let Some(freeze) = &state.everywhere else {
            return Self { frozen: false, since: None, by: None, reason: None };
        };
        let name = freeze.by_name.clone().unwrap_or_else(|| format!("user {}", freeze.by));
        Self {
            frozen: true,
            since: Some(freeze.since),
            by: Some(PersonView { id: freeze.by, name }),
            reason: freeze.reason.clone(),
        }
    }
}

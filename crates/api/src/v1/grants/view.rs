//! A grant as the API shows it.

use crate::state::AppState;
use crate::v1::freeze::PersonView;
use crate::words::ScopeWord;
use chrono::{DateTime, Utc};
use model::{EdgeId, GrantId, GrantState, Scope, SessionId};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use storage::grants::{Grant, GrantEdges};
use utoipa::ToSchema;

/// How a grant stands.
#[derive(ToSchema)]
#[schema(as = GrantState, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum GrantStateWord {
    /// It covers calls.
    Active,
    /// Its time is over.
    Expired,
    /// It covered as many calls as it was given for.
    UsedUp,
    /// Somebody took it back.
    Revoked,
    /// The tool is another one than it was given for.
    Void,
}

/// A standing approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Grant)]
pub struct GrantView {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: GrantId,
    /// Key of the capability.
    pub tool: String,
    /// Where that runs.
    #[schema(value_type = ScopeWord)]
    pub scope: Scope,
    /// Whose calls it covers.
    pub person: PersonView,
    /// Only in this chat.
    #[schema(value_type = Option<Uuid>)]
    pub session_id: Option<SessionId>,
    /// What that chat is called.
    pub session_title: Option<String>,
    /// Only on this host.
    #[schema(value_type = Option<i64>)]
    pub edge_id: Option<EdgeId>,
    /// That host's name.
    pub edge_name: Option<String>,
    /// Only on hosts with all of these labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// Only with these arguments. Redacted.
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    /// When it was given.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: PersonView,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// How many calls it let run.
    pub uses: u64,
    /// How many more it covers.
    pub uses_left: Option<u64>,
    /// When it was last used.
    pub last_used_at: Option<DateTime<Utc>>,
    /// How it stands.
    #[schema(value_type = GrantStateWord)]
    pub state: GrantState,
}

impl GrantView {
    /// The view of a grant.
    pub(super) fn of(app: &AppState, grant: Grant) -> Self {
        let state = app.executor.gate().grant_state(&grant);
        let (edge, labels) = match grant.edges {
            GrantEdges::This(id, name) => (Some((id, name)), None),
            GrantEdges::Labels(labels) => (None, Some(labels)),
            GrantEdges::Any => (None, None),
        };
        let (edge_id, edge_name) = edge.unzip();
        Self {
            id: grant.id,
            tool: grant.tool,
            scope: grant.scope,
            person: PersonView { id: grant.person, name: grant.person_name },
            session_id: grant.session,
            session_title: grant.session_title,
            edge_id,
            edge_name,
            labels,
            args: grant.args,
            created_at: grant.created_at,
            created_by: PersonView { id: grant.created_by, name: grant.created_by_name },
            expires_at: grant.expires_at,
            uses: grant.uses,
            uses_left: grant.uses_left,
            last_used_at: grant.last_used_at,
            state,
        }
    }
}

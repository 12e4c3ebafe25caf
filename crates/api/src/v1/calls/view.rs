//! A call as the API shows it.

use crate::error::ApiError;
use crate::state::AppState;
use crate::words::{CallStateWord, ClassWord, OriginWord, PolicyDecisionWord, ScopeWord};
use chrono::{DateTime, Utc};
use model::{CallId, CallState, Class, EdgeId, Origin, PolicyDecision, Scope, SessionId, TurnId, UserId};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use storage::calls::CallRow;
use utoipa::ToSchema;
use uuid::Uuid;

/// Who made a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CallerView {
    /// The account; 0 is the system, which stands for a model.
    #[schema(value_type = i64)]
    pub user_id: UserId,
    /// Its name.
    pub name: String,
    /// Its strongest role at that time; `system` for a model.
    pub role: String,
}

/// On whose behalf a model made a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OnBehalfOf {
    /// The account.
    #[schema(value_type = i64)]
    pub user_id: UserId,
    /// Its name.
    pub name: String,
}

/// The API token through which a person asked for a call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ViaToken {
    /// Its id.
    pub id: i64,
    /// What its owner called it at that time.
    pub name: String,
}

/// A call. Arguments and results are redacted.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Call)]
pub struct CallView {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: CallId,
    /// What was called.
    pub tool: String,
    /// Its class.
    #[schema(value_type = ClassWord)]
    pub class: Class,
    /// Where it runs.
    #[schema(value_type = ScopeWord)]
    pub scope: Scope,
    /// Where it stands.
    #[schema(value_type = CallStateWord)]
    pub state: CallState,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    pub edge_id: Option<EdgeId>,
    /// The host's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge_name: Option<String>,
    /// Its arguments.
    pub args: Value,
    /// Keyed digest of the exact arguments.
    pub args_digest: String,
    /// What it answered; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The size of the stored result.
    pub result_bytes: u64,
    /// The beginning of the result, at most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
    /// Why it didn't succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The kind of that, for example `not_found` or `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// When it was received.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<DateTime<Utc>>,
    /// How long it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Who made it.
    pub caller: CallerView,
    /// On whose behalf, if a model made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<OnBehalfOf>,
    /// Through which API token the person asked, if through one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<ViaToken>,
    /// Through which entry point it came.
    #[schema(value_type = OriginWord)]
    pub origin: Origin,
    /// The chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub session_id: Option<SessionId>,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub turn_id: Option<TurnId>,
    /// The call that made this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub parent_call_id: Option<CallId>,
    /// The approval that it waits or waited for, or the grant that let it run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Uuid>,
    /// The step of a procedure by which it ran, for example `reboot-web@3/reboot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sop: Option<String>,
    /// What policy and class said.
    #[schema(value_type = PolicyDecisionWord)]
    pub policy_decision: PolicyDecision,
    /// The sandbox that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The version of what was called.
    pub definition_hash: String,
    /// The parameters' schema; only for invalid calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// The most characters of a preview.
const PREVIEW_CHARS: usize = 2000;

impl CallView {
    /// The view of a row. `names` are those of accounts.
    pub(crate) fn of(row: CallRow, names: &Names) -> Self {
        Self {
            id: row.id,
            tool: row.tool,
            class: row.class,
            scope: row.scope,
            state: row.state,
            edge_id: row.edge,
            edge_name: row.edge_name,
            args: row.args,
            args_digest: row.args_digest,
            result: None,
            result_bytes: row.result_bytes,
            result_preview: None,
            error: row.error,
            error_kind: row.error_kind,
            started_at: row.started_at.unwrap_or(row.created_at),
            finished_at: row.finished_at,
            duration_ms: row.duration_ms,
            caller: CallerView { user_id: row.caller, name: names.of(row.caller), role: row.caller_role },
            on_behalf_of: row.on_behalf_of.map(|user_id| OnBehalfOf { user_id, name: names.of(user_id) }),
            token: row.token.map(|token| ViaToken { id: token.id, name: token.name }),
            origin: row.origin,
            session_id: row.session,
            turn_id: row.turn,
            parent_call_id: row.parent,
            approval_id: row.approval,
            sop: row.sop,
            policy_decision: row.policy,
            sandbox: row.sandbox,
            definition_hash: row.definition_hash,
            schema: None,
        }
    }

    /// Adds the stored result: whole where it is small, else its beginning.
    pub(crate) fn with_result(mut self, text: Option<&str>) -> Self {
        let Some(text) = text else { return self };
        if text.len() <= MAX_INLINE_RESULT_BYTES {
            self.result = serde_json::from_str(text).ok();
        }
        self.result_preview = Some(text.chars().take(PREVIEW_CHARS).collect());
        self
    }
}

/// Results up to this size come with their call; larger ones are read in windows.
pub(crate) const MAX_INLINE_RESULT_BYTES: usize = 1024 * 1024;

/// Names of accounts by id.
pub(crate) struct Names(BTreeMap<i64, String>);

impl Names {
    /// Reads them.
    pub(crate) async fn load(app: &AppState) -> Result<Self, ApiError> {
        Ok(Self(app.storage.users().names().await?))
    }

    fn of(&self, id: UserId) -> String {
        match self.0.get(&id.0) {
            Some(name) => name.clone(),
            None if id == UserId::SYSTEM => "system".to_owned(),
            None => format!("user {id}"),
        }
    }
}

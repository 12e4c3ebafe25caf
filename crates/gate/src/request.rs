//! What comes to the gate.

use crate::NamedStep;
use model::{CallId, EdgeId, Origin, Roles, Scope, SessionId, TurnId, UserId};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;
use storage::calls::CallToken;

/// A wish for a call, from any entry point.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Its id, made by the asker, so that it can be told before the call ends.
    pub call_id: CallId,
    /// Where it is to run.
    pub scope: Scope,
    /// Key of the capability.
    pub key: String,
    /// The host, for scope host.
    pub edge: Option<EdgeId>,
    /// Its arguments, without `edge_id`.
    pub args: Value,
    /// Who asks.
    pub caller: Principal,
    /// Through which entry point.
    pub origin: Origin,
    /// The chat that it belongs to.
    pub session: Option<SessionId>,
    /// The turn that it belongs to, and the epoch of who works on it.
    pub turn: Option<TurnRef>,
    /// The call of the tool that wants this one made.
    pub parent: Option<CallId>,
    /// How long it may take; the default if none.
    pub timeout: Option<Duration>,
    /// What the turn took in.
    pub taint: Taint,
    /// What the turn is narrowed to.
    pub narrowing: Narrowing,
    /// The step of a procedure that is to cover it, where it is dangerous.
    pub sop: Option<NamedStep>,
}

/// Who asks for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The person; the system for a model.
    pub user: UserId,
    /// The person's roles; for a model, those of the chat's owner.
    pub roles: Roles,
    /// For a model, the chat's owner.
    pub on_behalf_of: Option<UserId>,
    /// Whether a model asks.
    pub by_model: bool,
    /// The API token through which the person asked, themselves or for the turn in which a model asks.
    pub token: Option<CallToken>,
}

impl Principal {
    /// A person who asks themselves, at a browser.
    pub fn person_at_browser(user: UserId, roles: Roles) -> Self {
        Self { user, roles, on_behalf_of: None, by_model: false, token: None }
    }

    /// A model that asks in a chat of `owner`.
    pub fn model_for(owner: UserId, roles: Roles) -> Self {
        Self { user: UserId::SYSTEM, roles, on_behalf_of: Some(owner), by_model: true, token: None }
    }

    /// The person behind the call: the chat's owner for a model, else the caller.
    pub fn person(&self) -> UserId {
        self.on_behalf_of.unwrap_or(self.user)
    }

    /// The word for audit rows: the strongest role, or `system` for a model.
    pub fn role_word(&self) -> &'static str {
        if self.by_model {
            return "system";
        }
        self.roles.strongest().map_or("none", |role| role.as_str())
    }
}

/// The turn that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnRef {
    /// The turn.
    pub id: TurnId,
    /// The epoch of the worker that asks. A newer one in the database means that the turn was taken over.
    pub epoch: i64,
}

/// What a turn took in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// Whether free text from hosts, files, HTTP, servers or documents entered it.
    pub untrusted: bool,
    /// Words of the operator that may name a host.
    pub named_places: Vec<String>,
}

/// What a turn is narrowed to. A choice only ever narrows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Narrowing {
    /// Everything that policy allows.
    #[default]
    All,
    /// Only these keys; none, if it is empty.
    Only(BTreeSet<String>),
}

impl Narrowing {
    /// Whether calls of `key` are within it.
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key),
        }
    }
}

/// An `edge_id` that isn't one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`edge_id` must be the integer id of a host, from 1; query_edges lists them")]
pub struct EdgeIdProblem;

/// Takes `edge_id` out of a model's arguments for a host skill. Arguments that are no object are left as they are:
/// the schema will tell.
///
/// # Errors
///
/// Fails if `edge_id` is there and isn't a positive integer.
pub fn take_edge_id(args: Value) -> Result<(Option<EdgeId>, Value), EdgeIdProblem> {
    let mut fields = match args {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        other => return Ok((None, other)),
    };
    // `shift_remove` keeps the order of the others.
    let edge = match fields.shift_remove("edge_id") {
        None => None,
        Some(value) => Some(value.as_i64().filter(|id| *id >= 1).map(EdgeId).ok_or(EdgeIdProblem)?),
    };
    Ok((edge, Value::Object(fields)))
}

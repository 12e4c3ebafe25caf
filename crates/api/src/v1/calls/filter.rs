//! Which calls a list, an export or a density asks for.

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::AppState;
use chrono::{DateTime, Utc};
use model::{CallId, CallState, Class, EdgeId, Origin, SessionId, UserId};
use serde::Deserialize;
use std::str::FromStr;
use storage::calls::{CallFilter, CallRow, Within};
use utoipa::IntoParams;

/// Which calls. Absent means all.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallQuery {
    /// Key of the capability.
    pub tool: Option<String>,
    /// Class.
    #[param(value_type = Option<crate::words::ClassWord>)]
    pub class: Option<String>,
    /// State.
    #[param(value_type = Option<crate::words::CallStateWord>)]
    pub state: Option<String>,
    /// Host.
    pub edge: Option<i64>,
    /// The person behind it.
    pub user: Option<i64>,
    /// Chat.
    #[param(value_type = Option<Uuid>)]
    pub session: Option<String>,
    /// Entry point.
    #[param(value_type = Option<crate::words::OriginWord>)]
    pub origin: Option<String>,
    /// Received at or after.
    pub from: Option<DateTime<Utc>>,
    /// Received before.
    pub to: Option<DateTime<Utc>>,
    /// A part of the tool's key, the host's name, the redacted arguments or the error.
    pub q: Option<String>,
    /// The call that made it.
    #[param(value_type = Option<Uuid>)]
    pub parent: Option<String>,
}

impl CallQuery {
    /// The filter, narrowed to what this caller may see.
    pub(crate) fn filter(&self, app: &AppState, identity: &Identity) -> Result<CallFilter, ApiError> {
        let person = match self.user {
            _ if !identity.sees_all_calls() => Some(identity.user.id),
            user => user.map(UserId),
        };
        Ok(CallFilter {
            tool: given(&self.tool),
            class: parse::<Class>("class", &self.class)?,
            state: parse::<CallState>("state", &self.state)?,
            edge: self.edge.map(EdgeId),
            person,
            session: parse::<SessionId>("session", &self.session)?,
            turn: None,
            parent: parse::<CallId>("parent", &self.parent)?,
            origin: parse::<Origin>("origin", &self.origin)?,
            from: self.from,
            to: self.to,
            text: given(&self.q),
            within: within(app, identity),
        })
    }
}

/// What somebody may see who doesn't reach all hosts. Hosts that are gone are within reach by their ids only.
fn within(app: &AppState, identity: &Identity) -> Option<Within> {
    let reach = &identity.user.reach;
    (!reach.is_everywhere()).then(|| {
        let mut edges = reach.edges.clone();
        let hosts = app.fleet.hosts();
        edges.extend(hosts.iter().filter(|host| identity.reaches(host.id, &host.labels)).map(|host| host.id));
        Within { own: identity.user.id, edges: edges.into_iter().collect() }
    })
}

/// Whether somebody may see a call.
pub(crate) fn may_see(app: &AppState, identity: &Identity, row: &CallRow) -> bool {
    if row.person() == identity.user.id {
        return true;
    }
    // What others ran beside the manager may hold results of any host.
    let reached = identity.user.reach.is_everywhere()
        || row.edge.is_some() && app.executor.gate().reaches(identity.user.id, row.edge);
    identity.sees_all_calls() && reached
}

/// A filter that is left empty in a form filters nothing.
fn given(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

fn parse<T: FromStr>(at: &str, text: &Option<String>) -> Result<Option<T>, ApiError>
where
    T::Err: std::fmt::Display,
{
    given(text)
        .map(|text| text.parse().map_err(|error: T::Err| ApiError::invalid(at, error.to_string())))
        .transpose()
}

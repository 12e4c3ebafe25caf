//! Lists hosts.

use super::view::{HostState, HostView};
use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::page::{Page, PageQuery};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

/// Which hosts. Absent means all.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HostQuery {
    /// A part of the name, the host's own name, the OS or a label.
    q: Option<String>,
    /// Where they stand.
    state: Option<HostState>,
    /// A label: `key`, or `key=value`.
    label: Option<String>,
}

/// Lists hosts by id.
#[utoipa::path(get, path = "/api/v1/hosts", operation_id = "list_hosts", tag = "hosts",
    params(HostQuery, ("cursor" = Option<String>, Query), ("limit" = Option<u32>, Query)),
    responses((status = OK, body = Page<HostView>)), security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    _caller: Caller<Read>,
    Query(query): Query<HostQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<HostView>>, ApiError> {
    let limit = page.limit()?;
    let after = page.integer_key()?.unwrap_or(0);
    // Presence is in memory, so all hosts are, and a page is a slice of them.
    let found: Vec<HostView> = app
        .fleet
        .hosts()
        .into_iter()
        .filter(|host| host.facts.id.0 > after)
        .map(HostView::from)
        .filter(|host| query.fits(host))
        .take(usize::try_from(limit).unwrap_or(0) + 1)
        .collect();
    Ok(Json(Page::cut(found, limit, |host| host.id.to_string())))
}

impl HostQuery {
    fn fits(&self, host: &HostView) -> bool {
        let text_fits = self.q.as_deref().filter(|text| !text.is_empty()).is_none_or(|text| {
            let text = text.to_lowercase();
            let contains = |value: &str| value.to_lowercase().contains(&text);
            contains(&host.name)
                || contains(&host.hostname)
                || contains(&host.os)
                || host.labels.iter().any(|(key, value)| contains(&format!("{key}={value}")))
        });
        let label_fits = self.label.as_deref().filter(|label| !label.is_empty()).is_none_or(|label| {
            match label.split_once('=') {
                Some((key, value)) => host.labels.get(key).is_some_and(|own| own == value),
                None => host.labels.contains_key(label),
            }
        });
        text_fits && label_fits && self.state.is_none_or(|state| host.state == state)
    }
}

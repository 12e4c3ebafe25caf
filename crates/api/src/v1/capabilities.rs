//! Every capability there is, and where it can run.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::page::Page;
use crate::state::AppState;
use crate::words::{ClassWord, ScopeWord};
use axum::Json;
use axum::extract::State;
use fleet::HostView;
use gate::HostState;
use model::{Class, EdgeId, Scope};
use serde::Serialize;
use serde_json::Value;
use skill::{Capability, Catalogue, Source};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A capability.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Capability)]
pub struct CapabilityView {
    /// Unique in its scope.
    key: String,
    /// A short name for people.
    name: String,
    /// What it does.
    description: String,
    /// The least class of its calls.
    #[schema(value_type = ClassWord)]
    class: Class,
    /// The parameter that decides the class of a call, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    classed_by: Option<&'static str>,
    /// Where it runs.
    #[schema(value_type = ScopeWord)]
    scope: Scope,
    /// The group under which it is listed.
    category: String,
    /// JSON Schema of its parameters.
    params: Value,
    /// What a result looks like.
    result_preview: String,
    /// What a host must have for it.
    prerequisites: Vec<String>,
    /// Where it comes from: `builtin`, or `pack:NAME`.
    source: String,
    /// Its version.
    hash: String,
    /// Whether it is the form of a host skill that takes several hosts.
    batch: bool,
    /// The hosts, for host skills.
    hosts: Vec<CapabilityHost>,
    /// Why it can't be run at all, for example because it needs an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_reason: Option<String>,
}

/// A host on which a capability could run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapabilityHost {
    /// The host.
    #[schema(value_type = i64)]
    edge_id: EdgeId,
    /// Its name.
    name: String,
    /// Whether it is connected.
    online: bool,
    /// What it lacks, in words; empty if nothing.
    unmet: Vec<String>,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(handler))
}

/// Lists capabilities in their fixed order.
#[utoipa::path(get, path = "/api/v1/capabilities", operation_id = "list_capabilities", tag = "capabilities",
    responses((status = OK, body = Page<CapabilityView>)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
) -> Result<Json<Page<CapabilityView>>, ApiError> {
    let catalogue = app.catalogue.load();
    let mut hosts = app.fleet.hosts();
    hosts.retain(|host| caller.reaches(host.id, &host.labels));
    let items = catalogue
        .iter()
        .map(|capability| {
            let key = &capability.definition().key;
            let hosts = match capability.definition().scope {
                Scope::Manager => Vec::new(),
                Scope::Host => hosts
                    .iter()
                    .map(|host| CapabilityHost {
                        edge_id: host.id,
                        name: host.name.clone(),
                        online: host.state == HostState::Online,
                        unmet: unmet(host, key),
                    })
                    .collect(),
            };
            view(&catalogue, capability, hosts, app.executor.refusal_of(capability))
        })
        .collect();
    Ok(Json(Page { items, next_cursor: None }))
}

fn view(
    catalogue: &Catalogue,
    capability: &Capability,
    hosts: Vec<CapabilityHost>,
    refused_reason: Option<String>,
) -> CapabilityView {
    let definition = capability.definition().clone();
    CapabilityView {
        batch: definition.scope == Scope::Manager && catalogue.get(Scope::Host, &definition.key).is_some(),
        key: definition.key,
        name: definition.name,
        description: definition.description,
        class: capability.least_class(),
        classed_by: capability.classed_by(),
        scope: definition.scope,
        category: definition.category,
        params: definition.params,
        result_preview: definition.result_preview,
        prerequisites: definition.prerequisites,
        source: source_word(capability.source()),
        hash: capability.hash().to_owned(),
        hosts,
        refused_reason,
    }
}

/// What a host lacks for a skill. Of one that never described itself nothing is known.
fn unmet(host: &HostView, key: &str) -> Vec<String> {
    match host.skills.iter().find(|skill| skill.key == *key) {
        Some(skill) => skill.unmet.clone(),
        None if host.skills.is_empty() => Vec::new(),
        None => vec!["an edge that has this skill".to_owned()],
    }
}

/// Where a capability comes from, in one word.
pub(crate) fn source_word(source: &Source) -> String {
    match source {
        Source::Builtin => "builtin".to_owned(),
        Source::Pack(name) => format!("pack:{name}"),
    }
}

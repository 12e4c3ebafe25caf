//! A pack as the API shows it.

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::AppState;
use crate::words::ClassWord;
use gate::{HostState, PackFacts};
use model::{Class, EdgeId, Timestamp, UserId};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use storage::packs::PackPin;
use utoipa::ToSchema;

/// How a pack stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PackState {
    /// Inert until an admin accepts it.
    Waiting,
    /// Its skills can be called.
    Accepted,
    /// Its host skipped it.
    Broken,
}

/// A pack.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Pack)]
pub struct PackView {
    /// What is accepted: one digest over everything that is shown here of it.
    pub(super) pin: String,
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// SHA-256 (hex) over its files; empty if it is broken.
    digest: String,
    /// What it is for.
    description: String,
    /// How it stands.
    state: PackState,
    /// Its skills.
    skills: Vec<PackSkillView>,
    /// What its calls may reach, in words.
    reach: Vec<String>,
    /// Sentences about it, for example that a skill has no class.
    warnings: Vec<String>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The hosts that have it.
    hosts: Vec<PackHost>,
    /// Where it lies beside the manager; absent if it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    manager_path: Option<String>,
    /// When it was accepted.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_at: Option<Timestamp>,
    /// Who accepted it.
    #[schema(value_type = Option<i64>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by: Option<UserId>,
}

/// A skill of a pack.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PackSkill)]
pub struct PackSkillView {
    /// Its key.
    key: String,
    /// A short name for people.
    name: String,
    /// What it does.
    description: String,
    /// The least class of its calls.
    #[schema(value_type = ClassWord)]
    class: Class,
    /// JSON Schema of its parameters.
    params: Value,
}

/// A host that has a pack.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PackHost {
    /// The host.
    #[schema(value_type = i64)]
    edge_id: EdgeId,
    /// Its name.
    name: String,
    /// Whether it is connected.
    online: bool,
    /// Where the pack is there.
    path: String,
}

/// Every pack that a host within the caller's reach tells of, that lies beside the manager, or that was accepted: those
/// that wait first.
pub(super) async fn all(app: &AppState, identity: &Identity) -> Result<Vec<PackView>, ApiError> {
    let mut found: BTreeMap<String, PackView> = BTreeMap::new();
    for pin in app.executor.gate().packs().accepted().await? {
        let facts: PackFacts = serde_json::from_value(pin.pack.clone()).unwrap_or_default();
        let mut view = view(pin.pin.clone(), facts);
        accept(&mut view, &pin);
        found.insert(pin.pin, view);
    }
    for pack in &app.executor.gate().packs().own().packs {
        entry(&mut found, pack).manager_path = Some(pack.path.clone());
    }
    for host in app.fleet.hosts() {
        if !identity.reaches(host.id, &host.labels) {
            continue;
        }
        for pack in &host.packs {
            let here = PackHost {
                edge_id: host.id,
                name: host.name.clone(),
                online: host.state == HostState::Online,
                path: pack.path.clone(),
            };
            entry(&mut found, pack).hosts.push(here);
        }
    }
    let mut packs: Vec<PackView> = found.into_values().collect();
    packs.sort_by_key(|pack| (pack.state != PackState::Waiting, pack.name.clone(), pack.version.clone()));
    Ok(packs)
}

/// The entry of a pack as it was found somewhere.
fn entry<'f>(found: &'f mut BTreeMap<String, PackView>, pack: &PackFacts) -> &'f mut PackView {
    let pin = pack.pin();
    // Broken ones have no digest to tell them apart by.
    let key = if pack.error.is_empty() { pin.clone() } else { format!("{pin} {}", pack.error) };
    found.entry(key).or_insert_with(|| view(pin, pack.clone()))
}

fn view(pin: String, facts: PackFacts) -> PackView {
    let PackFacts { name, version, digest, description, definitions, reach, warnings, error, .. } = facts;
    let skills = definitions.into_iter().map(|definition| PackSkillView {
        key: definition.key,
        name: definition.name,
        description: definition.description,
        class: definition.class,
        params: definition.params,
    });
    PackView {
        pin,
        name,
        version,
        digest,
        description,
        state: if error.is_empty() { PackState::Waiting } else { PackState::Broken },
        skills: skills.collect(),
        reach,
        warnings,
        error: Some(error).filter(|error| !error.is_empty()),
        hosts: Vec::new(),
        manager_path: None,
        accepted_at: None,
        accepted_by: None,
    }
}

fn accept(view: &mut PackView, pin: &PackPin) {
    view.state = PackState::Accepted;
    view.accepted_at = Some(pin.accepted_at);
    view.accepted_by = Some(pin.accepted_by);
}

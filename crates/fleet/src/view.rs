//! A host as the API shows it.

use crate::hosts::Host;
use gate::{HostState, PackFacts, SigningFacts};
use model::{Class, EdgeId, Timestamp};
use serde::Serialize;
use storage::edges::{Contestant, EdgeState, Labels};
use storage::freezes::FreezeState;

/// A host as the API shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostView {
    /// Its id.
    pub id: EdgeId,
    /// What people call it.
    pub name: String,
    /// What it calls itself.
    pub hostname: String,
    /// What people put on it.
    pub labels: Labels,
    /// How it stands.
    pub state: HostState,
    /// Why it stands so.
    pub state_reason: Option<String>,
    /// Its operating system.
    pub os: Option<String>,
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// Its architecture.
    pub arch: Option<String>,
    /// Version of its edge.
    pub version: Option<String>,
    /// Whether it runs systemd.
    pub systemd: Option<bool>,
    /// Whether it has a journal.
    pub journal: Option<bool>,
    /// Its load, while it is connected.
    pub load: Option<LoadView>,
    /// Whether it takes no changes, as people want it.
    pub read_only: bool,
    /// Whether its edge refuses changes, as far as it has told.
    pub frozen: bool,
    /// When it last connected.
    pub connected_at: Option<Timestamp>,
    /// When it was last there.
    pub last_seen_at: Option<Timestamp>,
    /// When it was enrolled.
    pub created_at: Timestamp,
    /// Its skills.
    pub skills: Vec<SkillView>,
    /// Its packs, also those that are broken.
    pub packs: Vec<PackFacts>,
    /// The signatures that it asks for, as far as it has told.
    pub signing: Option<SigningFacts>,
    /// Sentences about it.
    pub notes: Vec<String>,
    /// Its certificate.
    pub certificate: Option<CertificateView>,
    /// Its process.
    pub instance: Option<String>,
    /// The boot of its host.
    pub boot_id: Option<String>,
    /// From where it is or was connected.
    pub address: Option<String>,
    /// While quarantined: the instances to choose from.
    pub contestants: Vec<Contestant>,
    /// Until when it may prove an expired key for a new certificate.
    pub rejoin_until: Option<Timestamp>,
}

/// One skill on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillView {
    /// Its key.
    pub key: String,
    /// Its class there.
    pub class: Class,
    /// What the host lacks for it.
    pub unmet: Vec<String>,
    /// `builtin` or `pack:NAME`.
    pub source: String,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateView {
    /// Serial number, hex.
    pub serial: String,
    /// When it runs out.
    pub not_after: Timestamp,
}

/// A load sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadView {
    /// Load of one minute.
    pub load1: f64,
    /// Busy CPU time.
    pub cpu_percent: f64,
    /// Memory that can't be had.
    pub memory_percent: f64,
    /// Of the fullest local file system.
    pub disk_percent: f64,
}

/// How a host stands, and why.
pub(crate) fn state_of(host: &Host) -> (HostState, Option<String>) {
    let record = &host.record;
    let reason = record.state_reason.clone();
    match (record.state, &host.live) {
        (EdgeState::Revoked | EdgeState::Deleted, _) => (HostState::Revoked, reason),
        (EdgeState::Quarantined, _) => (HostState::Quarantined, reason),
        (EdgeState::Active, Some(_)) => (HostState::Online, None),
        (EdgeState::Active, None) => {
            let waits = record
                .keep_instance
                .as_ref()
                .map(|kept| format!("waiting for the chosen instance {kept} to come back"));
            let reason = host.problem.clone().or(waits);
            let state = if record.connected_at.is_some() { HostState::Offline } else { HostState::NeverSeen };
            (state, reason)
        }
    }
}

impl HostView {
    pub(crate) fn of(host: &Host, now: Timestamp, freezes: &FreezeState) -> Self {
        let record = &host.record;
        let said = host.described.as_deref();
        let live = host.live.as_ref();
        let (state, state_reason) = state_of(host);
        Self {
            id: record.id,
            name: record.name.clone(),
            hostname: record.hostname.clone(),
            labels: record.labels.clone(),
            state,
            state_reason,
            os: said.map(|said| said.os.clone()),
            kernel: said.map(|said| said.kernel.clone()),
            arch: said.map(|said| said.arch.clone()),
            version: said.map(|said| said.version.clone()),
            systemd: said.map(|said| said.systemd),
            journal: said.map(|said| said.journal),
            load: live.and_then(|live| live.load.as_ref()).map(|load| LoadView {
                load1: load.load1,
                cpu_percent: load.cpu_percent,
                memory_percent: load.memory_percent,
                disk_percent: load.disk_percent,
            }),
            read_only: freezes.hosts.contains_key(&record.id),
            frozen: said.is_some_and(|said| said.frozen),
            connected_at: live.map(|live| live.since).or(record.connected_at),
            last_seen_at: if live.is_some() { Some(now) } else { record.last_seen_at },
            created_at: record.created_at,
            skills: said
                .map(|said| said.skills.iter())
                .into_iter()
                .flatten()
                .map(|skill| SkillView {
                    key: skill.key.clone(),
                    class: skill.class,
                    unmet: skill.unmet.clone(),
                    source: skill.source.clone(),
                })
                .collect(),
            packs: said.map(|said| said.packs.clone()).unwrap_or_default(),
            signing: said.and_then(|said| said.signing.clone()),
            notes: said.map(|said| said.notes.clone()).unwrap_or_default(),
            certificate: host.certificate.as_ref().map(|certificate| CertificateView {
                serial: certificate.serial.clone(),
                not_after: certificate.not_after,
            }),
            instance: live.map(|live| live.instance_id.clone()).or_else(|| record.instance_id.clone()),
            boot_id: said.map(|said| said.boot_id.clone()),
            address: live.map(|live| live.address.clone()).or_else(|| record.address.clone()),
            contestants: record.contestants.clone(),
            rejoin_until: record.rejoin_until.filter(|until| *until > now),
        }
    }
}

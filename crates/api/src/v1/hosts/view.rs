//! A host as the API shows it.

use crate::words::ClassWord;
use chrono::{DateTime, Utc};
use fleet::HostView as FleetHost;
use gate::{ApprovalProof, SigningFacts};
use model::{Class, EdgeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Where a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// Connected, described and watched.
    Online,
    /// Was connected.
    Offline,
    /// Two machines claim to be it, or its state was turned back; an admin must choose.
    Quarantined,
    /// Shut out.
    Revoked,
    /// Enrolled, not yet connected.
    NeverSeen,
}

/// What a host's last report said of its load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = HostLoad)]
pub struct HostLoadView {
    /// Load average of one minute.
    pub load1: f64,
    /// Share of all processors in use.
    pub cpu_percent: f64,
    /// Share of memory in use.
    pub memory_percent: f64,
    /// Share in use of the fullest file system.
    pub disk_percent: f64,
}

/// What a host's owner asks for where a call changes something, in the host's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ApprovalProof)]
pub enum ApprovalProofWord {
    /// The manager's word.
    Manager,
    /// Signatures, for every call.
    Signed,
    /// Signatures for every `write_file` and for commands of which nobody can say what they run; else the manager's word.
    Mixed,
}

/// The signatures that a host asks for, as its edge has told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HostSigning {
    /// For mutating calls.
    pub approval_proof: ApprovalProofWord,
    /// Whether dangerous calls can run there at all.
    pub dangerous: bool,
    /// Fingerprints of the keys whose procedures count there.
    pub sop_keys: Vec<String>,
    /// Fingerprint of the root key of approvers that is pinned there.
    pub approver_root: Option<String>,
    /// The highest version of the list of approvers that was ever seen there; 0 before the first.
    pub list_version: u64,
    /// The console whose passkeys count there: its origin. Null: only key files do.
    pub origin: Option<String>,
    /// The same: its rpId.
    pub rp_id: Option<String>,
    /// How many of the signatures must come from a key file.
    pub min_independent_signatures: u32,
    /// The labels of the host's own file, which procedures are held against.
    pub labels: BTreeMap<String, String>,
}

impl From<SigningFacts> for HostSigning {
    fn from(facts: SigningFacts) -> Self {
        Self {
            approval_proof: match facts.approval_proof {
                ApprovalProof::Manager => ApprovalProofWord::Manager,
                ApprovalProof::Signed => ApprovalProofWord::Signed,
                ApprovalProof::Mixed => ApprovalProofWord::Mixed,
            },
            dangerous: facts.dangerous,
            sop_keys: facts.sop_keys,
            approver_root: facts.approver_root,
            list_version: facts.list_version,
            origin: facts.origin,
            rp_id: facts.rp_id,
            min_independent_signatures: facts.min_independent_signatures,
            labels: facts.labels,
        }
    }
}

/// A host.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Host)]
pub struct HostView {
    /// Its id.
    #[schema(value_type = i64)]
    pub id: EdgeId,
    /// Its name in the inventory.
    pub name: String,
    /// The name that it gives itself.
    pub hostname: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Where it stands.
    pub state: HostState,
    /// Why, where that needs saying.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// Operating system, for example `Debian GNU/Linux 12`.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor architecture.
    pub arch: String,
    /// Version of its edge.
    pub version: String,
    /// Whether it runs systemd.
    pub systemd: bool,
    /// Whether it has a systemd journal.
    pub journal: bool,
    /// Its load, if it is online and told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoadView>,
    /// Whether it is to take safe calls only.
    pub read_only: bool,
    /// Whether its edge refuses changes, as far as it has told: because it is read-only, or all changes are frozen.
    pub frozen: bool,
    /// The signatures that its owner asks for; null where its edge knows nothing of them or has never connected.
    pub signing: Option<HostSigning>,
    /// Since when it is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<DateTime<Utc>>,
    /// When it was last heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<DateTime<Utc>>,
    /// When it was enrolled.
    pub created_at: DateTime<Utc>,
}

/// A skill on one host.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HostSkill {
    /// Its key.
    pub key: String,
    /// The least class of its calls.
    #[schema(value_type = ClassWord)]
    pub class: Class,
    /// What the host lacks for it, in words; empty if nothing.
    pub unmet: Vec<String>,
    /// Where it comes from: `builtin`, or `pack:NAME`.
    pub source: String,
}

/// A host's certificate.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CertificateView {
    /// Its serial number, in hex.
    pub serial: String,
    /// When it ends.
    pub not_after: DateTime<Utc>,
}

/// A host with everything that its page shows.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HostDetail {
    /// What lists show too.
    #[serde(flatten)]
    pub host: HostView,
    /// Its skills.
    pub skills: Vec<HostSkill>,
    /// What its edge says of itself, for example that a sandbox is missing.
    pub notes: Vec<String>,
    /// Its certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateView>,
    /// The process that is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The boot that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Where it is connected from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// While quarantined: the instances that claim to be it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
}

impl From<&FleetHost> for HostView {
    fn from(host: &FleetHost) -> Self {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        Self {
            id: host.id,
            name: host.name.clone(),
            hostname: host.hostname.clone(),
            labels: host.labels.clone(),
            state: host.state.into(),
            state_reason: host.state_reason.clone(),
            os: text(&host.os),
            kernel: text(&host.kernel),
            arch: text(&host.arch),
            version: text(&host.version),
            systemd: host.systemd.unwrap_or_default(),
            journal: host.journal.unwrap_or_default(),
            load: host.load.map(|load| HostLoadView {
                load1: load.load1,
                cpu_percent: load.cpu_percent,
                memory_percent: load.memory_percent,
                disk_percent: load.disk_percent,
            }),
            read_only: host.read_only,
            frozen: host.frozen,
            signing: host.signing.clone().map(HostSigning::from),
            connected_at: host.connected_at,
            last_seen_at: host.last_seen_at,
            created_at: host.created_at,
        }
    }
}

impl From<gate::HostState> for HostState {
    fn from(state: gate::HostState) -> Self {
        match state {
            gate::HostState::Online => Self::Online,
            gate::HostState::Offline => Self::Offline,
            gate::HostState::Quarantined => Self::Quarantined,
            gate::HostState::Revoked => Self::Revoked,
            gate::HostState::NeverSeen => Self::NeverSeen,
        }
    }
}

impl From<FleetHost> for HostDetail {
    fn from(host: FleetHost) -> Self {
        let skill = |skill: fleet::SkillView| HostSkill {
            key: skill.key,
            class: skill.class,
            unmet: skill.unmet,
            source: skill.source,
        };
        Self {
            host: HostView::from(&host),
            skills: host.skills.into_iter().map(skill).collect(),
            notes: host.notes,
            certificate: host
                .certificate
                .map(|known| CertificateView { serial: known.serial, not_after: known.not_after }),
            instance: host.instance,
            boot_id: host.boot_id,
            address: host.address,
            instances: host.contestants.into_iter().map(|contestant| contestant.instance_id).collect(),
        }
    }
}

/// Which hosts. Absent means all.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HostQuery {
    /// A part of the name, the host's own name, the OS or a label.
    pub(super) q: Option<String>,
    /// Where they stand.
    pub(super) state: Option<HostState>,
    /// A label: `key`, or `key=value`.
    pub(super) label: Option<String>,
}

impl HostQuery {
    /// Whether a host is one of them.
    pub(super) fn fits(&self, host: &HostView) -> bool {
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

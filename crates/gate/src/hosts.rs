//! What the gate and the executor need of the fleet. The fleet implements both traits.

use crate::AdmittedCall;
use async_trait::async_trait;
use bytes::Bytes;
use model::{CallState, Class, EdgeId, Timestamp};
use serde::{Deserialize, Serialize};
use skill::SkillErrorKind;
use std::collections::BTreeMap;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// How a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// Connected, and it answers.
    Online,
    /// Was connected before.
    Offline,
    /// Two claim to be it, or its memory is older than what was confirmed.
    Quarantined,
    /// Its certificate was revoked.
    Revoked,
    /// Enrolled, never connected.
    NeverSeen,
}

impl HostState {
    /// The word used in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Quarantined => "quarantined",
            Self::Revoked => "revoked",
            Self::NeverSeen => "never_seen",
        }
    }
}

/// What is known of a skill on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFacts {
    /// The class that the edge described.
    pub class: Class,
    /// The edge's definition hash.
    pub definition_hash: String,
    /// Prerequisites that aren't met there, in words.
    pub unmet: Vec<String>,
}

/// What a host's owner asks for where a call changes something, in the host's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalProof {
    /// The manager's word.
    Manager,
    /// Signatures, for every call.
    Signed,
    /// Signatures for every `write_file` and for commands of which nobody can say what they run; else the manager's word.
    Mixed,
}

/// What a host's edge says of the signatures that it asks for. Nothing is trusted because of it: the edge checks by its
/// own file, whatever it has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningFacts {
    /// For mutating calls.
    pub approval_proof: ApprovalProof,
    /// Whether dangerous calls can run there at all.
    pub dangerous: bool,
    /// Fingerprints of the keys whose procedures count there.
    pub sop_keys: Vec<String>,
    /// Fingerprint of the root key of approvers that is pinned there.
    pub approver_root: Option<String>,
    /// The highest version of the list of approvers that was ever seen there; 0 before the first.
    pub list_version: u64,
    /// The console whose passkeys count there: its origin.
    pub origin: Option<String>,
    /// The same: its rpId.
    pub rp_id: Option<String>,
    /// How many of the signatures must come from a key file.
    pub min_independent_signatures: u32,
    /// The labels of the host's own file.
    pub labels: BTreeMap<String, String>,
}

/// A nonce for a statement, from the process of an edge that will take it back once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Hex of 32 bytes.
    pub nonce: String,
    /// The process that gave it. Another one doesn't know it.
    pub instance: String,
}

/// What is known of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// Its id.
    pub id: EdgeId,
    /// Its name in the inventory.
    pub name: String,
    /// What it calls itself.
    pub hostname: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// How it stands.
    pub state: HostState,
    /// Why it stands so.
    pub state_reason: Option<String>,
    /// Its operating system, for example `Debian GNU/Linux 12`.
    pub os: Option<String>,
    /// Its architecture.
    pub arch: Option<String>,
    /// Version of its edge.
    pub version: Option<String>,
    /// When its connection began.
    pub connected_at: Option<Timestamp>,
    /// When it was last heard of.
    pub last_seen_at: Option<Timestamp>,
    /// The skills that it described, by key; `None` before it has described any.
    pub skills: Option<BTreeMap<String, SkillFacts>>,
    /// The signatures that it asks for; `None` where its edge knows nothing of them.
    pub signing: Option<SigningFacts>,
    /// The process of its edge that is connected, or was last.
    pub instance: Option<String>,
}

/// The inventory, as the gate and the tools see it.
pub trait HostDirectory: Send + Sync {
    /// One host; `None` if there is none with this id.
    fn host(&self, id: EdgeId) -> Option<HostFacts>;

    /// All hosts, by id.
    fn hosts(&self) -> Vec<HostFacts>;

    /// Hosts that have changed, from this moment on, for whoever waits for one; `None` where nothing ever changes.
    fn changes(&self) -> Option<broadcast::Receiver<EdgeId>> {
        None
    }

    /// Names and addresses of the inventory, to which a probe may always go.
    fn named_places(&self) -> Vec<String> {
        self.hosts().into_iter().flat_map(|host| std::iter::once(host.name).chain(host.hostname)).collect()
    }
}

/// What a host made of a call.
#[derive(Clone, Debug)]
pub struct Dispatched {
    /// Final, or `unknown`.
    pub state: CallState,
    /// The whole result, as JSON text.
    pub result: Option<Bytes>,
    /// Why it didn't succeed.
    pub error: Option<String>,
    /// What a caller can do about it.
    pub error_kind: Option<SkillErrorKind>,
    /// The sandbox in which it ran.
    pub sandbox: Option<String>,
    /// The class that the edge computed.
    pub edge_class: Option<Class>,
}

/// Brings admitted calls to hosts.
#[async_trait]
pub trait HostDispatcher: Send + Sync {
    /// Sends the call to its host and waits for its end, which is within the call's deadline plus a few seconds. Never
    /// fails: what went wrong is in the answer. When `cancel` fires, it stops the call there and answers soon.
    async fn dispatch(&self, call: &AdmittedCall, cancel: CancellationToken) -> Dispatched;

    /// Gets a nonce from a host's edge, for one statement.
    ///
    /// # Errors
    ///
    /// Tells in a sentence why there is none.
    async fn challenge(&self, edge: EdgeId) -> Result<Challenge, String> {
        Err(format!("Host {edge} gives no nonces."))
    }
}

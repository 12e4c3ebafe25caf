//! Why a call may run, and who judges that.

use crate::{Ledger, Nonces, Request};
use model::{ApprovalId, Class, Clock, EdgeId, Origin};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signing::{CallFacts, Pins, Proof};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Why the sender thinks that a call may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// None; enough for a safe call.
    #[default]
    None,
    /// The manager's word that a person approved.
    ManagerApproval {
        /// The manager's id of that approval.
        approval_id: String,
    },
    /// Signatures over a canonical statement of the call.
    Signed {
        /// The JSON text of the evidence, as it came.
        evidence: Vec<u8>,
    },
    /// Somebody on the host itself asks, with this effective user id.
    Local {
        /// Effective user id of the asking process.
        euid: u32,
    },
}

/// Judges the evidence of a mutating or dangerous call. Safe calls never come here.
pub trait EvidenceVerifier: Send + Sync + fmt::Debug {
    /// Whether `request` may run as `class`; `definition_hash` is of the definition that will run. Changes nothing. Where
    /// people have signed, what their signatures prove.
    ///
    /// # Errors
    ///
    /// Tells in a sentence what is missing.
    fn verify(&self, request: &Request, class: Class, definition_hash: &str)
    -> Result<Option<Proof>, String>;

    /// Uses up what a proof is good for once, right before the call is journaled. It stays used up, whatever comes of the
    /// call. Waits for the disk.
    ///
    /// # Errors
    ///
    /// Tells in a sentence what was used up before, or why it can't be kept.
    fn use_up(&self, proof: &Proof) -> Result<(), String>;
}

/// The verifier of an edge that can check no evidence but that of its own host: it lets root's local calls through,
/// and of the others only safe ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalRoot;

impl EvidenceVerifier for LocalRoot {
    fn verify(
        &self,
        request: &Request,
        class: Class,
        _definition_hash: &str,
    ) -> Result<Option<Proof>, String> {
        let skill = &request.skill;
        match request.evidence {
            Evidence::Local { euid: 0 } if request.origin == Origin::Local => return Ok(None),
            Evidence::Local { euid } => {
                return Err(format!(
                    "`{skill}` is {class} here, and only root may run it locally; this is user id {euid}"
                ));
            }
            Evidence::None | Evidence::ManagerApproval { .. } | Evidence::Signed { .. } => {}
        }
        let needs = match class {
            Class::Safe => "needs no evidence",
            Class::Mutating => "needs an approval by a person",
            Class::Dangerous => "needs a signed procedure and approvals by two people",
        };
        Err(format!("`{skill}` is {class} here: it {needs}, and here only root's own word counts"))
    }

    fn use_up(&self, _proof: &Proof) -> Result<(), String> {
        Err("here only root's own word counts".to_owned())
    }
}

/// How strong the proof has to be that a person approved a mutating call. The choice of the host's owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalProof {
    /// The manager's word.
    #[default]
    Manager,
    /// Signatures by people whose keys the host knows.
    Signed,
    /// Signatures for what can do anything (every `write_file`, and commands of `bash` that can't be read to their end);
    /// the manager's word for the rest.
    Mixed,
}

impl ApprovalProof {
    /// The word used in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Signed => "signed",
            Self::Mixed => "mixed",
        }
    }

    /// Why a mutating call needs signatures; `None` if the manager's word is enough.
    fn wants_signatures(self, skill: &str, args: &Value) -> Option<&'static str> {
        match self {
            Self::Manager => None,
            Self::Signed => Some("this host asks for signed approvals of everything that changes something"),
            Self::Mixed if skill == "write_file" => {
                Some("this host asks for signed approvals of every file that is written")
            }
            Self::Mixed => (skill == "bash" && is_opaque(args)).then_some(
                "this host asks for signed approvals of commands that could do anything: an interpreter, a word that only \
                 running tells, or text that can't be parsed",
            ),
        }
    }
}

/// Whether a command of `bash` can do anything. What isn't even there can.
fn is_opaque(args: &Value) -> bool {
    args.get("command").and_then(Value::as_str).is_none_or(|command| shellclass::classify(command).opaque)
}

/// The verifier of an edge in service. It knows the host's own configuration and its own memory, and believes the
/// manager in nothing but where the host's owner wants that.
#[derive(Debug)]
pub struct Approvals {
    /// What proves that a person approved a mutating call.
    pub proof: ApprovalProof,
    /// What the host's owner pinned.
    pub pins: Pins,
    /// The host's labels in its own configuration.
    pub labels: BTreeMap<String, String>,
    /// This edge, as its certificate names it.
    pub edge: EdgeId,
    /// The host's clock.
    pub clock: Arc<dyn Clock>,
    /// The single-use numbers that are out; the door gives them out.
    pub nonces: Nonces,
    /// What is remembered of signed calls over restarts.
    pub ledger: Arc<Ledger>,
}

impl Approvals {
    /// Whether dangerous calls can run on a host with these pins.
    pub fn allow_dangerous(pins: &Pins) -> bool {
        !pins.sop_keys.is_empty() && pins.approver_root.is_some()
    }

    fn check(
        &self,
        request: &Request,
        class: Class,
        definition_hash: &str,
        evidence: &[u8],
    ) -> Result<Proof, String> {
        let facts = CallFacts {
            call_id: request.call_id,
            edge_id: self.edge,
            tool: &request.skill,
            definition_hash,
            args: &request.args,
            class,
            labels: &self.labels,
        };
        let evidence = signing::Evidence::read(evidence).map_err(|error| error.to_string())?;
        signing::check(&evidence, &facts, &self.pins, self.clock.now()).map_err(|error| error.to_string())
    }
}

impl EvidenceVerifier for Approvals {
    fn verify(
        &self,
        request: &Request,
        class: Class,
        definition_hash: &str,
    ) -> Result<Option<Proof>, String> {
        let skill = &request.skill;
        if let Evidence::Local { .. } = request.evidence {
            return LocalRoot.verify(request, class, definition_hash);
        }
        let no = |why: &str| Err(format!("`{skill}` is {class} here: {why}"));
        if class == Class::Dangerous && !Self::allow_dangerous(&self.pins) {
            return no(
                "it needs a signed procedure and approvals by two people, and this host pins no keys to check them \
                       with ([security.sop] trusted_keys and [security.approvers] root_key), so dangerous calls are off",
            );
        }
        if let Evidence::Signed { evidence } = &request.evidence {
            return match self.check(request, class, definition_hash, evidence) {
                Ok(proof) => Ok(Some(proof)),
                Err(problem) => no(&problem),
            };
        }
        if class == Class::Dangerous {
            return no(
                "it needs a signed procedure and the signatures of two people; the manager's word is not enough",
            );
        }
        if let Some(why) = self.proof.wants_signatures(skill, &request.args) {
            return no(&format!("{why} ([security] approval_proof = \"{}\")", self.proof.as_str()));
        }
        match &request.evidence {
            Evidence::ManagerApproval { approval_id } if approval_id.parse::<ApprovalId>().is_ok() => {
                Ok(None)
            }
            Evidence::ManagerApproval { .. } => {
                no("it needs an approval by a person, and what the manager names isn't the id of one")
            }
            _ => no("it needs an approval by a person, and the manager names none"),
        }
    }

    fn use_up(&self, proof: &Proof) -> Result<(), String> {
        self.ledger.use_up(proof, &self.nonces, self.clock.now())
    }
}

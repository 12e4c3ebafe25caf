//! Why a call may run, and who judges that.

use crate::Request;
use model::{ApprovalId, Class, Origin};
use std::fmt;

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
    /// Whether `request` may run as `class`.
    ///
    /// # Errors
    ///
    /// Tells in a sentence what is missing.
    fn verify(&self, request: &Request, class: Class) -> Result<(), String>;
}

/// The verifier of an edge that can check no evidence but that of its own host: it lets root's local calls through,
/// and of the others only safe ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalRoot;

impl EvidenceVerifier for LocalRoot {
    fn verify(&self, request: &Request, class: Class) -> Result<(), String> {
        let skill = &request.skill;
        match request.evidence {
            Evidence::Local { euid: 0 } if request.origin == Origin::Local => return Ok(()),
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
        Err(format!(
            "`{skill}` is {class} here: it {needs}, and this edge can't check any yet, so the manager can run only \
             safe calls here"
        ))
    }
}

/// How strong the proof has to be that a person approved a mutating call. The choice of the host's owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalProof {
    /// The manager's word.
    #[default]
    Manager,
    /// Signatures by people whose keys the host knows.
    Signed,
}

impl ApprovalProof {
    /// The word used in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Signed => "signed",
        }
    }
}

/// The verifier of an edge in service: root's local calls, and mutating calls for which the manager names the approval,
/// where that is proof enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Approvals(pub ApprovalProof);

impl EvidenceVerifier for Approvals {
    fn verify(&self, request: &Request, class: Class) -> Result<(), String> {
        let skill = &request.skill;
        if let Evidence::Local { .. } = request.evidence {
            return LocalRoot.verify(request, class);
        }
        if class == Class::Dangerous {
            return Err(format!(
                "`{skill}` is dangerous here: it needs a signed procedure and approvals by two people, and this edge \
                 can't check any yet"
            ));
        }
        match (&request.evidence, self.0) {
            (_, ApprovalProof::Signed) => Err(format!(
                "this host asks for signed approvals; `{skill}` is {class} here, and this edge can't check signatures \
                 yet, so the manager can run only safe calls here ([security] approval_proof = \"signed\")"
            )),
            (Evidence::ManagerApproval { approval_id }, ApprovalProof::Manager)
                if approval_id.parse::<ApprovalId>().is_ok() =>
            {
                Ok(())
            }
            (Evidence::ManagerApproval { .. }, ApprovalProof::Manager) => Err(format!(
                "`{skill}` is {class} here: it needs an approval by a person, and what the manager names isn't the id of \
                 one"
            )),
            (Evidence::None | Evidence::Signed { .. } | Evidence::Local { .. }, ApprovalProof::Manager) => {
                Err(format!(
                    "`{skill}` is {class} here: it needs an approval by a person, and the manager names none"
                ))
            }
        }
    }
}

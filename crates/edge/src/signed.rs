//! What signed approvals are held against on this host, for the manager and for people.

use crate::EdgeConfig;
use admission::{ApprovalProof, Approvals, Ledger};
use proto::v1::SigningDescription;
use signing::{Pins, RootKey, SopKey};
use std::sync::Arc;

/// What is pinned, in the form in which it is told.
#[derive(Debug)]
pub(crate) struct Signing {
    pub(crate) ledger: Arc<Ledger>,
    /// Everything but what changes while the edge runs.
    fixed: SigningDescription,
    proof: ApprovalProof,
}

/// What of it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SigningNow {
    list_version: u64,
    problem: Option<String>,
}

impl Signing {
    pub(crate) fn new(config: &EdgeConfig, pins: &Pins, ledger: Ledger) -> Self {
        let proof = config.security.proof();
        let (origin, rp_id) = pins
            .relying_party
            .as_ref()
            .map(|party| (party.origin.clone(), party.id.clone()))
            .unwrap_or_default();
        let fixed = SigningDescription {
            approval_proof: proof.as_str().to_owned(),
            sop_key_fingerprints: pins
                .sop_keys
                .iter()
                .map(|key| SopKey::fingerprint(key).to_owned())
                .collect(),
            approver_root_fingerprint: pins
                .approver_root
                .as_ref()
                .map(RootKey::fingerprint)
                .unwrap_or_default(),
            approver_list_version: 0,
            origin,
            rp_id,
            min_independent_signatures: u32::try_from(pins.min_independent_signatures).unwrap_or(u32::MAX),
            dangerous: Approvals::allow_dangerous(pins),
            labels: config.labels.clone().into_iter().collect(),
        };
        Self { ledger: Arc::new(ledger), fixed, proof }
    }

    pub(crate) fn now(&self) -> SigningNow {
        SigningNow { list_version: self.ledger.list_version(), problem: self.ledger.problem() }
    }

    pub(crate) fn describe(&self, now: &SigningNow) -> SigningDescription {
        SigningDescription {
            approver_list_version: now.list_version,
            dangerous: self.fixed.dangerous && now.problem.is_none(),
            ..self.fixed.clone()
        }
    }

    /// What changes here rest on, in sentences for the Hosts page and the doctor.
    pub(crate) fn notes(&self, now: &SigningNow) -> Vec<String> {
        let SigningDescription { sop_key_fingerprints, approver_root_fingerprint, .. } = &self.fixed;
        let has_root = !approver_root_fingerprint.is_empty();
        let proof = match self.proof {
            ApprovalProof::Manager => "changes here rest on the manager's word (approval_proof = manager)",
            ApprovalProof::Mixed if has_root => {
                "written files and commands that could do anything need a signature here; other changes rest on the manager's \
                 word (approval_proof = mixed)"
            }
            ApprovalProof::Signed if has_root => {
                "every change here needs a signature (approval_proof = signed)"
            }
            ApprovalProof::Mixed => {
                "no written file and no command that could do anything runs here: they need signatures, and no approvers are \
                 pinned ([security.approvers] root_key; approval_proof = mixed)"
            }
            ApprovalProof::Signed => {
                "the manager can run only safe calls here: changes need signatures, and no approvers are pinned \
                 ([security.approvers] root_key; approval_proof = signed)"
            }
        };
        let mut notes = vec![proof.to_owned()];
        match (sop_key_fingerprints.is_empty(), has_root) {
            (false, true) => {}
            (true, _) => {
                notes.push(
                    "dangerous calls are off: no key for procedures is pinned ([security.sop] trusted_keys)"
                        .to_owned(),
                );
            }
            (false, false) => {
                notes.push(
                    "dangerous calls are off: no approvers are pinned ([security.approvers] root_key)"
                        .to_owned(),
                );
            }
        }
        notes.extend(now.problem.clone());
        notes
    }
}

//! What a host checks before it runs a call that people have signed, and what voids that.

use crate::{Gate, HostFacts, HostState, SigningFacts};
use model::{CallState, Class};
use serde_json::Value;
use signing::{CallFacts, Evidence, EvidenceError, Pins, Signature, SignedDocument, SopRef};
use std::sync::Arc;
use storage::StorageError;
use storage::approvals::{Approval, Signing};

impl Gate {
    pub(super) fn pins_for(&self, signing: &SigningFacts) -> Pins {
        let pins = self.signing.pins();
        Pins {
            sop_keys: pins.sop_keys.clone(),
            approver_root: pins.approver_root.clone(),
            relying_party: pins.relying_party.clone(),
            min_independent_signatures: usize::try_from(signing.min_independent_signatures)
                .unwrap_or(usize::MAX),
        }
    }

    /// What a host checks before it runs an approved call: all signatures and documents, held here against the same rules.
    ///
    /// # Errors
    ///
    /// Tells which rule it breaks.
    pub(crate) fn evidence(
        &self,
        approval: &Approval,
        host: &HostFacts,
        args: &Value,
        class: Class,
    ) -> Result<Arc<[u8]>, String> {
        let (Some(kept), Some(signing)) = (&approval.signing, &host.signing) else {
            return Err("Its host asks for signatures, and it was asked for without.".to_owned());
        };
        let imported = self.signing.imported();
        let now = self.storage.now();
        imported.list_for(self.signing.pins(), &host.name, signing, now)?;
        let approvers = imported.approvers.as_ref().ok_or("No list of approvers is imported.")?;
        let statement = kept.statement.as_ref().ok_or("Nothing was signed for it.")?;
        let signatures = kept
            .signatures
            .iter()
            .map(|signature| serde_json::from_value::<Signature>(signature.signature.clone()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| "A signature can't be read.")?;
        let sop = match &kept.sop {
            None => None,
            Some(named) => {
                let procedure = imported
                    .version(&named.id, named.version)
                    .filter(|procedure| procedure.stored.revoked_at.is_none())
                    .ok_or_else(|| {
                        format!("The procedure {} version {} was revoked.", named.id, named.version)
                    })?;
                Some(SignedDocument {
                    document: procedure.stored.document.clone(),
                    signature: procedure.stored.signature.clone(),
                })
            }
        };
        let evidence = Evidence {
            statement: statement.text.clone(),
            signatures,
            approvers: SignedDocument {
                document: approvers.stored.document.clone(),
                signature: approvers.stored.signature.clone(),
            },
            sop,
        };
        let facts = facts_of(approval, host, args, class, signing).ok_or("The call names no host.")?;
        let told = |error: EvidenceError| format!("What was signed doesn't hold any more: {error}.");
        signing::check(&evidence, &facts, &self.pins_for(signing), now).map_err(told)?;
        let bytes = evidence.to_bytes();
        let together = bytes.len() + args.to_string().len();
        if bytes.len() > signing::MAX_EVIDENCE_BYTES || together > crate::review::MAX_SIGNED_BYTES {
            return Err(format!(
                "Its arguments and what was signed have {together} bytes, too many for one message to its host."
            ));
        }
        Ok(bytes.into())
    }

    /// Voids what was signed for a call whose host's edge has restarted since: it doesn't know its nonce any more. `false`
    /// if nothing was void.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn reopen_if_void(&self, approval: &Approval) -> Result<bool, StorageError> {
        let Some(open) = approval.signing.as_ref().and_then(|signing| signing.statement.as_ref()) else {
            return Ok(false);
        };
        if approval.call.state != CallState::AwaitingApproval {
            return Ok(false);
        }
        let host = self.host_of(approval).filter(|host| host.state == HostState::Online);
        let present = host.and_then(|host| host.instance);
        if present.is_none_or(|present| present == open.instance) {
            return Ok(false);
        }
        let why = "The host's edge has restarted, which voids its nonce and with it every signature.";
        self.storage.approvals().reopen(approval.call.id, open.instance.clone(), why.to_owned()).await
    }
}

/// Why a call that was asked for by one version of a procedure isn't made by it.
pub(crate) fn newer_version(asked: u64, newest: u64) -> String {
    format!("Version {newest} of the procedure counts since it was asked by version {asked}; ask again.")
}

pub(super) fn sop_ref(signing: &Signing) -> Option<SopRef> {
    signing.sop.as_ref().map(|sop| SopRef {
        id: sop.id.clone(),
        version: sop.version,
        step: sop.step.clone(),
    })
}

pub(super) fn facts_of<'a>(
    approval: &'a Approval,
    host: &HostFacts,
    args: &'a Value,
    class: Class,
    signing: &'a SigningFacts,
) -> Option<CallFacts<'a>> {
    approval.call.edge.filter(|edge| *edge == host.id).map(|edge_id| CallFacts {
        call_id: approval.call.id,
        edge_id,
        tool: &approval.call.tool,
        definition_hash: &approval.call.definition_hash,
        args,
        class,
        labels: &signing.labels,
    })
}

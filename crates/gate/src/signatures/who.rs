//! Who may sign for a call, with which keys, and what people are shown of it.

use super::{ShownSigning, ShownSop, UsableKey};
use crate::{Decider, Gate, HostFacts};
use model::{ApprovalState, Role};
use signing::{ApproverKey, ApproverList, SignatureKind};
use storage::approvals::Approval;

impl Gate {
    /// Whether somebody is among those who may sign for a call at all, with at least one key that counts on its host.
    pub(super) fn may_be_signer(&self, who: &Decider, approval: &Approval) -> Result<(), String> {
        if approval.call.person() == who.user {
            return Err("It is your own call, so other people have to sign it.".to_owned());
        }
        if !who.roles.include(Role::Approver) {
            return Err("Signing for another person's call needs the role approver.".to_owned());
        }
        if let Some(reason) = self.out_of_reach(who.user, approval.call.edge) {
            return Err(reason);
        }
        let imported = self.signing.imported();
        let list = imported.approvers.as_ref().and_then(|approvers| approvers.list.as_ref().ok());
        let Some(list) = list else {
            return Err("No list of approvers is imported, so nobody can sign.".to_owned());
        };
        if self.keys_of(who, approval).is_empty() {
            return Err(format!(
                "Version {} of the list of approvers names no key of `{}` that counts on this host{}.",
                list.version,
                who.name,
                if who.by_token { " and is a key file" } else { "" }
            ));
        }
        Ok(())
    }

    /// Whether somebody may sign for a call now.
    ///
    /// # Errors
    ///
    /// Tells in a sentence why not.
    pub fn may_sign(&self, who: &Decider, approval: &Approval) -> Result<(), String> {
        self.may_be_signer(who, approval)?;
        let signatures = approval.signing.iter().flat_map(|signing| &signing.signatures);
        if signatures.into_iter().any(|it| it.person == who.name) {
            return Err("You have signed it; other people have to sign too.".to_owned());
        }
        Ok(())
    }

    pub(super) fn host_of(&self, approval: &Approval) -> Option<HostFacts> {
        approval.call.edge.and_then(|edge| self.hosts.host(edge))
    }

    /// Whether passkeys count for a host: both it and this manager know the same console.
    fn takes_passkeys(&self, host: Option<&HostFacts>) -> bool {
        let party = self.signing.pins().relying_party.as_ref();
        let signing = host.and_then(|host| host.signing.as_ref());
        party.zip(signing).is_some_and(|(party, signing)| {
            signing.origin.as_deref() == Some(party.origin.as_str())
                && signing.rp_id.as_deref() == Some(party.id.as_str())
        })
    }

    /// Somebody's keys that count for a call.
    pub(super) fn keys_of(&self, who: &Decider, approval: &Approval) -> Vec<UsableKey> {
        let imported = self.signing.imported();
        let list = imported.approvers.as_ref().and_then(|approvers| approvers.list.as_ref().ok());
        let passkeys = !who.by_token && self.takes_passkeys(self.host_of(approval).as_ref());
        let keys = list.into_iter().flat_map(|list| keys_in(list, &who.name));
        keys.filter(|key| key.kind == SignatureKind::Ed25519 || passkeys)
            .map(|key| UsableKey {
                key: key.id.clone(),
                kind: key.kind,
                credential_id: imported.credential_of(&key.id).map(str::to_owned),
                label: key.label.clone(),
            })
            .collect()
    }

    /// What has to be signed for a call, as somebody sees it; `None` where a decision is enough.
    pub fn shown_signing(&self, who: &Decider, approval: &Approval) -> Option<ShownSigning> {
        let signing = approval.signing.as_ref()?;
        let imported = self.signing.imported();
        let sop = signing.sop.as_ref().map(|named| {
            let procedure = imported.version(&named.id, named.version);
            let sop = procedure.and_then(|procedure| procedure.sop.as_ref().ok());
            ShownSop {
                id: named.id.clone(),
                version: named.version,
                step: named.step.clone(),
                title: sop.map(|sop| sop.title.clone()).unwrap_or_default(),
                valid_until: sop.map(|sop| sop.valid_until),
                signer: procedure.map(|procedure| procedure.stored.signer.clone()).unwrap_or_default(),
                runs_used: signing.runs_used,
                maximum_runs: sop.and_then(|sop| sop.step(&named.step)).map_or(0, |step| step.maximum_runs),
            }
        });
        let have = u32::try_from(signing.signatures.len()).unwrap_or(u32::MAX);
        let may_sign = if approval.state == ApprovalState::Pending {
            self.may_sign(who, approval)
        } else {
            Err("It doesn't wait for signatures any more.".to_owned())
        };
        Some(ShownSigning {
            host_name_required: sop.is_some() && have.saturating_add(1) >= signing.needed,
            sop,
            my_keys: self.keys_of(who, approval),
            may_sign,
        })
    }
}

fn keys_in<'a>(list: &'a ApproverList, person: &str) -> impl Iterator<Item = &'a ApproverKey> {
    let person = list.people.iter().find(|approver| approver.person == person);
    person.into_iter().flat_map(|approver| &approver.keys)
}

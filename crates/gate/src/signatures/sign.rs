//! Taking a signature: whose it may be, over what, and whether it is good.

use super::evidence::{facts_of, newer_version};
use super::{BroughtSignature, Countersigned, kind_word};
use crate::{Decider, Gate, GateError, HostFacts};
use model::{ApprovalId, ApprovalState, Class};
use signing::{Evidence, Pins, SignedDocument};
use storage::approvals::{Approval, NewSignature, Signed};

impl Gate {
    /// Takes a signature over the open statement of a call. The last one that is needed approves the call.
    ///
    /// # Errors
    ///
    /// Fails only if the database does. Whatever else stands in the way is in the answer.
    pub async fn sign_approval(
        &self,
        who: &Decider,
        id: ApprovalId,
        brought: BroughtSignature,
    ) -> Result<Countersigned, GateError> {
        let approvals = self.storage.approvals();
        let found = approvals.find(id).await.map_err(GateError::Approval)?;
        let Some(approval) = found.filter(|approval| self.may_see_approval(who, approval)) else {
            return Ok(Countersigned::NotFound);
        };
        let Some(signing) = approval.signing.clone() else {
            return Ok(Countersigned::Invalid(
                "Nothing is signed for this call; a decision is enough.".to_owned(),
            ));
        };
        if approval.state != ApprovalState::Pending {
            return Ok(Countersigned::Before(Box::new(approval)));
        }
        if let Err(reason) = self.may_be_signer(who, &approval) {
            return Ok(Countersigned::Forbidden(reason));
        }
        if brought.signature.person != who.name {
            return Ok(Countersigned::Forbidden(format!(
                "The signature is in the name of `{}`, and you are `{}`.",
                shown_name(&brought.signature.person),
                who.name
            )));
        }
        if let Err(reason) = self.may_sign(who, &approval) {
            return Ok(Countersigned::Conflict(reason));
        }
        let kind = match self.keys_of(who, &approval).iter().find(|key| key.key == brought.signature.key) {
            Some(key) => key.kind,
            None => {
                return Ok(Countersigned::Invalid(
                    "The list of approvers names no such key of yours that counts on this host.".to_owned(),
                ));
            }
        };
        let host = self.host_of(&approval);
        let present = host.as_ref().and_then(|host| host.instance.as_deref());
        let open = signing.statement.as_ref().filter(|open| {
            open.text == brought.statement
                && open.not_after > self.storage.now()
                && present == Some(open.instance.as_str())
        });
        let Some(host) = host.filter(|_| open.is_some()) else {
            return Ok(Countersigned::Conflict(
                "What was signed isn't the statement that is open: it is too old, or the host's edge has restarted. Look at \
                 the call again and sign the new statement."
                    .to_owned(),
            ));
        };
        if let Err(reason) = self.check_one(&approval, &host, &brought).await? {
            return Ok(Countersigned::Invalid(reason));
        }
        let host_named = match brought.host_name.as_deref().map(str::trim) {
            None => false,
            Some(name) if name == host.name => true,
            Some(_) => {
                return Ok(Countersigned::Invalid(format!(
                    "The host's name doesn't match: type `{}`, the host on which this will run.",
                    host.name
                )));
            }
        };
        let new = NewSignature {
            statement: brought.statement,
            person: who.name.clone(),
            user: who.user,
            key: brought.signature.key.clone(),
            kind: kind_word(kind).to_owned(),
            signature: serde_json::to_value(&brought.signature).unwrap_or_default(),
            host_named,
            valid_for: self.approvals.valid_for,
            actor: brought.actor,
        };
        let signed = approvals.sign(id, new).await.map_err(GateError::Approval)?;
        let now = approvals.find(id).await.map_err(GateError::Approval)?;
        let Some(now) = now.map(Box::new) else { return Ok(Countersigned::NotFound) };
        Ok(match signed {
            Signed::Counted | Signed::Approved => Countersigned::Counted(now),
            Signed::Before => Countersigned::Before(now),
            Signed::Twice => Countersigned::Conflict("You have signed it already.".to_owned()),
            Signed::OtherStatement => Countersigned::Conflict(
                "Another statement is open since; look at the call again and sign that.".to_owned(),
            ),
            Signed::HostNameNeeded => Countersigned::Invalid(format!(
                "This is the last signature that is needed, after which it runs on `{}`: the host's name has to be typed \
                 with it (`host_name`).",
                host.name
            )),
        })
    }

    /// Whether one signature is good, and what it is for still holds; the inner error says why not.
    async fn check_one(
        &self,
        approval: &Approval,
        host: &HostFacts,
        brought: &BroughtSignature,
    ) -> Result<Result<(), String>, GateError> {
        let exact = self.storage.calls().exact_args(approval.call.id).await.map_err(GateError::Approval)?;
        let Some(args) = exact else { return Ok(Err("The call has ended.".to_owned())) };
        let Some(signing) = &host.signing else {
            return Ok(Err("The host takes no signatures any more.".to_owned()));
        };
        let now = self.storage.now();
        let imported = self.signing.imported();
        if let Err(reason) = imported.list_for(self.signing.pins(), &host.name, signing, now) {
            return Ok(Err(reason));
        }
        if let Some(sop) = approval.signing.as_ref().and_then(|signing| signing.sop.as_ref()) {
            let named = crate::NamedStep { id: sop.id.clone(), step: sop.step.clone() };
            let covered = imported.covered_by(&named, &approval.call.tool, &args, &host.name, signing, now);
            match covered {
                Err(reason) => return Ok(Err(reason)),
                Ok(covered) if covered.step.version != sop.version => {
                    return Ok(Err(newer_version(sop.version, covered.step.version)));
                }
                Ok(_) => {}
            }
        }
        let Some(approvers) = &imported.approvers else {
            return Ok(Err("No list of approvers is imported.".to_owned()));
        };
        let evidence = Evidence {
            statement: brought.statement.clone(),
            signatures: vec![brought.signature.clone()],
            approvers: SignedDocument {
                document: approvers.stored.document.clone(),
                signature: approvers.stored.signature.clone(),
            },
            sop: None,
        };
        // As if one were enough and no procedure were needed: the signature alone is looked at.
        let facts = facts_of(approval, host, &args, Class::Mutating, signing);
        let Some(facts) = facts else { return Ok(Err("The call names no host.".to_owned())) };
        let pins = Pins { min_independent_signatures: 0, ..self.pins_for(signing) };
        Ok(match signing::check(&evidence, &facts, &pins, now) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("The signature doesn't count: {error}.")),
        })
    }
}

/// A name that somebody sent, short enough for a message.
fn shown_name(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(64).collect()
}

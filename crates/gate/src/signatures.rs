//! Approvals that people give by their signatures: who may sign, the statement, what a signature must be, what voids them,
//! and the evidence that a host checks by itself.
//!
//! Everything that is checked here is checked again by the host's edge with nothing but its own file. The checks here are
//! so that people learn at once what would be refused later.

use crate::{Decider, Gate, GateError, HostDispatcher, HostFacts, HostState, SigningFacts};
use model::{ApprovalId, ApprovalState, CallState, Class, Role, Timestamp};
use serde_json::Value;
use signing::{
    ApproverKey, ApproverList, CallFacts, Evidence, EvidenceError, Pins, Signature, SignatureKind,
    SignedDocument, SopRef, Statement,
};
use std::sync::Arc;
use std::time::Duration;
use storage::approvals::{Approval, NewSignature, OpenStatement, Signed, Signing};
use storage::{Actor, AuditEntry, StorageError};

/// How long a nonce of an edge is good for.
const NONCE_HOLDS: Duration = Duration::from_secs(3600);

/// A statement that somebody may sign.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementToSign {
    /// Its canonical text: what a key file signs.
    pub text: String,
    /// SHA-256 of the text, hex: the challenge of a passkey.
    pub digest: String,
    /// The exact arguments of the call that it is about.
    pub args: Value,
    /// When it is void.
    pub not_after: Timestamp,
    /// How many people have to sign.
    pub needed: u32,
}

/// What came of the wish to see what is to be signed.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// The statement.
    Statement(StatementToSign),
    /// The approval was decided, had expired or was withdrawn; this is how it stands.
    Before(Box<Approval>),
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// This person may see it and not sign; a sentence says why.
    Forbidden(String),
    /// It can't be signed now; a sentence says why.
    Conflict(String),
}

/// A signature that somebody brings.
#[derive(Clone, Debug)]
pub struct BroughtSignature {
    /// The text that it is over.
    pub statement: String,
    /// The signature.
    pub signature: Signature,
    /// The host's name, typed by the person.
    pub host_name: Option<String>,
    /// Who brings it.
    pub actor: Actor,
}

/// What came of a signature.
#[derive(Clone, Debug, PartialEq)]
pub enum Countersigned {
    /// It counts; this is how the approval stands now.
    Counted(Box<Approval>),
    /// The approval was decided, had expired or was withdrawn; this is how it stands.
    Before(Box<Approval>),
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// This person may see it and not sign so; a sentence says why.
    Forbidden(String),
    /// It is too late for it, or it is there already; a sentence says why.
    Conflict(String),
    /// It isn't what it should be; a sentence says why.
    Invalid(String),
}

/// A person's key that counts for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableKey {
    /// Its id.
    pub key: String,
    /// How it signs.
    pub kind: SignatureKind,
    /// What a browser calls a passkey by, if its person offered it here.
    pub credential_id: Option<String>,
    /// Where the person says it is.
    pub label: String,
}

/// The procedure of a call, for who looks at its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSop {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
    /// Its title.
    pub title: String,
    /// Until when it may be used; `None` if it can't be read any more.
    pub valid_until: Option<Timestamp>,
    /// Fingerprint of the key that signed it.
    pub signer: String,
    /// How often the step has run on this host.
    pub runs_used: u32,
    /// How often it may.
    pub maximum_runs: u32,
}

/// What has to be signed, for who looks at an approval.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSigning {
    /// The procedure, for a dangerous call.
    pub sop: Option<ShownSop>,
    /// Whether the next signature of this person needs the host's name with it.
    pub host_name_required: bool,
    /// This person's keys that count here.
    pub my_keys: Vec<UsableKey>,
    /// Whether this person may sign now; else why not.
    pub may_sign: Result<(), String>,
}

impl Gate {
    /// Whether somebody is among those who may sign for a call at all, with at least one key that counts on its host.
    fn may_be_signer(&self, who: &Decider, approval: &Approval) -> Result<(), String> {
        if approval.call.person() == who.user {
            return Err("It is your own call, so other people have to sign it.".to_owned());
        }
        if !who.roles.include(Role::Approver) {
            return Err("Signing for another person's call needs the role approver.".to_owned());
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

    fn host_of(&self, approval: &Approval) -> Option<HostFacts> {
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
    fn keys_of(&self, who: &Decider, approval: &Approval) -> Vec<UsableKey> {
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

    /// Shows what is to be signed for a call. If no statement is open for the present process of the host's edge, a new one
    /// is, with a nonce that is asked of it.
    ///
    /// # Errors
    ///
    /// Fails only if the database does. Whatever else stands in the way is in the answer.
    pub async fn open_statement(
        &self,
        who: &Decider,
        id: ApprovalId,
        actor: Actor,
        dispatcher: &dyn HostDispatcher,
    ) -> Result<Opened, GateError> {
        let approvals = self.storage.approvals();
        let found = approvals.find(id).await.map_err(GateError::Approval)?;
        let Some(approval) = found.filter(|approval| self.may_see_approval(who, approval)) else {
            return Ok(Opened::NotFound);
        };
        let Some(signing) = approval.signing.clone() else {
            return Ok(Opened::Conflict("Nothing is signed for this call; a decision is enough.".to_owned()));
        };
        if approval.state != ApprovalState::Pending {
            return Ok(Opened::Before(Box::new(approval)));
        }
        if let Err(reason) = self.may_be_signer(who, &approval) {
            return Ok(Opened::Forbidden(reason));
        }
        let exact = self.storage.calls().exact_args(approval.call.id).await.map_err(GateError::Approval)?;
        let Some(args) = exact else { return self.opened_before(approval).await };
        let host = self.host_of(&approval).filter(|host| host.state == HostState::Online);
        let Some(host) = host else {
            return Ok(Opened::Conflict(
                "The host isn't connected, and only it can give the nonce that is signed with the call."
                    .to_owned(),
            ));
        };
        let now = self.storage.now();
        let open = signing
            .statement
            .clone()
            .filter(|open| open.not_after > now && host.instance.as_deref() == Some(open.instance.as_str()));
        let open = match open {
            Some(open) => open,
            None => {
                let challenge = match dispatcher.challenge(host.id).await {
                    Ok(challenge) => challenge,
                    Err(reason) => return Ok(Opened::Conflict(reason)),
                };
                let not_after = (approval.decide_by + self.approvals.valid_for).min(now + NONCE_HOLDS);
                let requester = self.storage.users().find(approval.call.person()).await;
                let Some(requester) = requester.map_err(GateError::Approval)? else {
                    return Ok(Opened::Conflict(
                        "The person behind the call has no account any more.".to_owned(),
                    ));
                };
                let statement = Statement {
                    domain: Statement::domain(),
                    call_id: approval.call.id,
                    edge_id: host.id,
                    tool: approval.call.tool.clone(),
                    definition_hash: approval.call.definition_hash.clone(),
                    args_hash: Statement::hash_of(&args),
                    sop: sop_ref(&signing),
                    requester: requester.name,
                    nonce: challenge.nonce,
                    not_after,
                };
                let new = OpenStatement { text: statement.text(), instance: challenge.instance, not_after };
                let instead_of = signing.statement.map(|open| open.text);
                let opened = approvals.open_statement(id, new, instead_of, actor).await;
                match opened.map_err(GateError::Approval)? {
                    Some(open) => open,
                    None => return self.opened_before(approval).await,
                }
            }
        };
        let statement = Statement::read(&open.text)
            .map_err(|_| GateError::Approval(StorageError::corrupt("the statement of an approval")))?;
        if approval.has_hidden {
            // The exact arguments are shown with it.
            let entry = AuditEntry {
                kind: "approval.revealed",
                call_id: Some(approval.call.id),
                actor,
                payload: serde_json::json!({"approval_id": id}),
            };
            self.storage.audit().record(entry).await.map_err(GateError::Approval)?;
        }
        Ok(Opened::Statement(StatementToSign {
            digest: hex_of(&statement.digest()),
            text: open.text,
            args,
            not_after: open.not_after,
            needed: signing.needed,
        }))
    }

    async fn opened_before(&self, approval: Approval) -> Result<Opened, GateError> {
        let now = self.storage.approvals().find(approval.id).await.map_err(GateError::Approval)?;
        Ok(Opened::Before(Box::new(now.unwrap_or(approval))))
    }

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

    fn pins_for(&self, signing: &SigningFacts) -> Pins {
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

fn sop_ref(signing: &Signing) -> Option<SopRef> {
    signing.sop.as_ref().map(|sop| SopRef {
        id: sop.id.clone(),
        version: sop.version,
        step: sop.step.clone(),
    })
}

fn facts_of<'a>(
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

fn keys_in<'a>(list: &'a ApproverList, person: &str) -> impl Iterator<Item = &'a ApproverKey> {
    let person = list.people.iter().find(|approver| approver.person == person);
    person.into_iter().flat_map(|approver| &approver.keys)
}

/// The word for a kind of signature.
pub const fn kind_word(kind: SignatureKind) -> &'static str {
    match kind {
        SignatureKind::Ed25519 => "ed25519",
        SignatureKind::Webauthn => "webauthn",
    }
}

/// A name that somebody sent, short enough for a message.
fn shown_name(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(64).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The statement that people sign: opened once for the present process of the host's edge, with a nonce of it.

use super::evidence::sop_ref;
use super::{NONCE_HOLDS, Opened, StatementToSign};
use crate::{Decider, Gate, GateError, HostDispatcher, HostState};
use model::{ApprovalId, ApprovalState};
use signing::Statement;
use storage::approvals::{Approval, OpenStatement};
use storage::{Actor, AuditEntry, StorageError};

impl Gate {
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
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

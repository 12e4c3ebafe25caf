//! Approvals: what a decision is about, who may make one, and what a grant covers.

use crate::{CallRequest, Gate, GateError, HostFacts};
use model::{
    ApprovalDecision, ApprovalId, CallState, Class, GrantId, GrantState, Role, Roles, Scope, UserId,
    canonical,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use storage::approvals::{Approval, ApprovalFilter, Decided, Verdict};
use storage::grants::{Grant, GrantEdges, NewGrant};
use storage::{Actor, AuditEntry};

/// Most characters of a note.
pub const MAX_NOTE_CHARS: usize = 2_000;
/// Most hours that a grant may hold.
pub const MAX_GRANT_HOURS: u32 = 8_760;
/// Most hours that a grant may hold whose tool runs what its arguments say.
pub const MAX_EXACT_GRANT_HOURS: u32 = 720;
/// Hours that a grant holds that doesn't say.
const DEFAULT_GRANT_HOURS: u32 = 720;
/// Most calls that a counted grant covers.
pub const MAX_GRANT_USES: u32 = 1_000_000;
/// Approvals that are looked through for those that somebody may decide.
const MOST_PENDING: u32 = 1_000;

/// `[security.approval]`: how approvals are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalRules {
    /// How long people may take to decide on a call.
    pub decide_by: Duration,
    /// The same for a dangerous call.
    pub decide_by_dangerous: Duration,
    /// How long after the decision the call may still start.
    pub valid_for: Duration,
    /// Whether operators may approve their own calls.
    pub self_approval: bool,
    /// Whether grants hold in a turn that has taken in text from outside.
    pub grants_after_untrusted: bool,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self {
            decide_by: Duration::from_secs(120),
            decide_by_dangerous: Duration::from_secs(1_800),
            valid_for: Duration::from_secs(600),
            self_approval: true,
            grants_after_untrusted: false,
        }
    }
}

impl ApprovalRules {
    /// How long people may take to decide on a call of this class.
    pub fn decide_by(&self, class: Class) -> Duration {
        if class == Class::Dangerous { self.decide_by_dangerous } else { self.decide_by }
    }
}

/// Somebody who looks at approvals or decides on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    /// The person.
    pub user: UserId,
    /// The name of the account: what the list of approvers names the person by.
    pub name: String,
    /// The roles that the person has now.
    pub roles: Roles,
    /// Whether the request came through an API token. Tokens never decide.
    pub by_token: bool,
}

/// What a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What.
    pub decision: ApprovalDecision,
    /// What they say about it; for a denial the model reads it.
    pub note: Option<String>,
    /// For [`ApprovalDecision::AllowAlways`]: what else it covers. Default: this host, these arguments, 30 days.
    pub grant: Option<GrantWish>,
}

/// What a standing approval is to cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantWish {
    /// On which hosts.
    pub edges: WishedEdges,
    /// With which arguments.
    pub arguments: WishedArguments,
    /// For how many hours. Default: 720.
    pub expires_in_hours: Option<u32>,
    /// For how many calls; any number if not said.
    pub uses: Option<u32>,
}

/// On which hosts a standing approval is to cover calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WishedEdges {
    /// On that of the call.
    #[default]
    This,
    /// On those with all of these labels.
    Labels(BTreeMap<String, String>),
    /// On any.
    Any,
}

/// With which arguments a standing approval is to cover calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WishedArguments {
    /// With exactly those of the call.
    #[default]
    Exact,
    /// With any.
    Any,
}

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruled {
    /// It counts.
    Done(Box<Approval>),
    /// The approval had been decided, had expired or was withdrawn; this is how it stands.
    Before(Box<Approval>),
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// This person may see it and not decide; a sentence says why.
    Forbidden(String),
    /// The decision makes no sense; a sentence says why.
    Invalid(String),
    /// It can't be allowed by a decision: people have to sign. It can be denied by one.
    NeedsSignatures(String),
}

/// What came of the wish to see exact arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Revealed {
    /// The exact arguments. That they were looked at is on record.
    Args(Value),
    /// The call has ended, and they are not kept any more.
    Gone,
    /// There is no such approval, or not for this person's eyes.
    NotFound,
    /// Only who may decide may look; a sentence says why this person may not.
    Forbidden(String),
}

/// What came of the wish to take a grant back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It covers nothing any more.
    Done,
    /// There is no such grant, or not for this person's eyes.
    NotFound,
    /// This person may not; a sentence says why.
    Forbidden(String),
}

/// SHA-256 (hex) over everything that a decision on a call is about.
pub fn binding(request: &CallRequest, definition_hash: &str) -> String {
    let targets: Vec<i64> = request.edge.iter().map(|edge| edge.0).collect();
    canonical::digest(&json!({
        "v": 1, "tool": request.key, "scope": request.scope, "definition_hash": definition_hash,
        "args": request.args, "targets": targets, "requester": request.caller.person(),
    }))
}

/// Whether a standing approval of a tool may only name exact arguments: its arguments are programs.
pub fn takes_exact_grants_only(key: &str) -> bool {
    key == "bash"
}

/// Whether more than this one call of an approval can be allowed at once.
pub fn may_be_standing(approval: &Approval) -> bool {
    approval.call.class != Class::Dangerous && approval.signing.is_none() && approval.call.token.is_none()
}

/// Whether somebody may know of a person's approvals and grants.
fn may_see(who: &Decider, person: UserId) -> bool {
    who.user == person || who.roles.include(Role::Approver) || who.roles.include(Role::Admin)
}

/// Grants that cover a call, or why none is used.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Those that may let it run, the one to use first at the front.
    pub(crate) usable: Vec<GrantId>,
    /// Why those that cover it are not used.
    pub(crate) note: Option<String>,
}

impl Gate {
    /// Whether somebody may know of an approval: of their own calls always, of others' where they reach the host.
    pub fn may_see_approval(&self, who: &Decider, approval: &Approval) -> bool {
        let call = &approval.call;
        may_see(who, call.person()) && (call.person() == who.user || self.reaches(who.user, call.edge))
    }

    /// Whether somebody may know of a grant.
    pub fn may_see_grant(&self, who: &Decider, grant: &Grant) -> bool {
        let edge = match &grant.edges {
            GrantEdges::This(edge, _) => Some(*edge),
            GrantEdges::Labels(_) | GrantEdges::Any => None,
        };
        may_see(who, grant.person) && (grant.person == who.user || self.reaches(who.user, edge))
    }

    /// Whether somebody has the right to decide on an approval, whatever its state.
    ///
    /// # Errors
    ///
    /// Tells in a sentence why not.
    pub fn may_decide(&self, who: &Decider, approval: &Approval) -> Result<(), String> {
        let call = &approval.call;
        if who.by_token {
            return Err("An API token never decides; a person signs in to do so.".to_owned());
        }
        if let Some(reason) = self.out_of_reach(who.user, call.edge) {
            return Err(reason);
        }
        if approval.signing.is_some() && call.person() == who.user {
            return Err(
                "It is your own call, so other people have to sign or deny it; you can stop it.".to_owned()
            );
        }
        if call.person() != who.user {
            return if who.roles.include(Role::Approver) {
                Ok(())
            } else {
                Err("Deciding on another person's call needs the role approver.".to_owned())
            };
        }
        if call.token.is_some() {
            return Err("It was asked for through an API token, so another person with the role approver has to decide."
                .to_owned());
        }
        if !self.approvals.self_approval {
            return Err("Nobody may approve their own calls here ([security.approval] self_approval = false); another \
                        person with the role approver has to decide."
                .to_owned());
        }
        if !who.roles.include(Role::Operator) {
            return Err(
                "Deciding on one's own call needs the role operator or admin; another person with the role \
                        approver has to decide."
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// How many approvals wait that somebody may decide.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn count_decidable(&self, who: &Decider) -> Result<usize, GateError> {
        let all = may_see(who, UserId::SYSTEM);
        let filter = ApprovalFilter { pending: Some(true), person: (!all).then_some(who.user) };
        let pending =
            self.storage.approvals().list(&filter, None, MOST_PENDING).await.map_err(GateError::Approval)?;
        let may = |approval: &&Approval| match approval.signing {
            // Whoever has signed is done with it.
            Some(_) => self.may_sign(who, approval).is_ok(),
            None => self.may_decide(who, approval).is_ok(),
        };
        Ok(pending.iter().filter(may).count())
    }

    /// Decides on an approval. Of any number of attempts one wins.
    ///
    /// # Errors
    ///
    /// Fails only if the database does. Whatever else stands in the way is in the answer.
    pub async fn decide_approval(
        &self,
        who: &Decider,
        id: ApprovalId,
        ruling: Ruling,
    ) -> Result<Ruled, GateError> {
        let approvals = self.storage.approvals();
        let found = approvals.find(id).await.map_err(GateError::Approval)?;
        let Some(approval) = found.filter(|approval| self.may_see_approval(who, approval)) else {
            return Ok(Ruled::NotFound);
        };
        if let Err(reason) = self.may_decide(who, &approval) {
            return Ok(Ruled::Forbidden(reason));
        }
        if let Some(signing) = approval.signing.as_ref().filter(|_| ruling.decision != ApprovalDecision::Deny)
        {
            return Ok(Ruled::NeedsSignatures(match signing.needed {
                1 => "This call needs an approver's signature; a decision alone doesn't allow it.".to_owned(),
                needed => format!(
                    "This call needs the signatures of {needed} approvers; a decision alone doesn't allow it."
                ),
            }));
        }
        if ruling.note.as_ref().is_some_and(|note| note.chars().nth(MAX_NOTE_CHARS).is_some()) {
            return Ok(Ruled::Invalid(format!("A note has at most {MAX_NOTE_CHARS} characters.")));
        }
        let exact = self.storage.calls().exact_args(approval.call.id).await.map_err(GateError::Approval)?;
        let Some(exact) = exact else {
            // The call has ended since: what is told must be how it stands now, with who decided.
            let now = approvals.find(id).await.map_err(GateError::Approval)?;
            return Ok(Ruled::Before(Box::new(now.unwrap_or(approval))));
        };
        if let Err(reason) = self.grants_no_more_than_it_reaches(who, &approval, &ruling) {
            return Ok(Ruled::Invalid(reason));
        }
        let grant = match self.new_grant(&approval, exact, &ruling) {
            Ok(grant) => grant,
            Err(reason) => return Ok(Ruled::Invalid(reason)),
        };
        let note = ruling.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        let verdict = Verdict {
            by: who.user,
            decision: ruling.decision,
            note: note.map(|note| self.redactor.redact(note).into_owned()),
            valid_for: self.approvals.valid_for,
            grant,
        };
        let decided = approvals.decide(id, verdict).await.map_err(GateError::Approval)?;
        let now = approvals.find(id).await.map_err(GateError::Approval)?;
        let Some(now) = now.map(Box::new) else { return Ok(Ruled::NotFound) };
        Ok(if decided == Decided::Done { Ruled::Done(now) } else { Ruled::Before(now) })
    }

    /// Whoever is restricted to hosts allows nothing on others.
    fn grants_no_more_than_it_reaches(
        &self,
        who: &Decider,
        approval: &Approval,
        ruling: &Ruling,
    ) -> Result<(), String> {
        let reach = self.storage.users().reach_of(who.user);
        let wider = ruling.grant.as_ref().is_some_and(|wish| wish.edges != WishedEdges::This);
        if reach.is_everywhere() || approval.call.edge.is_none() || !wider {
            return Ok(());
        }
        Err(format!(
            "Your account is restricted to {reach}, so a grant of yours can only be for the host of this call."
        ))
    }

    /// The grant that goes with a decision.
    fn new_grant(
        &self,
        approval: &Approval,
        exact: Value,
        ruling: &Ruling,
    ) -> Result<Option<NewGrant>, String> {
        let call = &approval.call;
        let wish = match (ruling.decision, &ruling.grant) {
            (ApprovalDecision::AllowAlways, wish) => wish.clone().unwrap_or_default(),
            (_, Some(_)) => return Err("Only `allow_always` takes a `grant`.".to_owned()),
            (ApprovalDecision::AllowChat, None) => {
                GrantWish { arguments: WishedArguments::Any, ..GrantWish::default() }
            }
            (ApprovalDecision::AllowOnce | ApprovalDecision::Deny, None) => return Ok(None),
        };
        if call.token.is_some() {
            return Err("Calls of programs (API tokens) can only be allowed one by one.".to_owned());
        }
        if !may_be_standing(approval) {
            return Err("Dangerous calls can only be allowed one by one.".to_owned());
        }
        let in_chat = ruling.decision == ApprovalDecision::AllowChat;
        if in_chat && call.session.is_none() {
            return Err("The call belongs to no chat, so it can't be allowed in one.".to_owned());
        }
        let exact_only = takes_exact_grants_only(&call.tool);
        if exact_only && !in_chat && wish.arguments == WishedArguments::Any {
            return Err(format!("`{}` can only be allowed with exact arguments.", call.tool));
        }
        let edges = wished_edges(approval, wish.edges)?;
        let most = if exact_only { MAX_EXACT_GRANT_HOURS } else { MAX_GRANT_HOURS };
        let hours = wish.expires_in_hours.unwrap_or(DEFAULT_GRANT_HOURS);
        if hours == 0 || hours > most {
            return Err(format!("A grant for `{}` holds for 1 to {most} hours.", call.tool));
        }
        if wish.uses.is_some_and(|uses| uses == 0 || uses > MAX_GRANT_USES) {
            return Err(format!("A counted grant covers 1 to {MAX_GRANT_USES} calls."));
        }
        let hold = Duration::from_secs(u64::from(hours) * 3600);
        Ok(Some(NewGrant {
            id: GrantId::generate(),
            person: call.person(),
            tool: call.tool.clone(),
            scope: call.scope,
            class: call.class,
            definition_hash: call.definition_hash.clone(),
            session: call.session.filter(|_| in_chat),
            edges,
            args: (exact_only || wish.arguments == WishedArguments::Exact)
                .then(|| (exact, call.args.clone())),
            // What is allowed in a chat ends with the chat.
            holds: (!in_chat).then_some(hold),
            uses: wish.uses,
        }))
    }

    /// The exact arguments of a call that isn't final, for who may decide on it. That they were looked at is on
    /// record before this returns.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn reveal_approval(&self, who: &Decider, id: ApprovalId) -> Result<Revealed, GateError> {
        let found = self.storage.approvals().find(id).await.map_err(GateError::Approval)?;
        let Some(approval) = found.filter(|approval| self.may_see_approval(who, approval)) else {
            return Ok(Revealed::NotFound);
        };
        if let Err(reason) = self.may_decide(who, &approval) {
            return Ok(Revealed::Forbidden(reason));
        }
        let call = approval.call.id;
        let Some(args) = self.storage.calls().exact_args(call).await.map_err(GateError::Approval)? else {
            return Ok(Revealed::Gone);
        };
        let entry = AuditEntry {
            kind: "approval.revealed",
            call_id: Some(call),
            actor: Actor::User(who.user),
            payload: json!({"approval_id": id}),
        };
        self.storage.audit().record(entry).await.map_err(GateError::Approval)?;
        Ok(Revealed::Args(args))
    }

    /// How a grant stands.
    pub fn grant_state(&self, grant: &Grant) -> GrantState {
        if grant.revoked_at.is_some() {
            return GrantState::Revoked;
        }
        if grant.uses_left == Some(0) {
            return GrantState::UsedUp;
        }
        if grant.expires_at.is_some_and(|at| at <= self.storage.now()) {
            return GrantState::Expired;
        }
        let catalogue = self.catalogue.load();
        let listed = catalogue.get(grant.scope, &grant.tool);
        let other = catalogue.version(&grant.definition_hash);
        let is_there = listed.into_iter().chain(other).any(|capability| {
            capability.hash() == grant.definition_hash && capability.definition().key == grant.tool
        });
        if is_there { GrantState::Active } else { GrantState::Void }
    }

    /// Takes a grant back: its person, an approver or an admin may.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke_grant(&self, who: &Decider, id: GrantId) -> Result<Revoked, GateError> {
        let found = self.storage.grants().find(id).await.map_err(GateError::Approval)?;
        if found.is_none_or(|grant| !self.may_see_grant(who, &grant)) {
            return Ok(Revoked::NotFound);
        }
        if who.by_token {
            return Ok(Revoked::Forbidden(
                "An API token doesn't change grants; a person signs in to do so.".to_owned(),
            ));
        }
        self.storage.grants().revoke(id, who.user).await.map_err(GateError::Approval)?;
        Ok(Revoked::Done)
    }

    /// The grants that cover a call.
    pub(crate) async fn standing(
        &self,
        request: &CallRequest,
        class: Class,
        definition_hash: &str,
        host: Option<&HostFacts>,
    ) -> Result<Standing, storage::StorageError> {
        let person = request.caller.person();
        let open = self.storage.grants().open_for(person, request.scope, &request.key).await?;
        let keys = self.storage.keys();
        let covering: Vec<Grant> = open
            .into_iter()
            .filter(|grant| {
                covers(grant, request, class, definition_hash, host) && grant.covers_args(keys, &request.args)
            })
            .collect();
        let Some(first) = covering.first() else { return Ok(Standing::default()) };
        let note = if request.caller.token.is_some() {
            Some("it was asked for through an API token, and no grant covers those")
        } else if request.taint.untrusted && !self.approvals.grants_after_untrusted {
            Some("the chat has taken in text from outside, and a person has to look then")
        } else {
            None
        };
        Ok(match note {
            None => Standing { usable: covering.iter().map(|grant| grant.id).collect(), note: None },
            Some(note) => {
                let day = first.created_at.format("%Y-%m-%d");
                Standing {
                    usable: Vec::new(),
                    note: Some(format!("There is a grant of {day} for this, but {note}.")),
                }
            }
        })
    }
}

fn wished_edges(approval: &Approval, wish: WishedEdges) -> Result<GrantEdges, String> {
    let call = &approval.call;
    match (wish, call.edge) {
        (WishedEdges::Labels(_), None) => {
            Err(format!("`{}` runs beside the manager, which has no labels.", call.tool))
        }
        (WishedEdges::This | WishedEdges::Any, None) | (WishedEdges::Any, Some(_)) => Ok(GrantEdges::Any),
        (WishedEdges::This, Some(edge)) => {
            Ok(GrantEdges::This(edge, call.edge_name.clone().unwrap_or_default()))
        }
        (WishedEdges::Labels(labels), Some(_)) if labels.is_empty() => {
            Err("A grant for labels needs at least one.".to_owned())
        }
        (WishedEdges::Labels(labels), Some(_)) => {
            let own = approval.edge_labels.clone().unwrap_or_default();
            match labels.iter().find(|(key, value)| own.get(*key) != Some(value)) {
                None => Ok(GrantEdges::Labels(labels)),
                Some((key, value)) => Err(format!(
                    "The host of the call has no label {key}={value}, so the grant would not cover this call."
                )),
            }
        }
    }
}

/// Whether a grant covers a call, but for its arguments.
fn covers(
    grant: &Grant,
    request: &CallRequest,
    class: Class,
    definition_hash: &str,
    host: Option<&HostFacts>,
) -> bool {
    let on_host = match &grant.edges {
        GrantEdges::Any => true,
        GrantEdges::This(edge, _) => request.scope == Scope::Host && request.edge == Some(*edge),
        GrantEdges::Labels(labels) => {
            host.is_some_and(|host| labels.iter().all(|(key, value)| host.labels.get(key) == Some(value)))
        }
    };
    on_host
        && class != Class::Dangerous
        && class <= grant.class
        && grant.definition_hash == definition_hash
        && grant.session.is_none_or(|session| request.session == Some(session))
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// Its id.
    pub call_id: model::CallId,
    /// The question.
    pub approval_id: ApprovalId,
    /// Key of the capability.
    pub tool: String,
    /// Whether a tool asked for it. Then it is of no use once the tool has ended.
    pub is_child: bool,
}

impl WaitingCall {
    /// The waiting call of an approval; `None` if it doesn't wait any more.
    pub fn of(approval: &Approval) -> Option<Self> {
        (approval.call.state == CallState::AwaitingApproval).then(|| Self {
            call_id: approval.call.id,
            approval_id: approval.id,
            tool: approval.call.tool.clone(),
            is_child: approval.call.parent.is_some(),
        })
    }
}

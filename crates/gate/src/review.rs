//! Looks at one request and says what is to become of it. Reads the inventory and the configuration; writes nothing.

use crate::decide::{Decision, Facts, SaidBy, decide};
use crate::places::{self, Verdict};
use crate::procedures::{Covered, Imported, SigningPins};
use crate::reasons::class_reasons;
use crate::rule::{PolicyPlace, Rule};
use crate::{
    ApprovalProof, CallRequest, HostDirectory, HostFacts, HostState, OwnPacks, ProbeRules, Redactor,
    ToolPolicy,
};
use model::{Class, ClassReason, EdgeId, PolicyDecision, Reach, Scope, Timestamp};
use serde_json::{Map, Value};
use skill::{Capability, Catalogue, Definition, Source};
use std::sync::Arc;
use storage::freezes::{Freeze, FreezeState};

/// What is to become of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It may run.
    Run(Arc<Capability>),
    /// A person has to allow it first.
    Ask(Arc<Capability>, Question),
    /// Its arguments are wrong.
    Invalid { reason: String, schema: Option<Value> },
    /// It may not run.
    Refuse { policy: PolicyDecision, reason: String },
}

/// What people are asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Why they are.
    pub(crate) why: String,
    /// What they have to sign; `None` where a decision is enough.
    pub(crate) needs: Option<Needs>,
}

/// What people have to sign.
#[derive(Clone, Debug)]
pub(crate) struct Needs {
    /// How many of them.
    pub(crate) people: u32,
    /// How many of them with a key file.
    pub(crate) independent: u32,
    /// For a dangerous call: the step that covers it.
    pub(crate) covered: Option<Covered>,
}

/// A request that was looked at, with what is to be written down of it.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) class: Class,
    /// Why it has that class; empty if it was not classed.
    pub(crate) class_reasons: Vec<ClassReason>,
    pub(crate) definition_hash: String,
    pub(crate) edge_name: Option<String>,
    pub(crate) outcome: Outcome,
    /// Which rule has the last word.
    pub(crate) rule: Rule,
}

/// What stands in the way of a call, and which rule says so.
type Stopped = Box<(Outcome, Rule)>;

fn stopped(outcome: Outcome, rule: Rule) -> Stopped {
    Box::new((outcome, rule))
}

pub(crate) struct Reviewer<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) policy: &'a ToolPolicy,
    /// The hosts that the person behind the call reaches.
    pub(crate) hosts: &'a dyn HostDirectory,
    pub(crate) reach: &'a Reach,
    pub(crate) probes: &'a ProbeRules,
    pub(crate) own_packs: &'a OwnPacks,
    pub(crate) freezes: &'a FreezeState,
    pub(crate) imported: &'a Imported,
    pub(crate) pins: &'a SigningPins,
    pub(crate) now: Timestamp,
}

impl Reviewer<'_> {
    /// Normalises the arguments in place, then goes through all the checks in order; the first that fails decides.
    pub(crate) fn review(&self, request: &mut CallRequest) -> Review {
        if request.args.is_null() {
            request.args = Value::Object(Map::new());
        }
        let host = request.edge.and_then(|edge| self.hosts.host(edge));
        let skills = host.as_ref().and_then(|host| host.skills.as_ref());
        let has_it = match request.scope {
            Scope::Host if request.edge.is_some() => {
                skills.is_some_and(|skills| skills.contains_key(&request.key))
            }
            // Whoever names no host may mean a tool of the manager that isn't listed yet.
            Scope::Host | Scope::Manager => self.own_packs.has(&request.key),
        };
        let listed = self.catalogue.get(request.scope, &request.key).cloned();
        let Some(capability) = listed.map(|listed| self.version_on(host.as_ref(), listed)) else {
            return Review {
                // Nothing is known of it and nothing runs, so nothing about it is safe or dangerous.
                class: Class::Safe,
                class_reasons: Vec::new(),
                definition_hash: String::new(),
                edge_name: host.map(|host| host.name),
                outcome: deny(self.unknown_tool(request, has_it)),
                rule: Rule::Catalogue,
            };
        };
        // Only valid arguments are classed: `classify` may rely on the schema.
        let (class, classed, looked) = match self.check_arguments(&capability, request) {
            Err(invalid) => (capability.definition().class, false, Err(stopped(invalid, Rule::Arguments))),
            Ok(()) => match class_of(&capability, request, host.as_ref()) {
                Some(class) => (class, true, self.outcome(&capability, class, request, host.as_ref())),
                // Nothing is known of what it would do, so it counts as the worst.
                None => {
                    let reason = format!(
                        "The call could not be classed, because of a defect in how `{}` classes its arguments. \
                         Nothing was run.",
                        request.key
                    );
                    (Class::Dangerous, true, Err(stopped(deny(reason), Rule::Class(Class::Dangerous))))
                }
            },
        };
        let described = host.as_ref().and_then(|host| {
            let facts = host.skills.as_ref()?.get(&request.key).filter(|_| request.scope == Scope::Host)?;
            Some((host.name.as_str(), facts.class))
        });
        let class_reasons =
            if classed { class_reasons(&capability, &request.args, described) } else { Vec::new() };
        let definition_hash = capability.hash().to_owned();
        let (outcome, rule) = match looked {
            Ok((None, rule)) => (Outcome::Run(capability), rule),
            Ok((Some(question), rule)) => (Outcome::Ask(capability, question), rule),
            Err(stopped) => *stopped,
        };
        Review { class, class_reasons, definition_hash, edge_name: host.map(|host| host.name), outcome, rule }
    }

    /// What a person is asked, `None` if it may run; and which rule says so.
    fn outcome(
        &self,
        capability: &Capability,
        class: Class,
        request: &CallRequest,
        host: Option<&HostFacts>,
    ) -> Result<(Option<Question>, Rule), Stopped> {
        let key = &request.key;
        if !request.narrowing.contains(key) {
            let reason = format!("`{key}` is switched off for this chat.");
            return Err(stopped(deny(reason), Rule::Narrowing));
        }
        match request.scope {
            Scope::Host => check_host(capability, request, host, self.reach)?,
            Scope::Manager => {
                if let Some(reason) = lacking(capability) {
                    return Err(stopped(deny(reason), Rule::Prerequisites));
                }
            }
        }
        let place = places::judge(key, &request.args, self.probes, request.taint.untrusted, || {
            let mut named = request.taint.named_places.clone();
            named.extend(self.hosts.named_places());
            named
        });
        let needs_look = match &place {
            Verdict::Refuse(reason) => return Err(stopped(deny(reason.clone()), Rule::Probes)),
            // What a person asks for directly, the person has named.
            Verdict::NeedsLook(reason) if request.caller.by_model => Some(reason.as_str()),
            Verdict::NeedsLook(_) | Verdict::Fine => None,
        };
        let said = self.policy.rule_of(request.scope, key, capability.source());
        let policy = said.policy;
        let decision = decide(&Facts { key, class, policy, roles: &request.caller.roles, needs_look });
        // What nobody may do at all is told as that, frozen or not.
        let is_denied = matches!(&decision, Decision::Refuse { policy: PolicyDecision::Deny, .. });
        if !is_denied && let Some((reason, rule)) = frozen(self.freezes, class, request.edge, host) {
            return Err(stopped(deny(reason), rule));
        }
        let rule_of = |by, said| match by {
            SaidBy::Policy => Rule::Policy(said),
            SaidBy::Role(role) => Rule::Role(role),
            SaidBy::Class => Rule::Class(class),
            SaidBy::Look => Rule::UntrustedText,
        };
        match decision {
            // A word about this tool counts as what lets it run; silence leaves that to the class.
            Decision::Run if said.place != PolicyPlace::Default => Ok((None, Rule::Policy(said))),
            Decision::Run => Ok((None, Rule::Class(class))),
            Decision::Ask { reason, by } => match self.signature_needed(request, class, host)? {
                Some((needs, because)) => Ok((
                    Some(Question { why: format!("{reason} {because}"), needs: Some(needs) }),
                    Rule::Proof,
                )),
                None => Ok((Some(Question { why: reason, needs: None }), rule_of(by, said))),
            },
            Decision::Procedure => {
                let question = self.procedure(request, host)?;
                Ok((Some(question), Rule::Class(class)))
            }
            Decision::Refuse { policy, reason, by } => {
                Err(stopped(Outcome::Refuse { policy, reason }, rule_of(by, said)))
            }
        }
    }

    /// What people have to sign where the host's own file doesn't take the manager's word for a change, and why.
    fn signature_needed(
        &self,
        request: &CallRequest,
        class: Class,
        host: Option<&HostFacts>,
    ) -> Result<Option<(Needs, String)>, Stopped> {
        let Some((host, signing)) = host.and_then(|host| Some((host, host.signing.as_ref()?))) else {
            return Ok(None);
        };
        if class != Class::Mutating || request.scope != Scope::Host {
            return Ok(None);
        }
        let because = match signing.approval_proof {
            ApprovalProof::Manager => return Ok(None),
            ApprovalProof::Signed => format!("Host `{}` asks for a signature for every change.", host.name),
            ApprovalProof::Mixed if request.key == "write_file" => {
                format!("Host `{}` asks for a signature for every `write_file`.", host.name)
            }
            ApprovalProof::Mixed if is_opaque(request) => {
                format!("Host `{}` asks for a signature where a command may run anything.", host.name)
            }
            ApprovalProof::Mixed => return Ok(None),
        };
        let refuse = |reason: String| stopped(deny(format!("{because} {reason}")), Rule::Proof);
        self.imported.list_for(self.pins, &host.name, signing, self.now).map_err(refuse)?;
        self.fits_a_message(request, None).map_err(refuse)?;
        let independent = signing.min_independent_signatures;
        Ok(Some((Needs { people: independent.max(1), independent, covered: None }, because.clone())))
    }

    /// The step of a procedure that covers a dangerous call, and what people have to sign for it.
    fn procedure(&self, request: &CallRequest, host: Option<&HostFacts>) -> Result<Question, Stopped> {
        let key = &request.key;
        let refuse = |reason: String| {
            let reason = format!(
                "`{key}` is dangerous: it needs a signed procedure (SOP) that covers the exact call, and the signatures \
                 of two people. {reason}"
            );
            stopped(Outcome::Refuse { policy: PolicyDecision::Supervised, reason }, Rule::Procedure)
        };
        let Some(host) = host.filter(|_| request.scope == Scope::Host) else {
            return Err(refuse(
                "Only hosts check that, so nothing dangerous runs beside the manager.".to_owned(),
            ));
        };
        let Some(signing) = host.signing.as_ref().filter(|signing| signing.dangerous) else {
            return Err(refuse(format!(
                "Dangerous calls are off on host `{}`: its own configuration pins no keys for that.",
                host.name
            )));
        };
        if self.pins.sop_keys.is_empty() {
            return Err(refuse(
                "This manager's configuration pins no key for procedures ([security.sop] trusted_keys)."
                    .to_owned(),
            ));
        }
        self.imported.list_for(self.pins, &host.name, signing, self.now).map_err(refuse)?;
        let Some(named) = &request.sop else {
            let covering = self.imported.covering(key, &request.args, host, self.now);
            let names: Vec<String> = covering
                .iter()
                .map(|it| format!("`{}/{}` ({}, version {})", it.id, it.step, it.title, it.version))
                .collect();
            return Err(refuse(if names.is_empty() {
                format!(
                    "No imported procedure covers this call on host `{}`; one that does has to be signed and imported \
                     first.",
                    host.name
                )
            } else {
                format!("The call names none; these cover it: {}. Ask again and name one.", names.join(", "))
            }));
        };
        let covered = self
            .imported
            .covered_by(named, key, &request.args, &host.name, signing, self.now)
            .map_err(refuse)?;
        self.fits_a_message(request, Some(&covered)).map_err(refuse)?;
        let step = &covered.step;
        let why = format!(
            "`{key}` is dangerous. The procedure `{}` version {}, step `{}`, covers it; two people have to sign it.",
            step.id, step.version, step.step
        );
        let independent = signing.min_independent_signatures;
        Ok(Question {
            why,
            needs: Some(Needs { people: independent.max(2), independent, covered: Some(covered) }),
        })
    }

    /// Whether the call and what is signed for it fit into one message to its host.
    fn fits_a_message(&self, request: &CallRequest, covered: Option<&Covered>) -> Result<(), String> {
        // In base64; the statement and the signatures have room enough in the rest.
        const REST: usize = 64 * 1024;
        let of = |bytes: usize| bytes.div_ceil(3) * 4;
        let list = self.imported.approvers.as_ref().map_or(0, |approvers| approvers.stored.document.len());
        let sop = covered
            .and_then(|covered| self.imported.version(&covered.step.id, covered.step.version))
            .map_or(0, |procedure| procedure.stored.document.len());
        let evidence = of(list) + of(sop) + REST;
        let args = request.args.to_string().len();
        if evidence <= signing::MAX_EVIDENCE_BYTES && args + evidence <= MAX_SIGNED_BYTES {
            return Ok(());
        }
        Err(format!(
            "Its arguments ({args} bytes), the list of approvers and the procedure are too large together for one message; \
             {MAX_SIGNED_BYTES} bytes fit."
        ))
    }

    fn check_arguments(&self, capability: &Capability, request: &CallRequest) -> Result<(), Outcome> {
        let invalid =
            |reason: String| Outcome::Invalid { reason, schema: Some(self.schema_for(capability, request)) };
        if Redactor::holds_placeholder(&request.args) {
            return Err(invalid(
                "The arguments hold a mark such as `[redacted:…]`, which stands for a hidden secret and can't be used \
                 as a value."
                    .to_owned(),
            ));
        }
        match (request.scope, request.edge) {
            (Scope::Host, None) => {
                return Err(invalid(
                    "`edge_id` is required: the id of the host to run on; query_edges lists them.".to_owned(),
                ));
            }
            (Scope::Manager, Some(_)) => {
                return Err(invalid(format!(
                    "`{}` runs in the manager and takes no `edge_id`.",
                    request.key
                )));
            }
            _ => {}
        }
        capability.check(&request.args).map_err(|problems| invalid(problems.to_string()))
    }

    /// The schema in the form that the caller knows: a model sees `edge_id` among the parameters.
    fn schema_for(&self, capability: &Capability, request: &CallRequest) -> Value {
        let of_model = || {
            self.catalogue
                .llm_tools()
                .into_iter()
                .find(|tool| tool.name == request.key && tool.scope == request.scope)
        };
        match request.caller.by_model.then(of_model).flatten() {
            Some(tool) => tool.params,
            None => capability.definition().params.clone(),
        }
    }

    /// The accepted version of a pack's skill that a host has, where it is another one than the listed one.
    fn version_on(&self, host: Option<&HostFacts>, listed: Arc<Capability>) -> Arc<Capability> {
        let described = host
            .and_then(|host| host.skills.as_ref())
            .and_then(|skills| skills.get(&listed.definition().key))
            .and_then(|facts| self.catalogue.version(&facts.definition_hash))
            .filter(|version| version.definition().key == listed.definition().key);
        match described {
            Some(version) if is_of_pack(&listed) => Arc::clone(version),
            _ => listed,
        }
    }

    fn unknown_tool(&self, request: &CallRequest, is_of_pack: bool) -> String {
        let key: String = request.key.chars().take(80).collect();
        if is_of_pack {
            return format!(
                "`{key}` comes with a pack that no admin has accepted yet; an admin can do so on the Skills page."
            );
        }
        let same_scope =
            || self.catalogue.iter().map(|entry| entry.definition()).filter(|d| d.scope == request.scope);
        match crate::policy::nearest(&request.key, same_scope().map(|definition| definition.key.as_str())) {
            Some(meant) => format!("There is no tool `{key}`; did you mean `{meant}`?"),
            None => format!("There is no tool `{key}`."),
        }
    }
}

/// Whether changes are stopped everywhere or on the host of a call: why, and which rule says so. Safe calls go on.
pub(crate) fn frozen(
    freezes: &FreezeState,
    class: Class,
    edge: Option<EdgeId>,
    host: Option<&HostFacts>,
) -> Option<(String, Rule)> {
    if class == Class::Safe {
        return None;
    }
    if let Some(freeze) = &freezes.everywhere {
        let reason = format!("Changes are frozen {}. Only safe calls run.", of_freeze(freeze));
        return Some((reason, Rule::Freeze));
    }
    let freeze = freezes.hosts.get(&edge?)?;
    let name = host.map(|host| format!("`{}` (edge {})", host.name, host.id)).unwrap_or_default();
    let reason = format!("Host {name} is read-only {}. Only safe calls run there.", of_freeze(freeze));
    Some((reason, Rule::ReadOnly))
}

/// Since when, by whom and why.
fn of_freeze(freeze: &Freeze) -> String {
    let since = freeze.since.format("%Y-%m-%d %H:%M:%S UTC");
    let by = freeze.by_name.clone().unwrap_or_else(|| format!("user {}", freeze.by));
    match &freeze.reason {
        Some(reason) => format!("since {since} by {by}: {}", reason.trim_end_matches('.')),
        None => format!("since {since} by {by}"),
    }
}

/// Why a capability of the manager can't run on its machine.
pub(crate) fn lacking(capability: &Capability) -> Option<String> {
    let Definition { key, .. } = capability.definition();
    let unmet = capability.unmet();
    (!unmet.is_empty())
        .then(|| format!("`{key}` can't run beside the manager, which lacks {}.", unmet.join(" and ")))
}

/// Bytes of arguments and evidence that one message to a host takes.
pub(crate) const MAX_SIGNED_BYTES: usize = 1_000_000;

/// Whether nobody can say from its text what a command runs.
fn is_opaque(request: &CallRequest) -> bool {
    let command = request.args.get("command").and_then(Value::as_str);
    request.key == "bash" && command.is_none_or(|command| shellclass::classify(command).opaque)
}

/// Whether it is a pack's.
fn is_of_pack(capability: &Capability) -> bool {
    matches!(capability.source(), Source::Pack(_))
}

fn check_host(
    capability: &Capability,
    request: &CallRequest,
    host: Option<&HostFacts>,
    reach: &Reach,
) -> Result<(), Stopped> {
    let deny = |reason: String| stopped(deny(reason), Rule::Host);
    let definition = capability.definition();
    let Some(host) = host else {
        let id = request.edge.map(|edge| edge.to_string()).unwrap_or_default();
        if !reach.is_everywhere() {
            // The same for a host that is there and for one that isn't, so that ids can't be tried out.
            let reason = format!(
                "There is no host with the id {id} among those that the account behind this call may use: it is \
                 restricted to {reach}. query_edges lists them."
            );
            return Err(stopped(self::deny(reason), Rule::Reach));
        }
        return Err(deny(format!("There is no host with the id {id}; query_edges lists them.")));
    };
    let name = format!("`{}` (edge {})", host.name, host.id);
    let why = host.state_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    match host.state {
        HostState::Online => {}
        HostState::Offline => {
            let since =
                host.last_seen_at.map(|at| format!("; last seen {}", at.format("%Y-%m-%d %H:%M:%S UTC")));
            return Err(deny(format!("Host {name} is offline{why}{}.", since.unwrap_or_default())));
        }
        HostState::NeverSeen => {
            return Err(deny(format!("Host {name} is enrolled but has never connected.")));
        }
        HostState::Quarantined => {
            return Err(deny(format!(
                "Host {name} is quarantined{why}; an admin has to resolve it on the Hosts page."
            )));
        }
        HostState::Revoked => return Err(deny(format!("Host {name} was revoked{why}."))),
    }
    let Some(skills) = &host.skills else {
        return if is_of_pack(capability) {
            Err(deny(format!("Host {name} has not told its packs yet.")))
        } else {
            Ok(())
        };
    };
    let Some(facts) = skills.get(&definition.key) else {
        return Err(deny(format!("The edge on host {name} does not have `{}`.", definition.key)));
    };
    if let Source::Pack(pack) = capability.source()
        && facts.definition_hash != capability.hash()
    {
        let reason = format!(
            "`{}` on host {name} is not what an admin accepted: the pack `{pack}` is new or has changed there. An admin \
             can accept it on the Skills page.",
            definition.key
        );
        return Err(stopped(self::deny(reason), Rule::Catalogue));
    }
    if !facts.unmet.is_empty() {
        let reason = format!(
            "`{}` can't run on host {name}, which lacks {}.",
            definition.key,
            facts.unmet.join(" and ")
        );
        return Err(stopped(self::deny(reason), Rule::Prerequisites));
    }
    Ok(())
}

fn deny(reason: String) -> Outcome {
    Outcome::Refuse { policy: PolicyDecision::Deny, reason }
}

/// The stricter of the manager's own answer and what the host's edge described; `None` if its own classing panics.
fn class_of(capability: &Capability, request: &CallRequest, host: Option<&HostFacts>) -> Option<Class> {
    let own = capability.try_class_of(&request.args)?;
    if request.scope != Scope::Host {
        return Some(own);
    }
    let described = host
        .and_then(|host| host.skills.as_ref())
        .and_then(|skills| skills.get(&request.key))
        .map_or(Class::Safe, |facts| facts.class);
    Some(own.max(described))
}

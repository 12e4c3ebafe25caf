//! From an operator's words to calls. Pure: no clock, no host, no network, and the same answer every time.
//!
//! A sentence that holds exact text is read by its form ([`direct`]); else:
//! normalise → tokens with shapes ([`token`]) → meanings, slips mended ([`lexicon`]) → bans taken out ([`negation`])
//! → clauses ([`clause`]) → what each names ([`facts`]) → readings weighed ([`intent`]) → arguments ([`fill`]) checked
//! against the schema ([`tools`]).

mod clause;
mod clock;
mod concept;
mod direct;
mod facts;
mod fill;
mod intent;
mod lexicon;
mod names;
mod negation;
mod numbers;
mod orders;
mod shape;
mod spell;
mod talk;
mod targets;
mod text;
mod token;
mod tools;
mod wording;
mod words_en;
mod words_ko;

pub use talk::Language;
pub use tools::place_key;

use clause::Clause;
use concept::Concept::{self, *};
use fill::Filled;
use intent::Intent;
use model::Timestamp;
use serde_json::Value;
use skill::LlmTool;
use token::Token;
use tools::Tools;

/// Most calls of one answer: what the chat loop runs in one round.
pub const MAX_CALLS: usize = 8;

/// What the router may know of the world.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteContext<'a> {
    /// The tools that may be called.
    pub tools: &'a [LlmTool],
    /// Names of the hosts in the inventory, so that a name without digits is known for a host.
    pub hosts: &'a [String],
    /// What the time is, so that `since 14:30` can be understood; without it, it can't.
    pub now: Option<Timestamp>,
}

/// One call that answers (a part of) the text.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments without `edge_id` and `edge_ids`. `host` (or what [`place_key`] says) holds the name of the host as the operator wrote it,
    /// or `all`; it is missing where none was named.
    pub args: Value,
}

/// What the router makes of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The calls, in the order of the text. Empty when it only talks or asks back.
    pub calls: Vec<RoutedCall>,
    /// What it says: what the calls are for, a question, or an answer.
    pub reply: String,
    /// Whether the reply is a question that must be answered first.
    pub asks: bool,
}

/// Finds the calls that answer `text`.
pub fn route(text: &str, context: &RouteContext<'_>) -> Route {
    let language = Language::of(text);
    let hosts: Vec<String> = context.hosts.iter().map(|name| name.to_lowercase()).collect();
    let tools = Tools::new(context.tools);
    if let Some(route) = direct::route(text, &tools, language) {
        return route;
    }
    let normal = text::normalise(text);
    let normal = context.now.map_or_else(|| normal.clone(), |now| clock::resolve(&normal, now));
    let mut tokens = token::tokenise(&normal);
    lexicon::annotate(&mut tokens);
    let all = tokens.clone();
    let wanted = negation::split(tokens);
    let declined = !wanted.declined.is_empty();
    let clauses = clause::cut(wanted.tokens, &hosts);
    let mut route = Route::default();
    let mut before = Before::from_declined(&wanted.declined, &hosts);
    let shared_hosts = spread_hosts(&clauses);
    for (clause, hosts) in clauses.iter().zip(shared_hosts) {
        let scene = Scene { clause, before: &before, hosts, language, tools: &tools, text };
        match fill::fill(&scene) {
            Some(Filled::Calls(calls)) => {
                for call in calls {
                    if route.calls.len() < MAX_CALLS && !route.calls.contains(&call) {
                        route.calls.push(call);
                    }
                }
            }
            Some(Filled::Ask(question)) => {
                return Route { calls: Vec::new(), reply: question, asks: true };
            }
            Some(Filled::Say(answer)) => {
                if !route.reply.is_empty() {
                    route.reply.push('\n');
                }
                route.reply.push_str(&answer);
            }
            None => {}
        }
        before.remember(clause);
    }
    let looks = [Status, Check, Running, Show]
        .iter()
        .any(|concept| all.iter().any(|token| token.concepts.has(*concept)));
    if route.calls.is_empty()
        && route.reply.is_empty()
        && looks
        && !before.services.is_empty()
        && clauses.iter().any(|clause| clause.facts.words > 0)
    {
        // "don't restart nginx, only look at it"
        for service in &before.services {
            if tools.has("service_status") {
                route.calls.push(RoutedCall {
                    tool: "service_status".to_owned(),
                    args: serde_json::json!({"service": service}),
                });
            }
        }
    }
    if route.calls.is_empty() && route.reply.is_empty() {
        return talk::talk(&all, declined, language, &tools);
    }
    if !route.calls.is_empty() {
        let announced = talk::announce(&route.calls, language);
        route.reply =
            if route.reply.is_empty() { announced } else { format!("{announced}\n{}", route.reply) };
    }
    route
}

/// Reads a short text as a change to an earlier one: "and on web-2?", "what about redis?". `None` if it names nothing.
pub fn follow_up(text: &str, earlier: &str, context: &RouteContext<'_>) -> Option<Route> {
    let hosts: Vec<String> = context.hosts.iter().map(|name| name.to_lowercase()).collect();
    let mut tokens = token::tokenise(&text::normalise(text));
    lexicon::annotate(&mut tokens);
    let facts = facts::Facts::read(&tokens, &hosts);
    let mut route = route(earlier, context);
    let host = facts
        .places
        .first()
        .map(|place| place.name.clone())
        .or_else(|| facts.all_hosts.then(|| "all".to_owned()));
    let service = facts.services.first();
    if host.is_none() && service.is_none() {
        return None;
    }
    let mut changed = false;
    for call in &mut route.calls {
        let takes_host = Tools::new(context.tools).takes_host(&call.tool);
        let key = Tools::new(context.tools).place_key(&call.tool);
        let Some(args) = call.args.as_object_mut() else { continue };
        if let Some(host) = host.as_ref().filter(|_| takes_host) {
            args.insert(key.to_owned(), Value::from(host.clone()));
            changed = true;
        }
        if let Some(service) = service {
            for key in
                ["service", "unit"].into_iter().filter(|key| args.contains_key(*key)).collect::<Vec<_>>()
            {
                args.insert(key.to_owned(), Value::from(service.clone()));
                changed = true;
            }
        }
    }
    let changes = [
        "restart_service",
        "kill_process",
        "reboot_host",
        "bash",
        "write_file",
        "remove_path",
        "git_operations",
        "capture_pcap",
    ];
    route.calls.dedup();
    (changed && !route.calls.iter().any(|call| changes.contains(&call.tool.as_str()))).then_some(route)
}

/// What earlier parts of the text were about, for "its logs" and "restart it".
#[derive(Clone, Debug, Default)]
struct Before {
    services: Vec<String>,
    intent: Option<Intent>,
}

impl Before {
    fn from_declined(declined: &[Token], hosts: &[String]) -> Self {
        let facts = facts::Facts::read(declined, hosts);
        Self { services: facts.services, intent: None }
    }

    fn remember(&mut self, clause: &Clause) {
        if !clause.facts.services.is_empty() {
            self.services.clone_from(&clause.facts.services);
        } else if let (Some(Intent::Service | Intent::Restart), Some(unknown)) =
            (clause.intent(), clause.facts.unknown.first())
        {
            self.services = vec![unknown.name.clone()];
        }
        self.intent = clause.intent();
    }
}

/// Everything that filling the arguments of one clause may look at.
struct Scene<'a> {
    clause: &'a Clause,
    before: &'a Before,
    /// Hosts that the clause or its neighbours name.
    hosts: Vec<String>,
    language: Language,
    tools: &'a Tools<'a>,
    text: &'a str,
}

/// The hosts of each clause: its own, else those of the clause before, else of the one after.
fn spread_hosts(clauses: &[Clause]) -> Vec<Vec<String>> {
    let own: Vec<Vec<String>> = clauses.iter().map(targets::hosts_of).collect();
    (0..own.len())
        .map(|at| {
            if !own[at].is_empty() {
                return own[at].clone();
            }
            own[..at]
                .iter()
                .rev()
                .chain(own[at + 1..].iter())
                .find(|hosts| !hosts.is_empty())
                .cloned()
                .unwrap_or_default()
        })
        .collect()
}

/// Whether any of `tokens` means `concept`.
fn mentions(tokens: &[Token], concept: Concept) -> bool {
    tokens.iter().any(|token| token.concepts.has(concept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_grows_no_faster_than_the_text() {
        let tools = crate::builtin::compiled_in_tools();
        let context = RouteContext { tools: &tools, ..RouteContext::default() };
        let mut work = Vec::new();
        for length in [2_000, 4_000, 8_000] {
            let text: String = "zqxwvk blorpt nginx 메머리 ".chars().cycle().take(length).collect();
            spell::tests::comparisons();
            route(&text, &context);
            work.push(spell::tests::comparisons());
        }
        assert!(work[0] > 0, "nothing was counted");
        // Twice the text is at most a little more than twice the work.
        assert!(work[1] <= work[0] * 5 / 2 && work[2] <= work[1] * 5 / 2, "{work:?}");
    }
}

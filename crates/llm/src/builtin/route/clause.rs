//! Cuts a text into clauses, each of which asks for one thing.

use super::concept::Concept::*;
use super::facts::Facts;
use super::intent::{self, Intent, STANDS_ALONE};
use super::negation::is_connective;
use super::token::{Kind, Token};

/// Most clauses that are answered at once.
const MAX_CLAUSES: usize = 6;

/// A part of a text that asks for one thing.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) tokens: Vec<Token>,
    pub(super) facts: Facts,
    /// Its readings, the strongest first.
    pub(super) ranked: Vec<(Intent, i32)>,
}

impl Clause {
    fn new(tokens: Vec<Token>, hosts: &[String]) -> Self {
        let facts = Facts::read(&tokens, hosts);
        let ranked = intent::rank(&tokens, &facts);
        Self { tokens, facts, ranked }
    }

    /// The strongest reading.
    pub(super) fn intent(&self) -> Option<Intent> {
        self.ranked.first().map(|(intent, _)| *intent)
    }

    fn points(&self) -> i32 {
        self.ranked.first().map_or(0, |(_, points)| *points)
    }
}

/// Cuts `tokens` into clauses.
pub(super) fn cut(tokens: Vec<Token>, hosts: &[String]) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut current: Option<Clause> = None;
    for segment in segments(tokens) {
        let (joint, tokens) = segment;
        let clause = Clause::new(tokens, hosts);
        let Some(so_far) = current.take() else {
            current = Some(clause);
            continue;
        };
        if clauses.len() + 1 < MAX_CLAUSES && stands_apart(&so_far, &clause) {
            clauses.push(so_far);
            current = Some(clause);
        } else if clauses.len() + 1 < MAX_CLAUSES
            && let Some(continued) = continues(&so_far, &clause)
        {
            clauses.push(so_far);
            current = Some(continued);
        } else {
            let mut tokens = so_far.tokens;
            tokens.extend(joint);
            tokens.extend(clause.tokens);
            current = Some(Clause::new(tokens, hosts));
        }
    }
    clauses.extend(current);
    clauses
}

/// Pieces between breaks and conjunctions, each with the token that stood before it.
fn segments(tokens: Vec<Token>) -> Vec<(Option<Token>, Vec<Token>)> {
    let mut pieces: Vec<(Option<Token>, Vec<Token>)> = vec![(None, Vec::new())];
    for token in tokens {
        let conjunction = token.kind == Kind::Word
            && matches!(token.low.as_str(), "and" | "then" | "also" | "plus" | "afterwards" | "but");
        if token.is_break() || conjunction {
            pieces.push((Some(token), Vec::new()));
        } else {
            let listed = ["랑", "와", "과"].iter().any(|particle| token.text.ends_with(particle))
                && !token.concepts.is_empty();
            let ends = token.kind == Kind::Hangul && (is_connective(&token) || listed);
            if let Some((_, piece)) = pieces.last_mut() {
                piece.push(token);
            }
            if ends {
                pieces.push((None, Vec::new()));
            }
        }
    }
    // A question mark belongs to the piece that it ends.
    let mut out: Vec<(Option<Token>, Vec<Token>)> = Vec::new();
    for (joint, piece) in pieces {
        let ends_question = joint.as_ref().is_some_and(|token| token.kind == Kind::Question);
        if ends_question && let Some((_, last)) = out.last_mut() {
            last.extend(joint.clone());
        }
        if piece.is_empty() {
            // Keep the break: "web-1," then "restart".
            if let (Some(token), false, Some((_, last))) = (joint, ends_question, out.last_mut()) {
                last.push(token);
            }
            continue;
        }
        out.push((if ends_question { None } else { joint }, piece));
    }
    out
}

/// Whether both ask for something of their own.
fn stands_apart(so_far: &Clause, next: &Clause) -> bool {
    let least = if next.facts.words <= 2 { STANDS_ALONE + 1 } else { STANDS_ALONE };
    if so_far.points() < STANDS_ALONE || next.points() < least {
        return false;
    }
    if bare_names(next) {
        return false;
    }
    let ordered = matches!(so_far.intent(), Some(Intent::Restart | Intent::Kill | Intent::Reboot));
    let asks = [
        Show, Check, Read, Tail, Grep, What, How, Which, When, Who, HowMany, Restart, Reload, Start, Stop,
        Kill, Reboot,
    ];
    if ordered && !next.facts.any(&asks) && !next.tokens.iter().any(|token| token.kind == Kind::Question) {
        return false; // the reason for the order
    }
    if so_far.intent() != next.intent() {
        // "show nginx and redis logs", "cpu and memory hogs"
        let only_names_before =
            bare_names(so_far) && so_far.facts.words <= 3 && !next.facts.any(&[Its, Show, Check, Tail, Read]);
        let refines = matches!((so_far.intent(), next.intent()), (Some(Intent::Load), Some(Intent::Processes)) if so_far.facts.words <= 3 && !so_far.facts.any(&[Load, Uptime]) && next.facts.words <= 3 && !next.facts.has(Process));
        let sorts = matches!((so_far.intent(), next.intent()), (Some(Intent::Processes), Some(Intent::Load)) if next.facts.words <= 2 && !next.facts.any(&[Load, Uptime]));
        let same_log = matches!(
            (so_far.intent(), next.intent()),
            (Some(Intent::Journal), Some(Intent::TailFile))
                | (Some(Intent::TailFile | Intent::ReadFile), Some(Intent::Journal))
        ) && (so_far.facts.words <= 3 || !next.facts.any(&[Log, Journal]));
        let reason = matches!(next.intent(), Some(Intent::Service))
            && next.facts.services.is_empty()
            && next.facts.any(&[Why, Fail])
            && !next.facts.has(Service)
            && !next.facts.any(&[Which]);
        return !(only_names_before || refines || sorts || same_log || reason);
    }
    let places = |clause: &Clause| !clause.facts.places.is_empty() || !clause.facts.host_ports.is_empty();
    match next.intent() {
        Some(
            Intent::ProbeTcp
            | Intent::ProbeDns
            | Intent::ProbeHttp
            | Intent::Load
            | Intent::Processes
            | Intent::Journal
            | Intent::Service
            | Intent::Restart,
        ) => {
            let own_host = places(so_far) && places(next) && so_far.facts.places != next.facts.places;
            let own_service = !next.facts.services.is_empty()
                && !so_far.facts.services.is_empty()
                && next.facts.services != so_far.facts.services;
            let other_order = next.intent() == Some(Intent::Restart) && own_service;
            let other_sort = next.intent() == Some(Intent::Processes)
                && next.facts.has(Process) | next.facts.has(Eat)
                && so_far.facts.has(Eat) | so_far.facts.has(Process)
                && !next.facts.places.is_empty();
            own_host && next.facts.words > 2
                || other_order
                || other_sort
                || own_service && next.facts.any(&[Status, Log, Running, Why, Fail, Journal])
        }
        Some(Intent::TailFile | Intent::ReadFile) => {
            !next.facts.paths.is_empty()
                && !so_far.facts.paths.is_empty()
                && next.facts.paths != so_far.facts.paths
                && next.facts.any(&[Show, Read, Tail, Grep])
        }
        _ => false,
    }
}

/// Whether a clause only names things: "redis", "on web-2".
fn bare_names(clause: &Clause) -> bool {
    clause.tokens.iter().all(|token| {
        token.kind != Kind::Word && token.kind != Kind::Hangul
            || token.concepts.is_empty()
            || token.concepts.any(&[On, To, Of, From, Here, Polite, Please, Show, Check])
            || token.low == "the"
            || token.kind == Kind::Hangul && token.glued
    }) && (!clause.facts.services.is_empty() || !clause.facts.unknown.is_empty())
        && clause.facts.paths.is_empty()
        && clause.facts.host_ports.is_empty()
        && clause.facts.urls.is_empty()
}

/// "restart nginx on web-1 and redis on web-2": the second part takes its verb from the first.
fn continues(so_far: &Clause, next: &Clause) -> Option<Clause> {
    let intent = so_far.intent()?;
    let pair =
        !next.facts.services.is_empty() && !next.facts.places.is_empty() && !so_far.facts.places.is_empty();
    if !matches!(intent, Intent::Restart | Intent::Service | Intent::Journal) || !pair || !bare_names(next) {
        return None;
    }
    let mut continued = next.clone();
    continued.facts.concepts.merge(so_far.facts.concepts);
    continued.ranked.clone_from(&so_far.ranked);
    Some(continued)
}

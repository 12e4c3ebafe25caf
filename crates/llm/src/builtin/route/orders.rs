//! Tells what a clause orders from what it merely mentions: "restart nginx" from "when did nginx restart?".

use super::concept::Concept::{self, *};
use super::facts::Facts;
use super::token::{Kind, Token};

/// What a clause orders, as against what it merely mentions.
#[derive(Debug, Default)]
pub(super) struct Commands {
    pub(super) restart: i32,
    pub(super) kill: i32,
    pub(super) reboot: i32,
    pub(super) shutdown: i32,
    pub(super) unsupported: i32,
    pub(super) last_reboot: bool,
    pub(super) asks_whether_to_restart: bool,
}

impl Commands {
    pub(super) fn read(tokens: &[Token], facts: &Facts) -> Self {
        let ordered = |concepts: &[Concept]| is_ordered(tokens, facts, concepts);
        let mentions = facts.any(&[Restart, Reload, Start, Stop]);
        let whether = facts.has(Should);
        let mut commands = Self { asks_whether_to_restart: whether && mentions, ..Self::default() };
        if facts.has(Reboot) {
            if ordered(&[Reboot]) {
                commands.reboot = 33;
            } else {
                commands.last_reboot = true;
            }
        }
        if ordered(&[Restart, Reload, Start, Stop]) {
            let pids = !facts.numbers.pids.is_empty();
            let object = !facts.services.is_empty()
                || facts.has(Service)
                || !facts.unknown.is_empty()
                || !facts.places.is_empty()
                || !facts.programs.is_empty()
                || facts.any(&[Its, Database])
                || facts.has(Host);
            commands.restart = match (object, facts.words) {
                _ if pids && facts.has(Stop) => 0,
                (true, _) => 31,
                (false, 0..=3) => 20,
                _ => 0,
            };
            if pids && facts.has(Stop) {
                commands.kill = 32;
            }
        }
        if ordered(&[Kill]) {
            commands.kill = 32;
            if facts.has(Service) || facts.has(Fail) && facts.numbers.pids.is_empty() {
                commands.kill = if facts.has(Service) && facts.numbers.pids.is_empty() { 0 } else { 30 };
                commands.restart = commands.restart.max(if facts.has(Service) { 31 } else { 0 });
            }
        }
        if facts.signal.is_some() && !facts.numbers.pids.is_empty() && !asks(tokens, tokens.len()) {
            commands.kill = 32;
        }
        if ordered(&[Shutdown]) {
            commands.shutdown = 34;
        }
        if ordered(&[Unsupported]) {
            commands.unsupported = 35;
        }
        commands
    }
}

/// Words that make a sentence a question about the past or a condition, not an order.
fn asks(tokens: &[Token], before: usize) -> bool {
    tokens[..before].iter().any(|token| {
        matches!(
            token.low.as_str(),
            "did"
                | "does"
                | "has"
                | "have"
                | "had"
                | "was"
                | "were"
                | "is"
                | "if"
                | "when"
                | "why"
                | "how"
                | "who"
                | "what"
                | "which"
                | "are"
                | "last"
                | "will"
                | "keeps"
                | "keep"
                | "since"
                | "after"
                | "before"
                | "cannot"
                | "would"
        ) || token.concepts.any(&[Why, When, HowMany, Should])
    }) && !tokens[..before].windows(2).any(|pair| {
        matches!(pair[0].low.as_str(), "can" | "could" | "would" | "will")
            && matches!(pair[1].low.as_str(), "you" | "we" | "u")
    }) && !tokens[..before].iter().any(|token| matches!(token.low.as_str(), "can you" | "please"))
}

fn is_ordered(tokens: &[Token], facts: &Facts, concepts: &[Concept]) -> bool {
    if facts.has(Should) {
        return false;
    }
    tokens.iter().enumerate().any(|(at, token)| {
        let done = concepts.contains(&Restart)
            && matches!(token.low.as_str(), "restarted" | "bounced" | "reloaded" | "stopped");
        if !token.concepts.any(concepts) && !done {
            return false;
        }
        if token.kind == Kind::Hangul {
            return is_ordered_in_korean(tokens, at, facts);
        }
        if token.concepts.has(Restarted)
            || token.low.ends_with("ing") && !token.low.starts_with("bring")
            || token.low.ends_with("ed") && token.low != "need"
        {
            // "I need nginx restarted"
            return tokens[..at].iter().any(|earlier| {
                matches!(earlier.low.as_str(), "need" | "needs" | "want" | "get" | "please" | "requires")
            }) && !asks(tokens, at)
                && !token.low.ends_with("ting");
        }
        let leading = tokens[..at].iter().rev().take_while(|earlier| !earlier.is_break()).all(|earlier| {
            earlier.covered
                || earlier.concepts.any(&[Polite, Please, Greet, Need, Only, Thanks, Force, Yes, Now])
                || earlier.kind == Kind::Mention
                || matches!(earlier.low.as_str(), "go" | "systemctl" | "sudo" | "service")
        });
        if leading {
            return !asks(tokens, at)
                || tokens[..at].iter().all(|earlier| earlier.covered || earlier.concepts.has(Polite));
        }
        if concepts == [Unsupported] {
            return matches!(tokens[at - 1].low.as_str(), "and" | "then" | "please");
        }
        let previous = &tokens[at - 1];
        let needed = tokens[..at].iter().any(|earlier| {
            matches!(
                earlier.low.as_str(),
                "needs"
                    | "need"
                    | "give"
                    | "requires"
                    | "want"
                    | "do"
                    | "perform"
                    | "must"
                    | "should"
                    | "please"
                    | "ahead"
                    | "trigger"
                    | "schedule"
                    | "initiate"
                    | "plan"
                    | "queue"
                    | "issue"
                    | "deserves"
            )
        });
        let lead_in = tokens[..at].iter().any(|earlier| earlier.is_break())
            || matches!(previous.low.as_str(), "and" | "then" | "please" | "to" | "just");
        let trailing = !facts.any(&[Why, When, What, Who, HowMany, How, Which, Log, Journal])
            && tokens[at + 1..].iter().all(|later| {
                later.is_break()
                    || later.concepts.any(&[Polite, Please, Now, On, Here, Host, Need])
                    || matches!(later.kind, Kind::Mention)
            })
            && !tokens.iter().any(|token| token.kind == Kind::Question);
        // "on web-1 restart nginx", "web-1: restart nginx"
        let after_place = facts.places.iter().any(|place| place.at + 1 == at || place.at + 2 == at)
            || previous.kind == Kind::Hangul;
        !asks(tokens, at) && (needed || lead_in || trailing || after_place)
    })
}

fn is_ordered_in_korean(tokens: &[Token], at: usize, facts: &Facts) -> bool {
    let token = &tokens[at];
    if token.concepts.any(&[Restarted, Fail]) || facts.any(&[Why, When]) {
        return false;
    }
    let next =
        tokens.get(at + 1).filter(|next| next.kind == Kind::Hangul).map_or("", |next| next.text.as_str());
    let rest = format!("{}{}", token.text, next);
    let past = [
        "했어",
        "했나",
        "했니",
        "됐어",
        "됐나",
        "됐니",
        "된",
        "되고",
        "되는",
        "되었",
        "됐는",
        "했는지",
        "횟수",
        "하는지",
        "이력",
        "했던",
        "됐던",
        "됩니",
        "했습",
        "됐습",
        "될까",
        "되나",
        "되지",
        "될 때",
        "되니",
        "했을",
        "한 적",
        "한적",
        "됐지",
        "했지",
        "실패",
        "불가",
        "안 ",
        "로그",
        "기록",
    ];
    !past.iter().any(|ending| rest.contains(ending)) && !next.starts_with('안')
}

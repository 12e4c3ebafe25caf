//! Takes out of a text what the operator says not to do.

use super::concept::Concept::{self, *};
use super::token::{Kind, Token};

/// What is left to do, and what was ruled out.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) tokens: Vec<Token>,
    /// What was ruled out; it still tells what is talked about.
    pub(super) declined: Vec<Token>,
}

const CHANGES: &[Concept] = &[Restart, Reload, Start, Stop, Kill, Reboot, Shutdown, Unsupported];
const DEEDS: &[Concept] = &[
    Restart,
    Reload,
    Start,
    Stop,
    Kill,
    Reboot,
    Shutdown,
    Unsupported,
    Show,
    Check,
    Read,
    Tail,
    Ping,
    Reach,
];

/// Splits a text into what is wanted and what is ruled out.
pub(super) fn split(tokens: Vec<Token>) -> Wanted {
    let mut declined = vec![false; tokens.len()];
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if declined[at] {
            continue;
        }
        let range = match token.kind {
            Kind::Word => english_scope(&tokens, at),
            Kind::Hangul => korean_scope(&tokens, at),
            _ => None,
        };
        if let Some((from, to)) = range {
            declined[from..to].fill(true);
        }
    }
    let mut wanted = Wanted::default();
    for (token, out) in tokens.into_iter().zip(declined) {
        if out { wanted.declined.push(token) } else { wanted.tokens.push(token) }
    }
    wanted
}

fn english_scope(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    let token = &tokens[at];
    let low = |index: usize| tokens.get(index).map_or("", |token| token.low.as_str());
    let end = scope_end(tokens, at + 1);
    let changes =
        tokens[at..end].iter().any(|token| token.concepts.any(CHANGES) || token.concepts.has(Restarted));
    if token.low == "leave"
        && let Some(alone) = tokens[at..end].iter().position(|token| token.low == "alone")
    {
        return Some((at, at + alone + 1));
    }
    if token.concepts.has(Without) {
        return Some((at, end));
    }
    if token.low == "no" && tokens.get(at + 1).is_some_and(|next| next.concepts.any(CHANGES)) {
        return Some((at, end));
    }
    if !token.concepts.has(Not) {
        return None;
    }
    let previous = at.checked_sub(1).map_or("", low);
    if matches!(token.low.as_str(), "never" | "avoid" | "no" | "refrain" | "hold") && changes {
        return Some((at, end));
    }
    let auxiliary = matches!(
        previous,
        "do" | "should" | "must" | "can" | "could" | "would" | "will" | "to" | "please" | "but" | "and" | ""
    );
    if !auxiliary || token.low != "not" {
        return None;
    }
    let from = if previous.is_empty() { at } else { at - 1 };
    let first = low(at + 1);
    let subject = from.checked_sub(1).map_or("", low);
    let teller = ["i", "we", "they", "it", "you", "who", "why", "what", "users", "nginx"].contains(&subject);
    let musing = ["know", "see", "understand", "think", "remember", "care", "get", "have", "find", "work"]
        .contains(&first);
    let narrates = (teller || musing) && !changes;
    if narrates
        || matches!(previous, "can" | "could" | "would" | "will")
            && (!changes || subject != "you" && subject != "we")
    {
        return None;
    }
    // "why do not you restart it" is no ban
    if tokens[..from].iter().any(|token| token.low == "why") {
        return None;
    }
    let deeds =
        tokens[at..end].iter().any(|token| token.concepts.any(DEEDS) || token.concepts.has(Restarted));
    let anything = matches!(first, "do" | "change" | "alter" | "modify");
    (deeds || anything).then_some((from, end))
}

/// Where a ban ends: at a break, or where something else is asked for.
fn scope_end(tokens: &[Token], from: usize) -> usize {
    (from..tokens.len())
        .find(|index| {
            let token = &tokens[*index];
            token.is_break()
                || matches!(token.low.as_str(), "but" | "just" | "only" | "instead")
                || matches!(token.low.as_str(), "and" | "then")
                    && tokens
                        .get(index + 1)
                        .is_some_and(|next| next.concepts.any(&[Show, Check, Read, Tail, Only]))
        })
        .unwrap_or(tokens.len())
}

fn korean_scope(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    let token = &tokens[at];
    if !token.concepts.any(&[Not, Without]) {
        return None;
    }
    let start = tokens[..at]
        .iter()
        .rposition(|token| {
            token.is_break()
                || token.kind == Kind::Hangul && is_connective(token)
                || token.concepts.any(&[Not, Without]) && token.kind == Kind::Hangul
        })
        .map_or(0, |index| index + 1);
    let deed_near = tokens[start..=at].iter().rev().take(4).any(|token| token.concepts.any(DEEDS));
    let end = at + 1;
    // an ending such as 말아줘 may be its own token
    let end = if tokens
        .get(end)
        .is_some_and(|next| next.kind == Kind::Hangul && (next.concepts.has(Not) || next.covered))
    {
        end + 1
    } else {
        end
    };
    if deed_near {
        return Some((start, end));
    }
    let mut from = at;
    while from > start && (tokens[from].glued || from == at) {
        from -= 1;
    }
    Some((from, end))
}

/// Whether a Korean word joins what it ends with what follows: 그리고, 확인하고, 본 다음.
pub(super) fn is_connective(token: &Token) -> bool {
    let text = token.text.as_str();
    matches!(
        text,
        "그리고"
            | "그다음"
            | "그다음에"
            | "다음에"
            | "또"
            | "또한"
            | "그런다음"
            | "그런"
            | "그후"
            | "및"
            | "이어서"
            | "다음"
            | "뒤에"
            | "후에"
            | "그러고"
            | "그담에"
    ) || !token.glued
        && text.chars().count() >= 2
        && (text.ends_with("하고")
            || text.ends_with("주고")
            || text.ends_with("보고")
            || text.ends_with("시키고")
            || text.ends_with("한다음")
            || text.ends_with("한후")
            || text.ends_with("한뒤"))
        && !token.concepts.any(&[Not, Without])
        || text.ends_with("는지") && token.concepts.any(&[Running, Open, Fail, Reach, Answer])
}

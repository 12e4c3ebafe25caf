//! What each number of a clause counts: a port, lines, a length of time, attempts, a process, a host.

mod words;

use super::concept::Concept::{self, *};
use super::names;
use super::shape::unit_milliseconds;
use super::token::{Kind, Token};
use words::{KOREAN_UNITS, canonical, letter_of, number_at, with_letter};

/// A length of time as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Milliseconds.
    pub(super) millis: u64,
    /// `10m`, `2h`, `1d`, as the skills read it.
    pub(super) text: String,
    /// Where it begins in the clause.
    pub(super) at: usize,
}

/// What the numbers of a clause count.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) ports: Vec<u16>,
    pub(super) pids: Vec<u64>,
    pub(super) count: Option<u64>,
    pub(super) lines: Option<u64>,
    pub(super) attempts: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) redirects: Option<u64>,
    pub(super) spans: Vec<Span>,
    pub(super) timeout: Option<u64>,
    /// Hosts that are named by a number: `edge 3`.
    pub(super) hosts: Vec<(String, usize)>,
    /// Numbers of three digits that read like an HTTP status.
    pub(super) status: Option<u64>,
    /// Whatever else there is.
    pub(super) bare: Vec<(u64, usize)>,
    /// Tokens that are used up, by position.
    pub(super) used: Vec<usize>,
}

impl Numbers {
    pub(super) fn read(tokens: &[Token]) -> Self {
        let mut numbers = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            at += numbers.take(tokens, at).max(1);
        }
        numbers.korean_words(tokens);
        numbers
    }

    /// Reads the number at `at`, if there is one; returns how many tokens it used.
    fn take(&mut self, tokens: &[Token], at: usize) -> usize {
        let has = |offset: isize, concept: Concept| {
            at.checked_add_signed(offset)
                .and_then(|index| tokens.get(index))
                .is_some_and(|token| token.concepts.has(concept))
        };
        let low = |offset: isize| {
            at.checked_add_signed(offset)
                .and_then(|index| tokens.get(index))
                .map_or("", |token| token.low.as_str())
        };
        if let Kind::Span(millis) = tokens[at].kind {
            // `5k`, `3b` and the like aren't read as spans; `-5m` is.
            let text = tokens[at].low.trim_start_matches(['-', '+']).to_owned();
            if text.len() == 4
                && text.starts_with(['4', '5'])
                && text.ends_with('s')
                && !has(-1, LastN)
                && !has(-1, Since)
            {
                // "any 502s": answers, not seconds
                self.status = Some(millis / 1_000);
                return 1;
            }
            self.add_span(tokens, at, 1, Span { millis, text: canonical(millis, &text), at });
            return 1;
        }
        if low(0) == "line" && has(-1, LastN) {
            self.lines = Some(1);
            return 1;
        }
        let Some(value) = number_at(tokens, at) else {
            return self.unit_without_number(tokens, at);
        };
        let is_digit = matches!(tokens[at].kind, Kind::Number(_));
        // length of time
        let mut next = at + 1;
        while matches!(low(next as isize - at as isize), "of" | "full" | "or" | "so") {
            next += 1;
        }
        if let Some(unit) = tokens.get(next) {
            if unit.kind == Kind::Word
                && (unit.low.len() > 1 || is_digit)
                && let Some(millis) = unit_milliseconds(&unit.low)
            {
                // "5 seconds"; but "last 5 m" too
                let total = value.saturating_mul(millis);
                let letter = letter_of(&unit.low);
                self.add_span(
                    tokens,
                    at,
                    next - at + 1,
                    Span { millis: total, text: with_letter(value, letter), at },
                );
                return next - at + 1;
            }
            if unit.kind == Kind::Hangul
                && let Some((_, millis, letter)) =
                    KOREAN_UNITS.iter().find(|(name, ..)| unit.text.starts_with(name))
                && !unit.text.starts_with("일반")
                && !unit.text.starts_with("초과")
            {
                let half = unit.text.contains('반');
                let total = value.saturating_mul(*millis) + if half { millis / 2 } else { 0 };
                let text = if half { canonical(total, "") } else { with_letter(value, letter) };
                self.add_span(tokens, at, 2, Span { millis: total, text, at });
                return 2;
            }
        }
        if !is_digit {
            // Written-out numbers count things only beside what they count.
            if has(1, Lines) && !has(-1, Most) {
                self.lines = Some(value);
                return 1;
            }
            if has(1, Process) || has(2, Process) || has(-1, Most) || has(1, Most) || has(1, Eat) {
                self.count = Some(value);
                return 1;
            }
            if has(1, Times) {
                self.attempts = Some(value);
                return 2;
            }
            return 1;
        }
        self.take_digits(tokens, at, value)
    }

    fn take_digits(&mut self, tokens: &[Token], at: usize, value: u64) -> usize {
        let token = |offset: isize| at.checked_add_signed(offset).and_then(|index| tokens.get(index));
        let has =
            |offset: isize, concept: Concept| token(offset).is_some_and(|token| token.concepts.has(concept));
        let low = |offset: isize| token(offset).map_or("", |token| token.low.as_str());
        let hangul = |offset: isize| {
            token(offset).filter(|token| token.kind == Kind::Hangul).map_or("", |token| token.text.as_str())
        };
        // Korean: 22번 포트, 3번 서버, 4242번 프로세스, 3번 시도, 22번이
        let after = hangul(1);
        let (skip, ordinal) = if after.starts_with("번") { (2, true) } else { (1, false) };
        let noun_at = at + skip;
        let noun_has = |concept: Concept| {
            tokens.get(noun_at).is_some_and(|token| token.concepts.has(concept))
                || ordinal
                    && token(1)
                        .is_some_and(|token| token.concepts.has(concept) && token.text.chars().count() > 1)
        };
        let before = |concept: Concept| has(-1, concept);
        if before(Port)
            || matches!(low(-1), "port:" | "tcp" | "ports")
            || noun_has(Port)
            || (before(Of) && has(-2, Port))
            || low(0).starts_with(':')
        {
            self.add_port(value);
            return skip;
        }
        if low(-1) == "pid"
            || low(-1) == "pids"
            || before(Process) && !before(Most) && !after.starts_with('개') && !after.starts_with("위")
            || low(-1) == "피드"
            || (noun_has(Process) && (ordinal || value > 300))
            || low(1) == "pid"
        {
            self.pids.push(value);
            return skip;
        }
        if ordinal && (noun_has(Host) || noun_has(Hosts) || noun_has(Edge))
            || before(Edge)
            || (before(Host) || low(-1) == "id" && has(-2, Edge)) && !tokens[at - 1].glued
        {
            let noun = if ordinal { tokens.get(noun_at) } else { token(-1) };
            let name = match noun {
                Some(noun) if noun.concepts.has(Edge) => "edge".to_owned(),
                Some(noun) if noun.kind == Kind::Word => noun.low.clone(),
                Some(noun) if noun.text.starts_with("호스트") => "host".to_owned(),
                _ => "server".to_owned(),
            };
            self.hosts.push((format!("{name} {value}"), at));
            self.used.push(if ordinal { noun_at } else { at - 1 });
            return skip;
        }
        if low(-1) == "-n" || low(-1) == "lines" || low(-1) == "lines=" {
            self.lines = Some(value);
            return 1;
        }
        if tokens[at].low.starts_with('-') && has(-1, Tail) {
            self.lines = Some(value);
            return 1;
        }
        if tokens[at].low.starts_with('-') {
            return 1;
        }
        if low(-1) == "offset" || (has(-1, Bytes) && low(-2) == "from") || low(-1) == "byte" {
            self.offset = Some(value);
            return 1;
        }
        if has(1, Redirect) || has(2, Redirect) && !has(1, Times) {
            self.redirects = Some(value);
            return 2;
        }
        if matches!(low(-1), "timeout" | "timeout_ms") || has(-1, Timeout) {
            self.timeout = Some(value);
            return 1;
        }
        if matches!(low(-1), "count" | "attempts" | "tries") {
            self.attempts = Some(value);
            return 1;
        }
        let descriptive = matches!(
            low(1),
            "most"
                | "top"
                | "biggest"
                | "heaviest"
                | "highest"
                | "largest"
                | "worst"
                | "hungriest"
                | "busiest"
        );
        if has(1, Process)
            || descriptive
            || before(Most)
            || has(1, Eat) && !has(1, Lines)
            || matches!(low(-1), "top_n" | "상위")
        {
            self.count = Some(value);
            return 1;
        }
        if after.starts_with('개') || after.starts_with("위") || after.starts_with("순위") {
            self.count = Some(value);
            self.lines = self.lines.or(Some(value));
            return 2;
        }
        if after.starts_with('줄')
            || after.starts_with("라인")
            || after.starts_with('행')
            || after.starts_with('건')
            || after.starts_with("라인만")
        {
            self.lines = Some(value);
            return 2;
        }
        if after.starts_with('회') || ordinal && noun_at <= tokens.len() && !noun_has(Port) && value <= 10 {
            self.attempts = Some(value);
            return skip.max(2);
        }
        if ordinal {
            self.add_port(value);
            return skip;
        }
        if has(1, Bytes) {
            let factor = match low(1) {
                "kb" | "k" | "kib" | "kilobytes" => 1024,
                "mb" | "mib" | "megabytes" => 1024 * 1024,
                _ if after.starts_with("킬로") => 1024,
                _ if after.starts_with("메가") => 1024 * 1024,
                _ => 1,
            };
            self.bytes = Some(value.saturating_mul(factor));
            return 2;
        }
        if matches!(low(1), "times" | "attempts" | "tries" | "retries" | "probes" | "connects" | "x") {
            self.attempts = Some(value);
            return 2;
        }
        let severity = |offset: isize| {
            has(offset, Error)
                || has(offset, Warn)
                || has(offset, Log)
                || has(offset, Journal)
                || has(offset, Lines)
                || has(offset, Crit)
        };
        if (400..600).contains(&value) && (has(1, Error) || low(1) == "responses")
            || (500..505).contains(&value) && low(-1) != "last" && !has(1, Lines)
        {
            self.status = Some(value);
            return 1;
        }
        if severity(1)
            || (severity(2) || severity(3)) && (has(-1, LastN) || has(-1, Tail))
            || low(1) == "more" && has(2, Lines)
            || has(-1, Tail)
        {
            self.lines = Some(value);
            return 1;
        }
        if has(-1, LastN) || has(-1, Recent) || low(-1) == "first" {
            self.lines = Some(value);
            self.count = self.count.or(Some(value));
            return 1;
        }
        self.bare.push((value, at));
        1
    }

    fn add_port(&mut self, value: u64) {
        if let Ok(port) = u16::try_from(value)
            && port > 0
            && !self.ports.contains(&port)
        {
            self.ports.push(port);
        }
    }

    fn add_span(&mut self, tokens: &[Token], at: usize, width: usize, span: Span) {
        let near = |index: Option<usize>| {
            index.and_then(|index| tokens.get(index)).is_some_and(|token| token.concepts.has(Timeout))
        };
        let timeout = near(at.checked_sub(1))
            || near(at.checked_sub(2))
            || near(Some(at + width))
            || near(Some(at + width - 1));
        if timeout || span.text.ends_with("ms") {
            self.timeout = Some(span.millis);
        } else if !self.spans.iter().any(|known| known.at == span.at) {
            self.spans.push(span);
        }
    }
}

/// Ports that are named rather than numbered: `https port`, `postgres 포트`.
pub(super) fn named_port(token: &Token) -> Option<u16> {
    if token.kind == Kind::Word { names::port(&token.low) } else { None }
}

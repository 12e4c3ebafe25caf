//! Numbers and lengths of time in words, English and Korean.

use super::{Numbers, Span};
use crate::builtin::route::shape::unit_milliseconds;
use crate::builtin::route::token::{Kind, Token};

const NUMBER_WORDS: &[(&str, u64)] = &[
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("twelve", 12),
    ("fifteen", 15),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("hundred", 100),
    ("couple", 2),
    ("dozen", 12),
];

const KOREAN_NUMBERS: &[(&str, u64)] = &[
    ("한", 1),
    ("두", 2),
    ("세", 3),
    ("네", 4),
    ("다섯", 5),
    ("여섯", 6),
    ("일곱", 7),
    ("여덟", 8),
    ("아홉", 9),
    ("열", 10),
    ("스무", 20),
    ("십", 10),
    ("오", 5),
    ("삼십", 30),
    ("이십", 20),
    ("오십", 50),
    ("백", 100),
    ("삼", 3),
    ("사십", 40),
    ("육십", 60),
    ("십오", 15),
];

/// Korean units of time, with milliseconds and the letter of the skills.
pub(super) const KOREAN_UNITS: &[(&str, u64, &str)] = &[
    ("밀리초", 1, "ms"),
    ("분", 60_000, "m"),
    ("시간", 3_600_000, "h"),
    ("초", 1_000, "s"),
    ("일", 86_400_000, "d"),
    ("주", 604_800_000, "w"),
    ("개월", 2_592_000_000, "mo"),
    ("달", 2_592_000_000, "mo"),
];

impl Numbers {
    /// `an hour`, `the last day`, `half an hour`, `하루`, `반나절`.
    pub(super) fn unit_without_number(&mut self, tokens: &[Token], at: usize) -> usize {
        let token = &tokens[at];
        if token.kind == Kind::Word
            && token.low.len() > 2
            && !matches!(token.low.as_str(), "second" | "seconds" | "days" | "hrs" | "min")
            && let Some(unit) = unit_milliseconds(&token.low)
        {
            let previous = at.checked_sub(1).map_or("", |index| tokens[index].low.as_str());
            let earlier = at.checked_sub(2).map_or("", |index| tokens[index].low.as_str());
            let plural = token.low.ends_with('s');
            let value = match previous {
                "few" => {
                    if unit == 60_000 {
                        10
                    } else {
                        3
                    }
                }
                "of" if earlier == "couple" => 2,
                "half" | "an" | "a" if earlier == "half" || previous == "half" => {
                    let span = Span { millis: unit / 2, text: canonical(unit / 2, ""), at };
                    self.add_span(tokens, at - 1, 2, span);
                    return 1;
                }
                "an" | "a" | "last" | "past" | "previous" | "this" | "one" if !plural => 1,
                _ => return 1,
            };
            self.add_span(
                tokens,
                at,
                1,
                Span { millis: unit * value, text: with_letter(value, letter_of(&token.low)), at },
            );
        }
        1
    }

    /// `한 시간`, `두시간`, `삼십 분`, `하루`, `이틀`, `일주일`, and counts such as `다섯 개`.
    pub(super) fn korean_words(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Hangul) {
            for (word, days) in [
                ("하루", 1_u64),
                ("이틀", 2),
                ("사흘", 3),
                ("일주일", 7),
                ("한주", 7),
                ("보름", 15),
                ("한달", 30),
                ("한 달", 30),
            ] {
                if token.text.starts_with(word) {
                    self.add_span(
                        tokens,
                        at,
                        1,
                        Span { millis: days * 86_400_000, text: format!("{days}d"), at },
                    );
                }
            }
            let next = tokens
                .get(at + 1)
                .filter(|next| next.kind == Kind::Hangul && !next.glued)
                .map_or("", |next| next.text.as_str());
            let found = KOREAN_NUMBERS
                .iter()
                .filter(|(word, _)| token.text.starts_with(word))
                .max_by_key(|(word, _)| word.len());
            let Some((word, value)) = found else { continue };
            let rest = &token.text[word.len()..];
            let unit_text = if rest.is_empty() { next } else { rest };
            let width = if rest.is_empty() { 2 } else { 1 };
            if let Some((_, millis, letter)) = KOREAN_UNITS.iter().find(|(name, ..)| {
                unit_text.starts_with(name) && *name != "일" && *name != "주" && *name != "초"
            }) {
                if unit_text.starts_with("시간")
                    || !rest.is_empty()
                    || word.len() > 3
                    || unit_text.starts_with('분')
                {
                    self.add_span(
                        tokens,
                        at,
                        width,
                        Span { millis: value * millis, text: with_letter(*value, letter), at },
                    );
                }
            } else if unit_text.starts_with('개') {
                self.count = self.count.or(Some(*value));
            } else if unit_text.starts_with('줄') {
                self.lines = self.lines.or(Some(*value));
            } else if unit_text.starts_with('번') || unit_text.starts_with('회') {
                self.attempts = self.attempts.or(Some(*value));
            }
        }
    }
}

/// The value of the number at `at`, in digits or as an English word.
pub(super) fn number_at(tokens: &[Token], at: usize) -> Option<u64> {
    match &tokens[at].kind {
        Kind::Number(value) => Some(*value),
        Kind::Word => NUMBER_WORDS.iter().find(|(word, _)| *word == tokens[at].low).map(|(_, value)| *value),
        _ => None,
    }
}

pub(super) fn letter_of(unit: &str) -> &'static str {
    match unit_milliseconds(unit) {
        Some(1) => "ms",
        Some(1_000) => "s",
        Some(60_000) => "m",
        Some(3_600_000) => "h",
        Some(86_400_000) => "d",
        Some(604_800_000) => "w",
        _ => "mo",
    }
}

pub(super) fn with_letter(value: u64, letter: &str) -> String {
    match letter {
        "w" => format!("{}d", value.saturating_mul(7)),
        "mo" => format!("{}d", value.saturating_mul(30)),
        other => format!("{value}{other}"),
    }
}

/// A length of time in one unit.
pub(super) fn canonical(millis: u64, typed: &str) -> String {
    let one_unit = typed.bytes().filter(u8::is_ascii_alphabetic).count() == 1 && !typed.contains('.');
    if one_unit && typed.ends_with(['s', 'm', 'h', 'd']) {
        return typed.to_owned();
    }
    for (unit, letter) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if millis >= unit && millis.is_multiple_of(unit) {
            return format!("{}{letter}", millis / unit);
        }
    }
    if millis < 1_000 { format!("{millis}ms") } else { format!("{}s", millis / 1_000) }
}

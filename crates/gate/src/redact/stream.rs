//! Redacts a text that comes in pieces. What could still become part of a secret is held back until more has come;
//! what was given out is never taken back.

use super::{Redactor, Span, patterns};
use regex::Regex;
use std::sync::LazyLock;

/// Most bytes that are held back. Beyond it only what a pattern already sees as a secret stays hidden.
pub const MAX_HELD_BYTES: usize = 8 * 1024;

/// Bytes held back where the configuration has patterns of its own, which may match anything.
const HELD_FOR_OWN_PATTERNS: usize = 512;

/// A sensitive name with the beginning of a quoted value, up to its opening quote.
static QUOTED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let words = patterns::SENSITIVE_WORD;
    patterns::compiled(&format!(
        r#"(?i)(?:(?:{words})[0-9]*\\*["']?\s*(?:=>|:=|[=:])|--?[a-z0-9_\-]*(?:{words})[0-9]*)\s*(\\*["'])"#
    ))
});

/// Ends of a text that may be the beginning of a secret though they hold spaces or other characters than ASCII.
static BEGINNINGS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // The first line of a private key.
        r"-----BEGIN [A-Z0-9 ]{0,40}-{0,5}\z",
        // Lines of a private key whose first line is missing.
        r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\n|\\r)+)+(?:[A-Za-z0-9+/=]*|-----[A-Z0-9 -]*)\z",
        // The scheme of a credential, which alone would pass for one.
        r#"(?i)authorization\\*["']?\s*[:=]\s*\\*["']?[a-z]*\s*\z"#,
        // A URL, whose password is known only by the `@` behind it.
        r#"(?i)[a-z][a-z0-9+.-]*://[^\s"'<>]*\z"#,
    ]
    .into_iter()
    .map(patterns::compiled)
    .collect()
});

/// One text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct RedactedStream {
    raw: String,
    /// Bytes of `raw` whose redaction was given out.
    settled: usize,
    given: String,
    /// What was given out isn't how the whole would be redacted, so nothing more of it is given out.
    stuck: bool,
}

impl RedactedStream {
    /// Takes in the next piece.
    pub fn push(&mut self, piece: &str) {
        self.raw.push_str(piece);
    }

    /// Everything that came so far, as it came. Holds secrets.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What can be shown by now and wasn't given out before; empty if that is nothing. All that was given out is a
    /// beginning of the whole text's redaction, with at most [`MAX_HELD_BYTES`] missing, unless a secret is longer.
    pub fn take(&mut self, redactor: &Redactor) -> String {
        if self.stuck {
            return String::new();
        }
        // Of all that came, not of the settled part alone: `Basic` is a secret until the credential follows.
        let spans = redactor.spans(&self.raw);
        let settled = redactor.settled(&self.raw, &spans);
        if settled <= self.settled {
            return String::new();
        }
        let whole_spans = spans.into_iter().filter(|span| span.end <= settled);
        let redacted = redactor.without(&self.raw[..settled], whole_spans);
        let Some(new) = redacted.strip_prefix(self.given.as_str()).map(str::to_owned) else {
            self.stuck = true;
            return String::new();
        };
        self.settled = settled;
        self.given.push_str(&new);
        new
    }

    /// What is left when the text has ended.
    pub fn rest(self, redactor: &Redactor) -> String {
        let redacted = redactor.redact(&self.raw);
        redacted.strip_prefix(self.given.as_str()).unwrap_or_default().to_owned()
    }
}

impl Redactor {
    /// How many bytes at the beginning of a text no continuation can make part of a secret.
    fn settled(&self, text: &str, spans: &[Span]) -> usize {
        // Secrets without spaces: the last word isn't whole.
        let word = text
            .char_indices()
            .rfind(|(_, character)| character.is_whitespace() || !character.is_ascii())
            .map_or(0, |(at, character)| at + character.len_utf8());
        let mut settled = word;
        for found in QUOTED_VALUE.captures_iter(text) {
            let Some(quote) = found.get(1) else { continue };
            if !is_closed(&text[quote.end()..], quote.as_str().ends_with('"')) {
                settled = settled.min(found.get(0).map_or(quote.start(), |whole| whole.start()));
                break;
            }
        }
        for beginning in BEGINNINGS.iter() {
            if let Some(found) = beginning.find(text) {
                settled = settled.min(found.start());
            }
        }
        if !self.own.is_empty() {
            settled = settled.min(text.len().saturating_sub(HELD_FOR_OWN_PATTERNS));
        }
        let mut settled = settled.max(text.len().saturating_sub(MAX_HELD_BYTES));
        while !text.is_char_boundary(settled) {
            settled -= 1;
        }
        // A secret that reaches to the end may go on, and none is cut.
        let open = spans.iter().find(|span| span.end > settled || span.end == text.len());
        open.map_or(settled, |span| settled.min(span.start))
    }
}

/// Whether a quoted text ends in `rest`.
fn is_closed(rest: &str, double: bool) -> bool {
    let quote = if double { b'"' } else { b'\'' };
    rest.bytes().any(|byte| byte == quote)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use storage::MasterKey;

    fn redactor(own: &[&str]) -> Redactor {
        let own: Vec<String> = own.iter().map(|pattern| (*pattern).to_owned()).collect();
        Redactor::new(MasterKey::from_bytes([7; 32]), &own).unwrap()
    }

    fn key_block() -> String {
        let line = "MIIEowIBAAKCAQEAx3Vb7hFq0rN1pTqLz9mWc2YdKfGh5sJ8uQwErTyUiOpAsDf\n";
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", line.repeat(6))
    }

    /// Texts, and what of them must never be shown.
    fn pieces() -> Vec<(String, &'static str)> {
        [
            ("the load is fine, ", ""),
            ("디스크가 거의 찼습니다. ", ""),
            ("\n\n- see `df -h`: 93 %\n", ""),
            ("https://example.com/a?b=c ", ""),
            ("internationalization and characterization ", ""),
            ("ghp_0123456789abcdefghijABCDEFGHIJ456789 ", "abcdefghijABCDEFGHIJ"),
            ("sk-ant-REDACTME1234567890abcdef\n", "REDACTME1234567890"),
            ("AKIAIOSFODNN7EXAMPLE ", "IOSFODNN7EXAMPLE"),
            ("password: hunter2-and-more\n", "hunter2"),
            ("password = \"two words here\" ", "words here"),
            ("token='a b c-secret'\n", "c-secret"),
            ("--password s3cr3t-option ", "s3cr3t-option"),
            ("Authorization: Basic dXNlcjpwYXNzd29yZA==\n", "dXNlcjpwYXNzd29yZA"),
            ("authorization: bearer abcdefghijklmnop0123\n", "abcdefghijklmnop"),
            ("postgres://app:pa55w0rd@db/x ", "pa55w0rd"),
            ("postgres://app:비밀번호1@db/x ", "비밀번호1"),
            ("Cookie: sid=abc123; theme=dark\n", "abc123"),
            ("mysql -u root -ptopsecret db\n", "topsecret"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4 ", "SflKxwRJSMeKKF2QT4"),
        ]
        .into_iter()
        .map(|(text, secret)| (text.to_owned(), secret))
        .chain([(format!("{}\n", key_block()), "MIIEowIBAAKCAQEA")])
        .collect()
    }

    /// Shows a text in pieces that end at these places.
    fn shown(redactor: &Redactor, text: &str, cuts: &[usize]) -> (Vec<String>, String) {
        let mut stream = RedactedStream::default();
        let mut shown = Vec::new();
        let mut rest = text;
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let mut end = (*cut).clamp(1, rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            stream.push(&rest[..end]);
            shown.push(stream.take(redactor));
            rest = &rest[end..];
        }
        let end = stream.rest(redactor);
        (shown, end)
    }

    #[test]
    fn a_secret_that_comes_in_two_pieces_is_hidden_and_the_text_around_it_is_shown_at_once() {
        let redactor = redactor(&[]);
        let mut stream = RedactedStream::default();
        stream.push("your token ghp_0123456789abcde");
        assert_eq!(stream.take(&redactor), "your token ");
        // One word more: a long word may also be the last line of a key, until what follows is none.
        stream.push("fghijABCDEFGHIJ456789 is it");
        let next = stream.take(&redactor);
        assert!(next.starts_with("[redacted:github-token:") && next.ends_with("] is "), "{next}");
        assert_eq!(stream.rest(&redactor), "it");
    }

    #[test]
    fn plain_words_are_held_back_for_one_word_only() {
        let redactor = redactor(&[]);
        let mut stream = RedactedStream::default();
        let mut shown = String::new();
        for word in "all is calm on web-1, and nothing has to be done about it".split_inclusive(' ') {
            stream.push(word);
            shown.push_str(&stream.take(&redactor));
            assert!(stream.raw().len() - shown.len() <= word.len(), "{shown}");
        }
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let redactor = redactor(&[]);
        let mut stream = RedactedStream::default();
        stream.push(&"x".repeat(3 * MAX_HELD_BYTES));
        assert_eq!(stream.take(&redactor).len(), 2 * MAX_HELD_BYTES);
    }

    #[test]
    fn patterns_of_the_configuration_are_waited_for() {
        let redactor = redactor(&["customer number [0-9]{4} [0-9]{4}"]);
        let (shown, rest) = shown(&redactor, "the customer number 1234 5678 is new", &[9]);
        let all = shown.concat() + &rest;
        assert!(!all.contains("1234") && all.contains("[redacted:custom:"), "{all}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_way_of_cutting_a_text_shows_a_secret(
            chosen in prop::collection::vec(prop::sample::select(pieces()), 1..6),
            cuts in prop::collection::vec(1_usize..40, 1..12),
        ) {
            let redactor = redactor(&[]);
            let text: String = chosen.iter().map(|(piece, _)| piece.as_str()).collect();
            let whole = redactor.redact(&text).into_owned();
            let (shown, rest) = shown(&redactor, &text, &cuts);
            let deltas = shown.concat();
            for (_, secret) in chosen.iter().filter(|(_, secret)| !secret.is_empty()) {
                prop_assert!(!deltas.contains(secret), "{:?} is in {:?}", secret, deltas);
            }
            prop_assert!(whole.starts_with(&deltas), "{:?} isn't how {:?} begins", deltas, whole);
            prop_assert_eq!(deltas + &rest, whole);
        }
    }
}

//! The regular expressions of ECMA-262, which JSON Schema means, as those of the `regex` crate.

use regex::{Regex, RegexBuilder};

/// Most memory of one compiled pattern, in bytes.
const MAX_COMPILED: usize = 1024 * 1024;

/// Compiles a pattern. What can't be matched in linear time (look-around, back references) is refused.
///
/// # Errors
///
/// Tells in one line what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translate(pattern)).size_limit(MAX_COMPILED).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The last line says what is wrong; those before draw where.
        other => {
            other.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    })
}

const SPACE: &str = r"\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

/// Rewrites what the two mean differently. A pattern that is wrong stays wrong.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(escaped) => escape(escaped, in_class, &mut chars, &mut out),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // `[]` and `[^]` are the empty class and its opposite.
                if chars.next_if_eq(&']').is_some() {
                    in_class = false;
                    let negated = out.ends_with('^');
                    out.truncate(out.len() - if negated { 2 } else { 1 });
                    out.push_str(if negated { r"[\s\S]" } else { r"[^\s\S]" });
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Operators on classes are the `regex` crate's own.
            '[' | '&' | '~' if in_class => out.extend(['\\', char]),
            '-' if in_class && chars.peek() == Some(&'-') => {
                chars.next();
                out.push_str(r"-\-");
            }
            '.' if !in_class => out.push_str(r"[^\n\r\u2028\u2029]"),
            other => out.push(other),
        }
    }
    out
}

fn escape(
    escaped: char,
    in_class: bool,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) {
    let class = |inner: &str, negated: bool| match (in_class, negated) {
        (true, false) => inner.to_owned(),
        (_, true) => format!("[^{inner}]"),
        (false, false) => format!("[{inner}]"),
    };
    match escaped {
        'd' => out.push_str(&class("0-9", false)),
        'D' => out.push_str(&class("0-9", true)),
        'w' => out.push_str(&class("A-Za-z0-9_", false)),
        'W' => out.push_str(&class("A-Za-z0-9_", true)),
        's' => out.push_str(&class(SPACE, false)),
        'S' => out.push_str(&class(SPACE, true)),
        'b' if in_class => out.push_str(r"\x08"),
        'b' => out.push_str(r"(?-u:\b)"),
        // Inside of a text it can't be asked bytewise.
        'B' => out.push_str(r"\B"),
        // A control character; anything else after `\c` is an error there too.
        'c' => match chars.next_if(char::is_ascii_alphabetic) {
            Some(letter) => out.push_str(&format!(r"\x{:02x}", letter as u32 % 32)),
            None => out.push_str(r"\c"),
        },
        '0' if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\x00"),
        // The bell, and the ends of the text, are the `regex` crate's own: an error there must be one here.
        'a' | 'A' | 'z' | '<' | '>' => out.push_str(r"\c"),
        other => out.extend(['\\', other]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_ecma() {
        let matches = |pattern: &str, text: &str| compile(pattern).unwrap().is_match(text);
        assert!(matches(r"^\d$", "7") && !matches(r"^\d$", "٧"));
        assert!(matches(r"^\w$", "a") && !matches(r"^\w$", "é") && matches(r"^\W$", "é"));
        assert!(matches(r"^\s$", "\u{feff}") && !matches(r"^\S$", "\u{2003}"));
        assert!(matches(r"^[\w.-]+$", "a-b.c") && matches(r"^[^\d]$", "x"));
        assert!(!matches("^.$", "\r") && matches(r"^[^]$", "\r"));
        assert!(matches(r"^\cJ\x41\u0042\/\-$", "\nAB/-"));
        assert!(matches(r"^[[&~]+$", "[&~"));
        assert!(matches(r"^\p{L}+$", "Čeština"));
    }

    #[test]
    fn what_is_no_pattern_or_cannot_be_matched_in_linear_time_is_refused() {
        for pattern in ["(", "[a", r"\a", r"\A", r"\c1", "(?=x)", r"(a)\1", "a{99999999}"] {
            assert!(compile(pattern).is_err(), "{pattern} was taken");
        }
    }
}

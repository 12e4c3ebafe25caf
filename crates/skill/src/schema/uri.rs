//! URIs and IRIs (RFC 3986, RFC 3987) and URI templates (RFC 6570): whether a text is one.

use std::net::Ipv6Addr;

/// Which characters may stand unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Ascii,
    Unicode,
}

/// Whether a reference that is relative will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Needed,
    Optional,
}

const SUB_DELIMITERS: &str = "!$&'()*+,;=";

/// Whether it is a URI, or IRI, or a reference to one.
pub(super) fn is_reference(text: &str, letters: Letters, scheme: Scheme) -> bool {
    let (rest, fragment) = text.split_once('#').map_or((text, None), |(rest, part)| (rest, Some(part)));
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, part)| (rest, Some(part)));
    let good = |text: &str, extra: &str| has_only(text, extra, letters);
    if !good(fragment.unwrap_or_default(), ":@/?") || !good(query.unwrap_or_default(), ":@/?") {
        return false;
    }
    let (has_scheme, rest) = match rest.split_once(':') {
        Some((before, rest)) if is_scheme(before) => (true, rest),
        // A colon in the first segment would make it a scheme.
        Some((before, _)) if !before.contains('/') => return false,
        _ => (false, rest),
    };
    if scheme == Scheme::Needed && !has_scheme {
        return false;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority, letters) {
                return false;
            }
            path
        }
        None => rest,
    };
    good(path, ":@/")
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_authority(text: &str, letters: Letters) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let (host_is_good, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((literal, port)) = rest.split_once(']') else { return false };
            (is_ip_literal(literal), if port.is_empty() { Some("") } else { port.strip_prefix(':') })
        }
        None => {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            (has_only(name, "", letters), Some(port))
        }
    };
    has_only(user, ":", letters)
        && host_is_good
        && port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_ip_literal(text: &str) -> bool {
    match text.strip_prefix(['v', 'V']) {
        // A form of the future: hex digits, a dot, and what can stand there.
        Some(future) => future.split_once('.').is_some_and(|(version, address)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('%')
                && has_only(address, ":", Letters::Ascii)
        }),
        None => text.parse::<Ipv6Addr>().is_ok(),
    }
}

/// Only unreserved characters, sub-delimiters, whole percent escapes and `extra`.
fn has_only(text: &str, extra: &str, letters: Letters) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let good = match char {
            '%' => (0..2).all(|_| chars.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            char if char.is_ascii() => {
                char.is_ascii_alphanumeric()
                    || "-._~".contains(char)
                    || SUB_DELIMITERS.contains(char)
                    || extra.contains(char)
            }
            char => letters == Letters::Unicode && char >= '\u{a0}' && !is_private(char),
        };
        if !good {
            return false;
        }
    }
    true
}

/// What an IRI may hold nowhere: surrogates' neighbours, specials and private use.
fn is_private(char: char) -> bool {
    matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff0}'..='\u{ffff}' | '\u{f0000}'..)
}

/// Whether it is a URI template.
pub(super) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, from_brace) = rest.split_at(at);
        let Some((expression, after)) = from_brace.strip_prefix('{').and_then(|inner| inner.split_once('}'))
        else {
            return false;
        };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let good = match char {
            '%' => (0..2).all(|_| chars.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            ' ' | '"' | '\'' | '<' | '>' | '\\' | '^' | '`' | '|' => false,
            char => !char.is_control(),
        };
        if !good {
            return false;
        }
    }
    true
}

/// An operator, and variables with their modifiers between commas.
fn is_expression(text: &str) -> bool {
    let names =
        text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']).unwrap_or(text);
    names.split(',').all(|variable| {
        let (name, length) = match variable.split_once(':') {
            Some((name, length)) => (name, Some(length)),
            None => (variable.strip_suffix('*').unwrap_or(variable), None),
        };
        let is_length = |text: &str| {
            text.len() <= 4 && text.parse::<u16>().is_ok_and(|length| length > 0 && length < 10_000)
        };
        length.is_none_or(is_length) && name.split('.').all(|part| !part.is_empty() && is_variable(part))
    })
}

fn is_variable(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let good = match char {
            '%' => (0..2).all(|_| chars.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            char => char.is_ascii_alphanumeric() || char == '_',
        };
        if !good {
            return false;
        }
    }
    true
}

//! The formats of draft 2020-12. One that isn't known is no constraint, as the draft has it.

use super::{pattern, uri};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether `text` has the format of this name.
pub(super) fn holds(name: &str, text: &str) -> bool {
    match name {
        "date-time" => is_date_time(text),
        "date" => is_date(text),
        "time" => is_time(text),
        "duration" => is_duration(text),
        "email" => is_email(text, is_hostname),
        "idn-email" => is_email(text, is_idn_hostname),
        "hostname" => is_hostname(text),
        "idn-hostname" => is_idn_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" => uri::is_reference(text, uri::Letters::Ascii, uri::Scheme::Needed),
        "uri-reference" => uri::is_reference(text, uri::Letters::Ascii, uri::Scheme::Optional),
        "iri" => uri::is_reference(text, uri::Letters::Unicode, uri::Scheme::Needed),
        "iri-reference" => uri::is_reference(text, uri::Letters::Unicode, uri::Scheme::Optional),
        "uri-template" => uri::is_template(text),
        "uuid" => is_uuid(text),
        "json-pointer" => is_json_pointer(text),
        "relative-json-pointer" => is_relative_json_pointer(text),
        "regex" => pattern::compile(text).is_ok(),
        _ => true,
    }
}

/// Exactly `digits` ASCII digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let good = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if good { text.parse().ok() } else { None }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut part = |digits| parts.next().and_then(|part| number(part, digits));
    let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let Some(zone_at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (clock, zone) = text.split_at(zone_at);
    let (whole, fraction) = clock.split_once('.').map_or((clock, None), |(whole, rest)| (whole, Some(rest)));
    if fraction.is_some_and(|rest| rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let mut parts = whole.splitn(3, ':').map(|part| number(part, 2));
    let (Some(Some(hour)), Some(Some(minute)), Some(Some(second))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Some(offset) = zone_minutes(zone) else { return false };
    if hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    // A leap second is the last one of a day in UTC.
    let utc = (i64::from(hour * 60 + minute) - offset).rem_euclid(24 * 60);
    second < 60 || utc == 24 * 60 - 1
}

/// Minutes east of UTC.
fn zone_minutes(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

/// `P`, then weeks alone, or years, months and days, and after a `T` hours, minutes and seconds: each number once, in
/// order, with no gap between two units.
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (date, time) = rest.split_once('T').map_or((rest, None), |(date, time)| (date, Some(time)));
    if rest.ends_with('W') {
        return has_units(rest, "W");
    }
    (date.is_empty() || has_units(date, "YMD"))
        && time.is_none_or(|time| has_units(time, "HMS"))
        && !(date.is_empty() && time.is_none())
}

/// Whether it is numbers with these units, at least one, without leaving out one between two others.
fn has_units(text: &str, units: &str) -> bool {
    let mut next: Option<usize> = None;
    let mut digits = 0;
    for char in text.chars() {
        if char.is_ascii_digit() {
            digits += 1;
            continue;
        }
        let Some(place) = units.find(char) else { return false };
        if digits == 0 || next.is_some_and(|next| next != place) {
            return false;
        }
        (next, digits) = (Some(place + 1), 0);
    }
    digits == 0 && next.is_some()
}

fn is_email(text: &str, is_domain: fn(&str) -> bool) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let local_is_good = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => is_quoted_string(inner),
        None => !local.is_empty() && local.split('.').all(is_atom),
    };
    let domain_is_good = match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => match literal.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => literal.parse::<Ipv4Addr>().is_ok(),
        },
        None => is_domain(domain),
    };
    local_is_good && domain_is_good && local.len() <= 64
}

fn is_atom(text: &str) -> bool {
    let allowed =
        |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char) || !char.is_ascii();
    !text.is_empty() && text.chars().all(allowed)
}

fn is_quoted_string(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.next().is_none_or(|next| next.is_ascii_control()) => return false,
            '"' => return false,
            control if control.is_ascii_control() => return false,
            _ => {}
        }
    }
    true
}

fn is_hostname(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.split('.').all(is_host_label)
        // A name that says of itself that it is punycode has to be some.
        && text.split('.').all(|label| !is_punycoded(label) || is_idn_hostname(label))
}

fn is_punycoded(label: &str) -> bool {
    label.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--"))
}

fn is_host_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
        // Reserved for what is to be decoded.
        && (label.get(2..4) != Some("--") || is_punycoded(label))
}

/// A host name in any script, by the rules that browsers and resolvers go by (UTS 46, strict).
fn is_idn_hostname(text: &str) -> bool {
    let (ascii, unicode) = (idna::domain_to_ascii_strict(text), idna::domain_to_unicode(text).0);
    let dotted = |char: char| matches!(char, '.' | '。' | '．' | '｡');
    ascii.is_ok_and(|ascii| (1..=253).contains(&ascii.len()) && ascii.split('.').all(is_host_label))
        && unicode.split(dotted).all(follows_context)
}

/// The rules of RFC 5892 for characters that are legal next to certain others only.
fn follows_context(label: &str) -> bool {
    let chars: Vec<char> = label.chars().collect();
    let has = |from: char, to: char| chars.iter().any(|char| (from..=to).contains(char));
    let next_to = |index: usize| (index.checked_sub(1).and_then(|i| chars.get(i)), chars.get(index + 1));
    chars.iter().enumerate().all(|(index, char)| {
        match char {
        // The middle dot, between two l.
        '\u{b7}' => next_to(index) == (Some(&'l'), Some(&'l')),
        // Greek numeral sign, before Greek.
        '\u{375}' => next_to(index).1.is_some_and(|char| {
            matches!(char, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}')
        }),
        // Hebrew punctuation, after Hebrew.
        '\u{5f3}' | '\u{5f4}' => next_to(index).0.is_some_and(|char| matches!(char, '\u{590}'..='\u{5ff}')),
        // Katakana middle dot, in a label with kana or Han.
        '\u{30fb}' => chars.iter().any(|char| {
            matches!(char, '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
        }),
        // Arabic digits of one kind only.
        '\u{660}'..='\u{669}' => !has('\u{6f0}', '\u{6f9}'),
        '\u{6f0}'..='\u{6f9}' => !has('\u{660}', '\u{669}'),
        // Letters that stand for nothing by themselves, and tone marks.
        '\u{640}' | '\u{7fa}' | '\u{302e}' | '\u{302f}' | '\u{3031}'..='\u{3035}' | '\u{303b}' => false,
        _ => true,
    }
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_json_pointer(text: &str) -> bool {
    let escapes = || text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.is_empty() || (text.starts_with('/') && escapes())
}

fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (up, rest) = text.split_at(digits);
    !up.is_empty() && (up == "0" || !up.starts_with('0')) && (rest == "#" || is_json_pointer(rest))
}

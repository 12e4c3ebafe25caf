//! Tells what a word is by its shape alone: a number, a time, an address, a domain name.

use super::token::Kind;
use std::net::IpAddr;

/// Endings of names that are files, not domains.
const FILE_ENDINGS: &[&str] = &[
    "log", "conf", "cfg", "txt", "service", "timer", "socket", "mount", "target", "path", "json", "yaml",
    "yml", "toml", "ini", "sh", "py", "js", "rs", "go", "jar", "gz", "zip", "pem", "crt", "key", "db", "sql",
    "html", "css", "csv", "md", "slice", "scope", "env", "lock", "pid", "sock", "out", "err", "bak", "old",
    "rb", "pl", "php", "so", "exe", "deb",
];

/// `top5`, `port22`, `last50`: a known word with its number.
pub(super) fn split_letters_digits(word: &str) -> Option<(&str, &str)> {
    let at = word.find(|character: char| character.is_ascii_digit())?;
    let (left, right) = word.split_at(at);
    let known = ["top", "port", "last", "pid", "tail", "first", "tcp", "lines", "count"];
    (known.iter().any(|name| left.eq_ignore_ascii_case(name)) && right.parse::<u64>().is_ok())
        .then_some((left, right))
}

/// A number, a number with a unit of time, or `:8080`.
pub(super) fn number_like(word: &str) -> Option<Kind> {
    let bare = word.trim_start_matches(['#', ':', '-', '+']).trim_end_matches('%');
    if let Ok(number) = bare.replace(',', "").parse::<u64>() {
        return Some(Kind::Number(number));
    }
    let low = bare.to_ascii_lowercase();
    let ordinal = low
        .strip_suffix("st")
        .or_else(|| low.strip_suffix("nd"))
        .or_else(|| low.strip_suffix("rd"))
        .or_else(|| low.strip_suffix("th"));
    if let Some(number) = ordinal.and_then(|digits| digits.parse::<u64>().ok()) {
        return Some(Kind::Number(number));
    }
    span(&low).map(Kind::Span)
}

/// `10m`, `1h30m`, `500ms`, `1.5h` in milliseconds.
pub(super) fn span(word: &str) -> Option<u64> {
    if !word.starts_with(|character: char| character.is_ascii_digit()) {
        return None;
    }
    let mut total = 0_u64;
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        let tail = &rest[digits..];
        let unit_end = tail.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(tail.len());
        let unit = unit_milliseconds(&tail[..unit_end])?;
        total = total.checked_add((amount * unit as f64) as u64)?;
        rest = &tail[unit_end..];
    }
    (total > 0).then_some(total)
}

/// Milliseconds of a unit of time in English, short or long.
pub(super) fn unit_milliseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" | "minuts" | "mintues" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" | "horus" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "wk" | "week" | "weeks" => 604_800_000,
        "month" | "months" => 2_592_000_000,
        _ => return None,
    })
}

/// A date, with or without a time, as RFC 3339 in UTC.
pub(super) fn moment(word: &str) -> Option<String> {
    let bytes = word.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let dated = (0..4).all(digit)
        && bytes.get(4) == Some(&b'-')
        && (5..7).all(digit)
        && bytes.get(7) == Some(&b'-')
        && (8..10).all(digit);
    if !dated || !word.is_ascii() {
        return None;
    }
    let rest = &word[10..];
    if rest.is_empty() {
        return Some(format!("{word}T00:00:00Z"));
    }
    let time = rest.strip_prefix(['T', 't'])?;
    let with_seconds = match time.len() {
        5 => format!("{time}:00Z"),
        8 => format!("{time}Z"),
        _ => time.to_owned(),
    };
    Some(format!("{}T{}", &word[..10], with_seconds.to_uppercase()))
}

/// `14:30` or `14:30:05`.
pub(super) fn is_clock(word: &str) -> bool {
    let parts: Vec<&str> = word.split(':').collect();
    (2..=3).contains(&parts.len())
        && parts
            .iter()
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
        && parts[0].parse::<u8>().is_ok_and(|hour| hour < 24)
}

/// `example.com/health`, `localhost:8080/x`, `10.0.0.1/x` with the scheme that is most likely.
pub(super) fn url_without_scheme(word: &str) -> Option<String> {
    let (place, path) = word.split_once('/')?;
    if path.is_empty() && !is_domain(place) && host_port(place).is_none() {
        return None;
    }
    if path.bytes().all(|byte| byte.is_ascii_digit()) && place.parse::<IpAddr>().is_ok() {
        return None; // a network such as 10.0.0.0/8
    }
    let (host, port) = host_port(place).map_or((place.to_owned(), None), |(host, port)| (host, Some(port)));
    let known = host == "localhost" || is_domain(&host) || host.parse::<IpAddr>().is_ok() || port.is_some();
    known.then(|| with_scheme(word, &host, port))
}

/// Puts the scheme that is most likely in front of an address.
pub(super) fn with_scheme(rest: &str, host: &str, port: Option<u16>) -> String {
    let secure = match port {
        Some(443 | 8443 | 9443 | 6443) => true,
        Some(_) => false,
        None => is_domain(host),
    };
    format!("{}://{rest}", if secure { "https" } else { "http" })
}

/// `db-1:5432`. The host may be a name or an IPv4 address.
pub(super) fn host_port(word: &str) -> Option<(String, u16)> {
    let (host, port) = word.rsplit_once(':')?;
    if is_clock(word) || host.is_empty() || host.contains([':', '/', '=', '@', '*', '#']) {
        return None;
    }
    let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
    if ["port", "pid", "top", "lines", "count", "last", "timeout", "ports", "tcp"]
        .iter()
        .any(|word| host.eq_ignore_ascii_case(word))
        || host.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    Some((host.to_owned(), port))
}

/// Whether `word` is a domain name rather than a file, a version or a unit.
pub(super) fn is_domain(word: &str) -> bool {
    let word = word.strip_suffix('.').unwrap_or(word);
    let labels: Vec<&str> = word.split('.').collect();
    let Some(last) = labels.last() else { return false };
    labels.len() >= 2
        && word.len() <= 253
        && labels.iter().all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .chars()
                    .all(|character| character.is_alphanumeric() || matches!(character, '-' | '_'))
        })
        && last.len() >= 2
        && last.chars().all(char::is_alphabetic)
        && !FILE_ENDINGS.iter().any(|ending| last.eq_ignore_ascii_case(ending))
}

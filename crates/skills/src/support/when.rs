//! Reads points in time as people and models write them, and the times at the start of log lines.

use crate::support::errors::invalid;
use chrono::{DateTime, Datelike, Local, NaiveDateTime, TimeZone, Utc};
use model::Timestamp;
use regex::Regex;
use skill::SkillError;
use std::sync::LazyLock;

/// Reads `10m`, `2h ago`, `now`, RFC 3339, or `2026-03-01 12:00[:00]` (UTC).
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Timestamp, SkillError> {
    let plain = text.trim();
    if plain.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(plain) {
        return Ok(time.with_timezone(&Utc));
    }
    for format in ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(plain, format) {
            return Ok(time.and_utc());
        }
    }
    if let Ok(date) = chrono::NaiveDate::parse_from_str(plain, "%Y-%m-%d") {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    let length = plain.trim_start_matches('-').trim_end_matches("ago").trim();
    let ago = humantime::parse_duration(length).ok().and_then(|ago| chrono::Duration::from_std(ago).ok());
    ago.and_then(|ago| now.checked_sub_signed(ago)).ok_or_else(|| {
        invalid(format!("`{text}` is not a time; write how long ago (`10m`, `2h`, `1d`) or RFC 3339 (`2026-03-01T12:00:00Z`)"))
    })
}

/// Whole seconds as RFC 3339.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

/// RFC 3339 of microseconds since 1970.
pub(crate) fn rfc3339_micros(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros).map(rfc3339).unwrap_or_default()
}

/// The time near the start of a log line: RFC 3339 and its relatives, syslog, common log format, `2026/03/01 12:00:00`.
/// Times without a zone are the host's local time.
pub(crate) fn of_log_line(line: &str, now: Timestamp) -> Option<Timestamp> {
    /// How far into a line its time may begin and end.
    const WITHIN: usize = 120;
    let head = &line[..line.floor_char_boundary(WITHIN)];
    if let Some(found) = ISO.as_ref()?.captures(head) {
        let text = format!("{}-{}-{}T{}", &found[1], &found[2], &found[3], found[4].replace(',', "."));
        let zone = found.get(5).map_or("", |zone| zone.as_str());
        if zone.is_empty() {
            return local(NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f").ok()?);
        }
        return DateTime::parse_from_str(
            &format!("{text}{}", zone.replace('Z', "+00:00")),
            "%Y-%m-%dT%H:%M:%S%.f%#z",
        )
        .ok()
        .map(|time| time.with_timezone(&Utc));
    }
    if let Some(found) = COMMON.as_ref()?.captures(head) {
        return DateTime::parse_from_str(&found[1], "%d/%b/%Y:%H:%M:%S %z")
            .ok()
            .map(|time| time.with_timezone(&Utc));
    }
    let found = SYSLOG.as_ref()?.captures(head)?;
    let with_year = |year: i32| {
        local(NaiveDateTime::parse_from_str(&format!("{year} {}", &found[1]), "%Y %b %e %H:%M:%S").ok()?)
    };
    // Syslog leaves out the year: it is the latest one that isn't in the future.
    with_year(now.year())
        .filter(|time| *time <= now + chrono::Duration::days(1))
        .or_else(|| with_year(now.year() - 1))
}

fn local(time: NaiveDateTime) -> Option<Timestamp> {
    Local.from_local_datetime(&time).earliest().map(|time| time.with_timezone(&Utc))
}

static ISO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?) ?(Z|[+-]\d\d:?\d\d)?").ok()
});
static COMMON: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\]").ok());
static SYSLOG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:<\d+>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)").ok());

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn lengths_and_times_are_read() {
        for (text, time) in [
            ("10m", "2026-03-01T11:50:00Z"),
            ("2h ago", "2026-03-01T10:00:00Z"),
            ("-1d", "2026-02-28T12:00:00Z"),
            ("1h 30m", "2026-03-01T10:30:00Z"),
            ("now", "2026-03-01T12:00:00Z"),
            ("2026-02-01T00:00:00+02:00", "2026-01-31T22:00:00Z"),
            ("2026-02-01 10:30", "2026-02-01T10:30:00Z"),
            ("2026-02-01", "2026-02-01T00:00:00Z"),
        ] {
            assert_eq!(parse(text, now()).unwrap(), time.parse::<Timestamp>().unwrap(), "{text}");
        }
        for text in ["", "soon", "10", "99999999999999999h", "--list", "2026-13-01"] {
            assert!(parse(text, now()).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_log_lines_are_found() {
        let read = |line: &str| of_log_line(line, now());
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        assert_eq!(read("2026-02-28T10:00:00.5+01:00 host app: x"), at("2026-02-28T09:00:00.5Z"));
        assert_eq!(read("{\"time\":\"2026-02-28T10:00:00Z\",\"msg\":1}"), at("2026-02-28T10:00:00Z"));
        assert_eq!(read("2026-02-28 10:00:00,123 +0000 INFO"), at("2026-02-28T10:00:00.123Z"));
        assert_eq!(read("10.0.0.1 - - [28/Feb/2026:10:00:00 +0100] \"GET /\""), at("2026-02-28T09:00:00Z"));
        assert!(read("Feb 28 10:00:00 host sshd[1]: x").unwrap().year() == 2026);
        assert!(read("Dec 31 10:00:00 host sshd[1]: x").unwrap().year() == 2025);
        assert!(read("2026/02/28 10:00:00 [error] 1#1").is_some());
        assert_eq!(read("    at java.lang.Thread.run"), None);
        assert_eq!(read("2026-99-99 10:00:00 x"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = parse(&text, now());
            let _ = of_log_line(&text, now());
        }
    }
}

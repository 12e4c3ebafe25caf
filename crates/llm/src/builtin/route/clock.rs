//! Times of the clock (`since 14:30`, `between 9:00 and 10:00`, `오후 2시부터`) as moments, before the text is read on.
//!
//! The latest time that isn't in the future is meant, by UTC, as everywhere in the product. Only what stands behind a
//! word of time is a time: `port 14:30` and `db:9` are left alone.

use super::shape::is_clock;
use model::Timestamp;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Words behind which a time of the clock may stand and begins what is looked at.
const BEGIN: &[&str] = &["since", "after", "from", "between", "at", "around", "yesterday", "어제"];

/// Words behind which the end of it stands, once a beginning was named.
const END: &[&str] = &["and", "to", "until", "till", "before", "-", "–"];

/// Writes every time of the clock in a text as a moment in RFC 3339.
pub(super) fn resolve(text: &str, now: Timestamp) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut begun: Option<Timestamp> = None;
    let mut at = 0;
    let mut found_any = false;
    while at < words.len() {
        let before = at.checked_sub(1).map_or(String::new(), |index| words[index].to_lowercase());
        let yesterday = (at.saturating_sub(2)..at).any(|index| is_yesterday(words[index]));
        let english = (BEGIN.contains(&before.as_str()) || begun.is_some() && END.contains(&before.as_str()))
            .then(|| english(&words[at..]))
            .flatten();
        let Some(Read { hour, minute, width, rest }) = english.or_else(|| korean(&words[at..])) else {
            out.push(words[at].to_owned());
            at += 1;
            continue;
        };
        match moment(now, hour, minute, yesterday, begun) {
            Some(moment) => {
                begun = Some(moment);
                found_any = true;
                out.push(format!("{}{rest}", moment.format("%Y-%m-%dT%H:%M:%SZ")));
            }
            None => out.extend(words[at..at + width].iter().map(|word| (*word).to_owned())),
        }
        at += width;
    }
    if found_any { out.join(" ") } else { text.to_owned() }
}

/// A time that was read.
struct Read {
    hour: u32,
    minute: u32,
    /// How many words it took.
    width: usize,
    /// What follows it in its last word, with a space in front.
    rest: String,
}

fn is_yesterday(word: &str) -> bool {
    word.eq_ignore_ascii_case("yesterday") || word.starts_with("어제")
}

/// `14:30`, `2pm`, `2:30 pm`.
fn english(words: &[&str]) -> Option<Read> {
    let word = words.first()?.to_lowercase();
    let bare = word.trim_end_matches([',', '.', '?', '!', ';']);
    let (digits, mut half) = match (bare.strip_suffix("am"), bare.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(false)),
        (_, Some(digits)) => (digits, Some(true)),
        _ => (bare, None),
    };
    let mut width = 1;
    if half.is_none()
        && let Some(next) = words.get(1)
    {
        half = match next.trim_end_matches([',', '.', '?', '!', ';']).to_lowercase().as_str() {
            "am" | "a.m" => Some(false),
            "pm" | "p.m" => Some(true),
            _ => None,
        };
        width += usize::from(half.is_some());
    }
    let (hour, minute) = if is_clock(digits) {
        let mut parts = digits.split(':');
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)
    } else if half.is_some() && (1..=2).contains(&digits.len()) {
        (digits.parse().ok()?, 0)
    } else {
        return None;
    };
    Some(Read { hour: half_day(hour, half)?, minute, width, rest: String::new() })
}

/// `오후 2시부터`, `14시 30분`, `14:30부터`, `오전 9시 반`.
fn korean(words: &[&str]) -> Option<Read> {
    let mut width = 0;
    let mut word = *words.first()?;
    let mut half = None;
    for (name, is_afternoon) in
        [("오전", false), ("오후", true), ("새벽", false), ("저녁", true), ("밤", true)]
    {
        if let Some(rest) = word.strip_prefix(name) {
            half = Some(is_afternoon);
            word = rest;
            if rest.is_empty() {
                width = 1;
                word = words.get(1)?;
            }
            break;
        }
    }
    let end =
        word.find(|character: char| !character.is_ascii_digit() && character != ':').unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    if is_clock(digits) && is_particle(rest) && !rest.is_empty() {
        let mut parts = digits.split(':');
        let (hour, minute) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        return Some(Read { hour: half_day(hour, half)?, minute, width: width + 1, rest: spaced(rest) });
    }
    let hour: u32 = digits.parse().ok().filter(|hour| *hour < 24)?;
    let mut rest = rest.strip_prefix('시')?;
    // `2시간` is a length of time.
    if rest.starts_with('간') {
        return None;
    }
    width += 1;
    let mut minute = 0;
    let next = if rest.is_empty() { words.get(width).copied().unwrap_or_default() } else { rest };
    let minutes = next.find(|character: char| !character.is_ascii_digit()).unwrap_or(next.len());
    let (number, after) = next.split_at(minutes);
    if let Some(after) = next.strip_prefix('반').filter(|after| is_particle(after)) {
        (minute, width, rest) = (30, width + usize::from(rest.is_empty()), after);
    } else if let (Ok(number), Some(after)) = (number.parse::<u32>(), after.strip_prefix('분'))
        && is_particle(after)
    {
        (minute, width, rest) = (number, width + usize::from(rest.is_empty()), after);
    }
    if !is_particle(rest) {
        return None;
    }
    // A bare hour without a particle is an hour only where the half of the day was named.
    if rest.is_empty() && half.is_none() && minute == 0 {
        return None;
    }
    Some(Read { hour: half_day(hour, half)?, minute, width, rest: spaced(rest) })
}

fn spaced(rest: &str) -> String {
    if rest.is_empty() { String::new() } else { format!(" {rest}") }
}

/// What may follow a time in its word.
fn is_particle(rest: &str) -> bool {
    let rest = rest.trim_end_matches([',', '.', '?', '!']);
    ["", "부터", "까지", "이후", "이후로", "이후의", "이전", "에", "에서", "쯤", "쯤부터", "경", "의"]
        .contains(&rest)
}

fn half_day(hour: u32, afternoon: Option<bool>) -> Option<u32> {
    match afternoon {
        None => (hour < 24).then_some(hour),
        Some(true) if hour < 12 => Some(hour + 12),
        Some(false) if hour == 12 => Some(0),
        Some(_) => (hour < 24).then_some(hour),
    }
}

/// The moment that is meant: the latest that isn't in the future, but never before the one that the text began with.
fn moment(
    now: Timestamp,
    hour: u32,
    minute: u32,
    yesterday: bool,
    begun: Option<Timestamp>,
) -> Option<Timestamp> {
    let today = now.date_naive().and_hms_opt(hour, minute, 0)?.and_utc();
    if let Some(begun) = begun {
        let same_day = begun.date_naive().and_hms_opt(hour, minute, 0)?.and_utc();
        return Some(if same_day < begun { same_day + DAY } else { same_day });
    }
    Some(if yesterday || today > now { today - DAY } else { today })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-05-04, 15:00 UTC.
    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_777_906_800, 0).unwrap()
    }

    #[test]
    fn times_of_the_clock_are_the_latest_that_were() {
        for (text, expected) in [
            ("nginx errors since 14:30", "nginx errors since 2026-05-04T14:30:00Z"),
            ("errors since 23:10?", "errors since 2026-05-03T23:10:00Z"),
            ("logs between 9:00 and 10:00", "logs between 2026-05-04T09:00:00Z and 2026-05-04T10:00:00Z"),
            ("logs from 23:00 to 1:00", "logs from 2026-05-03T23:00:00Z to 2026-05-04T01:00:00Z"),
            ("what happened after 2pm", "what happened after 2026-05-04T14:00:00Z"),
            ("logs since 2:30 pm please", "logs since 2026-05-04T14:30:00Z please"),
            ("logs since yesterday 14:30", "logs since yesterday 2026-05-03T14:30:00Z"),
            ("오후 2시부터 nginx 로그", "2026-05-04T14:00:00Z 부터 nginx 로그"),
            ("14시 30분부터 로그 보여줘", "2026-05-04T14:30:00Z 부터 로그 보여줘"),
            ("오전 9시 반부터 로그", "2026-05-04T09:30:00Z 부터 로그"),
            ("9:00부터 10:00까지 에러", "2026-05-04T09:00:00Z 부터 2026-05-04T10:00:00Z 까지 에러"),
            ("어제 오후 3시 이후 로그", "어제 2026-05-03T15:00:00Z 이후 로그"),
        ] {
            assert_eq!(resolve(text, now()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_stays() {
        for text in [
            "check port 14:30",
            "is db:9 open",
            "restart nginx and 22",
            "2시간 전 로그",
            "probe [::1]:22 from web-1",
            "since 10m",
            "between us",
            "3시 서버",
            "top  10   processes",
        ] {
            assert_eq!(resolve(text, now()), text, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(since |between |and |오후 |시|분|반|부터|[0-9]{1,3}|:| |pm|\\PC){0,16}") {
            resolve(&text, now());
        }
    }
}

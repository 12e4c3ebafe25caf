//! The systemd journal, through `journalctl -o json`: its files are read by the program that knows their formats.

use crate::support::child::{self, Ended};
use crate::support::errors::{denied, failed, invalid, not_found, unsupported};
use crate::support::when;
use model::Timestamp;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::{Host, SkillError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Longest message that is told.
const MAX_MESSAGE: usize = 8 * 1024;

/// Most bytes of messages that are told.
const MAX_BYTES: usize = 1024 * 1024;

/// How long is looked for entries that match, so that a search through a huge journal ends with what it found.
const LOOK_FOR: Duration = Duration::from_secs(25);

/// How severe an entry is, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Emerg,
    Alert,
    Crit,
    Err,
    Warning,
    Notice,
    Info,
    Debug,
}

/// Which entries are wanted.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) unit: Option<String>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) priority: Option<Priority>,
    pub(crate) grep: Option<Regex>,
    pub(crate) boot: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) lines: usize,
}

/// One entry.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// When it was written, RFC 3339.
    pub(crate) time: String,
    /// The unit that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
    /// What the program calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) identifier: Option<String>,
    /// Process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// How severe it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Priority>,
    /// The message. Bytes that are not UTF-8 are replaced.
    pub(crate) message: String,
    #[serde(skip)]
    pub(crate) cursor: String,
}

/// What was found, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) entries: Vec<Entry>,
    /// There are more entries beyond the limit.
    pub(crate) more: bool,
    pub(crate) notes: Vec<String>,
}

/// Reads entries. Without a cursor the latest count, with a cursor those that follow it.
pub(crate) async fn read(host: &dyn Host, query: &Query) -> Result<Found, SkillError> {
    read_within(host, query, LOOK_FOR).await
}

async fn read_within(host: &dyn Host, query: &Query, within: Duration) -> Result<Found, SkillError> {
    let mut running = child::start(host, "journalctl", &arguments(query))?;
    let mut found = Found::default();
    let mut bytes = 0;
    let mut last_seen = String::new();
    let until = Instant::now() + within;
    loop {
        // A line that is there already comes before the time is looked at, so it is looked at here too.
        let next = if Instant::now() < until { timeout_at(until, running.line()).await.ok() } else { None };
        let line = match next.transpose()? {
            Some(Some(line)) => line,
            Some(None) => break,
            None => {
                running.stop().await;
                found.more = true;
                let reached = if last_seen.is_empty() { "nowhere".to_owned() } else { last_seen };
                found.notes.push(format!(
                    "the journal is large: after {} s the search had come to {reached}; give a unit, or a shorter time",
                    within.as_secs()
                ));
                return Ok(found.in_order(query));
            }
        };
        // "-- No entries --" and the like.
        let Ok(Value::Object(fields)) = serde_json::from_slice(&line) else { continue };
        let entry = Entry::of(&Value::Object(fields));
        if query.cursor.as_ref() == Some(&entry.cursor) {
            continue;
        }
        if query.grep.as_ref().is_some_and(|grep| !grep.is_match(&entry.message)) {
            last_seen = entry.time;
            continue;
        }
        bytes += entry.message.len() + 100;
        if found.entries.len() == query.lines || bytes > MAX_BYTES {
            found.more = true;
            running.stop().await;
            return Ok(found.in_order(query));
        }
        found.entries.push(entry);
    }
    judge(&running.end().await?, &mut found, query)?;
    Ok(found.in_order(query))
}

impl Found {
    fn in_order(mut self, query: &Query) -> Self {
        if query.cursor.is_none() {
            self.entries.reverse();
        }
        self
    }
}

/// How many boots are named.
const MAX_BOOTS: usize = 5;

/// How long the list of boots may take.
const LIST_BOOTS_FOR: Duration = Duration::from_secs(10);

/// A remark if the journal has no entries at all of the boot that was asked for (`0` or an id), with those that it has.
pub(crate) async fn note_on_boot(host: &dyn Host, boot: &str) -> Option<String> {
    let plain = |id: &str| id.trim().replace('-', "").to_ascii_lowercase();
    let asked = if boot == "0" {
        plain(&std::fs::read_to_string(host.path("/proc/sys/kernel/random/boot_id")).ok()?)
    } else {
        plain(boot)
    };
    let boots = tokio::time::timeout(LIST_BOOTS_FOR, boots(host)).await.ok()?.ok()?;
    // Numbers before this one are of the journal's own list, so journalctl tells itself whether they are there.
    if asked.len() != 32 || boots.iter().any(|(_, id, _)| *id == asked) {
        return None;
    }
    let known: Vec<String> = boots
        .iter()
        .rev()
        .take(MAX_BOOTS)
        .map(|(number, id, when)| format!("{number} {id} {when}"))
        .collect();
    let known = match known.as_slice() {
        [] => "it has none of any boot".to_owned(),
        known => format!("the latest that it has: {}", known.join("; ")),
    };
    let this = if boot == "0" { "this boot" } else { "the boot" };
    Some(format!("the journal has no entries of {this} ({asked}); {known}"))
}

/// Number, id and times of each boot in the journal, oldest first.
async fn boots(host: &dyn Host) -> Result<Vec<(String, String, String)>, SkillError> {
    let arguments = ["--list-boots", "--no-pager"].map(str::to_owned);
    let mut running = child::start(host, "journalctl", &arguments)?;
    let mut found = Vec::new();
    while let Some(line) = running.line().await? {
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split_whitespace();
        // The first line may be a heading.
        if let (Some(number), Some(id)) = (words.next(), words.next())
            && number.parse::<i64>().is_ok()
            && id.len() == 32
        {
            found.push((number.to_owned(), id.to_owned(), words.collect::<Vec<_>>().join(" ")));
        }
    }
    Ok(found)
}

/// Each value is joined to its option, so that none can be taken for another option.
fn arguments(query: &Query) -> Vec<String> {
    let mut arguments = vec![
        "--output=json".to_owned(),
        "--no-pager".to_owned(),
        "--all".to_owned(),
        "--output-fields=MESSAGE,PRIORITY,_PID,SYSLOG_PID,_SYSTEMD_UNIT,UNIT,SYSLOG_IDENTIFIER,_COMM"
            .to_owned(),
    ];
    let mut add = |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
    if let Some(unit) = &query.unit {
        add("unit", unit);
    }
    // journalctl takes either a cursor or a start.
    if let Some(cursor) = &query.cursor {
        // Not `--after-cursor`: with a filter that hides the cursor's own entry it drops the next one (systemd 252).
        add("cursor", cursor);
    } else if let Some(since) = query.since {
        add("since", &at(since));
    }
    if let Some(until) = query.until {
        add("until", &at(until));
    }
    if let Some(priority) = query.priority {
        add("priority", &(priority as u8).to_string());
    }
    if let Some(boot) = &query.boot {
        add("boot", boot);
    }
    if query.cursor.is_none() {
        arguments.push("--reverse".to_owned());
    }
    arguments
}

fn at(time: Timestamp) -> String {
    format!("@{}", time.timestamp())
}

/// Makes sense of what journalctl said when it ended.
fn judge(ended: &Ended, found: &mut Found, query: &Query) -> Result<(), SkillError> {
    let said = ended.errors.as_str();
    if said.contains("No journal files were opened due to insufficient permissions") {
        return Err(denied(
            "the agent may not read the journal; let it run as root or add its user to the group `systemd-journal`",
        ));
    }
    if said.contains("No journal files were found") {
        return Err(unsupported("this host keeps no systemd journal"));
    }
    if said.contains("not seeing messages from other users") {
        found.notes.push(
            "only the agent's own entries are visible; let it run as root or add its user to `systemd-journal`".to_owned(),
        );
    }
    if ["corrupt", "truncated", "Bad message", "Invalid argument, ignoring"]
        .iter()
        .any(|word| said.contains(word))
    {
        found
            .notes
            .push("some of the journal's files are damaged: entries in them may be missing".to_owned());
    }
    if ended.code == Some(0) || !found.entries.is_empty() {
        return Ok(());
    }
    // Exit 1 without a word is how old versions say that nothing matched.
    if said.is_empty() && ended.code == Some(1) {
        return Ok(());
    }
    let last = said.lines().next_back().unwrap_or("no reason given");
    if query.cursor.is_some() && said.contains("cursor") {
        return Err(invalid(format!("the cursor is not one of this host's journal: {last}")));
    }
    if said.contains("boot") {
        return Err(not_found(format!("the journal doesn't have that boot: {last}")));
    }
    Err(failed(format!("journalctl failed: {last}")))
}

impl Entry {
    fn of(fields: &Value) -> Self {
        let text = |name: &str| fields.get(name).and_then(text_of).filter(|text| !text.is_empty());
        let number = |name: &str| text(name).and_then(|text| text.parse().ok());
        let micros = number("__REALTIME_TIMESTAMP").unwrap_or(0);
        let mut message = text("MESSAGE").unwrap_or_default();
        if message.len() > MAX_MESSAGE {
            let length = message.len();
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message.push_str(&format!(" […cut, the message has {length} bytes]"));
        }
        Self {
            time: when::rfc3339_micros(micros),
            // systemd's own entries about a unit name it in `UNIT`.
            unit: text("UNIT").or_else(|| text("_SYSTEMD_UNIT")),
            identifier: text("SYSLOG_IDENTIFIER").or_else(|| text("_COMM")),
            pid: number("_PID").or_else(|| number("SYSLOG_PID")).and_then(|pid| u32::try_from(pid).ok()),
            priority: number("PRIORITY").and_then(Priority::of),
            message,
            cursor: text("__CURSOR").unwrap_or_default(),
        }
    }
}

impl Priority {
    fn of(number: i64) -> Option<Self> {
        const ALL: [Priority; 8] = [
            Priority::Emerg,
            Priority::Alert,
            Priority::Crit,
            Priority::Err,
            Priority::Warning,
            Priority::Notice,
            Priority::Info,
            Priority::Debug,
        ];
        ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// A field: a string, an array of bytes if it isn't printable UTF-8, or an array of those if the field is repeated.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(clean(text)),
        Value::Array(items) => {
            let bytes: Option<Vec<u8>> =
                items.iter().map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
            match bytes {
                Some(bytes) => Some(clean(&String::from_utf8_lossy(&bytes))),
                None => Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")),
            }
        }
        _ => None,
    }
}

/// Without colours and other control characters.
fn clean(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                // An escape sequence ends with its first letter.
                if letters.as_str().starts_with('[') {
                    letters.by_ref().skip(1).find(|letter| ('@'..='~').contains(letter));
                }
            }
            '\n' | '\t' => plain.push(letter),
            control if control.is_control() => {}
            other => plain.push(other),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn binary_and_repeated_fields_become_text() {
        let entry = Entry::of(&json!({
            "__REALTIME_TIMESTAMP": "1772366400000001", "__CURSOR": "s=1", "PRIORITY": "3", "_PID": ["12", "13"],
            "MESSAGE": [104, 105, 255], "_SYSTEMD_UNIT": "a.service", "UNIT": null,
        }));
        assert_eq!(entry.time, "2026-03-01T12:00:00.000001Z");
        assert_eq!((entry.message.as_str(), entry.priority), ("hi\u{fffd}", Some(Priority::Err)));
        assert_eq!((entry.unit.as_deref(), entry.pid), (Some("a.service"), None));
        let twice = Entry::of(&json!({"MESSAGE": ["one", [116, 119, 111]]}));
        assert_eq!(twice.message, "one\ntwo");
    }

    #[tokio::test]
    async fn a_search_that_does_not_end_is_ended_with_what_was_found() {
        let entry = r#"{"MESSAGE":"one","__CURSOR":"c","__REALTIME_TIMESTAMP":"1"}"#;
        let script = format!("#!/bin/sh\necho '{entry}'\nexec sleep 1000\n");
        let host = FakeHost::empty().with_program("/usr/bin/journalctl", &script);
        let query = Query { lines: 10, ..Query::default() };
        let found = read_within(&host, &query, Duration::from_secs(2)).await.unwrap();
        assert!(found.more && found.entries.len() == 1);
        assert!(found.notes[0].contains("the journal is large"), "{:?}", found.notes);
    }

    #[tokio::test]
    async fn a_search_through_an_endless_journal_ends_too() {
        let entry = r#"{"MESSAGE":"one","__CURSOR":"c","__REALTIME_TIMESTAMP":"1"}"#;
        let script = format!("#!/bin/sh\nwhile :; do echo '{entry}'; done\n");
        let host = FakeHost::empty().with_program("/usr/bin/journalctl", &script);
        let grep = Some(Regex::new("no such words").unwrap());
        let query = Query { lines: 10, grep, ..Query::default() };
        let found = read_within(&host, &query, Duration::from_secs(1)).await.unwrap();
        assert!(found.more && found.entries.is_empty());
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m\r text\u{7}"), "red text");
    }

    #[test]
    fn a_value_can_not_become_an_option() {
        let query = Query { unit: Some("--vacuum-size=1".to_owned()), lines: 1, ..Query::default() };
        assert!(arguments(&query).contains(&"--unit=--vacuum-size=1".to_owned()));
    }

    proptest! {
        #[test]
        fn no_field_panics(text in ".{0,60}", numbers in prop::collection::vec(any::<i64>(), 0..20)) {
            let _ = Entry::of(&json!({"MESSAGE": text, "PRIORITY": numbers, "_PID": text, "__REALTIME_TIMESTAMP": text}));
            let _ = Entry::of(&json!({"MESSAGE": numbers, "__REALTIME_TIMESTAMP": numbers.first().map(i64::to_string)}));
        }
    }
}

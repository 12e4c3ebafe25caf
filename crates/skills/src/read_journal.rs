//! Reads the systemd journal.

use crate::support::errors::{invalid, timed_out, unsupported};
use crate::support::journal::{self, Entry, Priority, Query};
use crate::support::{pattern, when};
use model::{Class, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::time::Duration;

/// How far back is looked when nothing else is said.
const DEFAULT_SINCE: &str = "10m";

/// How long a search may take; a filter that matches nothing reads the whole journal.
const WITHIN: Duration = Duration::from_secs(45);

pub(crate) struct ReadJournal;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Only entries of this unit, for example `nginx` or `ssh.service`.
    #[schemars(length(min = 1, max = 256))]
    unit: Option<String>,
    /// Start: how long ago (`10m`, `2h`, `1d`) or a time (RFC 3339). Default: `10m`; with `boot` or `cursor`, no limit.
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
    /// End, written like `since`. Default: now.
    #[schemars(length(min = 1, max = 64))]
    until: Option<String>,
    /// Only entries of this priority or a more severe one.
    priority: Option<Priority>,
    /// Only entries whose message matches this regular expression. Case is ignored if it is all lower case.
    #[schemars(length(min = 1, max = 1000))]
    grep: Option<String>,
    /// Most entries to return; the latest ones count.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1, max = 5000))]
    lines: u32,
    /// Only entries of one boot: `0` is this one, `-1` the one before, or a boot id.
    #[schemars(length(min = 1, max = 36))]
    boot: Option<String>,
    /// Continue after this cursor, which an earlier answer gave.
    #[schemars(length(min = 1, max = 512))]
    cursor: Option<String>,
}

fn default_lines() -> u32 {
    200
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The entries, oldest first.
    entries: Vec<Entry>,
    /// Give this to read what follows the last entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Whether there are more entries than the limit: earlier ones, or later ones after a cursor.
    more: bool,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for ReadJournal {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "read_journal",
        name: "Read the journal",
        description: "Read entries of the systemd journal, oldest first: time, unit, pid, priority and message. Filters by unit, time, priority, text and boot; a cursor continues where an earlier answer ended.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "logs",
        result_preview: "14 entries of nginx.service, the last: bind() to 0.0.0.0:80 failed",
        prerequisites: &[Prerequisite::Journal],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.as_ref();
        if !host.meets(Prerequisite::Journal) {
            return Err(no_journal(host));
        }
        let query = query_of(&params, host.now())?;
        let given_cursor = params.cursor;
        let found = tokio::time::timeout(WITHIN, journal::read(host, &query)).await.map_err(|_| {
            timed_out(format!(
                "the search took longer than {} s; narrow it by time or unit",
                WITHIN.as_secs()
            ))
        })??;
        let mut notes = found.notes;
        if let (Some(_), Some(_)) = (&given_cursor, &params.since) {
            notes.push("`since` doesn't count with a cursor".to_owned());
        }
        if let Some(boot) = &params.boot
            && found.entries.is_empty()
            && !found.more
        {
            notes.extend(journal::note_on_boot(host, boot).await);
        }
        Ok(Output {
            cursor: found.entries.last().map(|entry| entry.cursor.clone()).or(given_cursor),
            entries: found.entries,
            more: found.more,
            notes,
        })
    }
}

fn query_of(params: &Params, now: Timestamp) -> Result<Query, SkillError> {
    let open_start = params.boot.is_some() || params.cursor.is_some();
    let since = params.since.as_deref().or((!open_start).then_some(DEFAULT_SINCE));
    let grep = match &params.grep {
        Some(text) if text.chars().any(char::is_uppercase) => Some(pattern::compile(text)?),
        Some(text) => Some(pattern::compile(&format!("(?i){text}"))?),
        None => None,
    };
    if let Some(boot) = &params.boot {
        let offset = boot.parse::<i32>().is_ok();
        let id = boot.replace('-', "");
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !offset && !is_id {
            return Err(invalid(format!(
                "`{boot}` is not a boot: write `0` for this one, `-1` for the one before, or an id"
            )));
        }
    }
    let query = Query {
        unit: params.unit.as_deref().map(|unit| legal(unit, "unit")).transpose()?,
        since: since.map(|since| when::parse(since, now)).transpose()?,
        until: params.until.as_deref().map(|until| when::parse(until, now)).transpose()?,
        priority: params.priority,
        grep,
        boot: params.boot.clone(),
        cursor: params.cursor.as_deref().map(|cursor| legal(cursor, "cursor")).transpose()?,
        lines: params.lines as usize,
    };
    if query.cursor.is_none()
        && let (Some(since), Some(until)) = (query.since, query.until)
        && since > until
    {
        return Err(invalid("`since` is later than `until`"));
    }
    Ok(query)
}

/// A value without characters that can't be part of it.
fn legal(text: &str, what: &str) -> Result<String, SkillError> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return Err(invalid(format!("`{text}` is not a {what}")));
    }
    Ok(text.to_owned())
}

fn no_journal(host: &dyn Host) -> SkillError {
    unsupported(if host.program("journalctl").is_none() {
        "this host has no systemd journal: `journalctl` is not installed; try tail_file on its log files"
    } else {
        "this host keeps no systemd journal: there is neither /var/log/journal nor /run/log/journal; try tail_file on its log files"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::SkillErrorKind;

    fn params() -> Params {
        Params {
            unit: None,
            since: None,
            until: None,
            priority: None,
            grep: None,
            lines: 200,
            boot: None,
            cursor: None,
        }
    }

    /// A host whose journalctl notes its arguments and runs `script`.
    fn host(script: &str) -> FakeHost {
        let host = FakeHost::empty().with("/run/log/journal/x", "");
        let noted = host.path("/arguments");
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done > {}\n{script}\n",
            noted.display()
        );
        host.with_program("/usr/bin/journalctl", &script)
    }

    fn entry(number: u32, message: &str) -> String {
        format!(
            "echo '{{\"__CURSOR\":\"c{number}\",\"__REALTIME_TIMESTAMP\":\"{number}000000\",\"PRIORITY\":\"6\",\"MESSAGE\":\"{message}\"}}'\n"
        )
    }

    #[tokio::test]
    async fn the_latest_entries_come_oldest_first_with_a_cursor() {
        let script = [entry(3, "three"), entry(2, "two"), entry(1, "one")].concat();
        let cx = host(&script).context();
        let output = Skill::run(&ReadJournal, &cx, Params { lines: 2, ..params() }).await.unwrap();
        let messages: Vec<_> = output.entries.iter().map(|entry| entry.message.as_str()).collect();
        assert_eq!((messages, output.more), (vec!["two", "three"], true));
        assert_eq!(output.cursor.as_deref(), Some("c3"));
        let arguments = std::fs::read_to_string(cx.host.path("/arguments")).unwrap();
        // Ten minutes before the fixture's noon.
        assert!(
            arguments.contains("--since=@1772365800\n") && arguments.contains("--reverse\n"),
            "{arguments}"
        );
    }

    #[tokio::test]
    async fn a_cursor_goes_on_forward() {
        let script = [entry(3, "three"), entry(4, "four"), entry(5, "five")].concat();
        let cx = host(&script).context();
        let params = Params {
            cursor: Some("c3".to_owned()),
            priority: Some(Priority::Warning),
            unit: Some("nginx".to_owned()),
            ..params()
        };
        let output = Skill::run(&ReadJournal, &cx, params).await.unwrap();
        assert_eq!((output.entries[0].message.as_str(), output.cursor.as_deref()), ("four", Some("c5")));
        let arguments = std::fs::read_to_string(cx.host.path("/arguments")).unwrap();
        assert!(arguments.contains("--cursor=c3\n--priority=4\n"), "{arguments}");
        assert!(!arguments.contains("--since") && !arguments.contains("--reverse"), "{arguments}");
    }

    #[tokio::test]
    async fn grep_counts_only_what_matches() {
        let script: String =
            (0..100).map(|number| entry(number, if number % 10 == 0 { "Failed" } else { "fine" })).collect();
        let cx = host(&script).context();
        let grep = |text: &str| Params { grep: Some(text.to_owned()), lines: 50, ..params() };
        assert_eq!(Skill::run(&ReadJournal, &cx, grep("fail")).await.unwrap().entries.len(), 10);
        assert_eq!(Skill::run(&ReadJournal, &cx, grep("FAIL")).await.unwrap().entries.len(), 0);
    }

    #[tokio::test]
    async fn an_endless_journal_is_cut_and_its_reader_stopped() {
        let cx = host(&format!("while :; do {}done", entry(1, "again"))).context();
        let output = Skill::run(&ReadJournal, &cx, Params { lines: 10, ..params() }).await.unwrap();
        assert!(output.more && output.entries.len() == 10);
    }

    #[tokio::test]
    async fn each_way_to_fail_has_its_kind() {
        for (script, params, kind) in [
            (
                "echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1",
                params(),
                SkillErrorKind::PermissionDenied,
            ),
            ("echo 'No journal files were found.' >&2; exit 0", params(), SkillErrorKind::Unsupported),
            (
                "echo 'Failed to seek to cursor: Invalid argument' >&2; exit 1",
                Params { cursor: Some("x".to_owned()), ..params() },
                SkillErrorKind::Invalid,
            ),
            (
                "echo 'Data from the specified boot (-7) is not available: No such boot ID in journal' >&2; exit 1",
                Params { boot: Some("-7".to_owned()), ..params() },
                SkillErrorKind::NotFound,
            ),
            ("exit 0", Params { boot: Some("last".to_owned()), ..params() }, SkillErrorKind::Invalid),
            (
                "exit 0",
                Params { since: Some("1m".to_owned()), until: Some("1h".to_owned()), ..params() },
                SkillErrorKind::Invalid,
            ),
            ("exit 0", Params { unit: Some("a b".to_owned()), ..params() }, SkillErrorKind::Invalid),
        ] {
            let error = Skill::run(&ReadJournal, &host(script).context(), params).await.unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
        }
        let error = Skill::run(&ReadJournal, &FakeHost::empty().context(), params()).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
        assert!(error.message.contains("tail_file"));
    }

    #[tokio::test]
    async fn damaged_files_are_told() {
        let script = format!(
            "{}echo 'Journal file /var/log/journal/x/system.journal is truncated, ignoring file.' >&2; exit 0",
            entry(1, "one")
        );
        let output = Skill::run(&ReadJournal, &host(&script).context(), params()).await.unwrap();
        assert_eq!(output.entries.len(), 1);
        assert!(output.notes[0].contains("damaged"), "{:?}", output.notes);
    }

    #[tokio::test]
    async fn a_boot_of_which_the_journal_has_nothing_is_told_with_those_that_it_has() {
        let (this, other) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        let listing = |ids: &[&str]| {
            let lines: String = ids
                .iter()
                .enumerate()
                .map(|(index, id)| {
                    format!(
                        "echo '{} {id} Sun 2026-03-01 10:00:00 UTC—Sun 2026-03-01 11:00:00 UTC'\n",
                        index as i64 + 1 - ids.len() as i64
                    )
                })
                .collect();
            format!(
                "case \"$*\" in *--list-boots*)\necho 'IDX BOOT ID FIRST ENTRY LAST ENTRY'\n{lines};; esac"
            )
        };
        let read = async |script: String, boot: &str| {
            let host = host(&script)
                .with("/proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
            let params = Params { boot: Some(boot.to_owned()), ..params() };
            Skill::run(&ReadJournal, &host.context(), params).await.unwrap()
        };
        let output = read(listing(&[other]), "0").await;
        assert!(output.entries.is_empty());
        let note = &output.notes[0];
        assert!(note.contains(&format!("no entries of this boot ({this})")), "{note}");
        assert!(note.contains(&format!("0 {other} Sun 2026-03-01 10:00:00")), "{note}");
        let none = read(listing(&[]), "0").await;
        assert!(none.notes[0].ends_with("it has none of any boot"), "{:?}", none.notes);
        let by_id = read(listing(&[this]), other).await;
        assert!(by_id.notes[0].contains(&format!("of the boot ({other})")), "{:?}", by_id.notes);
        // The boot is there; nothing in it fits.
        for boot in ["0", this, "-1"] {
            assert!(read(listing(&[other, this]), boot).await.notes.is_empty(), "{boot}");
        }
    }

    #[tokio::test]
    async fn no_entries_is_an_answer() {
        let cx = host("echo '-- No entries --'; exit 0").context();
        let output = Skill::run(&ReadJournal, &cx, params()).await.unwrap();
        assert!(output.entries.is_empty() && output.cursor.is_none() && !output.more);
    }
}

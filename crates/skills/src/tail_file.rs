//! Reads the last lines of a text file, across rotation.

use crate::support::errors::{blocking, of_io};
use crate::support::files::open::{Opened, open_file, read_full};
use crate::support::files::tail::{Line, LinesBackwards, show};
use crate::support::{errors, pattern, when};
use model::{Class, Scope, Timestamp};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::secrets::holds_private_key;
use skill::{Host, Metadata, Skill, SkillContext, SkillError, SkillErrorKind};
use std::path::Path;

/// Most bytes of lines that are returned.
const MAX_BYTES: usize = 1024 * 1024;

/// How far back is looked for lines that match.
const MAX_SCAN: u64 = 64 * 1024 * 1024;

pub(crate) struct TailFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Absolute path, for example `/var/log/syslog`.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Most lines to return.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1, max = 10_000))]
    lines: u32,
    /// Only lines that match this regular expression.
    #[schemars(length(min = 1, max = 1000))]
    grep: Option<String>,
    /// Only lines from this time on: how long ago (`10m`, `2h`, `1d`) or a time (RFC 3339). Works where lines begin with a time.
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
}

fn default_lines() -> u32 {
    100
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The file after links.
    path: String,
    /// Size in bytes.
    size: u64,
    /// When it was last written, RFC 3339.
    modified: String,
    /// The lines, oldest first.
    lines: Vec<String>,
    /// Rotated files that lines were taken from too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rotated: Vec<String>,
    /// Whether there is more before the first line: a limit was reached.
    more_before: bool,
    /// How many lines were too long and are cut.
    cut_lines: u32,
    /// Whether bytes that are not UTF-8 were replaced.
    invalid_utf8: bool,
    /// Whether the last line has no line break: it may still be being written.
    unfinished: bool,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for TailFile {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "tail_file",
        name: "Tail a log file",
        description: "Read the last lines of a text file on the host, across log rotation (`path.1`), with filters by regular expression and time. Secrets such as private keys and password files are refused.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "100 lines of /var/log/syslog",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.clone();
        let cancel = cx.cancel.clone();
        blocking(move || {
            let now = host.now();
            let filter = Filter {
                lines: params.lines as usize,
                grep: params.grep.as_deref().map(pattern::compile).transpose()?,
                since: params.since.as_deref().map(|since| when::parse(since, now)).transpose()?,
                now,
            };
            tail(host.as_ref(), &params.path, filter, &|| cancel.is_cancelled())
        })
        .await
    }
}

/// Which lines count.
struct Filter {
    lines: usize,
    grep: Option<Regex>,
    since: Option<Timestamp>,
    now: Timestamp,
}

/// What has been collected, the last line first.
struct Collector<'a> {
    filter: Filter,
    stop: &'a dyn Fn() -> bool,
    lines: Vec<String>,
    /// Lines without a time, which belong to the next one that has one.
    held: Vec<Line>,
    bytes: usize,
    scanned: u64,
    saw_time: bool,
    cut_lines: u32,
    invalid_utf8: bool,
    more_before: bool,
    done: bool,
    notes: Vec<String>,
}

fn tail(host: &dyn Host, path: &str, filter: Filter, stop: &dyn Fn() -> bool) -> Result<Output, SkillError> {
    let mut collector = Collector::new(filter, stop);
    let mut rotated = Vec::new();
    let current = match open_file(host, path) {
        Ok(opened) => opened,
        Err(error) if error.kind == SkillErrorKind::NotFound => {
            let before = rotated_before(host, path).ok_or(error)?;
            collector
                .notes
                .push(format!("`{path}` is not there; these lines are from the rotated `{before}`"));
            open_file(host, &before)?
        }
        Err(error) => return Err(error),
    };
    let real = current.real.display().to_string();
    let size = u64::try_from(current.stat.st_size).unwrap_or(0);
    let modified = chrono::DateTime::from_timestamp(current.stat.st_mtime, 0).unwrap_or_default();
    let unfinished = collector.take_file(current, &real)?;
    if !collector.done
        && let Some(before) = rotated_before(host, &real)
        && let Ok(older) = open_file(host, &before)
    {
        let known = collector.lines.len();
        collector.take_file(older, &before)?;
        if collector.lines.len() > known {
            rotated.push(before);
        }
    }
    collector.finish(modified);
    let mut lines = collector.lines;
    lines.reverse();
    if holds_private_key(lines.join("\n").as_bytes()) {
        return Err(errors::refused(format!("`{path}` may not be read: it holds a private key")));
    }
    Ok(Output {
        path: real,
        size,
        modified: when::rfc3339(modified),
        lines,
        rotated,
        more_before: collector.more_before,
        cut_lines: collector.cut_lines,
        invalid_utf8: collector.invalid_utf8,
        unfinished,
        notes: collector.notes,
    })
}

/// The newest rotated file of `path` that isn't compressed: `path.1`, or `path-20260301` with `dateext`.
fn rotated_before(host: &dyn Host, path: &str) -> Option<String> {
    let first = format!("{path}.1");
    if host.path(&first).is_file() {
        return Some(first);
    }
    let place = Path::new(path);
    let prefix = format!("{}-", place.file_name()?.to_str()?);
    let folder = place.parent()?;
    let mut newest: Option<String> = None;
    for entry in std::fs::read_dir(host.path(folder.to_str()?)).ok()?.take(10_000).flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let dated = name.strip_prefix(&prefix).is_some_and(|date| {
            date.len() >= 8 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        });
        if dated && newest.as_ref().is_none_or(|known| *known < name) {
            newest = Some(name);
        }
    }
    newest.map(|name| folder.join(name).display().to_string())
}

impl<'a> Collector<'a> {
    fn new(filter: Filter, stop: &'a dyn Fn() -> bool) -> Self {
        Self {
            filter,
            stop,
            lines: Vec::new(),
            held: Vec::new(),
            bytes: 0,
            scanned: 0,
            saw_time: false,
            cut_lines: 0,
            invalid_utf8: false,
            more_before: false,
            done: false,
            notes: Vec::new(),
        }
    }

    /// Takes lines from the end of one file until there are enough. Tells whether its last line has no line break.
    fn take_file(&mut self, mut opened: Opened, path: &str) -> Result<bool, SkillError> {
        let length = u64::try_from(opened.stat.st_size).unwrap_or(0);
        let mut source = if length > 0 {
            LinesBackwards::of_file(opened.file, length)
        } else {
            let mut whole = vec![0; MAX_BYTES];
            let read = read_full(&mut opened.file, &mut whole)
                .map_err(|error| of_io(format!("read `{path}`"), &error))?;
            whole.truncate(read);
            LinesBackwards::of_memory(whole)
        };
        while !self.done {
            if (self.stop)() {
                return Err(SkillError::new(SkillErrorKind::Cancelled, "stopped"));
            }
            let line = source.next_line().map_err(|error| of_io(format!("read `{path}`"), &error))?;
            let Some(line) = line else { break };
            self.take(line);
            if self.scanned + source.scanned > MAX_SCAN && !self.done {
                self.stop_here(format!("only the last {} MiB were looked at", MAX_SCAN / 1024 / 1024));
            }
        }
        self.scanned += source.scanned;
        Ok(source.unfinished)
    }

    fn take(&mut self, line: Line) {
        let Some(since) = self.filter.since else { return self.keep(&line) };
        let time = when::of_log_line(&String::from_utf8_lossy(&line.bytes), self.filter.now);
        match time {
            Some(time) if time < since => {
                // Lines without a time that were held belong to this one, which is too old.
                self.saw_time = true;
                self.held.clear();
                self.done = true;
            }
            Some(_) => {
                self.saw_time = true;
                for held in std::mem::take(&mut self.held) {
                    self.keep(&held);
                }
                self.keep(&line);
            }
            None if self.held.len() < self.filter.lines => self.held.push(line),
            None => {}
        }
    }

    fn keep(&mut self, line: &Line) {
        if self.done {
            return;
        }
        let shown = show(line);
        if self.filter.grep.as_ref().is_some_and(|grep| !grep.is_match(&shown.text)) {
            return;
        }
        if self.lines.len() == self.filter.lines {
            self.more_before = true;
            self.done = true;
            return;
        }
        if self.bytes + shown.text.len() > MAX_BYTES {
            return self.stop_here("the lines before these would make more than 1 MiB".to_owned());
        }
        self.bytes += shown.text.len() + 1;
        self.cut_lines += u32::from(shown.cut);
        self.invalid_utf8 |= shown.lossy;
        self.lines.push(shown.text);
    }

    fn stop_here(&mut self, note: String) {
        self.notes.push(note);
        self.more_before = true;
        self.done = true;
    }

    /// Decides about lines for which no time was found.
    fn finish(&mut self, modified: Timestamp) {
        let Some(since) = self.filter.since else { return };
        if self.saw_time || (self.held.is_empty() && self.lines.is_empty()) {
            return;
        }
        if modified < since {
            self.notes.push("the file was last written before `since`".to_owned());
            return;
        }
        self.notes
            .push("no line begins with a time that could be read, so `since` was not applied".to_owned());
        self.done = false;
        for held in std::mem::take(&mut self.held) {
            self.keep(&held);
        }
    }
}

#[cfg(test)]
mod tests;

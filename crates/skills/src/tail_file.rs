//! Reads the last lines of a text file, across rotation.

use crate::support::errors::{blocking, of_io, plain};
use crate::support::files::forwards::{self, LinesForwards, is_gzip};
use crate::support::files::open::{Opened, open_file, read_full, same_file};
use crate::support::files::rotation::{self, Packing};
use crate::support::files::tail::{Line, LinesBackwards, Shown, show};
use crate::support::{errors, pattern, when};
use model::{Class, Scope, Timestamp};
use regex::Regex;
use rustix::fs::Stat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::secrets::holds_private_key;
use skill::{Host, Metadata, Skill, SkillContext, SkillError, SkillErrorKind};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;

/// Most bytes of lines that are returned.
const MAX_BYTES: usize = 1024 * 1024;

/// How far back is looked for lines that match.
const MAX_SCAN: u64 = 64 * 1024 * 1024;

/// Most bytes that one packed file may have unpacked.
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;

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
        description: "Read the last lines of a text file on the host, across log rotation (`path.1`, `path.2.gz` and so on), with filters by regular expression and time. Secrets such as private keys and password files are refused.",
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
            tail(host.as_ref(), &params.path, &filter, &|| cancel.is_cancelled())
        })
        .await
    }
}

/// Which lines count.
#[derive(Clone)]
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
    /// Files that were read, so that none is read under two names.
    seen: Vec<Stat>,
    notes: Vec<String>,
}

fn tail(host: &dyn Host, path: &str, filter: &Filter, stop: &dyn Fn() -> bool) -> Result<Output, SkillError> {
    /// How often is begun again when the file was emptied while it was read.
    const ATTEMPTS: u32 = 3;
    for _ in 1..ATTEMPTS {
        if let Some(output) = attempt(host, path, filter, stop, false)? {
            return Ok(output);
        }
    }
    attempt(host, path, filter, stop, true)?
        .ok_or_else(|| errors::failed(format!("`{path}` changes all the time")))
}

/// One attempt; `None` if the file was emptied meanwhile, so that its lines may be found twice or not at all. The
/// `last` attempt takes what there is.
fn attempt(
    host: &dyn Host,
    path: &str,
    filter: &Filter,
    stop: &dyn Fn() -> bool,
    last: bool,
) -> Result<Option<Output>, SkillError> {
    let mut collector = Collector::new(filter.clone(), stop);
    let mut rotated = Vec::new();
    let (current, missing) = match open_file(host, path) {
        Ok(opened) => (opened, false),
        Err(error) if error.kind == SkillErrorKind::NotFound => {
            let older = rotation::of(host, path);
            let before = older.iter().find(|one| one.packing != Packing::Other).ok_or(error)?;
            let before = &before.path;
            collector
                .notes
                .push(format!("`{path}` is not there; these lines are from the rotated `{before}`"));
            (open_file(host, before)?, true)
        }
        Err(error) => return Err(error),
    };
    let real = current.real.display().to_string();
    let stat = current.stat;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let modified = chrono::DateTime::from_timestamp(stat.st_mtime, 0).unwrap_or_default();
    let watched = current.file.try_clone().map_err(|error| of_io(format!("read `{path}`"), &error))?;
    let unfinished = collector.take_file(current, &real)?;
    let emptied = |file: &File| file.metadata().is_ok_and(|now| now.len() < size);
    if !last && emptied(&watched) {
        return Ok(None);
    }
    let older = rotation::of(host, if missing { path } else { &real });
    for before in older {
        if collector.done {
            break;
        }
        if before.packing == Packing::Other {
            collector.stop_here(format!("`{}` is packed in a way that is not read here", before.path));
            break;
        }
        let Ok(opened) = open_file(host, &before.path) else { continue };
        let known = collector.lines.len();
        collector.take_file(opened, &before.path)?;
        if collector.lines.len() > known {
            rotated.push(before.path);
        }
    }
    if !last && emptied(&watched) {
        return Ok(None);
    }
    collector.finish(modified);
    let mut lines = collector.lines;
    lines.reverse();
    if holds_private_key(lines.join("\n").as_bytes()) {
        return Err(errors::refused(format!("`{path}` may not be read: it holds a private key")));
    }
    Ok(Some(Output {
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
    }))
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
            seen: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Takes lines from the end of one file until there are enough. Tells whether its last line has no line break.
    fn take_file(&mut self, mut opened: Opened, path: &str) -> Result<bool, SkillError> {
        // Rotated between two looks, it is there under its new name too.
        if self.seen.iter().any(|seen| same_file(seen, &opened.stat)) {
            return Ok(false);
        }
        self.seen.push(opened.stat);
        if is_gzip(&opened.file) {
            return self.take_packed(forwards::of_gzip(opened.file), path);
        }
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
            self.check_stop()?;
            let most = MAX_SCAN.saturating_sub(self.scanned);
            let line = source.next_line(most).map_err(|error| of_io(format!("read `{path}`"), &error))?;
            let Some(line) = line else { break };
            let beheaded = line.beheaded;
            self.take(line);
            if (beheaded || source.scanned > most) && !self.done {
                self.stop_here(format!("only the last {} MiB were looked at", MAX_SCAN / 1024 / 1024));
            }
        }
        self.scanned += source.scanned;
        Ok(source.unfinished)
    }

    /// Takes the last lines of a packed file, which has to be read from its start.
    fn take_packed<R: Read>(&mut self, mut source: LinesForwards<R>, path: &str) -> Result<bool, SkillError> {
        let mut kept: VecDeque<Shown> = VecDeque::new();
        let mut bytes = 0;
        let (mut fresh, mut saw_old) = (self.filter.since.is_none(), false);
        let room = self.filter.lines - self.lines.len();
        loop {
            self.check_stop()?;
            let line = match source.next_line(MAX_UNPACKED) {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    self.notes.push(format!(
                        "`{path}` is damaged ({}); its lines up to there are shown",
                        plain(&error)
                    ));
                    break;
                }
            };
            if source.scanned > MAX_UNPACKED {
                self.stop_here(format!(
                    "`{path}` is not read: it has more than {} MiB unpacked",
                    MAX_UNPACKED / 1024 / 1024
                ));
                return Ok(false);
            }
            if let Some(since) = self.filter.since {
                if let Some(time) = when::of_log_line(&String::from_utf8_lossy(&line.bytes), self.filter.now)
                {
                    self.saw_time = true;
                    fresh = time >= since;
                    saw_old |= !fresh;
                }
                if !fresh {
                    continue;
                }
            }
            let shown = show(&line);
            if self.filter.grep.as_ref().is_some_and(|grep| !grep.is_match(&shown.text)) {
                continue;
            }
            bytes += shown.text.len() + 1;
            kept.push_back(shown);
            while kept.len() > room || self.bytes + bytes > MAX_BYTES {
                let Some(dropped) = kept.pop_front() else { break };
                bytes -= dropped.text.len() + 1;
                self.more_before = true;
            }
        }
        // Lines of the file after this one that go on with its last line.
        let held = std::mem::take(&mut self.held);
        if fresh && self.saw_time {
            held.iter().for_each(|line| self.keep(line));
        }
        let room = self.filter.lines - self.lines.len();
        self.more_before |= kept.len() > room;
        for shown in kept.into_iter().rev().take(room) {
            self.add(shown);
        }
        self.done |= self.more_before || saw_old;
        Ok(source.unfinished)
    }

    fn check_stop(&self) -> Result<(), SkillError> {
        if (self.stop)() { Err(SkillError::new(SkillErrorKind::Cancelled, "stopped")) } else { Ok(()) }
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
        self.add(shown);
    }

    fn add(&mut self, shown: Shown) {
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

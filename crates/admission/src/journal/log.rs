//! The journal's file: one line for each record, with a checksum in front that also covers the line before.
//!
//! A line that was being written when the machine stopped is cut off: it was never acted on, because every record is
//! synced first. Anything else that doesn't fit means that the file was damaged or edited.

use super::record::Record;
use super::{Point, Watcher, What, When};
use model::canonical::sha256_hex;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the first line's checksum covers in place of a line before. Names the format.
const ORIGIN: &str = "steadyhand-journal-1";

/// Hex digits of a checksum that are kept.
const SUM_LEN: usize = 16;

/// A file that is larger than this isn't one of ours.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The file, for writing. It is opened by the first write, which puts a fresh one in place; so a journal on a disk
/// that can't be written can still be read.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    watcher: Arc<dyn Watcher>,
    /// The file whose end is known to be good. `None` before the first write and after one that failed.
    file: Option<File>,
    length: u64,
    sum: String,
}

/// What a file holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    /// The records, as far as they fit.
    pub(crate) records: Vec<Record>,
    /// Bytes of them.
    pub(crate) length: u64,
    /// Whether the end was cut off.
    pub(crate) torn: bool,
    /// What is wrong behind them, if anything is.
    pub(crate) damage: Option<String>,
}

impl Log {
    pub(crate) fn new(path: PathBuf, watcher: Arc<dyn Watcher>) -> Self {
        Self { path, watcher, file: None, length: 0, sum: String::new() }
    }

    /// Bytes in the file as this process has written it; 0 before.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether records can be put at the end of the file. Else the whole has to be written.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Puts a record at the end. It is on the disk when this returns.
    pub(crate) fn append(&mut self, record: &Record) -> io::Result<()> {
        let Some(mut file) = self.file.take() else {
            return Err(io::Error::other("the journal has to be written anew"));
        };
        let (line, sum) = line_of(&self.sum, record)?;
        let what = record.what();
        let written = self
            .reach(what, When::Write)
            .and_then(|()| file.write_all(line.as_bytes()))
            .and_then(|()| self.reach(what, When::Sync))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            // What is at the end now is unknown, also after a sync that failed: the next write makes a new file.
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.length += line.len() as u64;
        self.sum = sum;
        self.reach(what, When::Done)?;
        self.file = Some(file);
        Ok(())
    }

    /// Puts a file with these records in place of the one that is there. Whoever reads it, also after a power cut,
    /// finds the old or the new one.
    pub(crate) fn rewrite<'r>(
        &mut self,
        records: impl IntoIterator<Item = &'r Record>,
        what: What,
    ) -> io::Result<()> {
        self.file = None;
        let fresh = self.path.with_extension("new");
        let written = self.write_fresh(&fresh, records, what);
        if written.is_err() {
            // It may be what fills the disk.
            let _ = fs::remove_file(&fresh);
        }
        let (file, length, sum) = written?;
        (self.length, self.sum, self.file) = (length, sum, Some(file));
        self.reach(what, When::Done)
    }

    fn write_fresh<'r>(
        &self,
        fresh: &Path,
        records: impl IntoIterator<Item = &'r Record>,
        what: What,
    ) -> io::Result<(File, u64, String)> {
        let (mut text, mut sum) = (String::new(), ORIGIN.to_owned());
        for record in records {
            let line;
            (line, sum) = line_of(&sum, record)?;
            text.push_str(&line);
        }
        self.reach(what, When::Write)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(fresh)?;
        // Says to other processes that whoever writes it is alive.
        file.try_lock().map_err(|error| io::Error::other(format!("the journal can't be locked: {error}")))?;
        file.write_all(text.as_bytes())?;
        self.reach(what, When::Sync)?;
        file.sync_all()?;
        fs::rename(fresh, &self.path)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            File::open(folder)?.sync_all()?;
        }
        Ok((file, text.len() as u64, sum))
    }

    fn reach(&self, what: What, when: When) -> io::Result<()> {
        self.watcher.reach(Point { what, when })
    }
}

/// A record's line, and its checksum.
fn line_of(before: &str, record: &Record) -> io::Result<(String, String)> {
    let json = serde_json::to_string(record).map_err(io::Error::other)?;
    let sum = sum_of(before, &json);
    Ok((format!("{sum} {json}\n"), sum))
}

fn sum_of(before: &str, json: &str) -> String {
    let mut sum = sha256_hex([before, json].concat().as_bytes());
    sum.truncate(SUM_LEN);
    sum
}

/// Reads a file; one that isn't there is empty.
pub(crate) fn read(path: &Path) -> io::Result<Content> {
    let bytes = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
        Err(error) => return Err(error),
        Ok(facts) if facts.len() > MAX_FILE_BYTES => {
            let damage = format!("it has {} bytes, which no journal of this edge has", facts.len());
            return Ok(Content { damage: Some(damage), ..Content::default() });
        }
        Ok(_) => fs::read(path)?,
    };
    Ok(parse(&bytes))
}

/// Reads the text of a file.
pub(crate) fn parse(bytes: &[u8]) -> Content {
    let mut content = Content::default();
    let mut sum = ORIGIN.to_owned();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            content.torn = true;
            break;
        };
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        match record_of(&sum, line) {
            Ok((record, next)) => {
                content.records.push(record);
                content.length += line.len() as u64 + 1;
                sum = next;
                rest = after;
            }
            // Blocks of the last write that never reached the disk read as zeros.
            Err(_) if after.is_empty() && line.contains(&0) => {
                content.torn = true;
                break;
            }
            Err(problem) => {
                let (number, at) = (content.records.len() + 1, content.length);
                content.damage = Some(format!("line {number}, at byte {at}: {problem}"));
                break;
            }
        }
    }
    content
}

fn record_of(before: &str, line: &[u8]) -> Result<(Record, String), String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is no text".to_owned())?;
    let (sum, json) = text.split_once(' ').ok_or("it has no checksum")?;
    let right = sum_of(before, json);
    if sum != right {
        return Err("its checksum doesn't fit it and the lines before".to_owned());
    }
    let record = serde_json::from_str(json)
        .map_err(|error| format!("it is whole, but this version can't read it: {error}"))?;
    Ok((record, right))
}

//! What is told of files.

use crate::support::files::facts::Names;
use crate::support::files::open::Place;
use crate::support::files::walk::{Sum, Unread, disk_of, size_of};
use crate::support::machine::percent;
use crate::support::when;
use rustix::fs::{FileType, Stat};
use schemars::JsonSchema;
use serde::Serialize;
use skill::{Host, SkillError, SkillErrorKind};
use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;

/// One path that was asked for.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PathReport {
    /// The path as it was asked for.
    path: String,
    /// Where it leads after links, if that is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads_to: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Bytes on disk, with all that was looked at below.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    /// Lengths of the files together, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// How many files are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    /// How many folders are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    folders: Option<u64>,
    /// The file system that it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filesystem: Option<Space>,
    /// What is below: of `du` the largest first, of `list` by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) entries: Option<Vec<Entry>>,
    /// How many more entries fit but are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) more_entries: u64,
    /// Of `stat`: all about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<Facts>,
    /// Why it could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<String>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Space of a file system in bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Space {
    /// All of it.
    size: u64,
    /// In use.
    used: u64,
    /// What users may still take.
    available: u64,
    /// `used` in percent, as `df` counts.
    percent: f64,
}

/// One file or folder.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Entry {
    /// Absolute path.
    pub(super) path: String,
    /// `file`, `folder`, `link`, `fifo`, `socket` or `device`.
    kind: String,
    /// Bytes on disk; of a folder with all that is below, if it was walked.
    pub(super) disk_bytes: u64,
    /// Length in bytes; of a folder its files' together.
    size_bytes: u64,
    /// How many files are below a folder that was walked.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    /// When it was last written, RFC 3339.
    modified: String,
    /// Owner by name.
    owner: String,
}

/// All about one file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Facts {
    /// Permissions in octal, for example `0644`.
    mode: String,
    /// Owner by name.
    owner: String,
    /// Group by name.
    group: String,
    /// When its content was last written, RFC 3339.
    modified: String,
    /// When its content, owner or permissions were last changed, RFC 3339.
    changed: String,
    /// When it was last read, as far as the file system notes that, RFC 3339.
    accessed: String,
    /// How many names (hard links) it has.
    links: u64,
    /// Its number on the file system.
    inode: u64,
    /// Where it points, if the path itself is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_to: Option<String>,
}

/// What could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unreadable {
    /// How many places.
    pub(super) count: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<UnreadPlace>,
}

/// One place that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadPlace {
    /// Absolute path.
    path: String,
    /// Why.
    reason: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PathReport {
    pub(super) fn of(path: &str, place: &Place, kind: FileType) -> Self {
        let real = place.real.display().to_string();
        Self {
            path: path.to_owned(),
            leads_to: (real != path.trim_end_matches('/') && path != "/").then_some(real),
            kind: Some(kind_word(kind).to_owned()),
            disk_bytes: Some(disk_of(&place.stat)),
            size_bytes: (kind == FileType::RegularFile).then(|| size_of(&place.stat)),
            ..Self::default()
        }
    }

    pub(super) fn failed(path: &str, error: &SkillError) -> Self {
        Self {
            path: path.to_owned(),
            error_kind: Some(SkillErrorKind::as_str(error.kind).to_owned()),
            error: Some(error.message.clone()),
            ..Self::default()
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    pub(super) fn sum(&mut self, sum: Sum) {
        self.disk_bytes = Some(sum.disk);
        self.size_bytes = Some(sum.size);
        self.files = Some(sum.files);
        self.folders = Some(sum.folders);
    }
}

impl Space {
    pub(super) fn of(place: &Place) -> Option<Self> {
        let space = rustix::fs::fstatvfs(&place.place).ok().filter(|space| space.f_blocks > 0)?;
        let used = space.f_blocks.saturating_sub(space.f_bfree).saturating_mul(space.f_frsize);
        let available = space.f_bavail.saturating_mul(space.f_frsize);
        Some(Self {
            size: space.f_blocks.saturating_mul(space.f_frsize),
            used,
            available,
            percent: percent(used as f64, (used + available) as f64),
        })
    }
}

impl Facts {
    pub(super) fn of(host: &dyn Host, path: &str, place: &Place, users: &Names, groups: &Names) -> Self {
        let stat = &place.stat;
        // The path may be a link; what it leads to has been looked at.
        let link = std::fs::read_link(host.path(path.trim_end_matches('/'))).ok();
        Self {
            mode: format!("{:04o}", stat.st_mode & 0o7777),
            owner: users.of(stat.st_uid),
            group: groups.of(stat.st_gid),
            modified: time(stat.st_mtime),
            changed: time(stat.st_ctime),
            accessed: time(stat.st_atime),
            links: stat.st_nlink,
            inode: stat.st_ino,
            link_to: link.map(|link| link.display().to_string()),
        }
    }
}

impl Unreadable {
    pub(super) fn of(unread: Unread) -> Self {
        let places = unread.told.into_iter().map(|(path, reason)| UnreadPlace { path, reason });
        Self { count: unread.count, places: places.collect() }
    }
}

/// An entry while there may still be better ones: by weight, then by name.
#[derive(Debug)]
pub(super) struct Row {
    weight: u64,
    path: Reverse<PathBuf>,
    kind: FileType,
    disk: u64,
    size: u64,
    files: Option<u64>,
    modified: i64,
    owner: u32,
}

impl Row {
    pub(super) fn new(path: PathBuf, stat: &Stat, kind: FileType, disk: u64, sum: Option<Sum>) -> Self {
        Self {
            weight: disk,
            path: Reverse(path),
            kind,
            disk,
            size: sum.map_or_else(|| size_of(stat), |sum| sum.size),
            files: sum.map(|sum| sum.files),
            modified: stat.st_mtime,
            owner: stat.st_uid,
        }
    }

    /// Only its name counts.
    pub(super) fn by_name(self) -> Self {
        Self { weight: 0, ..self }
    }

    pub(super) fn entry(self, users: &Names) -> Entry {
        Entry {
            path: self.path.0.display().to_string(),
            kind: kind_word(self.kind).to_owned(),
            disk_bytes: self.disk,
            size_bytes: self.size,
            files: self.files,
            modified: time(self.modified),
            owner: users.of(self.owner),
        }
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Row {}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.weight, &self.path).cmp(&(other.weight, &other.path))
    }
}

fn time(seconds: i64) -> String {
    when::rfc3339(chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default())
}

fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "link",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        _ => "device",
    }
}

//! Walks a folder tree by descriptors: never through links, never to another file system unless asked, bounded in
//! entries, depth and time, in memory that doesn't grow with the tree.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat, fstatfs, openat, statat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most folders that are open at once, one for each level.
const MAX_LEVELS: usize = 128;

/// Most hard links that are remembered, so that none is counted twice.
const MAX_LINKS: usize = 200_000;

/// Most places that are told of those that could not be read.
const MAX_TOLD: usize = 20;

/// Kinds of file systems that the kernel makes up: nothing in them takes space on a disk.
const MADE_UP: &[u64] = &[
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x27_e0eb,   // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x1cd1,      // devpts
    0x7363_6673, // securityfs
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
    0x6265_6570, // configfs
    0xde5e_81e4, // efivarfs
    0x1980_0202, // mqueue
    0x6573_5543, // fusectl
    0x4249_4e4d, // binfmt_misc
    0x6e73_6673, // nsfs
    0x0187,      // autofs
];

/// What a walk may use, over all of its trees.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) entries: u64,
    pub(crate) until: Instant,
    /// Entries that were looked at.
    pub(crate) seen: u64,
    /// Why the walk ended early.
    pub(crate) ended: Option<String>,
    links: HashSet<(u64, u64)>,
    links_full: bool,
}

/// What could not be read.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    pub(crate) count: u64,
    /// Places with reasons; the first ones.
    pub(crate) told: Vec<(String, String)>,
}

/// How a tree is walked.
pub(crate) struct Rules<'a> {
    /// Other file systems are walked too.
    pub(crate) cross: bool,
    /// The start may be in a file system that the kernel makes up.
    pub(crate) made_up: bool,
    /// Whether an entry is left out, with all that is below.
    pub(crate) excluded: &'a dyn Fn(&Path) -> bool,
    /// Why an entry is closed, with all that is below.
    pub(crate) closed: &'a dyn Fn(&Path) -> Option<&'static str>,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// Something that was found.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) path: &'a Path,
    /// How far below the start; its own entries are at 1.
    pub(crate) level: usize,
    pub(crate) stat: &'a Stat,
    pub(crate) kind: FileType,
    /// Bytes that it adds to its folder: 0 for a name of a file that was counted before.
    pub(crate) disk: u64,
    /// Of a folder that has been walked: what is in it.
    pub(crate) sum: Option<Sum>,
}

/// What is in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Bytes on disk, with the folder itself.
    pub(crate) disk: u64,
    /// Lengths of its files together.
    pub(crate) size: u64,
    pub(crate) files: u64,
    pub(crate) folders: u64,
}

struct Level {
    folder: Dir,
    path: PathBuf,
    stat: Stat,
    sum: Sum,
}

impl Budget {
    pub(crate) fn new(entries: u64, time: Duration) -> Self {
        Self {
            entries,
            until: Instant::now() + time,
            seen: 0,
            ended: None,
            links: HashSet::new(),
            links_full: false,
        }
    }

    /// Counts one entry. False once nothing more may be looked at.
    fn spend(&mut self, stop: &dyn Fn() -> bool) -> bool {
        self.seen += 1;
        if self.seen > self.entries {
            self.ended.get_or_insert(format!("stopped after {} entries", self.entries));
        } else if self.seen.is_multiple_of(256) && Instant::now() > self.until {
            self.ended.get_or_insert("stopped because the time for it was over".to_owned());
        } else if self.seen.is_multiple_of(256) && stop() {
            self.ended.get_or_insert("stopped on request".to_owned());
        }
        self.ended.is_none()
    }

    /// Bytes that a file takes, 0 if it was counted under another name.
    fn disk(&mut self, stat: &Stat, kind: FileType) -> u64 {
        let disk = disk_of(stat);
        if kind == FileType::Directory || stat.st_nlink < 2 {
            return disk;
        }
        if self.links.len() >= MAX_LINKS {
            self.links_full = true;
            return disk;
        }
        if self.links.insert((stat.st_dev, stat.st_ino)) { disk } else { 0 }
    }

    /// Whether there were too many hard links to tell all of those apart.
    pub(crate) fn lost_links(&self) -> bool {
        self.links_full
    }
}

/// Bytes that a file takes on disk. Holes of sparse files take none.
pub(crate) fn disk_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512)
}

/// A file's length.
pub(crate) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

impl Unread {
    pub(crate) fn add(&mut self, path: &Path, reason: impl Into<String>) {
        self.count += 1;
        if self.told.len() < MAX_TOLD {
            self.told.push((path.display().to_string(), reason.into()));
        }
    }
}

/// Walks everything below `start` down to level `deepest`, folders after what is in them. `each` sees every entry.
pub(crate) fn walk(
    start: &OwnedFd,
    path: &Path,
    deepest: Option<usize>,
    rules: &Rules<'_>,
    budget: &mut Budget,
    unread: &mut Unread,
    each: &mut dyn FnMut(&Found<'_>),
) -> Result<Sum, Errno> {
    let first = open_folder(start, c".")?;
    let stat = first.stat()?;
    if !rules.made_up && is_made_up(&first) {
        return Err(Errno::NOTSUP);
    }
    let device = stat.st_dev;
    let sum = Sum { disk: disk_of(&stat), ..Sum::default() };
    let mut levels = vec![Level { folder: first, path: path.to_owned(), stat, sum }];
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(Sum::default()) };
        let entry = if budget.ended.is_some() { None } else { level.folder.read() };
        let entry = match entry {
            Some(Ok(entry)) => entry,
            None | Some(Err(_)) => {
                if let Some(Err(error)) = entry {
                    unread.add(&level.path, reason(error));
                }
                if depth == 1 {
                    return Ok(level.sum);
                }
                leave(&mut levels, each);
                continue;
            }
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let entry_path = level.path.join(OsStr::from_bytes(name.to_bytes()));
        if !budget.spend(rules.stop) || (rules.excluded)(&entry_path) {
            continue;
        }
        if let Some(why) = (rules.closed)(&entry_path) {
            unread.add(&entry_path, why);
            continue;
        }
        let Ok(folder) = level.folder.fd() else { continue };
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
            Ok(stat) => stat,
            // Deleted meanwhile.
            Err(Errno::NOENT) => continue,
            Err(error) => {
                unread.add(&entry_path, reason(error));
                continue;
            }
        };
        let kind = FileType::from_raw_mode(stat.st_mode as RawMode);
        if kind != FileType::Directory {
            let disk = budget.disk(&stat, kind);
            level.sum.files += 1;
            level.sum.disk += disk;
            level.sum.size += size_of(&stat);
            each(&Found { path: &entry_path, level: depth, stat: &stat, kind, disk, sum: None });
            continue;
        }
        level.sum.folders += 1;
        let elsewhere = stat.st_dev != device;
        let below = deepest.is_none_or(|deepest| depth < deepest) && (!elsewhere || rules.cross);
        if !below {
            let disk = if elsewhere { 0 } else { disk_of(&stat) };
            level.sum.disk += disk;
            each(&Found { path: &entry_path, level: depth, stat: &stat, kind, disk, sum: None });
            continue;
        }
        if depth >= MAX_LEVELS {
            unread.add(&entry_path, format!("it is more than {MAX_LEVELS} folders deep"));
            continue;
        }
        match open_folder(folder, name) {
            Ok(opened) if elsewhere && is_made_up(&opened) => {}
            Ok(opened) => {
                let sum = Sum { disk: disk_of(&stat), ..Sum::default() };
                levels.push(Level { folder: opened, path: entry_path, stat, sum });
            }
            Err(Errno::NOENT) => {}
            Err(error) => {
                level.sum.disk += disk_of(&stat);
                unread.add(&entry_path, reason(error));
            }
        }
    }
}

/// Tells of a folder that has been walked, and adds it to the one above.
fn leave(levels: &mut Vec<Level>, each: &mut dyn FnMut(&Found<'_>)) {
    let Some(done) = levels.pop() else { return };
    let Some(above) = levels.last_mut() else { return };
    above.sum.disk += done.sum.disk;
    above.sum.size += done.sum.size;
    above.sum.files += done.sum.files;
    above.sum.folders += done.sum.folders;
    each(&Found {
        path: &done.path,
        level: levels.len(),
        stat: &done.stat,
        kind: FileType::Directory,
        disk: done.sum.disk,
        sum: Some(done.sum),
    });
}

fn open_folder(at: impl AsFd, name: &CStr) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Dir::new(openat(at, name, flags, Mode::empty())?)
}

fn is_made_up(folder: &Dir) -> bool {
    let Ok(folder) = folder.fd() else { return false };
    fstatfs(folder).is_ok_and(|system| MADE_UP.contains(&(system.f_type as u64 & 0xffff_ffff)))
}

/// An error in words.
pub(crate) fn reason(error: Errno) -> String {
    match error {
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::NOTSUP => "the kernel makes it up; nothing in it takes space on a disk".to_owned(),
        other => crate::support::errors::plain(&other.into()),
    }
}

//! What is at and below a place: walked by descriptor, never through a link or over a mount, and removed only where it
//! is still what was seen.

use super::place::{OwnFiles, Place, own_file};
use crate::support::errors::{failed, of_io, plain, refused, too_large};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Statx, StatxAttributes, StatxFlags, openat2, statx,
    unlinkat,
};
use rustix::io::Errno;
use skill::{Host, SkillError, SkillErrorKind};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Entries that are looked at. More are refused.
const MAX_ENTRIES: u64 = 100_000;

/// Folders within folders. Each level holds a descriptor.
const MAX_DEPTH: usize = 64;

/// Entries that are named when something is left.
const MAX_LEFT: usize = 20;

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Entries of every kind, the top one included.
    pub(crate) count: u64,
    /// Bytes in all files together.
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) folders: u64,
    /// Links, sockets, devices.
    pub(crate) others: u64,
}

/// An entry and what is below it.
#[derive(Debug)]
pub(crate) struct Tree {
    path: PathBuf,
    top: Node,
    figures: Figures,
}

#[derive(Debug)]
struct Node {
    name: OsString,
    kind: FileType,
    bytes: u64,
    /// What it is, whatever it is called.
    device: (u32, u32),
    inode: u64,
    below: Vec<Node>,
}

/// What a removal came to.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    pub(crate) removed: Figures,
    /// What is left, and why; the first few.
    pub(crate) left: Vec<(String, String)>,
}

impl Tree {
    /// Looks at everything at and below a place.
    ///
    /// # Errors
    ///
    /// Fails if there is too much, a mount point, or one of the agent's own files, and if the walk is stopped.
    pub(crate) fn walk(
        host: &dyn Host,
        place: &Place,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, SkillError> {
        let own = OwnFiles::of(host);
        if own.is_below(&place.real) {
            return Err(own_file(&place.real));
        }
        let mut walk = Walk { own, figures: Figures::default(), path: place.real.clone(), stopped };
        let top = walk.node(&place.folder, &place.name, 0)?;
        Ok(Self { path: place.real.clone(), top, figures: walk.figures })
    }

    pub(crate) fn figures(&self) -> Figures {
        self.figures
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.top.kind == FileType::Directory
    }

    /// The paths of some entries that are no folders, or of the top one if there are none.
    pub(crate) fn sample(&self, most: usize) -> Vec<String> {
        fn collect(node: &Node, path: PathBuf, most: usize, into: &mut Vec<String>) {
            if into.len() >= most {
                return;
            }
            if node.kind != FileType::Directory {
                into.push(path.display().to_string());
            }
            for child in &node.below {
                collect(child, path.join(&child.name), most, into);
            }
        }
        let mut names = Vec::new();
        collect(&self.top, self.path.clone(), most, &mut names);
        if names.is_empty() {
            names.push(self.path.display().to_string());
        }
        names
    }

    /// Removes what is still what was seen, from the deepest up.
    pub(crate) fn remove(&self, place: &Place, stopped: &dyn Fn() -> bool) -> Removal {
        let mut removal = Removal::default();
        remove_node(&place.folder, &self.top, self.path.clone(), stopped, &mut removal);
        removal
    }
}

struct Walk<'a> {
    own: OwnFiles,
    figures: Figures,
    path: PathBuf,
    stopped: &'a dyn Fn() -> bool,
}

impl Walk<'_> {
    fn node(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> Result<Node, SkillError> {
        if (self.stopped)() {
            return Err(SkillError::new(
                SkillErrorKind::Cancelled,
                "stopped while it was looked at; nothing was removed",
            ));
        }
        let shown = self.path.display().to_string();
        let seen =
            look(folder, name).map_err(|error| of_io(format!("look at `{}`", shown), &error.into()))?;
        let kind = FileType::from_raw_mode(seen.stx_mode.into());
        if seen.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
            && seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        {
            return Err(refused(format!("`{}` is a mount point; it and what is below it stay", shown)));
        }
        let device = rustix::fs::makedev(seen.stx_dev_major, seen.stx_dev_minor);
        if self.own.is(device, seen.stx_ino) {
            return Err(own_file(&self.path));
        }
        self.count(kind, seen.stx_size)?;
        let mut node = Node {
            name: name.to_owned(),
            kind,
            bytes: if kind == FileType::RegularFile { seen.stx_size } else { 0 },
            device: (seen.stx_dev_major, seen.stx_dev_minor),
            inode: seen.stx_ino,
            below: Vec::new(),
        };
        if kind != FileType::Directory {
            return Ok(node);
        }
        if depth == MAX_DEPTH {
            return Err(too_large(format!(
                "`{}` is more than {MAX_DEPTH} folders deep; remove the deep ones first",
                shown
            )));
        }
        let inside = enter(folder, name).map_err(|error| match error {
            Errno::XDEV => refused(format!("`{}` is a mount point; it and what is below it stay", shown)),
            other => of_io(format!("look into `{}`", shown), &other.into()),
        })?;
        let entries =
            Dir::read_from(&inside).map_err(|error| of_io(format!("read `{}`", shown), &error.into()))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| of_io(format!("read `{}`", shown), &error.into()))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
            if names.len() as u64 > MAX_ENTRIES {
                return Err(too_many());
            }
        }
        model::order::sort(&mut names);
        for name in names {
            self.path.push(&name);
            let child = self.node(&inside, &name, depth + 1)?;
            self.path.pop();
            node.below.push(child);
        }
        Ok(node)
    }

    fn count(&mut self, kind: FileType, bytes: u64) -> Result<(), SkillError> {
        let figures = &mut self.figures;
        figures.add(kind, bytes);
        if figures.count > MAX_ENTRIES { Err(too_many()) } else { Ok(()) }
    }
}

impl Figures {
    fn add(&mut self, kind: FileType, bytes: u64) {
        self.count += 1;
        match kind {
            FileType::RegularFile => {
                self.files += 1;
                self.bytes = self.bytes.saturating_add(bytes);
            }
            FileType::Directory => self.folders += 1,
            _ => self.others += 1,
        }
    }
}

fn too_many() -> SkillError {
    too_large(format!("there are more than {MAX_ENTRIES} entries; remove parts of it one by one"))
}

fn look(folder: &OwnedFd, name: &OsStr) -> Result<Statx, Errno> {
    statx(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::BASIC_STATS)
}

/// Opens a folder, never through a link or over a mount.
fn enter(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(folder, name, flags, Mode::empty(), within)
}

fn remove_node(
    folder: &OwnedFd,
    node: &Node,
    path: PathBuf,
    stopped: &dyn Fn() -> bool,
    removal: &mut Removal,
) {
    let left = |removal: &mut Removal, reason: String| {
        if removal.left.len() < MAX_LEFT {
            removal.left.push((path.display().to_string(), reason));
        }
    };
    if stopped() {
        return left(removal, "the call was stopped".to_owned());
    }
    let words = |error: Errno| plain(&error.into());
    let is_same = |seen: &Statx| {
        (seen.stx_dev_major, seen.stx_dev_minor, seen.stx_ino) == (node.device.0, node.device.1, node.inode)
            && FileType::from_raw_mode(seen.stx_mode.into()) == node.kind
            && (node.kind != FileType::RegularFile || seen.stx_size == node.bytes)
    };
    match look(folder, &node.name) {
        Ok(seen) if is_same(&seen) => {}
        Ok(_) => return left(removal, "it is another one by now, or has changed".to_owned()),
        Err(error) => return left(removal, words(error)),
    }
    let flags = if node.kind == FileType::Directory {
        match enter(folder, &node.name) {
            Ok(inside) => {
                for child in &node.below {
                    remove_node(&inside, child, path.join(&child.name), stopped, removal);
                }
            }
            Err(error) => return left(removal, words(error)),
        }
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    match unlinkat(folder, &node.name, flags) {
        Ok(()) => removal.removed.add(node.kind, node.bytes),
        Err(Errno::NOTEMPTY | Errno::EXIST) => left(removal, "something is still in it".to_owned()),
        Err(error) => left(removal, words(error)),
    }
}

impl Place {
    /// Refuses a link that leads out of its root; one that leads nowhere is as good as none.
    pub(crate) fn refuse_link_out(&self, host: &dyn Host, path: &str) -> Result<(), SkillError> {
        match self.leads_to(host, path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind == SkillErrorKind::NotFound => Ok(()),
            Err(error) if error.kind == SkillErrorKind::Refused => Err(error),
            Err(error) => Err(failed(error.message)),
        }
    }
}

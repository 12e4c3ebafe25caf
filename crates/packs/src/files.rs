//! The files of a pack: who may have written them, what they are as one digest, and a copy that nobody else can change.
//!
//! Everything is decided on what was copied, not on what lies in the pack's directory, where it can change at any
//! moment: the digest is made of the bytes as they are written into the copy.

use crate::problem::{Fault, PackError, Problem};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Most files, links and directories of one pack.
const MAX_FILES: usize = 1000;

/// Most bytes of one pack.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// How deep directories may lie in each other.
const MAX_DEPTH: usize = 32;

/// Separates these digests from all others.
const DOMAIN: &[u8] = b"steadyhand pack v1\0";

/// Reads a whole pack, copies it to `copy` if that is given (a directory that isn't there yet), and tells its digest:
/// SHA-256 over names, modes and contents, in the order of the names.
pub(crate) fn take_in(pack: &Path, owners: &[u32], copy: Option<&Path>) -> Result<String, PackError> {
    let mut intake = Intake::new(pack, owners);
    intake.copy = copy;
    intake.directory(Path::new(""), 0)?;
    Ok(hex(&intake.hash.finalize()))
}

/// Whether a copy that was made before is still as it was made of this pack, to the byte.
pub(crate) fn is_copy_of(copy: &Path, pack: &Path, owners: &[u32]) -> bool {
    let digest = |place: &Path| {
        let mut intake = Intake::new(place, owners);
        intake.as_kept = true;
        intake.directory(Path::new(""), 0).is_ok().then(|| intake.hash.finalize())
    };
    digest(copy).is_some_and(|kept| digest(pack) == Some(kept))
}

struct Intake<'a> {
    pack: &'a Path,
    owners: &'a [u32],
    copy: Option<&'a Path>,
    hash: Sha256,
    files: usize,
    bytes: u64,
    /// Modes count as they are in a copy.
    as_kept: bool,
}

impl<'a> Intake<'a> {
    fn new(pack: &'a Path, owners: &'a [u32]) -> Self {
        let hash = Sha256::new_with_prefix(DOMAIN);
        Self { pack, owners, copy: None, hash, files: 0, bytes: 0, as_kept: false }
    }

    fn directory(&mut self, inside: &Path, depth: usize) -> Result<(), Problem> {
        let at = inside.to_string_lossy().into_owned();
        let place = self.pack.join(inside);
        let unreadable = |error: io::Error| Problem::new(Fault::NotReadable, at.clone(), error.to_string());
        let meta = fs::symlink_metadata(&place).map_err(unreadable)?;
        self.check_rights(&at, &meta)?;
        if depth > MAX_DEPTH {
            let message = format!("directories lie more than {MAX_DEPTH} deep");
            return Err(Problem::new(Fault::TooManyFiles, at, message));
        }
        if let Some(copy) = self.copy {
            // Whoever runs the pack may look into it, whatever this process's umask is.
            let made = copy.join(inside);
            DirBuilder::new()
                .mode(0o700)
                .create(&made)
                .and_then(|()| fs::set_permissions(&made, fs::Permissions::from_mode(0o755)))
                .map_err(|error| kept(&at, &error))?;
        }
        self.record(b'd', inside.as_os_str(), &meta, 0);
        let mut names = Vec::new();
        for entry in fs::read_dir(&place).map_err(unreadable)? {
            names.push(entry.map_err(unreadable)?.file_name());
            self.files += 1;
            if self.files > MAX_FILES {
                let message = format!("more than {MAX_FILES} files and directories");
                return Err(Problem::new(Fault::TooManyFiles, at, message));
            }
        }
        model::order::sort(&mut names);
        for name in names {
            self.entry(&inside.join(name), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, inside: &Path, depth: usize) -> Result<(), Problem> {
        let Some(at) = inside.to_str().filter(|text| !text.chars().any(char::is_control)) else {
            let message = "the name must be plain UTF-8";
            return Err(Problem::new(Fault::BadFile, inside.to_string_lossy(), message));
        };
        let place = self.pack.join(inside);
        let kind = fs::symlink_metadata(&place)
            .map_err(|error| Problem::new(Fault::NotReadable, at, error.to_string()))?
            .file_type();
        if kind.is_dir() {
            self.directory(inside, depth + 1)
        } else if kind.is_file() {
            self.file(inside, at)
        } else if kind.is_symlink() {
            self.link(inside, at)
        } else {
            let message = "is neither a file, a directory nor a link; a pack has nothing else";
            Err(Problem::new(Fault::BadFile, at, message))
        }
    }

    fn file(&mut self, inside: &Path, at: &str) -> Result<(), Problem> {
        let unreadable = |error: io::Error| Problem::new(Fault::NotReadable, at, error.to_string());
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(self.pack.join(inside))
            .map_err(unreadable)?;
        // Of what was opened, not of what had that name before.
        let meta = file.metadata().map_err(unreadable)?;
        if !meta.is_file() {
            return Err(Problem::new(Fault::BadFile, at, "is no regular file"));
        }
        self.check_rights(at, &meta)?;
        let length = meta.len();
        self.bytes += length;
        if self.bytes > MAX_BYTES {
            let message = format!("the pack is larger than {} MiB", MAX_BYTES >> 20);
            return Err(Problem::new(Fault::TooMuchData, at, message));
        }
        self.record(b'f', inside.as_os_str(), &meta, length);
        let mut copy = match self.copy {
            Some(copy) => {
                let mode = kept_mode(meta.mode());
                let path = copy.join(inside);
                let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
                Some(file.map_err(|error| kept(at, &error))?)
            }
            None => None,
        };
        let copied = self.contents(file, length, at, copy.as_mut())?;
        if copied != length {
            return Err(Problem::new(Fault::NotReadable, at, "changed while it was being read; try again"));
        }
        if let Some(copy) = copy {
            copy.set_permissions(fs::Permissions::from_mode(kept_mode(meta.mode())))
                .map_err(|error| kept(at, &error))?;
        }
        Ok(())
    }

    /// Hashes and copies one file; never more than one byte beyond what was announced.
    fn contents(
        &mut self,
        file: File,
        length: u64,
        at: &str,
        mut copy: Option<&mut File>,
    ) -> Result<u64, Problem> {
        let mut source = file.take(length + 1);
        let mut buffer = vec![0; 64 * 1024];
        let mut copied = 0;
        loop {
            let read = source
                .read(&mut buffer)
                .map_err(|error| Problem::new(Fault::NotReadable, at, error.to_string()))?;
            let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { return Ok(copied) };
            self.hash.update(piece);
            if let Some(copy) = copy.as_deref_mut() {
                copy.write_all(piece).map_err(|error| kept(at, &error))?;
            }
            copied += read as u64;
        }
    }

    fn link(&mut self, inside: &Path, at: &str) -> Result<(), Problem> {
        let place = self.pack.join(inside);
        let unreadable = |error: io::Error| Problem::new(Fault::NotReadable, at, error.to_string());
        let meta = fs::symlink_metadata(&place).map_err(unreadable)?;
        if !self.owners.contains(&meta.uid()) {
            return Err(self.bad_owner(at, meta.uid()));
        }
        let target = fs::read_link(&place).map_err(unreadable)?;
        if !stays_inside(inside, &target) {
            let message =
                format!("leads to `{}`; a link must be relative and stay inside the pack", target.display());
            return Err(Problem::new(Fault::LinkOutside, at, message));
        }
        self.record_name(b'l', inside.as_os_str());
        self.record_name(b'>', target.as_os_str());
        if let Some(copy) = self.copy {
            symlink(&target, copy.join(inside)).map_err(|error| kept(at, &error))?;
        }
        Ok(())
    }

    /// What others can write, others decide on.
    fn check_rights(&self, at: &str, meta: &fs::Metadata) -> Result<(), Problem> {
        if !self.owners.contains(&meta.uid()) {
            return Err(self.bad_owner(at, meta.uid()));
        }
        let mode = meta.mode() & 0o7777;
        if mode & 0o022 != 0 {
            let message = format!(
                "{}'s mode is {mode:04o}: others than the owner can write it; chmod -R go-w on the pack",
                shown(at)
            );
            return Err(Problem::new(Fault::Writable, at, message));
        }
        if mode & 0o6000 != 0 {
            let message =
                format!("{}'s mode is {mode:04o}: nothing in a pack may be setuid or setgid", shown(at));
            return Err(Problem::new(Fault::BadFile, at, message));
        }
        Ok(())
    }

    fn bad_owner(&self, at: &str, owner: u32) -> Problem {
        let wanted: Vec<String> = self.owners.iter().map(u32::to_string).collect();
        let message =
            format!("{} belongs to user id {owner}; must belong to {}", shown(at), wanted.join(" or "));
        Problem::new(Fault::BadOwner, at, message)
    }

    fn record(&mut self, kind: u8, name: &OsStr, meta: &fs::Metadata, length: u64) {
        self.record_name(kind, name);
        let mode = match meta.mode() & 0o777 {
            _ if self.as_kept && meta.is_dir() => 0o755,
            mode if self.as_kept => kept_mode(mode),
            mode => mode,
        };
        self.hash.update(mode.to_be_bytes());
        self.hash.update(length.to_be_bytes());
    }

    fn record_name(&mut self, kind: u8, name: &OsStr) {
        self.hash.update([kind]);
        self.hash.update((name.len() as u64).to_be_bytes());
        self.hash.update(name.as_bytes());
    }
}

/// The mode of a copied file: nobody writes to it again, the agent included.
fn kept_mode(mode: u32) -> u32 {
    if mode & 0o111 == 0 { 0o444 } else { 0o555 }
}

/// A place in a pack, in words.
fn shown(at: &str) -> String {
    if at.is_empty() { "the pack's directory".to_owned() } else { format!("`{at}`") }
}

/// Whether a link at `inside`, a path in the pack, can't lead out of it. A link through another link is judged by each
/// of them, since both stay inside.
fn stays_inside(inside: &Path, target: &Path) -> bool {
    let mut depth = inside.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// The entry of a pack whose files were looked at: where it really is.
///
/// # Errors
///
/// Tells what is wrong with it, by name.
pub(crate) fn check_entry(pack: &Path, entry: &Path) -> Result<(), Problem> {
    let at = "entry";
    let shown = entry.display();
    let problem = |fault, message: String| Err(Problem::new(fault, at, message));
    let (Ok(root), Ok(place)) = (pack.canonicalize(), pack.join(entry).canonicalize()) else {
        return problem(Fault::EntryNotFound, format!("there is no `{shown}` in the pack"));
    };
    if !place.starts_with(&root) {
        return problem(
            Fault::EntryOutside,
            format!("`{shown}` leads to {}, outside the pack", place.display()),
        );
    }
    let meta = match fs::metadata(&place) {
        Ok(meta) => meta,
        Err(error) => return problem(Fault::EntryNotFound, format!("`{shown}`: {error}")),
    };
    if !meta.is_file() {
        return problem(Fault::EntryNotRegular, format!("`{shown}` is no regular file"));
    }
    if meta.mode() & 0o002 != 0 {
        return problem(Fault::EntryWorldWritable, format!("anybody can write `{shown}`; chmod go-w"));
    }
    if meta.mode() & 0o111 == 0 {
        return problem(Fault::EntryNotExecutable, format!("`{shown}` is not executable; chmod +x"));
    }
    Ok(())
}

/// Reads the manifest, no more of it than fits.
pub(crate) fn read_manifest(pack: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no skill.json".to_owned(),
            _ => error.to_string(),
        };
        Problem::new(Fault::NotReadable, MANIFEST, message)
    };
    let flags = OFlags::NONBLOCK.bits() as i32;
    let path: PathBuf = pack.join(MANIFEST);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let mut text = Vec::new();
    file.take(crate::json::MAX_MANIFEST_BYTES as u64 + 1).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// The file that makes a directory a pack.
pub(crate) const MANIFEST: &str = "skill.json";

fn kept(at: &str, error: &io::Error) -> Problem {
    Problem::new(Fault::NotKept, at, format!("the agent's own copy can't be made: {error}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

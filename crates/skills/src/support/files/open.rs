//! Opens a file of the host by descriptor: the links are resolved once, the rules look at what came out, and exactly
//! that is read. Nothing can be swapped in between.

use super::rules;
use crate::support::errors::{denied, failed, invalid, not_found, of_io, plain, refused};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2, stat};
use rustix::io::Errno;
use skill::secrets::{self, holds_private_key};
use skill::{Host, SkillError};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A regular file that may be read.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    /// The path after links.
    pub(crate) real: PathBuf,
    pub(crate) stat: Stat,
}

/// Opens `path` for reading if the rules allow it and it is a regular file.
pub(crate) fn open_file(host: &dyn Host, path: &str) -> Result<Opened, SkillError> {
    let Place { place, real, stat } = look(host, path)?;
    only_regular(path, FileType::from_raw_mode(stat.st_mode))?;
    refuse_other_names(host, path, &stat)?;
    // Opened again through the descriptor: the same file, whatever the path leads to by then.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())
        .map_err(|error| explain(path, error))?;
    let mut file = File::from(file);
    refuse_private_keys(path, &mut file)?;
    Ok(Opened { file, real, stat })
}

/// Something that may be looked at, whatever it is.
#[derive(Debug)]
pub(crate) struct Place {
    /// Leads to it without opening it.
    pub(crate) place: OwnedFd,
    /// The path after links.
    pub(crate) real: PathBuf,
    pub(crate) stat: Stat,
}

/// Follows `path` if the rules allow what it leads to. Opens nothing: devices and FIFOs don't notice.
pub(crate) fn look(host: &dyn Host, path: &str) -> Result<Place, SkillError> {
    let asked = checked(path)?;
    rules::check(&asked, host.file_rules())?;
    let place = resolve(host, path)?;
    let real = real_path(host, &place)?;
    rules::check(&real, host.file_rules())?;
    let place = beneath_root(host, path, &real, place)?;
    let stat = fstat(&place).map_err(|error| of_io(format!("look at `{path}`"), &error.into()))?;
    Ok(Place { place, real, stat })
}

/// Where only some roots may be read, the kernel has the last word: the place is reached once more from its root, by a
/// way that can't leave it.
fn beneath_root(host: &dyn Host, path: &str, real: &Path, place: OwnedFd) -> Result<OwnedFd, SkillError> {
    let Some(root) = host.file_rules().roots.iter().find(|root| real.starts_with(root)) else {
        return Ok(place);
    };
    let from = host.path(&root.display().to_string());
    let from = open(&from, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| of_io(format!("open the root `{}`", root.display()), &error.into()))?;
    let below = real.strip_prefix(root).unwrap_or(real);
    if below.as_os_str().is_empty() {
        return Ok(place);
    }
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..8 {
        match openat2(&from, below, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), within) {
            Ok(again) => {
                let same = same_file(&fstat_of(path, &place)?, &fstat_of(path, &again)?);
                return if same { Ok(again) } else { Err(failed(format!("`{path}` changes all the time"))) };
            }
            Err(Errno::AGAIN) => {}
            // Kernels before 5.6: the path that the descriptor told has been checked.
            Err(Errno::NOSYS | Errno::PERM) => return Ok(place),
            Err(Errno::LOOP | Errno::XDEV) => {
                return Err(refused(format!("`{path}` leads out of `{}`", root.display())));
            }
            Err(error) => return Err(explain(path, error)),
        }
    }
    Err(failed(format!("`{path}` changes all the time")))
}

fn fstat_of(path: &str, place: &OwnedFd) -> Result<Stat, SkillError> {
    fstat(place).map_err(|error| of_io(format!("look at `{path}`"), &error.into()))
}

/// Whether two are the same file, by whatever names.
pub(crate) fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether two are names of one file, also where an overlay file system tells another number for each: it does for a
/// hard link to a file that was changed since. The times of its last change then give it away.
fn is_other_name(one: &Stat, other: &Stat) -> bool {
    let facts = |of: &Stat| {
        (
            of.st_size,
            of.st_mode,
            of.st_nlink,
            (of.st_ctime, of.st_ctime_nsec),
            (of.st_mtime, of.st_mtime_nsec),
        )
    };
    same_file(one, other) || (one.st_nlink > 1 && facts(one) == facts(other))
}

/// The path without dots. It must be absolute and legal.
fn checked(path: &str) -> Result<PathBuf, SkillError> {
    if path.contains('\0') {
        return Err(invalid("a path can't hold a NUL byte"));
    }
    if !path.starts_with('/') {
        return Err(invalid(format!("`{path}` is not absolute; a path begins with `/`")));
    }
    Ok(rules::normalise(Path::new(path)))
}

/// Follows the path below the host's root, without opening what is there.
fn resolve(host: &dyn Host, path: &str) -> Result<OwnedFd, SkillError> {
    let root = open(host.root(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| of_io("open the root folder", &error.into()))?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let relative = path.trim_start_matches('/');
    let relative = if relative.is_empty() { "." } else { relative };
    // The kernel asks to try again when something was renamed meanwhile.
    for _ in 0..8 {
        match openat2(&root, relative, flags, Mode::empty(), within) {
            Ok(place) => return Ok(place),
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return resolve_by_hand(host, path),
            Err(Errno::LOOP) => {
                return Err(refused(format!("`{path}` leads through a link of /proc, or links in a circle")));
            }
            Err(error) => return Err(explain(path, error)),
        }
    }
    Err(failed(format!("`{path}` changes all the time")))
}

/// For kernels before 5.6 and sandboxes without `openat2`: libc's way, then a look at what came out.
fn resolve_by_hand(host: &dyn Host, path: &str) -> Result<OwnedFd, SkillError> {
    let real =
        std::fs::canonicalize(host.path(path)).map_err(|error| of_io(format!("open `{path}`"), &error))?;
    if !real.starts_with(host.root()) {
        return Err(refused(format!("`{path}` leads out of the root folder")));
    }
    open(&real, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| explain(path, error))
}

/// Where a descriptor is, as a path below the host's root.
pub(crate) fn real_path(host: &dyn Host, place: &OwnedFd) -> Result<PathBuf, SkillError> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd()))
        .map_err(|error| failed(format!("/proc is needed to read files safely: {}", plain(&error))))?;
    if host.root() == Path::new("/") {
        return Ok(link);
    }
    let root = std::fs::canonicalize(host.root()).map_err(|error| of_io("find the root folder", &error))?;
    match link.strip_prefix(root) {
        Ok(below) => Ok(Path::new("/").join(below)),
        Err(_) => Err(refused("the path leads out of the root folder")),
    }
}

fn only_regular(path: &str, kind: FileType) -> Result<(), SkillError> {
    let what = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(invalid(format!("`{path}` is a folder, not a file"))),
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no regular file",
    };
    Err(refused(format!("`{path}` is {what}; only regular files are read")))
}

/// A second name for a secret file is as secret: a hard link, or a bind mount of it elsewhere.
fn refuse_other_names(host: &dyn Host, path: &str, own: &Stat) -> Result<(), SkillError> {
    /// How many files of a closed folder are compared.
    const MOST: usize = 200;
    let is_this = |place: &Path| stat(place).is_ok_and(|other| is_other_name(&other, own));
    for secret in secrets::FILES {
        if !secret.starts_with("/proc") && is_this(&host.path(secret)) {
            return Err(refused(format!("`{path}` may not be read: it is another name of `{secret}`")));
        }
    }
    for denied in &host.file_rules().denied {
        let place = host.path(&denied.display().to_string());
        let below = std::fs::read_dir(&place).into_iter().flatten().take(MOST).flatten();
        if is_this(&place) || below.map(|entry| entry.path()).any(|file| is_this(&file)) {
            return Err(refused(format!(
                "`{path}` may not be read: it is another name of something in `{}`, which this host's configuration closes",
                denied.display()
            )));
        }
    }
    Ok(())
}

/// Private keys are recognised by their first line too, whatever the file is called.
fn refuse_private_keys(path: &str, file: &mut File) -> Result<(), SkillError> {
    use std::os::unix::fs::FileExt;
    let mut start = [0; 4096];
    // Files of /proc may not be readable at an offset or at all: then there is nothing to recognise here.
    let length = file.read_at(&mut start, 0).unwrap_or(0);
    if holds_private_key(&start[..length]) {
        return Err(refused(format!("`{path}` may not be read: it holds a private key")));
    }
    Ok(())
}

fn explain(path: &str, error: Errno) -> SkillError {
    match error {
        Errno::NOENT => not_found(format!("there is no `{path}`")),
        Errno::NOTDIR => not_found(format!("there is no `{path}`: a part of the path is not a folder")),
        Errno::ACCESS | Errno::PERM => {
            denied(format!("the agent may not read `{path}`: permission denied for the user that it runs as"))
        }
        Errno::NAMETOOLONG => invalid(format!("the path is too long: {} bytes", path.len())),
        Errno::NXIO => refused(format!("`{path}` is a socket or a device; only regular files are read")),
        other => of_io(
            format!("open `{}`", Path::new(std::ffi::OsStr::from_bytes(path.as_bytes())).display()),
            &other.into(),
        ),
    }
}

/// Reads until `buffer` is full or the file ends.
pub(crate) fn read_full(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // A file of the kernel that would wait for more.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hard_link_is_known_although_an_overlay_numbers_it_anew() {
        let folder = tempfile::tempdir().unwrap();
        let [name, link, copy] = ["name", "link", "copy"].map(|name| folder.path().join(name));
        std::fs::write(&name, "secret").unwrap();
        std::fs::write(&copy, "secret").unwrap();
        std::fs::hard_link(&name, &link).unwrap();
        let mut renumbered = stat(&link).unwrap();
        renumbered.st_ino += 1;
        renumbered.st_dev += 1;
        assert!(is_other_name(&stat(&name).unwrap(), &renumbered));
        assert!(!is_other_name(&stat(&name).unwrap(), &stat(&copy).unwrap()));
        std::fs::remove_file(&link).unwrap();
        let mut alone = stat(&name).unwrap();
        alone.st_ino += 1;
        assert!(!is_other_name(&stat(&name).unwrap(), &alone));
    }
}

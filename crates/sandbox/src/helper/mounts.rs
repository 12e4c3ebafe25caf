//! What a child sees of the file systems: everything read-only, `/run` and `/dev` replaced by what it may have of them,
//! secrets covered. All of it is in a mount namespace of its own and ends with it.

use super::sys;
use crate::SandboxError;
use crate::hidden;
use crate::spec::{Hold, PRIVATE_TMP, Spec};
use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The devices that a child may have.
pub(crate) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// What stays of `/run`: files that programs read, no sockets.
pub(crate) const KEPT_OF_RUN: &[&str] = &[
    "/run/utmp",
    "/run/log/journal",
    "/run/systemd/system",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/reboot-required",
    "/run/reboot-required.pkgs",
    "/run/motd.dynamic",
];

const READ_ONLY: u64 = 0x1;
const NO_SET_UID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;

/// Where covers of secrets are taken from.
const EMPTY_FILE: &str = "/run/.hidden/file";
const EMPTY_FOLDER: &str = "/run/.hidden/folder";

/// Opens a place without opening what is there.
pub(crate) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Prepares the namespace that this process is in.
///
/// `sockets` are [`bound_sockets`], read while the network namespace was still the host's.
pub(crate) fn prepare(spec: &Spec, sockets: &[PathBuf]) -> Result<(), SandboxError> {
    match spec.hold {
        Hold::Full => prepare_full(spec),
        Hold::ReadOnly | Hold::Workspace => prepare_read_only(spec, sockets),
    }
}

/// A place that is opened before its surroundings are covered.
struct Kept {
    path: PathBuf,
    fd: OwnedFd,
    folder: bool,
}

impl Kept {
    fn open(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let folder = fs::metadata(&path)?.is_dir();
        Ok(Self { fd: open_path(&path)?, path, folder })
    }

    /// Shows it again at its place, which is made if it was covered.
    fn place(&self) -> Result<(), SandboxError> {
        placeholder(&self.path, self.folder)?;
        bind(&PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd())), &self.path)
    }
}

fn prepare_read_only(spec: &Spec, sockets: &[PathBuf]) -> Result<(), SandboxError> {
    sys::mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, None)
        .map_err(SandboxError::step("mounts can't be made private"))?;
    let secrets = secrets(&spec.hidden, &spec.opened);
    let mut kept: Vec<Kept> =
        KEPT_OF_RUN.iter().filter_map(|path| Kept::open(Path::new(path)).ok()).collect();
    for path in &spec.opened {
        kept.push(Kept::open(path).map_err(SandboxError::step(path.display()))?);
    }
    let devices: Vec<Kept> =
        DEVICES.iter().filter_map(|name| Kept::open(&Path::new("/dev").join(name)).ok()).collect();
    let mut roots = Vec::new();
    for path in &spec.write {
        let root = Kept::open(path).map_err(SandboxError::step(path.display()))?;
        let status = rustix::fs::statvfs(&root.path)
            .map_err(|error| SandboxError::step(path.display())(error.into()))?;
        if status.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(SandboxError::Invalid(format!("{} is mounted read-only", path.display())));
        }
        roots.push(root);
    }

    tmpfs(Path::new("/run"), "mode=0755,size=1m,nr_inodes=8192")?;
    for (path, mode) in [(EMPTY_FOLDER, 0o000), (PRIVATE_TMP, 0o700)] {
        DirBuilder::new().recursive(true).mode(mode).create(path).map_err(SandboxError::step(path))?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o000)
        .open(EMPTY_FILE)
        .map_err(SandboxError::step(EMPTY_FILE))?;
    private_tmp(spec)?;
    for secret in &secrets {
        cover(secret, &spec.opened)?;
    }
    for socket in sockets {
        bind(Path::new(EMPTY_FILE), socket)?;
    }
    dev(&devices)?;
    for place in kept.iter().chain(&roots) {
        place.place()?;
    }

    sys::set_mount_attributes(Path::new("/"), READ_ONLY | NO_SET_UID | NO_DEVICES, 0, true)
        .map_err(SandboxError::step("mounts can't be made read-only"))?;
    for device in &devices {
        change(&device.path, NO_DEVICES)?;
    }
    for root in &roots {
        change(&root.path, READ_ONLY)?;
    }
    change(&spec.private_tmp, READ_ONLY)?;
    std::env::set_current_dir("/").map_err(SandboxError::step("/"))
}

/// Only the agent's own files are covered or held; the rest is as it is, and later mounts of the host show.
fn prepare_full(spec: &Spec) -> Result<(), SandboxError> {
    sys::mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_SLAVE, None)
        .map_err(SandboxError::step("mounts can't be made our own"))?;
    let secrets = secrets(&spec.hidden, &[]);
    // What is opened inside of a secret is shown again, such as the copy of a pack among the agent's own files.
    let mut kept = Vec::new();
    for path in &spec.opened {
        if let Ok(place) = fs::canonicalize(path)
            && secrets.iter().any(|secret| *secret != place && place.starts_with(secret))
        {
            kept.push(Kept::open(&place).map_err(SandboxError::step(path.display()))?);
        }
    }
    let held: Vec<PathBuf> = spec.own.iter().filter_map(|own| fs::canonicalize(own).ok()).collect();
    // A folder that is a mount point can't be moved away from above what is held.
    let above: BTreeSet<&Path> = held
        .iter()
        .chain(&secrets)
        .flat_map(|path| path.ancestors().skip(1))
        .filter(|path| *path != Path::new("/"))
        .collect();
    for folder in above {
        bind(folder, folder)?;
    }
    for own in &held {
        bind(own, own)?;
        sys::set_mount_attributes(own, READ_ONLY, 0, false).map_err(SandboxError::step(own.display()))?;
    }
    if !secrets.is_empty() {
        let folder = &spec.private_tmp;
        tmpfs(folder, "mode=0700,size=4k,nr_inodes=8")?;
        let (file, empty) = (folder.join("file"), folder.join("folder"));
        fs::write(&file, "").map_err(SandboxError::step(file.display()))?;
        fs::create_dir(&empty).map_err(SandboxError::step(empty.display()))?;
        for secret in &secrets {
            let shown: Vec<&Kept> = kept.iter().filter(|place| place.path.starts_with(secret)).collect();
            if shown.is_empty() {
                let source = if secret.is_dir() { &empty } else { &file };
                bind(source, secret)?;
            } else {
                tmpfs(secret, "mode=0755,size=64k,nr_inodes=64")?;
            }
            for place in shown {
                place.place()?;
                sys::set_mount_attributes(&place.path, READ_ONLY, 0, false)
                    .map_err(SandboxError::step(place.path.display()))?;
            }
            sys::set_mount_attributes(secret, READ_ONLY, 0, false)
                .map_err(SandboxError::step(secret.display()))?;
        }
    }
    private_tmp(spec)
}

/// The paths that the patterns match, resolved, but those which `opened` names.
pub(crate) fn secrets(patterns: &[String], opened: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    for path in patterns.iter().flat_map(|pattern| hidden::expand(Path::new("/"), pattern)) {
        if let Ok(path) = fs::canonicalize(path)
            && !opened.iter().any(|opened| path.starts_with(opened))
        {
            found.insert(path);
        }
    }
    // What is below another one is covered with it, and `/run` and `/dev` are replaced as a whole.
    let whole: Vec<PathBuf> = found.iter().cloned().collect();
    found.retain(|path| !whole.iter().any(|other| other != path && path.starts_with(other)));
    found.into_iter().collect()
}

/// Covers a secret with something empty. Inside a covered folder, opened places can be shown again.
fn cover(secret: &Path, opened: &[PathBuf]) -> Result<(), SandboxError> {
    if secret.starts_with("/run") || secret.starts_with("/dev") {
        return Ok(());
    }
    uncover_deleted(secret)?;
    if !secret.is_dir() {
        return bind(Path::new(EMPTY_FILE), secret);
    }
    if opened.iter().any(|opened| opened.starts_with(secret)) {
        return tmpfs(secret, "mode=0755,size=64k,nr_inodes=64");
    }
    bind(Path::new(EMPTY_FOLDER), secret)
}

/// Takes away mounts of deleted files, over which the kernel mounts nothing. systemd-nspawn leaves one at `/proc/kmsg`. It
/// is taken away in this namespace only, where what comes to light is covered next.
fn uncover_deleted(place: &Path) -> Result<(), SandboxError> {
    /// Mounts above each other.
    const MOST: usize = 8;
    for _ in 0..MOST {
        let meta = fs::symlink_metadata(place).map_err(SandboxError::step(place.display()))?;
        if meta.nlink() > 0 {
            break;
        }
        sys::unmount(place).map_err(SandboxError::step(format!(
            "the mount of a deleted file at {} can't be taken away",
            place.display()
        )))?;
    }
    Ok(())
}

fn private_tmp(spec: &Spec) -> Result<(), SandboxError> {
    let path = &spec.private_tmp;
    let bytes = spec.limits.memory_bytes.min(64 * 1024 * 1024);
    let owner = match &spec.identity {
        Some(identity) => format!(",uid={},gid={}", identity.uid, identity.gid),
        None => String::new(),
    };
    let options = format!("mode=0700,size={bytes},nr_inodes=16384{owner}");
    sys::mount(
        Some(Path::new("tmpfs")),
        path,
        Some("tmpfs"),
        libc::MS_NOSUID | libc::MS_NODEV,
        Some(&options),
    )
    .map_err(SandboxError::step(format!("the private temporary directory {}", path.display())))
}

fn dev(devices: &[Kept]) -> Result<(), SandboxError> {
    let step = |what: &str| SandboxError::step(format!("/dev/{what}"));
    tmpfs(Path::new("/dev"), "mode=0755,size=64k,nr_inodes=64")?;
    for device in devices {
        device.place()?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        std::os::unix::fs::symlink(target, Path::new("/dev").join(name)).map_err(step(name))?;
    }
    for name in ["shm", "pts"] {
        fs::create_dir(Path::new("/dev").join(name)).map_err(step(name))?;
    }
    Ok(())
}

/// The places of sockets outside `/run` and `/dev` that somebody listens at, but those which are opened.
pub(crate) fn bound_sockets(opened: &[PathBuf]) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut found = BTreeSet::new();
    for line in table.lines().skip(1) {
        let Some(start) = line.find(" /") else { continue };
        let Ok(path) = fs::canonicalize(&line[start + 1..]) else { continue };
        let socket = fs::symlink_metadata(&path).is_ok_and(|meta| meta.file_type().is_socket());
        if socket && !path.starts_with("/run") && !path.starts_with("/dev") && !opened.contains(&path) {
            found.insert(path);
        }
    }
    found.into_iter().collect()
}

fn placeholder(path: &Path, folder: bool) -> Result<(), SandboxError> {
    if path.exists() {
        return Ok(());
    }
    let made = if folder {
        fs::create_dir_all(path)
    } else {
        path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, ""))
    };
    made.map_err(SandboxError::step(path.display()))
}

fn bind(source: &Path, target: &Path) -> Result<(), SandboxError> {
    sys::mount(Some(source), target, None, libc::MS_BIND | libc::MS_REC, None)
        .map_err(SandboxError::step(format!("{} can't be covered or shown", target.display())))
}

fn tmpfs(target: &Path, options: &str) -> Result<(), SandboxError> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    sys::mount(Some(Path::new("tmpfs")), target, Some("tmpfs"), flags, Some(options))
        .map_err(SandboxError::step(format!("{} can't be replaced", target.display())))
}

fn change(path: &Path, clear: u64) -> Result<(), SandboxError> {
    sys::set_mount_attributes(path, 0, clear, false).map_err(SandboxError::step(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unmounts everything at a place when it is dropped.
    struct Unmounted(PathBuf);

    impl Drop for Unmounted {
        fn drop(&mut self) {
            while sys::unmount(&self.0).is_ok() {}
        }
    }

    #[test]
    fn mounts_of_deleted_files_are_taken_away_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let (place, above) = (folder.path().join("place"), folder.path().join("above"));
        fs::write(&place, "own").unwrap();
        let _unmounted = Unmounted(place.clone());
        for _ in 0..2 {
            fs::write(&above, "deleted").unwrap();
            if bind(&above, &place).is_err() {
                // Who may mount nothing meets no such mounts either.
                return;
            }
            fs::remove_file(&above).unwrap();
        }
        assert!(
            bind(&folder.path().join("place"), &place).is_err(),
            "the kernel mounts nothing over a deleted file"
        );

        uncover_deleted(&place).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "own");

        fs::write(&above, "kept").unwrap();
        bind(&above, &place).unwrap();
        uncover_deleted(&place).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "kept");
    }
}

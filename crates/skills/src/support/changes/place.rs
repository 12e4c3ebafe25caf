//! Finds the place of a file that is to be changed: the folder by descriptor, and the name in it.

use crate::support::errors::{denied, failed, invalid, not_found, of_io, refused, unsupported};
use crate::support::files::open::real_path;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, fstatfs, open, openat2, stat, statat};
use rustix::io::Errno;
use skill::{Host, SkillError};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// File systems that are the kernel's own. What is in them are no files.
const KERNEL_FILE_SYSTEMS: &[(u64, &str)] = &[
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xcafe_4a11, "bpf"),
    (0x6265_6570, "configfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0x1cd1, "devpts"),
];

/// The place of a file, whether it is there or not.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder that holds it.
    pub(crate) folder: OwnedFd,
    /// Its name there.
    pub(crate) name: OsString,
    /// Its path, links in it resolved but for the last part.
    pub(crate) real: PathBuf,
    root: OwnedFd,
    /// The path below the root as it was asked for.
    below: PathBuf,
}

impl Place {
    /// Finds the place of `path`, if it lies below a root that may be written and is none of the agent's own files.
    pub(crate) fn find(host: &dyn Host, path: &str) -> Result<Self, SkillError> {
        let asked = checked(path)?;
        let roots = &host.change_rules().write_roots;
        if roots.is_empty() {
            return Err(refused(
                "no file of this host may be changed: its owner has named no folders for that (`[changes] write_roots` in the agent's configuration)",
            ));
        }
        let named = || roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ");
        let Some(root) =
            roots.iter().filter(|root| asked.starts_with(root)).max_by_key(|root| root.components().count())
        else {
            return Err(refused(format!("`{path}` is outside of what may be changed here: {}", named())));
        };
        let below = asked.strip_prefix(root).unwrap_or(&asked).to_owned();
        let Some(name) = below.file_name().map(OsStr::to_owned) else {
            return Err(refused(format!(
                "`{path}` is one of the folders that this host's owner has named for changes; it stays itself"
            )));
        };
        let folder_of_root = host.path(&root.to_string_lossy());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(&folder_of_root, flags, Mode::empty())
            .map_err(|error| of_io(format!("open the folder `{}`", root.display()), &error.into()))?;
        let folder = below.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = open_below(&root, folder.unwrap_or(Path::new(".")), flags, ResolveFlags::empty(), path)?;
        let place = Self { real: real_path(host, &folder)?.join(&name), folder, name, root, below };
        place.refuse_kernel(path)?;
        place.refuse_own(host)?;
        Ok(place)
    }

    /// If there is a link at the place, goes to what it leads to, which must lie below the same root.
    pub(crate) fn follow(self, host: &dyn Host, path: &str) -> Result<Self, SkillError> {
        let is_link = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new()).is_ok();
        if !is_link {
            return Ok(self);
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let target = open_below(&self.root, &self.below, flags, ResolveFlags::empty(), path)?;
        let real = real_path(host, &target)?;
        let below = real.strip_prefix(real_path(host, &self.root)?).map_err(|_| leads_out(path))?.to_owned();
        let name = below.file_name().map(OsStr::to_owned).ok_or_else(|| leads_out(path))?;
        let folder = below.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = open_below(
            &self.root,
            folder.unwrap_or(Path::new(".")),
            flags | OFlags::DIRECTORY,
            ResolveFlags::NO_SYMLINKS,
            path,
        )?;
        let place = Self { folder, name, real, root: self.root, below };
        let found =
            rustix::fs::fstat(&target).map_err(|error| of_io(format!("look at `{path}`"), &error.into()))?;
        if place.stat()?.is_none_or(|stat| (stat.st_dev, stat.st_ino) != (found.st_dev, found.st_ino)) {
            return Err(failed(format!("`{path}` changes while it is looked at; nothing was done")));
        }
        place.refuse_kernel(path)?;
        place.refuse_own(host)?;
        Ok(place)
    }

    /// Checks that what a link at the place leads to lies below the same root.
    pub(crate) fn leads_to(&self, host: &dyn Host, path: &str) -> Result<(), SkillError> {
        if rustix::fs::readlinkat(&self.folder, &self.name, Vec::new()).is_err() {
            return Ok(());
        }
        let target =
            open_below(&self.root, &self.below, OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::empty(), path)?;
        let inside = real_path(host, &target)?.starts_with(real_path(host, &self.root)?);
        if inside { Ok(()) } else { Err(leads_out(path)) }
    }

    /// What is there; a link is told as itself. `None`: nothing.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, SkillError> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(of_io(format!("look at `{}`", self.real.display()), &error.into())),
        }
    }

    /// Refuses the agent's own files: by path after links, and by what they are, under whatever name.
    fn refuse_own(&self, host: &dyn Host) -> Result<(), SkillError> {
        let own = OwnFiles::of(host);
        let mut above = self.real.as_path();
        let mut kinds = vec![self.stat()?];
        while let Some(folder) = above.parent() {
            kinds.push(stat(host.path(&folder.to_string_lossy())).ok());
            above = folder;
        }
        if own.holds(&self.real) || kinds.into_iter().flatten().any(|stat| own.is(stat.st_dev, stat.st_ino)) {
            return Err(own_file(&self.real));
        }
        Ok(())
    }

    fn refuse_kernel(&self, path: &str) -> Result<(), SkillError> {
        let kind =
            fstatfs(&self.folder).map_err(|error| of_io(format!("look at `{path}`"), &error.into()))?;
        // The type's width differs between architectures; the numbers fit 32 bits.
        let kind = kind.f_type as u64 & 0xffff_ffff;
        match KERNEL_FILE_SYSTEMS.iter().find(|(number, _)| *number == kind) {
            Some((_, name)) => {
                Err(refused(format!("`{path}` is not a file but a part of the kernel ({name})")))
            }
            None => Ok(()),
        }
    }
}

/// The agent's own files and folders, by path and by what they are.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    paths: Vec<PathBuf>,
    kinds: Vec<(u64, u64)>,
}

impl OwnFiles {
    pub(crate) fn of(host: &dyn Host) -> Self {
        let mut paths = Vec::new();
        let mut kinds = Vec::new();
        let root = std::fs::canonicalize(host.root()).unwrap_or_else(|_| host.root().to_owned());
        for protected in &host.change_rules().protected {
            let place = host.path(&protected.to_string_lossy());
            if let Ok(real) = std::fs::canonicalize(&place) {
                paths.push(Path::new("/").join(real.strip_prefix(&root).unwrap_or(&real)));
            }
            if let Ok(stat) = stat(&place) {
                kinds.push((stat.st_dev, stat.st_ino));
            }
            paths.push(protected.clone());
        }
        Self { paths, kinds }
    }

    /// Whether the path is at or below one of them.
    pub(crate) fn holds(&self, real: &Path) -> bool {
        self.paths.iter().any(|own| real.starts_with(own))
    }

    /// Whether one of them is below the path.
    pub(crate) fn is_below(&self, real: &Path) -> bool {
        self.paths.iter().any(|own| own.starts_with(real))
    }

    /// Whether this is one of them, whatever it is called.
    pub(crate) fn is(&self, device: u64, inode: u64) -> bool {
        self.kinds.contains(&(device, inode))
    }
}

/// Refuses a folder that may not be changed: outside of the roots, or one of the agent's own, or with such below it.
pub(crate) fn refuse_unwritable(host: &dyn Host, real: &Path) -> Result<(), SkillError> {
    let roots = &host.change_rules().write_roots;
    let all = std::fs::canonicalize(host.root()).unwrap_or_else(|_| host.root().to_owned());
    let is_below = |root: &PathBuf| {
        let resolved = std::fs::canonicalize(host.path(&root.to_string_lossy())).unwrap_or_default();
        resolved.strip_prefix(&all).is_ok_and(|resolved| real.starts_with(Path::new("/").join(resolved)))
    };
    if !roots.iter().any(is_below) {
        let named: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
        return Err(refused(if named.is_empty() {
            format!(
                "`{}` may not be changed: this host's owner has named no folders for that (`[changes] write_roots` in the agent's configuration)",
                real.display()
            )
        } else {
            format!("`{}` is outside of what may be changed here: {}", real.display(), named.join(", "))
        }));
    }
    let own = OwnFiles::of(host);
    if own.holds(real) || own.is_below(real) { Err(own_file(real)) } else { Ok(()) }
}

pub(crate) fn own_file(path: &Path) -> SkillError {
    refused(format!("`{}` belongs to the agent itself; no skill changes it", path.display()))
}

fn leads_out(path: &str) -> SkillError {
    refused(format!("`{path}` leads through a link out of the folder that may be changed"))
}

/// The path as it is to be walked: absolute, and without anything that has to be guessed.
fn checked(path: &str) -> Result<PathBuf, SkillError> {
    if path.contains('\0') {
        return Err(invalid("a path can't hold a NUL byte"));
    }
    let asked = Path::new(path);
    if !asked.is_absolute() {
        return Err(invalid(format!("`{path}` is not absolute; a path begins with `/`")));
    }
    if asked.components().any(|part| part == Component::ParentDir) {
        return Err(invalid(format!("`{path}` has `..` in it; write where it leads to")));
    }
    Ok(asked.components().collect())
}

fn open_below(
    root: &OwnedFd,
    below: &Path,
    flags: OFlags,
    also: ResolveFlags,
    path: &str,
) -> Result<OwnedFd, SkillError> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | also;
    // The kernel asks to try again when something was renamed meanwhile.
    for _ in 0..8 {
        return match openat2(root, below, flags, Mode::empty(), within) {
            Ok(found) => Ok(found),
            Err(Errno::AGAIN) => continue,
            Err(Errno::XDEV) => Err(leads_out(path)),
            Err(Errno::LOOP) => Err(refused(format!("`{path}` leads through links in a circle"))),
            Err(Errno::NOENT) => {
                Err(not_found(format!("there is no folder for `{path}`, or a link on the way leads nowhere")))
            }
            Err(Errno::NOTDIR) => Err(not_found(format!("a part of `{path}` is not a folder"))),
            Err(Errno::ACCESS | Errno::PERM) => Err(denied(format!(
                "the agent may not enter the folder of `{path}`: permission denied for the user that it runs as"
            ))),
            Err(Errno::NAMETOOLONG) => Err(invalid(format!("the path is too long: {} bytes", path.len()))),
            Err(Errno::NOSYS) => Err(unsupported(
                "this kernel is older than Linux 5.6: it has no `openat2`, without which files can't be changed safely",
            )),
            Err(error) => Err(of_io(format!("open the folder of `{path}`"), &error.into())),
        };
    }
    Err(failed(format!("the folder of `{path}` changes all the time")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::{ChangeRules, SkillErrorKind};
    use std::os::unix::fs::symlink;

    fn host() -> FakeHost {
        FakeHost::empty()
            .with("/srv/app/a.conf", "a")
            .with("/srv/own/edge.toml", "own")
            .with("/etc/secret", "s")
            .with_changes(ChangeRules {
                write_roots: vec!["/srv".into()],
                protected: vec!["/srv/own".into(), "/opt/edge".into()],
                ..ChangeRules::default()
            })
    }

    fn kind(host: &FakeHost, path: &str) -> SkillErrorKind {
        Place::find(host, path).and_then(|place| place.follow(host, path)).unwrap_err().kind
    }

    #[test]
    fn only_places_below_a_root_are_found() {
        let host = host();
        assert_eq!(Place::find(&host, "/srv/app/new").unwrap().real, Path::new("/srv/app/new"));
        for path in ["/etc/hosts", "/srv", "/srvx/a", "/"] {
            assert_eq!(kind(&host, path), SkillErrorKind::Refused, "{path}");
        }
        for path in ["srv/app", "/srv/../etc/secret", "/srv/a\0b"] {
            assert_eq!(kind(&host, path), SkillErrorKind::Invalid, "{path}");
        }
        assert_eq!(kind(&host, "/srv/nothing/a"), SkillErrorKind::NotFound);
        assert_eq!(kind(&host, "/srv/app/a.conf/b"), SkillErrorKind::NotFound);
        let nowhere = FakeHost::empty().with("/srv/a", "");
        assert!(Place::find(&nowhere, "/srv/a").unwrap_err().message.contains("write_roots"));
    }

    #[test]
    fn links_lead_on_inside_of_the_root_and_never_out() {
        let host = host();
        symlink("app", host.path("/srv/alias")).unwrap();
        symlink("app/a.conf", host.path("/srv/file")).unwrap();
        symlink(host.path("/etc"), host.path("/srv/out")).unwrap();
        symlink("../etc/secret", host.path("/srv/relative")).unwrap();
        symlink("nowhere", host.path("/srv/dangling")).unwrap();
        symlink("circle", host.path("/srv/circle")).unwrap();
        assert_eq!(Place::find(&host, "/srv/alias/new").unwrap().real, Path::new("/srv/app/new"));
        let followed = Place::find(&host, "/srv/file").unwrap().follow(&host, "/srv/file").unwrap();
        assert_eq!(followed.real, Path::new("/srv/app/a.conf"));
        for path in ["/srv/out/secret", "/srv/out", "/srv/relative", "/srv/circle"] {
            assert_eq!(kind(&host, path), SkillErrorKind::Refused, "{path}");
        }
        assert_eq!(kind(&host, "/srv/dangling"), SkillErrorKind::NotFound);
    }

    #[test]
    fn the_agent_s_own_files_are_refused_under_any_name() {
        let host = host();
        std::fs::hard_link(host.path("/srv/own/edge.toml"), host.path("/srv/app/copy")).unwrap();
        symlink("own", host.path("/srv/alias")).unwrap();
        let rules = ChangeRules {
            write_roots: vec!["/srv".into()],
            protected: vec!["/srv/own/edge.toml".into(), "/srv/own".into()],
            ..ChangeRules::default()
        };
        let host = host.with_changes(rules);
        for path in ["/srv/own", "/srv/own/edge.toml", "/srv/own/new", "/srv/alias/new", "/srv/app/copy"] {
            assert_eq!(kind(&host, path), SkillErrorKind::Refused, "{path}");
        }
    }

    #[test]
    fn the_kernel_s_file_systems_hold_no_files() {
        let rules = ChangeRules { write_roots: vec!["/".into()], ..ChangeRules::default() };
        #[derive(Debug)]
        struct Machine(ChangeRules);
        impl Host for Machine {
            fn root(&self) -> &Path {
                Path::new("/")
            }
            fn change_rules(&self) -> &ChangeRules {
                &self.0
            }
        }
        let error = Place::find(&Machine(rules), "/proc/sys/kernel/hostname").unwrap_err();
        assert!(error.kind == SkillErrorKind::Refused && error.message.contains("kernel"), "{error}");
    }
}

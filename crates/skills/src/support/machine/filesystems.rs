//! Mounted file systems and how full they are.

use super::{percent, read};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;
use std::collections::HashSet;

/// One mounted file system.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileSystem {
    /// Where it is mounted.
    pub(crate) mount: String,
    /// What is mounted.
    device: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Used bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<u64>,
    /// Bytes that users other than root may still fill.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<u64>,
    /// How full it is for users other than root, in percent, as `df` tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) percent: Option<f64>,
    /// How many of its inodes are used, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    inodes_percent: Option<f64>,
    /// Whether it can't be written.
    read_only: bool,
}

impl FileSystem {
    /// Whether it can't be written, and so can't fill up either.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// Types that hold no files of their own, or only in memory for the system's use.
const PSEUDO: &[&str] = &[
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "pstore",
    "bpf",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "fusectl",
    "mqueue",
    "hugetlbfs",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "nsfs",
    "efivarfs",
    "selinuxfs",
    "ramfs",
    "squashfs",
    "fuse.lxcfs",
    "fuse.gvfsd-fuse",
    "fuse.portal",
];

/// Types that ask another machine. A dead one would hang the agent, so they are listed but not measured.
const REMOTE: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "9p", "afs", "lustre", "ncpfs", "beegfs"];

/// Every file system that holds files, each once, at most 200.
pub(crate) fn of(host: &dyn Host) -> Vec<FileSystem> {
    let text = read(host, "/proc/mounts").unwrap_or_default();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for mount in text.lines().filter_map(Mount::parse) {
        if PSEUDO.contains(&mount.kind) || found.len() == 200 {
            continue;
        }
        let place = mount.place();
        if REMOTE.contains(&mount.kind) || mount.kind.starts_with("fuse.") {
            found.push(mount.unmeasured());
            continue;
        }
        // Bind mounts show one file system several times; its device number tells.
        let Ok(stat) = rustix::fs::stat(host.path(&place)) else { continue };
        if !seen.insert(stat.st_dev) {
            continue;
        }
        let Ok(space) = rustix::fs::statvfs(host.path(&place)) else { continue };
        let size = space.f_blocks.saturating_mul(space.f_frsize);
        if size == 0 {
            continue;
        }
        let used = space.f_blocks.saturating_sub(space.f_bfree).saturating_mul(space.f_frsize);
        let available = space.f_bavail.saturating_mul(space.f_frsize);
        found.push(FileSystem {
            size: Some(size),
            used: Some(used),
            available: Some(available),
            percent: Some(percent(used as f64, (used + available) as f64)),
            inodes_percent: (space.f_files > 0)
                .then(|| percent(space.f_files.saturating_sub(space.f_ffree) as f64, space.f_files as f64)),
            ..mount.unmeasured()
        });
    }
    found
}

struct Mount<'a> {
    device: &'a str,
    place: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            device: words.next()?,
            place: words.next()?,
            kind: words.next()?,
            options: words.next()?,
        })
    }

    fn place(&self) -> String {
        unescape(self.place)
    }

    fn unmeasured(&self) -> FileSystem {
        FileSystem {
            mount: self.place(),
            device: unescape(self.device),
            kind: self.kind.to_owned(),
            size: None,
            used: None,
            available: None,
            percent: None,
            inodes_percent: None,
            read_only: self.options.split(',').any(|option| option == "ro"),
        }
    }
}

/// The kernel writes blanks, tabs, line breaks and backslashes as `\040` and the like.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        let code = (*byte == b'\\').then(|| bytes.get(position + 1..position + 4).and_then(octal)).flatten();
        plain.push(code.unwrap_or(*byte));
        position += if code.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[test]
    fn escapes_are_taken_out() {
        assert_eq!(unescape(r"/mnt/my\040disk\134x"), r"/mnt/my disk\x");
        assert_eq!(unescape(r"/a\9zz\"), r"/a\9zz\");
    }

    #[test]
    fn each_file_system_is_told_once_and_remote_ones_are_not_touched() {
        let host = FakeHost::empty().with(
            "/proc/mounts",
            "proc /proc proc rw 0 0\n/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sda1 /srv ext4 rw 0 0\n\
             files:/x /mnt/dead nfs4 ro 0 0\nbroken\n",
        );
        std::fs::create_dir(host.path("/srv")).unwrap();
        let found = of(&host);
        assert_eq!(found.iter().map(|fs| fs.mount.as_str()).collect::<Vec<_>>(), ["/", "/mnt/dead"]);
        assert!(found[0].size.unwrap() > 0 && found[0].percent.unwrap() <= 100.0);
        assert!(found[1].size.is_none() && found[1].read_only);
    }
}

//! Disks that take nothing. Only root can mount them.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that is mounted until it is dropped.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// Calls `mount` with these arguments and the place; `None` where this process may mount nothing.
    pub fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let status = Command::new("mount").args(arguments).arg(at).status().ok()?;
        status.success().then(|| Self(at.to_owned()))
    }

    /// A file system of this size in memory.
    pub fn of_size(size: &str, at: &Path) -> Option<Self> {
        Self::new(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], at)
    }

    /// A folder that can't be written any more by whoever opens it from now on.
    pub fn read_only(folder: &Path) -> Option<Self> {
        let mounted = Self::new(&["--bind", folder.to_str()?], folder)?;
        let status = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(folder).status().ok()?;
        status.success().then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Makes a file in a folder that takes all the space that is left.
///
/// # Errors
///
/// Fails if the file can't be made.
pub fn fill(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join("filler");
    let mut file = File::create(&path)?;
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    Ok(path)
}

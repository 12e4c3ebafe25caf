//! Captured packets in the agent's own folder: written as they come, kept up to a limit, removed if they are not
//! finished.

use crate::support::errors::{failed, of_io};
use model::CallId;
use sha2::{Digest, Sha256};
use skill::{Host, SkillError};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Captures that are kept.
const MAX_FILES: usize = 10;

/// Bytes of all of them together, before a new one begins.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A capture that is being written.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
    kept: bool,
}

/// A capture that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Hexadecimal.
    pub(crate) sha256: String,
}

/// Begins a capture. The oldest ones beyond the limits go first.
pub(crate) fn begin(host: &dyn Host, call: CallId) -> Result<Capture, SkillError> {
    let Some(keep) = &host.change_rules().keep else {
        return Err(failed("the agent has no folder to keep a capture in"));
    };
    let folder = keep.join("captures");
    let path = folder.join(format!("{call}.pcap"));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder).and_then(|()| {
        prune(&folder);
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)
    });
    let file = made.map_err(|error| of_io("make a file for the capture", &error))?;
    Ok(Capture { path, file: BufWriter::new(file), hash: Sha256::new(), bytes: 0, kept: false })
}

impl Capture {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SkillError> {
        self.file.write_all(bytes).map_err(|error| of_io("write the capture", &error))?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Finishes it.
    pub(crate) fn keep(mut self) -> Result<Kept, SkillError> {
        self.file.flush().map_err(|error| of_io("write the capture", &error))?;
        self.kept = true;
        let sha256 =
            std::mem::take(&mut self.hash).finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Kept { path: std::mem::take(&mut self.path), bytes: self.bytes, sha256 })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "an unfinished capture can't be removed");
        }
    }
}

/// Call ids begin with the time, so that names are in the order of age.
fn prune(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(PathBuf, u64)> =
        entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.len()))).collect();
    model::order::sort(&mut files);
    let (mut count, mut bytes) = (files.len(), files.iter().map(|(_, length)| length).sum::<u64>());
    for (path, length) in files {
        if count < MAX_FILES && bytes <= MAX_BYTES {
            return;
        }
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "an old capture can't be removed");
        }
        count -= 1;
        bytes -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::ChangeRules;

    #[test]
    fn the_latest_captures_are_kept_and_unfinished_ones_are_not() {
        let host = FakeHost::empty();
        let changes = ChangeRules { keep: Some(host.path("/keep")), ..ChangeRules::default() };
        let host = host.with_changes(changes);
        let mut kept = Vec::new();
        for _ in 0..12 {
            let mut capture = begin(&host, CallId::generate()).unwrap();
            capture.write(b"abc").unwrap();
            kept.push(capture.keep().unwrap());
        }
        let unfinished = begin(&host, CallId::generate()).unwrap();
        drop(unfinished);
        assert_eq!(kept[0].sha256, model::canonical::sha256_hex(b"abc"));
        assert!(!kept[0].path.exists() && kept[11].path.exists());
        assert!(fs::read_dir(host.path("/keep/captures")).unwrap().count() <= MAX_FILES);
    }
}

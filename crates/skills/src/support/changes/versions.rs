//! Old versions of files that a skill replaced, in the agent's own folder: bounded, and named so that people find them.

use crate::support::errors::{failed, of_io};
use model::{CallId, Timestamp, canonical};
use serde_json::json;
use skill::{Host, SkillError};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Versions kept of one file.
const PER_FILE: usize = 20;

/// Versions kept of all files together.
const MAX_VERSIONS: usize = 2000;

/// Bytes of all versions together.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// An old version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    /// Path of the file.
    pub(crate) path: &'a Path,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// Permission bits.
    pub(crate) mode: u32,
    /// Owner.
    pub(crate) user: u32,
    /// Group.
    pub(crate) group: u32,
    /// SHA-256 of the bytes, hexadecimal.
    pub(crate) sha256: &'a str,
}

/// Keeps a version; it is on the disk when this returns. Tells where. The oldest ones beyond the limits go.
pub(crate) fn keep(
    host: &dyn Host,
    call: CallId,
    now: Timestamp,
    version: Version<'_>,
) -> Result<PathBuf, SkillError> {
    let Some(keep) = &host.change_rules().keep else {
        return Err(failed("the agent has no folder to keep the old version in; nothing was changed"));
    };
    let all = keep.join("versions");
    let key = canonical::sha256_hex(version.path.to_string_lossy().as_bytes());
    let folder = all.join(&key[..16]);
    let at = now.format("%Y%m%dT%H%M%SZ");
    let place = folder.join(format!("{at}-{call}"));
    let about = json!({
        "path": version.path.to_string_lossy(), "mode": format!("{:04o}", version.mode), "user": version.user,
        "group": version.group, "sha256": version.sha256, "replaced_at": at.to_string(), "call_id": call,
    });
    let kept = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        put(&place, version.bytes)?;
        put(&place.with_extension("json"), about.to_string().as_bytes())?;
        File::open(&folder)?.sync_all()
    };
    kept().map_err(|error| of_io("keep the old version; nothing was changed", &error))?;
    prune(&all, &folder, &place);
    Ok(place)
}

fn put(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes the oldest versions beyond the limits, never the one just made.
fn prune(all: &Path, folder: &Path, fresh: &Path) {
    let mut own = versions_in(folder);
    model::order::sort(&mut own);
    let beyond = own.len().saturating_sub(PER_FILE);
    own.drain(..beyond).filter(|(_, path, _)| path != fresh).for_each(|(_, path, _)| remove(&path));
    let folders = fs::read_dir(all).into_iter().flatten().flatten();
    let mut every: Vec<_> = folders.flat_map(|folder| versions_in(&folder.path())).collect();
    model::order::sort(&mut every);
    let mut count = every.len();
    let mut bytes: u64 = every.iter().map(|(_, _, length)| length).sum();
    for (_, path, length) in every {
        if count <= MAX_VERSIONS && bytes <= MAX_BYTES {
            return;
        }
        if path != fresh {
            remove(&path);
            count -= 1;
            bytes -= length;
        }
    }
}

/// Name (which begins with the time), path and size of each version in a folder.
fn versions_in(folder: &Path) -> Vec<(String, PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().extension().is_none())
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, entry.path(), entry.metadata().ok()?.len()))
        })
        .collect()
}

fn remove(version: &Path) {
    for path in [version.to_owned(), version.with_extension("json")] {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "an old version can't be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::ChangeRules;

    #[test]
    fn versions_are_kept_up_to_a_limit_the_latest_ones() {
        let keep_in = tempfile::tempdir().unwrap();
        let host = FakeHost::empty()
            .with_changes(ChangeRules { keep: Some(keep_in.path().to_owned()), ..ChangeRules::default() });
        fn version(bytes: &[u8]) -> Version<'_> {
            Version { path: Path::new("/srv/a"), bytes, mode: 0o640, user: 1, group: 2, sha256: "00" }
        }
        let mut kept = Vec::new();
        for minute in 0..25 {
            let now = host.now() + chrono::Duration::minutes(minute);
            let bytes = [minute as u8];
            kept.push(keep(&host, CallId::generate(), now, version(&bytes)).unwrap());
        }
        assert!(kept[..5].iter().all(|path| !path.exists() && !path.with_extension("json").exists()));
        assert!(kept[5..].iter().all(|path| path.exists()));
        assert_eq!(fs::read(kept.last().unwrap()).unwrap(), [24]);
        let about = fs::read_to_string(kept.last().unwrap().with_extension("json")).unwrap();
        assert!(about.contains(r#""path":"/srv/a""#) && about.contains(r#""mode":"0640""#), "{about}");
    }

    #[test]
    fn without_a_folder_nothing_is_kept_and_it_is_an_error() {
        let version = Version { path: Path::new("/a"), bytes: b"", mode: 0, user: 0, group: 0, sha256: "" };
        let host = FakeHost::empty();
        assert!(keep(&host, CallId::generate(), host.now(), version).is_err());
    }
}

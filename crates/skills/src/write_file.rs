//! Writes a file as a whole: the new text takes the old one's place in one step, or nothing changes. Mutating.

use crate::support::changes::place::Place;
use crate::support::changes::versions::{self, Version};
use crate::support::errors::{blocking, denied, failed, invalid, not_found, of_io, refused, too_large};
use crate::support::files::open::read_full;
use crate::support::files::rules;
use model::canonical::sha256_hex;
use model::{CallId, Class, Scope};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr,
    flistxattr, fsetxattr, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use skill::secrets::holds_private_key;
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Largest file that is replaced.
const MAX_OLD: u64 = 4 * 1024 * 1024;

/// Most bytes of the difference that are told.
const MAX_DIFF: usize = 64 * 1024;

/// How long the smallest difference is looked for; then a larger one will do.
const DIFF_WITHIN: Duration = Duration::from_secs(2);

/// Permissions of a new file.
const FRESH_MODE: u32 = 0o644;

pub(crate) struct WriteFile;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Absolute path of the file. Its folder must exist, below one that the host's owner has named for changes.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// The whole new text.
    #[schemars(length(max = 524_288))]
    content: String,
    /// Permissions as octal digits, for example `0640`. Default: those of the old file, `0644` for a new one.
    #[schemars(regex(pattern = r"^0?[0-7]{3}$"))]
    mode: Option<String>,
    /// SHA-256 of the file as it was when it was read (`read_file` tells it), or `absent`. If it is another one by now, nothing is written.
    #[schemars(regex(pattern = r"^([0-9a-fA-F]{64}|absent)$"))]
    expect_sha256: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Path of the file, links resolved.
    path: String,
    /// Whether the file was not there before.
    created: bool,
    /// Whether anything is different from before.
    changed: bool,
    /// Size in bytes.
    bytes: u64,
    /// SHA-256 of the file.
    sha256: String,
    /// Permissions as octal digits.
    mode: String,
    /// Where the old version is kept on the host, which only its owner can read. Beside it lies a file with its path, owner and permissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_version: Option<String>,
    /// SHA-256 of the old version.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_sha256: Option<String>,
    /// What was changed, as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for WriteFile {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "write_file",
        name: "Write a file",
        description: "Write a text file as a whole, in one step. Keeps owner, permissions and the old version, and returns the difference. With `expect_sha256` it writes only over what was read. Changes the host: needs an approval. Only below the folders that the host's owner has named.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "files",
        result_preview: "/etc/nginx/conf.d/app.conf: +3 −1 lines, old version kept",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let (host, call) = (Arc::clone(&cx.host), cx.call_id);
        blocking(move || write(host.as_ref(), call, &params)).await
    }
}

/// The file as it was.
struct Old {
    stat: Stat,
    file: File,
    bytes: Vec<u8>,
    sha256: String,
}

fn write(host: &dyn Host, call: CallId, params: &Params) -> Result<Output, SkillError> {
    let path = params.path.as_str();
    if path.ends_with('/') {
        return Err(invalid(format!("`{path}` names a folder; name a file")));
    }
    let place = Place::find(host, path)?.follow(host, path)?;
    let shown = place.real.display().to_string();
    refuse_closed(host, &place.real)?;
    let old = read_old(&place)?;
    compare(&shown, params.expect_sha256.as_deref(), old.as_ref())?;
    let asked_mode = params.mode.as_deref().map(octal).transpose()?;
    let mode = asked_mode.unwrap_or_else(|| old.as_ref().map_or(FRESH_MODE, |old| old.stat.st_mode & 0o777));
    let content = params.content.as_bytes();
    let mut output = Output {
        path: shown,
        created: old.is_none(),
        changed: true,
        bytes: content.len() as u64,
        sha256: sha256_hex(content),
        mode: format!("{mode:04o}"),
        previous_version: None,
        previous_sha256: None,
        diff: None,
        notes: Vec::new(),
    };
    if let Some(old) = &old {
        if old.bytes == content && old.stat.st_mode & 0o777 == mode {
            output.changed = false;
            output.notes.push("the file was like this already; nothing was written".to_owned());
            return Ok(output);
        }
        if old.stat.st_nlink > 1 {
            output
                .notes
                .push(format!("the file had {} names; the others keep the old text", old.stat.st_nlink));
        }
    }
    (output.diff, output.notes) = difference(host, &place.real, old.as_ref(), &params.content, output.notes);
    let fresh = Fresh::make(&place, call)?;
    fresh.fill(content, mode, old.as_ref())?;
    if let Some(old) = &old {
        let version = Version {
            path: &place.real,
            bytes: &old.bytes,
            mode: old.stat.st_mode & 0o777,
            user: old.stat.st_uid,
            group: old.stat.st_gid,
            sha256: &old.sha256,
        };
        output.previous_version =
            Some(versions::keep(host, call, host.now(), version)?.display().to_string());
        output.previous_sha256 = Some(old.sha256.clone());
    }
    fresh.take_place(&place, old.as_ref())?;
    Ok(output)
}

/// Refuses what the host's configuration closes, and the system's own secrets: accounts are no text files.
fn refuse_closed(host: &dyn Host, real: &Path) -> Result<(), SkillError> {
    let closed = &host.file_rules().denied;
    if closed.iter().any(|closed| real.starts_with(closed)) {
        return Err(refused(format!("`{}` is closed by this host's configuration", real.display())));
    }
    Ok(())
}

fn read_old(place: &Place) -> Result<Option<Old>, SkillError> {
    let shown = place.real.display();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Looked at before it is opened: opening a device may do something.
    let Some(stat) = place.stat()? else { return Ok(None) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(invalid(format!("`{shown}` is a folder, not a file"))),
        FileType::Symlink => {
            return Err(not_found(format!("`{shown}` is a link to something that isn't there")));
        }
        _ => return Err(refused(format!("`{shown}` is no regular file; only those are written"))),
    }
    if stat.st_mode & 0o6000 != 0 {
        return Err(refused(format!(
            "`{shown}` runs with the rights of its owner (setuid or setgid); such files are not replaced"
        )));
    }
    if stat.st_size as u64 > MAX_OLD {
        return Err(too_large(format!(
            "`{shown}` has {} bytes; files of up to {MAX_OLD} are replaced, so that the old version can be kept",
            stat.st_size
        )));
    }
    let file = openat(&place.folder, &place.name, flags, Mode::empty()).map_err(|error| match error {
        Errno::ACCESS | Errno::PERM => denied(format!(
            "the agent may not read `{shown}`: permission denied for the user that it runs as"
        )),
        other => of_io(format!("open `{shown}`"), &other.into()),
    })?;
    let mut file = File::from(file);
    let opened =
        rustix::fs::fstat(&file).map_err(|error| of_io(format!("look at `{shown}`"), &error.into()))?;
    if !same(&stat, &opened) {
        return Err(changing(&place.real));
    }
    let mut bytes = vec![0; stat.st_size as usize + 1];
    let length =
        read_full(&mut file, &mut bytes).map_err(|error| of_io(format!("read `{shown}`"), &error))?;
    if length != stat.st_size as usize {
        return Err(changing(&place.real));
    }
    bytes.truncate(length);
    let sha256 = sha256_hex(&bytes);
    Ok(Some(Old { stat, file, bytes, sha256 }))
}

fn changing(real: &Path) -> SkillError {
    refused(format!("`{}` changes while it is being written; nothing was written", real.display()))
}

/// Whether it is the same file with the same content, as far as the file system tells.
fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino, one.st_size, one.st_mtime, one.st_mtime_nsec)
        == (other.st_dev, other.st_ino, other.st_size, other.st_mtime, other.st_mtime_nsec)
}

fn compare(shown: &str, expected: Option<&str>, old: Option<&Old>) -> Result<(), SkillError> {
    let again = "nothing was written; read it again before you write over it";
    match (expected, old) {
        (None, _) | (Some("absent"), None) => Ok(()),
        (Some("absent"), Some(old)) => {
            Err(refused(format!("`{shown}` is there already, with SHA-256 {}; {again}", old.sha256)))
        }
        (Some(_), None) => Err(refused(format!("`{shown}` is not there any more; nothing was written"))),
        (Some(expected), Some(old)) if expected.eq_ignore_ascii_case(&old.sha256) => Ok(()),
        (Some(expected), Some(old)) => Err(refused(format!(
            "`{shown}` is not what it was expected to be: its SHA-256 is {}, not {}; {again}",
            old.sha256,
            expected.to_ascii_lowercase()
        ))),
    }
}

fn octal(text: &str) -> Result<u32, SkillError> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| invalid(format!("`{text}` are no permissions; write octal digits such as 0644")))
}

/// What was changed, where it may be shown, and remarks about where not.
fn difference(
    host: &dyn Host,
    real: &Path,
    old: Option<&Old>,
    content: &str,
    mut notes: Vec<String>,
) -> (Option<String>, Vec<String>) {
    let before = old.map_or(&b""[..], |old| old.bytes.as_slice());
    if let Err(reason) = rules::check(real, host.file_rules()) {
        notes.push(format!("the difference is not shown: {}", reason.message));
        return (None, notes);
    }
    if holds_private_key(before) || holds_private_key(content.as_bytes()) {
        notes.push("the difference is not shown: it holds a private key".to_owned());
        return (None, notes);
    }
    let Ok(before) = str::from_utf8(before) else {
        notes.push("the difference is not shown: the old file was no text".to_owned());
        return (None, notes);
    };
    let shown = real.display().to_string();
    let names = if old.is_some() { (shown.as_str(), shown.as_str()) } else { ("/dev/null", shown.as_str()) };
    let mut diff = TextDiff::configure()
        .timeout(DIFF_WITHIN)
        .diff_lines(before, content)
        .unified_diff()
        .context_radius(3)
        .header(names.0, names.1)
        .to_string();
    if diff.len() > MAX_DIFF {
        let whole = diff.len();
        diff.truncate(diff.floor_char_boundary(MAX_DIFF));
        notes.push(format!("the difference is cut: {MAX_DIFF} of {whole} bytes are shown"));
    }
    ((!diff.is_empty()).then_some(diff), notes)
}

/// The new file beside its place, under a name of its own. Removed again if it doesn't take its place.
struct Fresh<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    placed: bool,
}

impl<'a> Fresh<'a> {
    fn make(place: &'a Place, call: CallId) -> Result<Self, SkillError> {
        let name = format!(".steadyhand-{call}.new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let shown = place.real.display();
        let file =
            openat(&place.folder, &name, flags, Mode::from_raw_mode(0o600)).map_err(|error| match error {
                Errno::ACCESS | Errno::PERM => denied(format!(
                    "the agent may not write beside `{shown}`: permission denied for the user that it runs as"
                )),
                other => of_io(format!("make a file beside `{shown}`"), &other.into()),
            })?;
        Ok(Self { folder: &place.folder, name, file: File::from(file), placed: false })
    }

    /// Writes the content and gives the file what the old one had.
    fn fill(&self, content: &[u8], mode: u32, old: Option<&Old>) -> Result<(), SkillError> {
        let of = |what: &str, error: Errno| of_io(format!("{what}; nothing was written"), &error.into());
        (&self.file)
            .write_all(content)
            .map_err(|error| of_io("write the new text; the old one stays", &error))?;
        if let Some(old) = old {
            let (user, group) = (Uid::from_raw(old.stat.st_uid), Gid::from_raw(old.stat.st_gid));
            fchown(&self.file, Some(user), Some(group)).map_err(|error| of("keep the owner", error))?;
        }
        // After the owner, which takes bits away. Attributes come last: an access list has a mask of its own.
        fchmod(&self.file, Mode::from_raw_mode(mode)).map_err(|error| of("set the permissions", error))?;
        if let Some(old) = old {
            copy_attributes(&old.file, &self.file)
                .map_err(|error| of("keep the extended attributes", error))?;
            let kept_mode = old.stat.st_mode & 0o777 == mode;
            if !kept_mode {
                fchmod(&self.file, Mode::from_raw_mode(mode))
                    .map_err(|error| of("set the permissions", error))?;
            }
        }
        self.file
            .sync_all()
            .map_err(|error| of_io("bring the new text to the disk; the old one stays", &error))
    }

    /// The one step.
    fn take_place(mut self, place: &Place, old: Option<&Old>) -> Result<(), SkillError> {
        let now = place.stat()?;
        let flags = match (old, &now) {
            (None, None) => RenameFlags::NOREPLACE,
            (Some(old), Some(now)) if same(&old.stat, now) => RenameFlags::empty(),
            _ => return Err(changing(&place.real)),
        };
        let shown = place.real.display();
        renameat_with(self.folder, &self.name, self.folder, &place.name, flags).map_err(
            |error| match error {
                Errno::EXIST => changing(&place.real),
                Errno::BUSY => refused(format!("`{shown}` is a mount point; it can't be replaced")),
                Errno::PERM => denied(format!(
                    "`{shown}` may not be replaced: it is marked as immutable, or the folder is"
                )),
                other => of_io(format!("put `{shown}` in place; the old one stays"), &other.into()),
            },
        )?;
        self.placed = true;
        let folder =
            openat(self.folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        folder.and_then(rustix::fs::fsync).map_err(|error| {
            failed(format!("`{shown}` was written, but may be lost if the power fails now: {error}"))
        })
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if !self.placed
            && let Err(error) = unlinkat(self.folder, &self.name, AtFlags::empty())
        {
            tracing::warn!(name = self.name, %error, "an unfinished file can't be removed");
        }
    }
}

/// Copies extended attributes, access lists and security labels among them, but no capabilities: those were given to
/// the old text.
fn copy_attributes(from: &File, to: &File) -> Result<(), Errno> {
    /// The kernel's own limit for names and for one value.
    const MAX: usize = 64 * 1024;
    let mut names = Vec::with_capacity(MAX);
    match flistxattr(from, rustix::buffer::spare_capacity(&mut names)) {
        Ok(_) => {}
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error),
    }
    for name in
        names.split(|byte| *byte == 0).filter(|name| !name.is_empty() && *name != b"security.capability")
    {
        let mut value = Vec::with_capacity(MAX);
        match fgetxattr(from, name, rustix::buffer::spare_capacity(&mut value)) {
            Ok(_) => fsetxattr(to, name, &value, XattrFlags::empty())?,
            // Gone meanwhile.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use proptest::prelude::*;
    use skill::{ChangeRules, FileRules, SkillErrorKind};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn host() -> FakeHost {
        let host = FakeHost::empty().with("/srv/app.conf", "one\ntwo\nthree\n");
        let changes = ChangeRules {
            write_roots: vec!["/srv".into()],
            keep: Some(host.path("/keep")),
            ..ChangeRules::default()
        };
        host.with_changes(changes)
    }

    fn params(path: &str, content: &str) -> Params {
        Params { path: path.to_owned(), content: content.to_owned(), mode: None, expect_sha256: None }
    }

    fn run(host: &FakeHost, params: &Params) -> Result<Output, SkillError> {
        write(host, CallId::generate(), params)
    }

    fn names(host: &FakeHost) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(host.path("/srv"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_kept_and_the_difference_told() {
        let host = host();
        std::fs::set_permissions(host.path("/srv/app.conf"), std::fs::Permissions::from_mode(0o640)).unwrap();
        let output = run(&host, &params("/srv/app.conf", "one\n2\nthree\n")).unwrap();
        assert_eq!(
            output.diff.unwrap(),
            "--- /srv/app.conf\n+++ /srv/app.conf\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        );
        assert_eq!(std::fs::read_to_string(host.path("/srv/app.conf")).unwrap(), "one\n2\nthree\n");
        assert_eq!(std::fs::metadata(host.path("/srv/app.conf")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_to_string(output.previous_version.unwrap()).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(names(&host), ["app.conf"]);
    }

    #[test]
    fn a_new_file_gets_the_mode_that_was_asked_for() {
        let host = host();
        let output = run(&host, &Params { mode: Some("0600".into()), ..params("/srv/new", "x\n") }).unwrap();
        assert!(output.created && output.previous_version.is_none());
        assert_eq!(output.diff.unwrap(), "--- /dev/null\n+++ /srv/new\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(std::fs::metadata(host.path("/srv/new")).unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn what_was_changed_by_others_meanwhile_is_not_written_over() {
        let host = host();
        let with = |expected: &str, path: &str| Params {
            expect_sha256: Some(expected.to_owned()),
            ..params(path, "mine\n")
        };
        let error = run(&host, &with(&sha256_hex(b"other"), "/srv/app.conf")).unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused);
        assert!(error.message.contains(&sha256_hex(b"one\ntwo\nthree\n")), "{error}");
        assert!(run(&host, &with("absent", "/srv/app.conf")).is_err());
        assert!(run(&host, &with(&sha256_hex(b""), "/srv/none")).is_err());
        assert_eq!(std::fs::read_to_string(host.path("/srv/app.conf")).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(names(&host), ["app.conf"]);
        run(&host, &with(&sha256_hex(b"one\ntwo\nthree\n").to_uppercase(), "/srv/app.conf")).unwrap();
        run(&host, &with("absent", "/srv/none")).unwrap();
    }

    #[test]
    fn nothing_is_written_where_nothing_changes() {
        let host = host();
        let before = std::fs::metadata(host.path("/srv/app.conf")).unwrap().ino();
        let output = run(&host, &params("/srv/app.conf", "one\ntwo\nthree\n")).unwrap();
        assert!(!output.changed && output.diff.is_none());
        assert_eq!(std::fs::metadata(host.path("/srv/app.conf")).unwrap().ino(), before);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let host = host();
        symlink("app.conf", host.path("/srv/current")).unwrap();
        let output = run(&host, &params("/srv/current", "new\n")).unwrap();
        assert_eq!(output.path, "/srv/app.conf");
        assert!(std::fs::symlink_metadata(host.path("/srv/current")).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(host.path("/srv/app.conf")).unwrap(), "new\n");
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        let host = host();
        std::fs::create_dir(host.path("/srv/folder")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            host.path("/srv/pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        host.write("/srv/suid", "x");
        std::fs::set_permissions(host.path("/srv/suid"), std::fs::Permissions::from_mode(0o4755)).unwrap();
        host.write("/srv/big", vec![b'x'; MAX_OLD as usize + 1]);
        let kind = |path: &str| run(&host, &params(path, "x")).unwrap_err().kind;
        assert_eq!(kind("/srv/folder"), SkillErrorKind::Invalid);
        assert_eq!(kind("/srv/app.conf/"), SkillErrorKind::Invalid);
        assert_eq!(kind("/srv/pipe"), SkillErrorKind::Refused);
        assert_eq!(kind("/srv/suid"), SkillErrorKind::Refused);
        assert_eq!(kind("/srv/big"), SkillErrorKind::TooLarge);
        assert_eq!(kind("/etc/passwd"), SkillErrorKind::Refused);
    }

    #[test]
    fn secrets_are_written_but_not_shown() {
        let host = host().with("/srv/.env", "PASSWORD=old\n");
        let output = run(&host, &params("/srv/.env", "PASSWORD=new\n")).unwrap();
        assert!(output.diff.is_none() && output.notes[0].contains("credentials"), "{output:?}");
        let host = host.with_files(FileRules { denied: vec!["/srv/closed".into()], ..FileRules::default() });
        host.write("/srv/closed/a", "x");
        assert_eq!(run(&host, &params("/srv/closed/a", "y")).unwrap_err().kind, SkillErrorKind::Refused);
    }

    #[test]
    fn without_a_place_for_the_old_version_the_file_stays() {
        let host = host();
        let changes = ChangeRules { keep: None, ..host.change_rules().clone() };
        let host = host.with_changes(changes);
        assert!(run(&host, &params("/srv/app.conf", "new\n")).is_err());
        assert_eq!(std::fs::read_to_string(host.path("/srv/app.conf")).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(names(&host), ["app.conf"]);
    }

    #[test]
    fn attributes_are_kept() {
        let host = host();
        let file = File::options().write(true).open(host.path("/srv/app.conf")).unwrap();
        if fsetxattr(&file, "user.note", b"kept", XattrFlags::empty()) == Err(Errno::OPNOTSUPP) {
            return;
        }
        run(&host, &params("/srv/app.conf", "new\n")).unwrap();
        let mut value = Vec::with_capacity(16);
        let file = File::open(host.path("/srv/app.conf")).unwrap();
        fgetxattr(&file, "user.note", rustix::buffer::spare_capacity(&mut value)).unwrap();
        assert_eq!(value, b"kept");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_written_is_what_is_read(content in "(?s).{0,200}") {
            let host = host();
            let output = run(&host, &params("/srv/app.conf", &content)).unwrap();
            prop_assert_eq!(std::fs::read_to_string(host.path("/srv/app.conf")).unwrap(), content.clone());
            prop_assert_eq!(output.sha256, sha256_hex(content.as_bytes()));
        }
    }
}

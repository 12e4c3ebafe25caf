//! Reads a piece of a regular file.

use crate::support::errors::{blocking, of_io, refused};
use crate::support::files::facts::Names;
use crate::support::files::open::{Opened, open_file, read_full};
use crate::support::when;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::secrets::holds_private_key;
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::io::{Seek, SeekFrom};

pub(crate) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Absolute path.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Byte to start at.
    #[serde(default)]
    offset: u64,
    /// Most bytes to read; at most 1 MiB.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_048_576))]
    limit: u32,
}

fn default_limit() -> u32 {
    65_536
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The file after links.
    path: String,
    /// Size in bytes. Files of `/proc` and `/sys` say 0 and have content all the same.
    size: u64,
    /// Permissions in octal, for example `0644`.
    mode: String,
    /// Owner by name.
    owner: String,
    /// Group by name.
    group: String,
    /// When it was last written, RFC 3339.
    modified: String,
    /// Where the piece begins.
    offset: u64,
    /// How many bytes the piece has.
    bytes: u64,
    /// Whether the file ends with this piece.
    end: bool,
    /// How `content` is written.
    encoding: Encoding,
    /// The piece.
    content: String,
}

/// How a piece is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As it is.
    Text,
    /// Base64: it is not UTF-8 text, or has NUL bytes.
    Base64,
}

impl Skill for ReadFile {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "read_file",
        name: "Read a file",
        description: "Read a piece of a regular file on the host: text, or base64 where it is not UTF-8, with size, mode, owner and modification time. Secrets such as private keys and password files are refused.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "/etc/hosts, 221 of 221 bytes, root:root 0644",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.clone();
        blocking(move || read(host.as_ref(), &params)).await
    }
}

fn read(host: &dyn Host, params: &Params) -> Result<Output, SkillError> {
    let Opened { mut file, real, stat } = open_file(host, &params.path)?;
    let failed = |error| of_io(format!("read `{}`", params.path), &error);
    file.seek(SeekFrom::Start(params.offset)).map_err(failed)?;
    // One byte more tells whether this is the end.
    let mut piece = vec![0; params.limit as usize + 1];
    let read = read_full(&mut file, &mut piece).map_err(failed)?;
    let end = read < piece.len();
    piece.truncate(read.min(params.limit as usize));
    if holds_private_key(&piece) {
        return Err(refused(format!("`{}` may not be read: it holds a private key", params.path)));
    }
    let (encoding, content, bytes) = encode(&piece, end);
    Ok(Output {
        path: real.display().to_string(),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: format!("{:04o}", stat.st_mode & 0o7777),
        owner: Names::users(host).of(stat.st_uid),
        group: Names::groups(host).of(stat.st_gid),
        modified: when::rfc3339(chrono::DateTime::from_timestamp(stat.st_mtime, 0).unwrap_or_default()),
        offset: params.offset,
        bytes: bytes as u64,
        end: end && bytes == piece.len(),
        encoding,
        content,
    })
}

/// Text if it is text. A character that the limit cut in two is left for the next piece.
fn encode(piece: &[u8], end: bool) -> (Encoding, String, usize) {
    let whole = match std::str::from_utf8(piece) {
        Ok(text) => Some(text),
        Err(error) if !end && error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(&piece[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    match whole {
        Some(text) if !text.contains('\0') => (Encoding::Text, text.to_owned(), text.len()),
        _ => (Encoding::Base64, STANDARD.encode(piece), piece.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::{FileRules, SkillErrorKind};
    use std::os::unix::fs::symlink;

    async fn read(cx: &SkillContext, path: &str, offset: u64, limit: u32) -> Result<Output, SkillError> {
        Skill::run(&ReadFile, cx, Params { path: path.to_owned(), offset, limit }).await
    }

    async fn kind(cx: &SkillContext, path: &str) -> SkillErrorKind {
        read(cx, path, 0, 10).await.unwrap_err().kind
    }

    #[tokio::test]
    async fn a_file_is_read_in_pieces_without_splitting_a_character() {
        let cx = FakeHost::empty().with("/etc/motd", "grüße").context();
        let first = read(&cx, "/etc/motd", 0, 3).await.unwrap();
        assert_eq!((first.content.as_str(), first.bytes, first.end), ("gr", 2, false));
        let rest = read(&cx, "/etc/motd", 2, 100).await.unwrap();
        assert_eq!((rest.content.as_str(), rest.end, rest.size), ("üße", true, 7));
        let behind = read(&cx, "/etc/motd", 100, 100).await.unwrap();
        assert_eq!((behind.content.as_str(), behind.end), ("", true));
    }

    #[tokio::test]
    async fn what_is_not_text_comes_as_base64() {
        let cx = FakeHost::empty().with("/a", b"\xff\xfe").with("/b", b"a\0b").context();
        for (path, content) in [("/a", "//4="), ("/b", "YQBi")] {
            let output = read(&cx, path, 0, 100).await.unwrap();
            assert_eq!((output.encoding, output.content.as_str()), (Encoding::Base64, content));
        }
    }

    #[tokio::test]
    async fn names_of_owners_come_from_the_hosts_files() {
        let host = FakeHost::empty().with("/f", "x");
        let meta = std::fs::metadata(host.path("/f")).unwrap();
        use std::os::unix::fs::MetadataExt;
        host.write("/etc/passwd", format!("web:x:{}:0::/:/bin/sh\n", meta.uid()));
        let output = read(&host.context(), "/f", 0, 10).await.unwrap();
        assert_eq!((output.owner.as_str(), output.mode.len()), ("web", 4));
    }

    #[tokio::test]
    async fn links_are_judged_by_where_they_lead() {
        let host = FakeHost::empty()
            .with("/etc/shadow", "root:hash")
            .with("/srv/real", "fine")
            .with("/srv/app.key", "k");
        symlink("/etc/shadow", host.path("/srv/innocent")).unwrap();
        symlink("real", host.path("/srv/good")).unwrap();
        symlink("../../../../../etc/shadow", host.path("/srv/up")).unwrap();
        symlink("loop", host.path("/srv/loop")).unwrap();
        symlink("/etc", host.path("/srv/folder")).unwrap();
        std::fs::hard_link(host.path("/etc/shadow"), host.path("/srv/twin")).unwrap();
        let cx = host.context();
        assert_eq!(read(&cx, "/srv/good", 0, 10).await.unwrap().path, "/srv/real");
        for path in
            ["/srv/innocent", "/srv/up", "/srv/loop", "/srv/folder/shadow", "/srv/twin", "/srv/../etc/shadow"]
        {
            assert_eq!(kind(&cx, path).await, SkillErrorKind::Refused, "{path}");
        }
    }

    #[tokio::test]
    async fn only_the_roots_are_open_and_links_do_not_lead_out() {
        let rules = FileRules { roots: vec!["/var/log".into()], denied: vec!["/var/log/closed".into()] };
        let host = FakeHost::empty()
            .with_files(rules)
            .with("/etc/hosts", "x")
            .with("/var/log/app", "y")
            .with("/var/log/closed/z", "z");
        symlink("/etc/hosts", host.path("/var/log/out")).unwrap();
        let cx = host.context();
        assert_eq!(read(&cx, "/var/log/app", 0, 10).await.unwrap().content, "y");
        for path in ["/etc/hosts", "/var/log/out", "/var/log/closed/z", "/var/log/../../etc/hosts"] {
            assert_eq!(kind(&cx, path).await, SkillErrorKind::Refused, "{path}");
        }
    }

    #[tokio::test]
    async fn an_absolute_link_from_root_to_root_is_followed() {
        let rules = FileRules { roots: vec!["/var/log".into(), "/srv/logs".into()], denied: Vec::new() };
        let host = FakeHost::empty().with_files(rules).with("/srv/logs/app", "x").with("/var/log/y", "y");
        symlink("/srv/logs/app", host.path("/var/log/app")).unwrap();
        let output = read(&host.context(), "/var/log/app", 0, 10).await.unwrap();
        assert_eq!((output.path.as_str(), output.content.as_str()), ("/srv/logs/app", "x"));
    }

    #[tokio::test]
    async fn another_name_of_a_closed_file_is_closed_too() {
        let rules = FileRules { roots: Vec::new(), denied: vec!["/opt/agent/keys".into()] };
        let host = FakeHost::empty().with_files(rules).with("/opt/agent/keys/edge", "k").with("/srv/x", "");
        std::fs::hard_link(host.path("/opt/agent/keys/edge"), host.path("/srv/copy")).unwrap();
        let cx = host.context();
        assert_eq!(kind(&cx, "/srv/copy").await, SkillErrorKind::Refused);
        assert!(read(&cx, "/srv/x", 0, 10).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_that_blocks_is_opened() {
        let host = FakeHost::empty();
        let fifo = host.path("/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(host.path("/sock")).unwrap();
        std::fs::create_dir(host.path("/dir")).unwrap();
        let cx = host.context();
        assert_eq!(kind(&cx, "/pipe").await, SkillErrorKind::Refused);
        assert_eq!(kind(&cx, "/sock").await, SkillErrorKind::Refused);
        assert_eq!(kind(&cx, "/dir").await, SkillErrorKind::Invalid);
        assert_eq!(kind(&cx, "/").await, SkillErrorKind::Invalid);
    }

    #[tokio::test]
    async fn a_private_key_under_an_innocent_name_is_refused() {
        let key = "-----BEGIN PRIVATE KEY-----\nabc\n";
        let late = format!("{}{key}", "x\n".repeat(5000));
        let cx = FakeHost::empty().with("/srv/notes", key).with("/srv/late", late).context();
        assert_eq!(kind(&cx, "/srv/notes").await, SkillErrorKind::Refused);
        assert_eq!(read(&cx, "/srv/late", 9000, 5000).await.unwrap_err().kind, SkillErrorKind::Refused);
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_path_is_told() {
        let cx = FakeHost::empty().with("/a", "x").context();
        for (path, wanted) in [
            ("a", SkillErrorKind::Invalid),
            ("/a\0b", SkillErrorKind::Invalid),
            ("/nope", SkillErrorKind::NotFound),
            ("/a/b", SkillErrorKind::NotFound),
        ] {
            assert_eq!(kind(&cx, path).await, wanted, "{path:?}");
        }
    }

    #[tokio::test]
    async fn files_of_the_kernel_have_no_size_but_content() {
        use crate::{RealHost, RealHostConfig};
        use std::sync::Arc;
        let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
        let cx = SkillContext::new(Arc::new(host));
        // Links of processes lead out of every folder; the kernel's own way around rules.
        let error =
            read(&cx, &format!("/proc/{}/cwd/Cargo.toml", std::process::id()), 0, 10).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused);
        let error = read(&cx, "/proc/self/environ", 0, 10).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused);
        let output = read(&cx, "/proc/uptime", 0, 1000).await.unwrap();
        assert!(output.size == 0 && output.bytes > 0 && output.end);
    }
}

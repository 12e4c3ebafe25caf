//! Key files and signatures on the disk of whoever signs.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// For its owner alone.
const PRIVATE: u32 = 0o600;
/// For everybody to read.
pub(super) const FOR_ALL: u32 = 0o644;
/// Bytes of a file that is read here, at most.
const MAX_BYTES: u64 = 1024 * 1024;
/// Characters of a line of PEM (RFC 7468 §2).
const LINE: usize = 64;

/// What comes before the 32 bytes of the key in an Ed25519 SubjectPublicKeyInfo (RFC 8410 §4).
pub(super) const ED25519_SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The SubjectPublicKeyInfo of an Ed25519 public key.
pub(super) fn ed25519_spki(raw: &[u8]) -> Vec<u8> {
    [ED25519_SPKI_PREFIX.as_slice(), raw].concat()
}

/// Where a pair of keys was written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) private: PathBuf,
    pub(super) public: PathBuf,
}

/// Writes PREFIX.key.pem (PKCS #8) and PREFIX.pub.pem (SubjectPublicKeyInfo). Neither may be there.
pub(super) fn write_pair(prefix: &Path, private: &[u8], public: &[u8]) -> anyhow::Result<Written> {
    let written = Written { private: ending(prefix, ".key.pem"), public: ending(prefix, ".pub.pem") };
    anyhow::ensure!(
        !written.public.exists(),
        "{} is there already; nothing was written",
        written.public.display()
    );
    write_new(&written.private, pem("PRIVATE KEY", private).as_bytes(), PRIVATE)?;
    write_new(&written.public, pem("PUBLIC KEY", public).as_bytes(), FOR_ALL)?;
    Ok(written)
}

/// Writes a file that mustn't be there.
pub(super) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            anyhow::bail!("{} is there already; nothing was written", path.display())
        }
        other => other.with_context(|| format!("{} can't be written", path.display()))?,
    };
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("{} can't be written", path.display()))
}

/// Writes a file, in place of what is there.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let new = ending(path, ".new");
    fs::write(&new, bytes)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("{} can't be written", path.display()))
}

/// Reads a small file.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let unreadable = || format!("{} can't be read", path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .with_context(unreadable)?;
    anyhow::ensure!(bytes.len() as u64 <= MAX_BYTES, "{} is longer than {MAX_BYTES} bytes", path.display());
    Ok(bytes)
}

/// Reads a private key (PKCS #8 in PEM, without a password).
pub(super) fn read_private(path: &Path) -> anyhow::Result<Vec<u8>> {
    let text = String::from_utf8(read(path)?).unwrap_or_default();
    let body = text
        .split_once("-----BEGIN PRIVATE KEY-----")
        .and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"))
        .map(|(body, _)| body.chars().filter(|char| !char.is_ascii_whitespace()).collect::<String>());
    body.and_then(|body| STANDARD.decode(body).ok()).with_context(|| {
        format!(
            "{}: expected a private key, `-----BEGIN PRIVATE KEY-----`, without a password",
            path.display()
        )
    })
}

/// Where the detached signature of a file is.
pub(super) fn signature_of(file: &Path) -> PathBuf {
    ending(file, ".sig")
}

fn ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for (index, char) in body.chars().enumerate() {
        if index > 0 && index % LINE == 0 {
            text.push('\n');
        }
        text.push(char);
    }
    text + &format!("\n-----END {label}-----\n")
}

#[cfg(test)]
pub(super) fn mode_of(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

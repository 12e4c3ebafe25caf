//! Files that hold keys: readable by their owner only, replaced as a whole.

use super::PkiError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Reads a file; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, PkiError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PkiError::Read { path: path.to_owned(), source }),
    }
}

/// Reads a file that holds a key; refuses it if others may read it too.
pub(super) fn read_secret(path: &Path) -> Result<Option<Vec<u8>>, PkiError> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    let metadata = fs::metadata(path).map_err(|source| PkiError::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PkiError::Exposed { path: path.to_owned(), mode });
    }
    Ok(Some(bytes))
}

/// Puts a file in place as a whole: whoever reads it, also after a power cut, sees the old or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), PkiError> {
    let write = || -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = folder.join(name);
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|source| PkiError::Write { path: path.to_owned(), source })
}

/// One PEM section.
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    let body = STANDARD.encode(der);
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

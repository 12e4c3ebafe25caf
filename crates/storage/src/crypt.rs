//! Secrets at rest: AES-256-GCM under a key that lies in a file outside of the database.
//!
//! A sealed value is `version (1) | salt (16) | nonce (12) | ciphertext and tag`. The data key is HKDF-SHA256 of the
//! master key with the salt, so that random nonces never wear one key out. Owner and purpose are associated data: a
//! value that is moved to another row or column doesn't open.

use crate::StorageError;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use rand::TryRng;
use sha2::Sha256;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

const VERSION: u8 = 1;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;

/// The key from which all others are derived. Cheap to clone; wiped from memory with its last clone.
#[derive(Clone)]
pub struct MasterKey(Arc<Zeroizing<[u8; 32]>>);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

impl MasterKey {
    /// Takes 32 bytes as the key.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Arc::new(Zeroizing::new(bytes)))
    }

    /// Reads the key file, or makes one (0600) with a random key if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be read or made, holds something else than 64 hex digits, or others may read it.
    pub fn load_or_create(path: &Path) -> Result<Self, StorageError> {
        let failed = |source| StorageError::File { path: path.to_owned(), source: Arc::new(source) };
        match fs::read_to_string(path) {
            Ok(text) => {
                let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
                if mode & 0o077 != 0 {
                    let reason =
                        format!("the key file may be read by others (mode {:o}); chmod 600 it", mode & 0o777);
                    return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, reason)));
                }
                let text = Zeroizing::new(text);
                let mut bytes = Zeroizing::new([0_u8; 32]);
                hex::decode_to_slice(text.trim(), bytes.as_mut_slice()).map_err(|_| {
                    failed(io::Error::new(io::ErrorKind::InvalidData, "the key file must hold 64 hex digits"))
                })?;
                Ok(Self(Arc::new(bytes)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(path).map_err(failed),
            Err(error) => Err(failed(error)),
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        fill_random(bytes.as_mut_slice())?;
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let text = Zeroizing::new(hex::encode(bytes.as_slice()));
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(Self(Arc::new(bytes)))
    }

    /// Encrypts `plain` for one owner (a row, for example a call id) and one purpose (a column).
    ///
    /// # Errors
    ///
    /// Fails if the system has no randomness.
    pub fn seal(&self, owner: &str, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, StorageError> {
        let mut head = [0_u8; 1 + SALT_BYTES + NONCE_BYTES];
        head[0] = VERSION;
        fill_random(&mut head[1..]).map_err(|_| StorageError::Sealed)?;
        let (salt, nonce) = head[1..].split_at(SALT_BYTES);
        let aad = associated_data(owner, purpose);
        let nonce = Nonce::try_from(nonce).map_err(|_| StorageError::Sealed)?;
        let body = self
            .data_cipher(salt)?
            .encrypt(&nonce, Payload { msg: plain, aad: &aad })
            .map_err(|_| StorageError::Sealed)?;
        Ok([head.as_slice(), &body].concat())
    }

    /// Decrypts what [`MasterKey::seal`] made for the same owner and purpose.
    ///
    /// # Errors
    ///
    /// Fails on another key, owner or purpose, and on a changed value.
    pub fn open(
        &self,
        owner: &str,
        purpose: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, StorageError> {
        let (version, rest) = sealed.split_first().ok_or(StorageError::Sealed)?;
        if *version != VERSION || rest.len() < SALT_BYTES + NONCE_BYTES {
            return Err(StorageError::Sealed);
        }
        let (salt, rest) = rest.split_at(SALT_BYTES);
        let (nonce, body) = rest.split_at(NONCE_BYTES);
        let aad = associated_data(owner, purpose);
        let nonce = Nonce::try_from(nonce).map_err(|_| StorageError::Sealed)?;
        self.data_cipher(salt)?
            .decrypt(&nonce, Payload { msg: body, aad: &aad })
            .map(Zeroizing::new)
            .map_err(|_| StorageError::Sealed)
    }

    /// A keyed digest (HMAC-SHA256, hex) that only holders of the master key can compute. `context` makes the key:
    /// with a context per row, equal messages have different digests and none can be guessed.
    pub fn keyed_digest(&self, purpose: &str, context: &[u8], message: &[u8]) -> String {
        let mut key = Zeroizing::new([0_u8; 32]);
        let info = associated_data(purpose, &hex::encode(context));
        // 32 bytes are always within what HKDF can give.
        let _ = Hkdf::<Sha256>::new(None, self.0.as_slice()).expand(&info, key.as_mut_slice());
        let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_slice()) else {
            return String::new();
        };
        mac.update(message);
        hex::encode(mac.finalize().into_bytes())
    }

    fn data_cipher(&self, salt: &[u8]) -> Result<Aes256Gcm, StorageError> {
        let mut key = Key::<Aes256Gcm>::default();
        Hkdf::<Sha256>::new(Some(salt), self.0.as_slice())
            .expand(b"steadyhand sealed value 1", &mut key)
            .map_err(|_| StorageError::Sealed)?;
        let cipher = Aes256Gcm::new(&key);
        key.zeroize();
        Ok(cipher)
    }
}

/// Both parts with the length of the first in front, so that ("ab", "c") isn't ("a", "bc").
fn associated_data(owner: &str, purpose: &str) -> Vec<u8> {
    let mut data = (owner.len() as u64).to_be_bytes().to_vec();
    data.extend_from_slice(owner.as_bytes());
    data.extend_from_slice(purpose.as_bytes());
    data
}

fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    rand::rngs::SysRng.try_fill_bytes(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sealed_value_opens_only_for_its_owner_and_purpose() {
        let key = MasterKey::from_bytes([7; 32]);
        let sealed = key.seal("call 1", "arguments", b"secret").unwrap();
        assert_eq!(key.open("call 1", "arguments", &sealed).unwrap().as_slice(), b"secret");
        assert!(key.open("call 2", "arguments", &sealed).is_err());
        assert!(key.open("call 1", "result", &sealed).is_err());
        assert!(MasterKey::from_bytes([8; 32]).open("call 1", "arguments", &sealed).is_err());
    }

    #[test]
    fn a_keyed_digest_differs_per_context() {
        let key = MasterKey::from_bytes([7; 32]);
        let first = key.keyed_digest("args", b"one", b"message");
        assert_eq!(first.len(), 64);
        assert_ne!(first, key.keyed_digest("args", b"two", b"message"));
        assert_eq!(first, key.keyed_digest("args", b"one", b"message"));
    }

    #[test]
    fn the_key_file_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let first = MasterKey::load_or_create(&path).unwrap();
        let again = MasterKey::load_or_create(&path).unwrap();
        assert_eq!(first.0.as_slice(), again.0.as_slice());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(MasterKey::load_or_create(&path).is_err());
    }

    proptest! {
        #[test]
        fn opening_any_changed_value_fails_without_a_panic(plain in prop::collection::vec(any::<u8>(), 0..64), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let key = MasterKey::from_bytes([7; 32]);
            let mut sealed = key.seal("o", "p", &plain).unwrap();
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(key.open("o", "p", &sealed).is_err());
        }

        #[test]
        fn opening_noise_fails_without_a_panic(noise in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(MasterKey::from_bytes([7; 32]).open("o", "p", &noise).is_err());
        }
    }
}

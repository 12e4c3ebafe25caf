//! Passwords: rules, and argon2id off the async threads with bounded concurrency.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use model::{Classify, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The shortest password, in characters.
pub const MIN_CHARS: usize = 12;
/// The longest password, in bytes: hashing more helps only an attacker.
pub const MAX_BYTES: usize = 1024;

/// How expensive a hash is.
#[derive(Clone, Copy, Debug)]
pub struct HashCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
}

impl Default for HashCost {
    /// What OWASP recommends for argon2id with one lane: 19 MiB, two passes.
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, passes: 2 }
    }
}

/// Why a password could not be hashed or checked.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Too many are at it.
    #[error("too many sign-ins at once; try again in a moment")]
    Busy,
    /// The hash function failed.
    #[error("failed to hash a password: {0}")]
    Hash(String),
}

impl Classify for PasswordError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy => ErrorKind::TooMany,
            Self::Hash(_) => ErrorKind::Internal,
        }
    }
}

/// Hashes and checks passwords.
#[derive(Clone, Debug)]
pub struct Hasher {
    argon2: Argon2<'static>,
    permits: Arc<Semaphore>,
    /// Checked when there is no account, so that a name can't be found out by the time of an answer.
    decoy: Arc<str>,
}

/// How long a sign-in waits for its turn before it is turned away.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// How many hashes are computed at once; the rest wait.
const MAX_AT_ONCE: usize = 2;

impl Hasher {
    /// Makes a hasher of this cost.
    ///
    /// # Errors
    ///
    /// Fails if the cost is out of argon2's bounds.
    pub fn new(cost: HashCost) -> Result<Self, PasswordError> {
        let params = Params::new(cost.memory_kib, cost.passes, 1, None).map_err(hash_error)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let decoy: PasswordHash =
            argon2.hash_password(super::secret::random_text().as_bytes()).map_err(hash_error)?;
        Ok(Self { decoy: decoy.to_string().into(), argon2, permits: Arc::new(Semaphore::new(MAX_AT_ONCE)) })
    }

    /// Hashes a password into a PHC string.
    ///
    /// # Errors
    ///
    /// Fails if too many are at it.
    pub async fn hash(&self, password: String) -> Result<String, PasswordError> {
        let _permit = self.permit().await?;
        let argon2 = self.argon2.clone();
        let hash = tokio::task::spawn_blocking(move || -> Result<String, PasswordError> {
            let hash: PasswordHash = argon2.hash_password(password.as_bytes()).map_err(hash_error)?;
            Ok(hash.to_string())
        });
        hash.await.map_err(hash_error)?
    }

    /// Whether the password fits the hash. Without a hash the answer is `false`, after the same work.
    ///
    /// # Errors
    ///
    /// Fails if too many are at it.
    pub async fn verify(&self, password: String, hash: Option<String>) -> Result<bool, PasswordError> {
        let _permit = self.permit().await?;
        let argon2 = self.argon2.clone();
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.decoy.to_string());
        let fits = tokio::task::spawn_blocking(move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| argon2.verify_password(password.as_bytes(), &hash).is_ok())
        });
        Ok(fits.await.map_err(hash_error)? && known)
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, PasswordError> {
        match tokio::time::timeout(MAX_WAIT, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(PasswordError::Busy),
        }
    }
}

fn hash_error(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Hash(error.to_string())
}

/// Checks a new password against the rules: length, and that it isn't the name. No rules on kinds of characters,
/// which make passwords worse.
///
/// # Errors
///
/// Tells which rule it breaks.
pub fn check_rules(password: &str, name: &str) -> Result<(), String> {
    if password.chars().count() < MIN_CHARS {
        return Err(format!("must have at least {MIN_CHARS} characters"));
    }
    if password.len() > MAX_BYTES {
        return Err(format!("must have at most {MAX_BYTES} bytes"));
    }
    // Whatever is put between or around the name: what is left without it must be worth something.
    let plain = |text: &str| -> String {
        text.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect()
    };
    let (bare, bare_name) = (plain(password), plain(name));
    if !bare_name.is_empty() && bare.replace(&bare_name, "").chars().count() < MIN_CHARS / 2 {
        return Err("must not be made of the account's name".to_owned());
    }
    let mut distinct: Vec<char> = bare.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < 4 {
        return Err("must not repeat the same few characters".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> Hasher {
        Hasher::new(HashCost { memory_kib: 8, passes: 1 }).unwrap()
    }

    #[tokio::test]
    async fn a_password_fits_its_own_hash_only() {
        let hasher = cheap();
        let hash = hasher.hash("correct horse battery".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert!(hasher.verify("correct horse battery".into(), Some(hash.clone())).await.unwrap());
        assert!(!hasher.verify("correct horse batterz".into(), Some(hash)).await.unwrap());
    }

    #[tokio::test]
    async fn nobody_has_no_password() {
        assert!(!cheap().verify("anything".into(), None).await.unwrap());
    }

    #[test]
    fn short_repeated_and_name_passwords_are_refused() {
        for password in ["short", "aaaaaaaaaaaaaaaa", "hong-gildong-hong-gildong", "HONG-gildong 123"] {
            assert!(check_rules(password, "hong-gildong").is_err(), "{password}");
        }
        check_rules("여덟글자보다 긴 비밀번호 하나", "hong").unwrap();
        check_rules("a good long passphrase", "hong").unwrap();
        check_rules("hong likes long passphrases", "hong").unwrap();
    }
}

//! Random secrets, and the hashes under which they are kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use rand::rngs::SysRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// What every API token begins with, so that a scanner finds one that leaked.
pub const TOKEN_PREFIX: &str = "shp_";

/// 32 bytes of the operating system's randomness, as text for a cookie or a header.
///
/// # Panics
///
/// If the operating system gives no randomness, without which nothing here is safe.
pub fn random_text() -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>())
}

/// A new API token.
pub fn new_token() -> String {
    format!("{TOKEN_PREFIX}{}", random_text())
}

/// A password that is easy to copy by hand: five groups of four, 100 bits.
pub fn random_password() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let bytes = random_bytes::<20>();
    let mut password = String::with_capacity(24);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            password.push('-');
        }
        password.push(char::from(ALPHABET[usize::from(byte & 31)]));
    }
    password
}

/// The hash under which a secret of full entropy is kept.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The CSRF token of a sign-in: follows from the cookie, which no other site can read.
pub fn csrf_of(cookie: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"steadyhand csrf\0");
    hasher.update(cookie.as_bytes());
    URL_SAFE_NO_PAD.encode(hasher.finalize())
}

/// Compares without telling by its time where the difference is.
pub fn equal(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

#[expect(
    clippy::expect_used,
    reason = "without randomness no secret is safe, so there is nothing to go on with"
)]
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).expect("the operating system gives randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_hashes_do_not_hold_them() {
        let (one, other) = (new_token(), new_token());
        assert_ne!(one, other);
        assert!(one.starts_with("shp_") && one.len() == 47);
        assert_ne!(csrf_of(&one), csrf_of(&other));
        assert!(equal(&one, &one) && !equal(&one, &other));
    }

    #[test]
    fn a_first_password_satisfies_the_rules_for_passwords() {
        assert_eq!(random_password().len(), 24);
        crate::auth::password::check_rules(&random_password(), "admin").unwrap();
    }
}

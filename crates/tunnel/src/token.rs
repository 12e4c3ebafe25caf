//! The join token: `shj_<secret>.<pin>`.
//!
//! The secret is sent to the manager once; the pin never leaves the edge and tells it, on first contact, which
//! manager the token came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "shj_";

/// SHA-256 of the public key of a deployment's authority.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pin(pub [u8; 32]);

impl Pin {
    /// Pins a public key, given as `SubjectPublicKeyInfo` in DER.
    pub fn of_spki(spki: &[u8]) -> Self {
        Self(Sha256::digest(spki).into())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}

impl FromStr for Pin {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        decode(text).map(Self)
    }
}

/// What an operator carries from the console to a new host.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    secret: [u8; 32],
    pin: Pin,
}

impl JoinToken {
    /// Makes a token with a fresh secret.
    pub fn generate(pin: Pin) -> Self {
        Self { secret: rand::random(), pin }
    }

    /// The authority that the manager must prove to have.
    pub fn pin(&self) -> Pin {
        self.pin
    }

    /// The part that goes to the manager, as text: the token without the pin.
    pub fn secret_text(&self) -> String {
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(self.secret))
    }

    /// What the manager keeps instead of the secret.
    pub fn secret_digest(&self) -> [u8; 32] {
        digest(&self.secret)
    }
}

/// Digest of the secret in an `Enroll` request, to be looked up among the kept ones. `None` if it is no secret at all.
pub fn secret_digest_of(secret_text: &str) -> Option<[u8; 32]> {
    decode(secret_text.strip_prefix(PREFIX)?).ok().map(|secret| digest(&secret))
}

fn digest(secret: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(b"steadyhand-join-v1").chain_update(secret).finalize().into()
}

fn decode(text: &str) -> Result<[u8; 32], BadToken> {
    URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(BadToken)
}

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.secret_text(), self.pin)
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinToken(secret hidden, {:?})", self.pin)
    }
}

impl FromStr for JoinToken {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let (secret, pin) =
            text.trim().strip_prefix(PREFIX).and_then(|rest| rest.split_once('.')).ok_or(BadToken)?;
        Ok(Self { secret: decode(secret)?, pin: pin.parse()? })
    }
}

/// A text that is no join token. It isn't repeated: it may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a whole join token: it looks like `shj_…` with a dot in the middle; copy it again from Hosts → Add host"
)]
pub struct BadToken;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_token_reads_back(secret in any::<[u8; 32]>(), pin in any::<[u8; 32]>()) {
            let token = JoinToken { secret, pin: Pin(pin) };
            prop_assert_eq!(&token.to_string().parse::<JoinToken>().unwrap(), &token);
            prop_assert_eq!(secret_digest_of(&token.secret_text()), Some(token.secret_digest()));
            let shown = format!("{token:?}");
            prop_assert!(!shown.contains(&token.secret_text()));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "(shj_)?[A-Za-z0-9_.-]{0,100}") {
            if let Ok(token) = text.parse::<JoinToken>() {
                prop_assert_eq!(token.to_string(), text);
            }
        }
    }
}

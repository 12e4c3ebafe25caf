//! Single-use numbers that go into signed statements, so that a signature is good for one call on one edge.
//!
//! In memory only: a restart of the edge voids every one, and with it the signatures over it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long one is good.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How many may be out at once.
const MAX_OUT: usize = 1024;

/// One number.
pub type Nonce = [u8; 32];

/// The numbers that are out. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Nonces {
    out: Arc<Mutex<HashMap<Nonce, Instant>>>,
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonces").field("out", &self.lock().len()).finish()
    }
}

/// Why a number can't be had, or isn't good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceError {
    /// As many are out as may be.
    TooMany,
    /// It was never given out, is used up or too old, or the edge was restarted since.
    Unknown,
}

impl fmt::Display for NonceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(
                f,
                "{MAX_OUT} challenges of this edge are open, its limit; each is void after an hour at the latest"
            ),
            Self::Unknown => f.write_str(
                "the challenge is not one of this edge's, was used, is older than an hour, or the edge was restarted since; \
                 it has to be signed anew",
            ),
        }
    }
}

impl std::error::Error for NonceError {}

impl Nonces {
    /// Gives out a number that is good for an hour, once.
    ///
    /// # Errors
    ///
    /// Fails if 1,024 are out.
    pub fn issue(&self) -> Result<Nonce, NonceError> {
        self.issue_at(Instant::now())
    }

    fn issue_at(&self, now: Instant) -> Result<Nonce, NonceError> {
        let mut out = self.lock();
        out.retain(|_, issued| now.duration_since(*issued) < LIFETIME);
        if out.len() >= MAX_OUT {
            return Err(NonceError::TooMany);
        }
        let nonce: Nonce = rand::random();
        out.insert(nonce, now);
        Ok(nonce)
    }

    /// Uses a number up.
    ///
    /// # Errors
    ///
    /// Fails if it isn't out (any more).
    pub fn consume(&self, nonce: &[u8]) -> Result<(), NonceError> {
        self.consume_at(nonce, Instant::now())
    }

    fn consume_at(&self, nonce: &[u8], now: Instant) -> Result<(), NonceError> {
        let nonce: &Nonce = nonce.try_into().map_err(|_| NonceError::Unknown)?;
        match self.lock().remove(nonce) {
            Some(issued) if now.duration_since(issued) < LIFETIME => Ok(()),
            _ => Err(NonceError::Unknown),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Nonce, Instant>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_good_once_and_for_an_hour() {
        let nonces = Nonces::default();
        let now = Instant::now();
        let first = nonces.issue().unwrap();
        assert_eq!(nonces.clone().consume(&first), Ok(()));
        assert_eq!(nonces.consume(&first), Err(NonceError::Unknown));
        let second = nonces.issue_at(now).unwrap();
        assert_eq!(nonces.consume_at(&second, now + Duration::from_secs(3599)), Ok(()));
        let third = nonces.issue_at(now).unwrap();
        assert_eq!(nonces.consume_at(&third, now + LIFETIME), Err(NonceError::Unknown));
        assert_eq!(nonces.consume(b"short"), Err(NonceError::Unknown));
    }

    #[test]
    fn only_so_many_challenges_are_open() {
        let nonces = Nonces::default();
        let now = Instant::now();
        for _ in 0..MAX_OUT {
            nonces.issue_at(now).unwrap();
        }
        assert_eq!(nonces.issue_at(now), Err(NonceError::TooMany));
        nonces.issue_at(now + LIFETIME).unwrap();
    }
}

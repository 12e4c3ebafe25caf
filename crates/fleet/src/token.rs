//! The one-time tokens with which hosts join.

use crate::{EnrollmentToken, Fleet, FleetError, Labels};
use model::{Timestamp, UserId};
use std::time::Duration;
use storage::Actor;
use storage::edges::NewEnrollmentToken;
use tunnel::JoinToken;

/// The longest life of a token.
pub const MAX_TOKEN_TTL: Duration = Duration::from_secs(3600);

/// A token as it is shown, once.
#[derive(Clone)]
pub struct NewToken {
    /// Its id.
    pub id: i64,
    /// The token itself. Kept nowhere.
    pub token: String,
    /// What to type on the host.
    pub command: String,
    /// The pin of the authority's key, which is also in the token.
    pub ca_pin: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken")
            .field("id", &self.id)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// Makes a token with which one host can join until `ttl` is over.
    ///
    /// # Errors
    ///
    /// Fails if the time or the labels are too long, or the database fails.
    pub async fn create_token(
        &self,
        labels: Labels,
        ttl: Duration,
        created_by: UserId,
        by: Actor,
    ) -> Result<NewToken, FleetError> {
        check_labels(&labels)?;
        if !(Duration::from_secs(60)..=MAX_TOKEN_TTL).contains(&ttl) {
            return Err(FleetError::BadTtl);
        }
        let pin = self.inner().parts.authority.spki_pin();
        let token = JoinToken::generate(pin);
        let expires_at = self.inner().now() + ttl;
        let new = NewEnrollmentToken { token_hash: token.secret_digest(), labels, created_by, expires_at };
        let id = self.inner().parts.storage.edges().create_token(new, by).await?;
        let token = token.to_string();
        let command = format!(
            "sudo steadyhand-edge enroll --manager {} --token {token}",
            self.inner().public_address()
        );
        Ok(NewToken { id, token, command, ca_pin: pin.to_string(), expires_at })
    }

    /// The newest tokens, at most `limit`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn tokens(&self, limit: u32) -> Result<Vec<EnrollmentToken>, FleetError> {
        Ok(self.inner().parts.storage.edges().list_tokens(limit).await?)
    }

    /// One token.
    ///
    /// # Errors
    ///
    /// Fails if there is none with this id.
    pub async fn token(&self, id: i64) -> Result<EnrollmentToken, FleetError> {
        self.inner().parts.storage.edges().token(id).await?.ok_or(FleetError::NoToken(id))
    }

    /// Takes a token back, if nobody has used it. Says whether it did.
    ///
    /// # Errors
    ///
    /// Fails if there is none with this id.
    pub async fn revoke_token(&self, id: i64, by: Actor) -> Result<bool, FleetError> {
        self.token(id).await?;
        Ok(self.inner().parts.storage.edges().revoke_token(id, by).await?)
    }
}

/// Whether people can call a host so.
pub(crate) fn is_legal_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=64).contains(&name.len())
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

pub(crate) fn check_labels(labels: &Labels) -> Result<(), FleetError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/".contains(&byte);
    let fits = labels.len() <= 32
        && labels.iter().all(|(key, value)| {
            (1..=64).contains(&key.len())
                && key.bytes().all(legal)
                && value.chars().count() <= 128
                && !value.chars().any(char::is_control)
        });
    if fits { Ok(()) } else { Err(FleetError::BadLabels) }
}

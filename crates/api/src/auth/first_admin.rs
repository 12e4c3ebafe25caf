//! The first start: an account to begin with, and the service account of the local command line.

use crate::auth::password::{Hasher, PasswordError};
use crate::auth::rule::TokenScope;
use crate::auth::secret;
use model::{Classify, ErrorKind, Role, Roles, UserId};
use storage::tokens::NewToken;
use storage::users::{NewPassword, NewUser, UserChange, UserKind, UserOutcome};
use storage::{Actor, Storage, StorageError};

/// The name of the first account.
pub const FIRST_NAME: &str = "admin";
/// The name of the account of the local command line.
pub const CLI_NAME: &str = "cli";

/// Why an account could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The database failed.
    #[error("failed to record the account")]
    Storage(#[from] StorageError),
    /// Hashing failed.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// There is no such account.
    #[error("there is no account `{0}`")]
    Unknown(String),
}

impl Classify for AccountError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Storage(error) => error.kind(),
            Self::Password(error) => error.kind(),
            Self::Unknown(_) => ErrorKind::NotFound,
        }
    }
}

/// Makes the account `admin` with a random one-time password, unless somebody has an account. The password is
/// returned once and kept nowhere.
///
/// # Errors
///
/// Fails if the database or the hashing does.
pub async fn create(storage: &Storage, hasher: &Hasher) -> Result<Option<String>, AccountError> {
    if storage.users().list(0, 2).await?.iter().any(|user| user.kind == UserKind::Person) {
        return Ok(None);
    }
    let password = secret::random_password();
    let new = NewUser {
        name: FIRST_NAME.to_owned(),
        display_name: "Administrator".to_owned(),
        kind: UserKind::Person,
        roles: Roles::new([Role::Admin]),
        password_hash: Some(hasher.hash(password.clone()).await?),
        must_change_password: true,
    };
    Ok(storage.users().create_first(new).await?.map(|_| password))
}

/// Makes a token for the command line of this machine: whoever may read its file (0600) owns the manager anyway.
/// Tokens of earlier starts end.
///
/// # Errors
///
/// Fails if the database does.
pub async fn new_cli_token(storage: &Storage) -> Result<String, AccountError> {
    let user_id = match storage.users().credentials(CLI_NAME).await? {
        Some(known) => known.user.id,
        None => create_cli_account(storage).await?,
    };
    storage.tokens().revoke_named(user_id, CLI_NAME).await?;
    let token = secret::new_token();
    let new = NewToken {
        user_id,
        name: CLI_NAME.to_owned(),
        token_hash: secret::hash(&token),
        hint: token.chars().take(8).collect(),
        scopes: [TokenScope::Read, TokenScope::Call, TokenScope::Hosts]
            .map(|scope| scope.as_str().to_owned())
            .to_vec(),
        expires_at: None,
    };
    storage.tokens().create(new, Actor::System).await?;
    Ok(token)
}

async fn create_cli_account(storage: &Storage) -> Result<UserId, AccountError> {
    let new = NewUser {
        name: CLI_NAME.to_owned(),
        display_name: "Local command line".to_owned(),
        kind: UserKind::Service,
        roles: Roles::new([Role::Operator]),
        password_hash: None,
        must_change_password: false,
    };
    match storage.users().create(new, Actor::System).await? {
        UserOutcome::Done(user) => Ok(user.id),
        // A person of that name was there first; the token then acts with that person's rights.
        _ => storage
            .users()
            .credentials(CLI_NAME)
            .await?
            .map(|known| known.user.id)
            .ok_or_else(|| AccountError::Unknown(CLI_NAME.to_owned())),
    }
}

/// Gives an account a new one-time password, for `steadyhand user reset-password`.
///
/// # Errors
///
/// Fails if there is no such account, or the database or the hashing does.
pub async fn reset_password(storage: &Storage, hasher: &Hasher, name: &str) -> Result<String, AccountError> {
    let known =
        storage.users().credentials(name).await?.ok_or_else(|| AccountError::Unknown(name.to_owned()))?;
    let password = secret::random_password();
    let change = UserChange {
        password: Some(NewPassword { hash: hasher.hash(password.clone()).await?, must_change: true }),
        disabled: Some(false),
        ..UserChange::default()
    };
    match storage.users().change(known.user.id, change, Actor::System).await? {
        UserOutcome::Done(_) => Ok(password),
        _ => Err(AccountError::Unknown(name.to_owned())),
    }
}

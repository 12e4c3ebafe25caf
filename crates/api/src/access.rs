//! Who may chat: off, admins, or all users; chosen by an admin, or pinned by the environment.

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::{ApiConfig, AppState};
use crate::words::AccessModeWord;
use agent::AccessMode;
use serde::Serialize;
use storage::{Storage, StorageError};
use utoipa::ToSchema;

/// The key of the setting.
pub const SETTING: &str = "chat.access_mode";

/// What the console needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Access {
    /// Who may chat.
    #[schema(value_type = AccessModeWord)]
    pub mode: AccessMode,
    /// Whether `TOOLS_ACCESS_MODE` fixes it, so that it can't be changed here.
    pub pinned: bool,
    /// Whether the caller may.
    pub may_chat: bool,
}

/// The mode that holds: the pinned one, else the chosen one, else the configured one.
///
/// # Errors
///
/// Fails only if the database does.
pub async fn effective_mode(storage: &Storage, config: &ApiConfig) -> Result<AccessMode, StorageError> {
    match config.pinned_access {
        Some(mode) => Ok(mode),
        None => Ok(storage.settings().get(SETTING).await?.unwrap_or(config.default_access)),
    }
}

/// Reads the mode that holds for this caller.
///
/// # Errors
///
/// Fails only if the database does.
pub async fn access_of(app: &AppState, identity: &Identity) -> Result<Access, ApiError> {
    let mode = effective_mode(&app.storage, &app.config).await?;
    let pinned = app.config.pinned_access.is_some();
    Ok(Access { mode, pinned, may_chat: mode.admits(&identity.user.roles) })
}

/// Lets only those through who may chat.
///
/// # Errors
///
/// Says who may, if the caller may not.
pub async fn require_chat(app: &AppState, identity: &Identity) -> Result<(), ApiError> {
    let access = access_of(app, identity).await?;
    if access.may_chat {
        return Ok(());
    }
    Err(ApiError {
        slug: "chat-off",
        title: "Chat is not available",
        ..ApiError::forbidden(match access.mode {
            AccessMode::Off => "chat is switched off; an admin can switch it on under Settings",
            AccessMode::Admins | AccessMode::AllUsers => "chat is for admins only at the moment",
        })
    })
}

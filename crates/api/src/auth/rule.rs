//! What a route needs: a role of the person, and a scope if a token is used. One type per need, so that a handler's
//! signature says who may call it; the OpenAPI document repeats it, and a test over all routes compares the two.

use model::Role;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token may be used for. A token has never more rights than its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Look at hosts, capabilities, calls, audit, chats, events, metrics.
    Read,
    /// Write in chats.
    Chat,
    /// Run capabilities.
    Call,
    /// Enrol and manage hosts.
    Hosts,
    /// Everything under Settings.
    Admin,
    /// Bring signatures that its owner's key file has made.
    #[serde(rename = "approvals:sign")]
    Sign,
}

impl TokenScope {
    /// Every scope.
    pub const ALL: &'static [Self] =
        &[Self::Read, Self::Chat, Self::Call, Self::Hosts, Self::Admin, Self::Sign];

    /// The word used in the database and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Chat => "chat",
            Self::Call => "call",
            Self::Hosts => "hosts",
            Self::Admin => "admin",
            Self::Sign => "approvals:sign",
        }
    }
}

/// Which tokens a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Those with this scope.
    With(TokenScope),
    /// Any that lives.
    Any,
    /// None: this is for a person at a browser.
    Never,
}

/// What a route needs.
pub trait Rule: Send + Sync + 'static {
    /// The role that the person must have the rights of; `None` takes anybody who is signed in.
    const ROLE: Option<Role>;
    /// Which tokens it takes.
    const TOKENS: Tokens;
    /// Whether it works before a password was changed that must be.
    const BEFORE_PASSWORD_CHANGE: bool = false;
}

macro_rules! rules {
    ($($(#[$meta:meta])* $name:ident = $role:expr, $tokens:expr $(, $before:literal)?;)+) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Rule for $name {
                const ROLE: Option<Role> = $role;
                const TOKENS: Tokens = $tokens;
                $(const BEFORE_PASSWORD_CHANGE: bool = $before;)?
            }
        )+
    };
}

rules! {
    /// Look.
    Read = Some(Role::Viewer), Tokens::With(TokenScope::Read);
    /// Write in one's own chats.
    Chat = Some(Role::Viewer), Tokens::With(TokenScope::Chat);
    /// Run capabilities; the gate decides on each call.
    Run = Some(Role::Viewer), Tokens::With(TokenScope::Call);
    /// Decide on calls; the gate looks at who decides on which.
    Decide = Some(Role::Viewer), Tokens::Never;
    /// Look at what is to be signed for a call and bring one's own signature; the gate looks at whose it is.
    Sign = Some(Role::Viewer), Tokens::With(TokenScope::Sign);
    /// Enrol hosts, rename and label them.
    ManageHosts = Some(Role::Operator), Tokens::With(TokenScope::Hosts);
    /// Revoke and delete hosts.
    AdministerHosts = Some(Role::Admin), Tokens::With(TokenScope::Hosts);
    /// Settings, models, accounts.
    Administer = Some(Role::Admin), Tokens::With(TokenScope::Admin);
    /// One's own tokens. A token can't make another one.
    OwnAccount = Some(Role::Viewer), Tokens::Never;
    /// Who am I.
    Anybody = None, Tokens::Any, true;
    /// One's own password and sign-out.
    SignedIn = None, Tokens::Never, true;
}

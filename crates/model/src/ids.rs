//! Newtypes for ids, so that one can't be passed for another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Makes a new id. Ids are `UUIDv7`, so they sort by the time they were made.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

macro_rules! integer_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<Self, std::num::ParseIntError> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id! {
    /// One call, on one target. The key under which an edge runs a call at most once.
    CallId
}
uuid_id! {
    /// One question to people whether a call may run.
    ApprovalId
}
uuid_id! {
    /// One standing approval.
    GrantId
}
uuid_id! {
    /// One operator message and everything that the loop does until it answers.
    TurnId
}
uuid_id! {
    /// One chat.
    SessionId
}
integer_id! {
    /// One enrolled host; the audit's `device_id`. Chosen by the manager, from 1.
    EdgeId
}
integer_id! {
    /// One account, from 1; 0 is the system, which stands for the LLM.
    UserId
}

impl UserId {
    /// The caller of every call that a model asked for.
    pub const SYSTEM: Self = Self(0);
}

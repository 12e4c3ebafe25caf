//! Who may chat, and how much one turn may do.

use model::{Role, Roles};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Who may chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessMode {
    /// Nobody: the state before the first admin chooses.
    #[default]
    Off,
    /// Admins.
    Admins,
    /// Everybody with an account.
    AllUsers,
}

impl AccessMode {
    /// The word used in the configuration and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Admins => "admins",
            Self::AllUsers => "all-users",
        }
    }

    /// Whether a holder of these roles may chat.
    pub fn admits(self, roles: &Roles) -> bool {
        match self {
            Self::Off => false,
            Self::Admins => roles.include(Role::Admin),
            Self::AllUsers => roles.include(Role::Viewer),
        }
    }
}

impl fmt::Display for AccessMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AccessMode {
    type Err = model::UnknownState;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Off, Self::Admins, Self::AllUsers]
            .into_iter()
            .find(|mode| mode.as_str() == word)
            .ok_or_else(|| model::UnknownState { word: word.to_owned(), expected: "off admins all-users" })
    }
}

/// How the agent is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentConfig {
    /// Who may chat.
    pub access: AccessMode,
    /// How much one turn may do.
    pub limits: Limits,
}

/// How much one turn may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most requests to the model. In the last one it may not call tools, so that it must answer. Default: 8.
    pub model_requests: u32,
    /// Most calls of one round that are made; the rest gets an error result. Default: 8.
    pub calls_per_round: usize,
    /// Longest a turn may take. Default: 10 min.
    pub turn: Duration,
    /// Most tokens of one result that a model reads, at four bytes each. Default: 25,000.
    pub result_tokens: usize,
    /// Most bytes of the conversation that a model reads; the oldest turns are left out. Default: 400,000.
    pub history_bytes: usize,
    /// Most tokens that a model may answer at once; 0 leaves it to the provider. Default: 0.
    pub output_tokens: u32,
    /// Most characters of one message of an operator. Default: 32,000.
    pub message_chars: usize,
    /// Most turns at work at once. Default: 64.
    pub turns: usize,
    /// How long the right to work on a turn holds without being renewed. Default: 15 s.
    pub lease: Duration,
    /// Text is shown at least this often. Default: 100 ms.
    pub delta_every: Duration,
    /// Text is shown at the latest when this many bytes wait. Default: 1 KiB.
    pub delta_bytes: usize,
    /// How long a stopped call may take to say how it ended. Default: 10 s.
    pub stop_grace: Duration,
    /// After a restart: how long to wait for a host to tell how a call ended. Default: 15 s.
    pub resolve_wait: Duration,
    /// Whether no other process works on this database. Then a turn that another process left is dead at once,
    /// and not only when its lease has run out. Default: true.
    pub sole_worker: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            model_requests: 8,
            calls_per_round: 8,
            turn: Duration::from_secs(600),
            result_tokens: 25_000,
            history_bytes: 400_000,
            output_tokens: 0,
            message_chars: 32_000,
            turns: 64,
            lease: Duration::from_secs(15),
            delta_every: Duration::from_millis(100),
            delta_bytes: 1024,
            stop_grace: Duration::from_secs(10),
            resolve_wait: Duration::from_secs(15),
            sole_worker: true,
        }
    }
}

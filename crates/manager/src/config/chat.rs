//! `[chat]`: who may chat, and how much one turn may do.

use super::environment::Environment;
use super::reader::Reader;
use agent::{AccessMode, Limits};

/// Pins the access mode, whatever the file and the console say.
const PIN: &str = "TOOLS_ACCESS_MODE";

/// Who may chat, and how much one turn may do.
#[derive(Clone, Debug)]
pub struct ChatConfig {
    /// `off`, `admins` or `all-users`, until an admin chooses in the console. Default: off.
    pub access_mode: AccessMode,
    /// The mode that `TOOLS_ACCESS_MODE` pins.
    pub pinned_access: Option<AccessMode>,
    /// Limits of one turn.
    pub limits: Limits,
}

impl ChatConfig {
    pub(super) fn read(reader: &mut Reader<'_>, environment: &dyn Environment) -> Self {
        let mut limits = Limits::default();
        if let Some(requests) = reader.integer("chat.model_requests", 1, 64) {
            limits.model_requests = u32::try_from(requests).unwrap_or(limits.model_requests);
        }
        if let Some(calls) = reader.integer("chat.calls_per_round", 1, 64) {
            limits.calls_per_round = usize::try_from(calls).unwrap_or(limits.calls_per_round);
        }
        if let Some(turn) = reader.duration("chat.turn_timeout") {
            limits.turn = turn;
        }
        let pinned_access = environment.get(PIN).and_then(|word| match word.parse() {
            Ok(mode) => Some(mode),
            Err(_) => {
                reader.problem(PIN, &format!("`{word}` is not an access mode; use off, admins or all-users"));
                None
            }
        });
        Self {
            access_mode: reader
                .parsed("chat.access_mode", "\"off\", \"admins\" or \"all-users\"")
                .unwrap_or_default(),
            pinned_access,
            limits,
        }
    }
}

//! The life of one call, and where calls come from.

use crate::words::words;

words! {
    /// Where a call stands. Exactly one final state per call.
    CallState {
        /// The arguments did not fit the schema; nothing ran.
        Invalid = "invalid",
        /// Policy, class or a prerequisite forbade it; nothing ran.
        Refused = "refused",
        /// Waits for a person.
        AwaitingApproval = "awaiting_approval",
        /// A person said no; nothing ran.
        Denied = "denied",
        /// Nobody decided in time; nothing ran.
        Expired = "expired",
        /// Allowed, not yet sent.
        Queued = "queued",
        /// Sent; the row was durable before.
        Running = "running",
        /// Ended well.
        Succeeded = "succeeded",
        /// Ended badly.
        Failed = "failed",
        /// Its own deadline passed.
        TimedOut = "timed_out",
        /// Stopped by a person or with its turn.
        Cancelled = "cancelled",
        /// The effect may have happened; changes once, when the edge tells.
        Unknown = "unknown",
    }
}

impl CallState {
    /// Whether nothing can follow. `Unknown` is provisional and so not final.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Invalid
                | Self::Refused
                | Self::Denied
                | Self::Expired
                | Self::Succeeded
                | Self::Failed
                | Self::TimedOut
                | Self::Cancelled
        )
    }

    /// Whether `next` may follow this state. The whole state machine of a call.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::AwaitingApproval => {
                matches!(
                    next,
                    Self::Denied
                        | Self::Expired
                        | Self::Queued
                        | Self::Running
                        | Self::Cancelled
                        | Self::Refused
                )
            }
            Self::Queued => {
                matches!(next, Self::Running | Self::Expired | Self::Cancelled | Self::Refused | Self::Failed)
            }
            Self::Running => {
                matches!(
                    next,
                    Self::Succeeded
                        | Self::Failed
                        | Self::TimedOut
                        | Self::Cancelled
                        | Self::Unknown
                        | Self::Refused
                )
            }
            Self::Unknown => {
                matches!(next, Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled)
            }
            _ => false,
        }
    }
}

words! {
    /// The entry point through which a call came.
    Origin {
        /// The LLM loop, or a slash command in a chat.
        Chat = "chat",
        /// The REST run endpoint and the console's run form.
        Api = "api",
        /// A schedule.
        Schedule = "schedule",
        /// A sub-agent.
        Agent = "agent",
        /// The MCP server.
        Mcp = "mcp",
        /// `steadyhand call`.
        Cli = "cli",
        /// `steadyhand-edge skills run --local`.
        Local = "local",
    }
}

words! {
    /// What policy and class together said about a call.
    PolicyDecision {
        /// May run.
        Allow = "allow",
        /// Needs a person.
        Supervised = "supervised",
        /// May not run.
        Deny = "deny",
    }
}

/// A word that is none of the values of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of: {expected}")]
pub struct UnknownState {
    /// The word that was read.
    pub word: String,
    /// The words that would have been right.
    pub expected: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_state_never_changes() {
        for from in CallState::ALL.iter().filter(|state| state.is_final()) {
            for to in CallState::ALL {
                assert!(!from.may_become(*to), "{from} became {to}");
            }
        }
    }

    #[test]
    fn every_word_reads_back() {
        for state in CallState::ALL {
            assert_eq!(state.as_str().parse::<CallState>().unwrap(), *state);
        }
    }
}

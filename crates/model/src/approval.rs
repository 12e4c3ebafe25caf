//! Decisions of people on calls.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// Where an approval stands. It leaves `pending` once.
    ApprovalState {
        /// Waits for a person.
        Pending = "pending",
        /// Allowed; the call may start until the approval runs out.
        Approved = "approved",
        /// A person said no.
        Denied = "denied",
        /// Nobody decided in time.
        Expired = "expired",
        /// The call was stopped before anybody decided.
        Withdrawn = "withdrawn",
    }
}

words! {
    /// What was decided on a call.
    ApprovalDecision {
        /// This call.
        AllowOnce = "allow_once",
        /// This call, and those of this tool in the same chat on the same host.
        AllowChat = "allow_chat",
        /// This call, and those that a standing grant describes.
        AllowAlways = "allow_always",
        /// Not this call.
        Deny = "deny",
    }
}

impl ApprovalDecision {
    /// The state of an approval on which this was decided.
    pub const fn state(self) -> ApprovalState {
        match self {
            Self::Deny => ApprovalState::Denied,
            Self::AllowOnce | Self::AllowChat | Self::AllowAlways => ApprovalState::Approved,
        }
    }
}

words! {
    /// How a grant stands.
    GrantState {
        /// It covers calls.
        Active = "active",
        /// Its time is over.
        Expired = "expired",
        /// It covered as many calls as it was given for.
        UsedUp = "used_up",
        /// Somebody took it back.
        Revoked = "revoked",
        /// The tool is another one than it was given for.
        Void = "void",
    }
}

/// Why a call has its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClassReason {
    /// A sentence or a part of one.
    pub text: String,
    /// Where the part of the arguments begins that it is about; for `bash` an offset into `command`, in UTF-16 code
    /// units, as browsers count. `None` where it is about the whole, or where the shown text isn't the exact one.
    pub start: Option<u32>,
    /// Where that part ends.
    pub end: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for state in ApprovalState::ALL {
            assert_eq!(state.as_str().parse::<ApprovalState>().unwrap(), *state);
        }
        for decision in ApprovalDecision::ALL {
            assert_eq!(decision.as_str().parse::<ApprovalDecision>().unwrap(), *decision);
        }
    }
}

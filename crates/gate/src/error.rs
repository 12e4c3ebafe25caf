//! Why the gate could not even record its answer.

use model::{CallId, Classify, ErrorKind};
use storage::StorageError;

/// Why the gate could not record its answer. In every case, nothing ran.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GateError {
    /// The row of a new call could not be written.
    #[error("call {call} could not be put on record, so it was not run")]
    Record {
        /// The call.
        call: CallId,
        /// Why.
        #[source]
        source: StorageError,
    },
    /// The end of a call could not be written.
    #[error("the end of call {call} could not be put on record")]
    Finish {
        /// The call.
        call: CallId,
        /// Why.
        #[source]
        source: StorageError,
    },
    /// An approval or a grant could not be read or written.
    #[error("the approvals could not be read or written")]
    Approval(#[source] StorageError),
    /// What an earlier manager left could not be settled.
    #[error("the calls that were running could not be settled")]
    Recover(#[source] StorageError),
}

impl Classify for GateError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Record { source, .. }
            | Self::Finish { source, .. }
            | Self::Recover(source)
            | Self::Approval(source) => source.kind(),
        }
    }
}

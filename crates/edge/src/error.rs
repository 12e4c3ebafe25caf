//! Why an edge can't start or go on.

use model::{Classify, ErrorKind};
use std::io;
use std::path::PathBuf;
use tunnel::TunnelError;
use tunnel::pki::PkiError;

/// Why an edge can't start or go on. The sentences are for the person at the host.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The configuration can't be used.
    #[error("{path}: {problem}")]
    Config {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        problem: String,
    },
    /// A file of the data directory can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of the data directory isn't what it should be.
    #[error("{path} is damaged: {problem}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another edge runs on this directory.
    #[error("another steadyhand-edge runs on {dir}; two of them would look like a cloned host")]
    AlreadyRunning {
        /// The directory.
        dir: PathBuf,
    },
    /// There is no identity yet.
    #[error(
        "this host is not enrolled: run `steadyhand-edge enroll --manager HOST:PORT --token TOKEN` (looked for {path})"
    )]
    NotEnrolled {
        /// Where the identity should be.
        path: PathBuf,
    },
    /// There is an identity already.
    #[error("this host is enrolled as edge {edge}; to enrol it anew, remove {path} first")]
    Enrolled {
        /// Its id.
        edge: model::EdgeId,
        /// The identity.
        path: PathBuf,
    },
    /// The sandbox for child processes can't be used as configured.
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    /// What was named is no pack that can run.
    #[error("{path}: {problem}")]
    Pack {
        /// The pack.
        path: PathBuf,
        /// Everything that is wrong with it.
        problem: String,
    },
    /// The skills don't make a catalogue.
    #[error("the skills can't be put together: {0}")]
    Skills(#[from] skill::DuplicateKey),
    /// A command to be classed can't be read, or its verdict can't be written.
    #[error("bash classify: {0}")]
    Classify(io::Error),
    /// The task of a local call ended without an end of the call.
    #[error("outcome lost, effect possible: the call ended because of a defect in the edge")]
    CallLost,
    /// The key or certificate can't be used.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The manager can't be reached, or refused.
    #[error(transparent)]
    Tunnel(#[from] TunnelError),
}

impl Classify for EdgeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Config { .. } | Self::Sandbox(_) | Self::Pack { .. } | Self::Classify(_) => {
                ErrorKind::Invalid
            }
            Self::AlreadyRunning { .. } | Self::Enrolled { .. } => ErrorKind::Conflict,
            Self::NotEnrolled { .. } => ErrorKind::NotFound,
            Self::Pki(error) => error.kind(),
            Self::Tunnel(error) => error.kind(),
            Self::File { .. } | Self::Damaged { .. } | Self::Skills(_) | Self::CallLost => {
                ErrorKind::Internal
            }
        }
    }
}

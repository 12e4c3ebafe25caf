//! Why a key, a certificate or their files couldn't be used.

use crate::spiffe::BadName;
use model::{Classify, ErrorKind};
use std::io;
use std::path::PathBuf;

/// Why a key, a certificate or their files couldn't be used. Each sentence says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file couldn't be read.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file couldn't be written.
    #[error("failed to write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others than the owner may read a key.
    #[error(
        "{path} holds a private key and others may read it (mode {mode:03o}): run `chmod 600 {path}`, and replace the key if somebody may have seen it"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file isn't what it should be.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The authority's certificate is there, its key isn't.
    #[error(
        "{path} is missing, but its certificate is there: restore the key from a backup; without it every edge has to be enrolled again"
    )]
    KeyMissing {
        /// Where the key should be.
        path: PathBuf,
    },
    /// The authority on disk belongs to another deployment than the configured one.
    #[error(
        "the authority in {path} is the one of deployment `{found}`, not of `{wanted}`: a deployment keeps its name for life"
    )]
    OtherDeployment {
        /// The certificate's file.
        path: PathBuf,
        /// The name in the certificate.
        found: String,
        /// The configured name.
        wanted: String,
    },
    /// The name of the deployment can't be one.
    #[error("a deployment's name is 1 to 63 of a-z, 0-9, `.` and `-`")]
    DeploymentName(#[from] BadName),
    /// A certificate request can't be used.
    #[error("the certificate request can't be used: {reason}")]
    BadRequest {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A certificate isn't what it should be.
    #[error("the certificate can't be used: {reason}")]
    BadCertificate {
        /// What is wrong with it.
        reason: String,
    },
    /// A proof of an old key doesn't hold. Doesn't say which part.
    #[error("the proof of the old key doesn't hold")]
    BadProof,
    /// The cryptography refused.
    #[error("failed to make a key or certificate")]
    Crypto(#[from] rcgen::Error),
}

impl Classify for PkiError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BadRequest { .. } | Self::BadCertificate { .. } | Self::DeploymentName(_) => {
                ErrorKind::Invalid
            }
            Self::BadProof => ErrorKind::Forbidden,
            _ => ErrorKind::Internal,
        }
    }
}

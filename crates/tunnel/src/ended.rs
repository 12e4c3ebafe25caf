//! Why a connection ended.

use model::{Clock, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The other end closed it, or its process ended.
    ByPeer,
    /// No byte came from the other end for this long.
    Quiet(Duration),
    /// The certificate under which it was opened ran out.
    CertificateOver(Timestamp),
    /// This end closed it.
    Closed(String),
    /// Its calls were finished and it was no longer needed.
    Drained,
    /// It broke.
    Broken(String),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByPeer => f.write_str("the other end closed the connection"),
            Self::Quiet(limit) => {
                write!(
                    f,
                    "nothing arrived from the other end for {} s: the connection is taken for dead",
                    limit.as_secs_f32()
                )
            }
            Self::CertificateOver(at) => {
                write!(
                    f,
                    "the certificate under which the connection was opened ran out at {}",
                    at.format("%Y-%m-%d %H:%M:%S UTC")
                )
            }
            Self::Closed(reason) => f.write_str(reason),
            Self::Drained => f.write_str("the connection was replaced and its calls are finished"),
            Self::Broken(reason) => write!(f, "the connection broke: {reason}"),
        }
    }
}

/// Ends when the clock passes `at`. Looks at the clock again at least every half minute, because a wall clock may be
/// set. Cancel safe.
pub(crate) async fn until(at: Timestamp, clock: &Arc<dyn Clock>) {
    const LOOK_AGAIN: Duration = Duration::from_secs(30);
    while let Ok(left) = (at - clock.now()).to_std() {
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LOOK_AGAIN)).await;
    }
}

/// The innermost cause of an error, in words.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

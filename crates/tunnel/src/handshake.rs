//! The manager's end: why a handshake failed, in sentences for the operator.

use crate::verify::Presented;
use model::{EdgeId, Timestamp};
use rustls::{AlertDescription as Alert, CertificateError};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A handshake on the tunnel's port that came to nothing.
#[derive(Clone, Debug)]
pub struct HandshakeFailure {
    /// Where it came from.
    pub peer: SocketAddr,
    /// When.
    pub at: Timestamp,
    /// Who it said to be, if it showed a certificate.
    pub claimed: Option<Claimed>,
    /// Why.
    pub reason: HandshakeReason,
}

/// Who the other end of a failed handshake said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The names in the certificate.
    pub names: String,
    /// The edge that it is for, if this deployment's authority signed it.
    pub edge: Option<EdgeId>,
    /// Serial number, lower-case hex.
    pub serial: String,
}

impl Claimed {
    pub(crate) fn from_presented(presented: &Presented) -> Option<Self> {
        let facts = presented.facts.as_ref()?;
        let edge =
            facts.name.as_ref().and_then(crate::spiffe::SpiffeId::edge).filter(|_| presented.signed_by_us);
        Some(Self { names: facts.names_text(), edge, serial: facts.serial.clone() })
    }
}

impl fmt::Display for HandshakeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.claimed {
            Some(Claimed { edge: Some(edge), .. }) => {
                write!(f, "edge {edge} at {}: {}", self.peer, self.reason)
            }
            Some(Claimed { names, .. }) => {
                write!(f, "a host at {} that claims to be {names}: {}", self.peer, self.reason)
            }
            None => write!(f, "a host at {}: {}", self.peer, self.reason),
        }
    }
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeReason {
    /// It isn't TLS.
    NotTls,
    /// Older than TLS 1.3.
    OldTls,
    /// Neither the tunnel's protocol nor enrolment's was offered.
    WrongProtocol(Vec<String>),
    /// No certificate was shown.
    NoCertificate,
    /// The certificate ran out.
    Expired {
        /// The end of its life.
        not_after: Timestamp,
        /// By the manager's clock.
        now: Timestamp,
    },
    /// The certificate isn't valid yet.
    NotYetValid {
        /// The beginning of its life.
        not_before: Timestamp,
        /// By the manager's clock.
        now: Timestamp,
    },
    /// Another authority signed the certificate.
    ForeignAuthority,
    /// It isn't a client's certificate.
    WrongUsage,
    /// It isn't a certificate of one of this deployment's edges.
    WrongName,
    /// The edge refused the manager's certificate.
    ManagerRefused(ManagerRefusal),
    /// It took too long.
    TooSlow(Duration),
    /// So many others from its address were under way.
    TooMany(usize),
    /// The other end hung up.
    Closed,
    /// Anything else.
    Other(String),
}

/// Why an edge refused the manager's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagerRefusal {
    /// It trusts another authority.
    UnknownAuthority,
    /// By its clock the certificate isn't valid.
    Clock,
    /// It isn't a manager's.
    NotAManager,
}

impl fmt::Display for HandshakeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FORMAT: &str = "%Y-%m-%d %H:%M:%S UTC";
        match self {
            Self::TooMany(limit) => {
                write!(f, "{limit} handshakes from its address are under way; it was closed, and may try again")
            }
            Self::NotTls => f.write_str("it doesn't speak TLS (a port scan or a health check?)"),
            Self::OldTls => f.write_str("it doesn't offer TLS 1.3"),
            Self::WrongProtocol(offered) if offered.is_empty() => {
                f.write_str("it speaks TLS but names no protocol; this port is for edges only")
            }
            Self::WrongProtocol(offered) => {
                write!(f, "it offers {} but this port is for edges only", offered.join(", "))
            }
            Self::NoCertificate => f.write_str("it showed no certificate; it has to be enrolled first"),
            Self::Expired { not_after, now } => write!(
                f,
                "its certificate ran out at {} (the manager's clock says {}); allow it to rejoin or enrol it again",
                not_after.format(FORMAT),
                now.format(FORMAT)
            ),
            Self::NotYetValid { not_before, now } => write!(
                f,
                "its certificate is valid from {} and the manager's clock says {}: the manager's clock is late, or was early when it signed",
                not_before.format(FORMAT),
                now.format(FORMAT)
            ),
            Self::ForeignAuthority => f.write_str(
                "its certificate is of another authority: it was enrolled with another manager, or before this manager's authority was made",
            ),
            Self::WrongUsage => f.write_str("its certificate is not for clients"),
            Self::WrongName => f.write_str("its certificate is not one of an edge of this deployment"),
            Self::ManagerRefused(ManagerRefusal::UnknownAuthority) => f.write_str(
                "it doesn't trust this manager's authority: it was enrolled with another manager, or its join token is another manager's",
            ),
            Self::ManagerRefused(ManagerRefusal::Clock) => {
                f.write_str("by its clock the manager's certificate isn't valid: check that host's clock")
            }
            Self::ManagerRefused(ManagerRefusal::NotAManager) => {
                f.write_str("it refused the manager's certificate as not a manager's")
            }
            Self::TooSlow(limit) => write!(f, "it didn't complete the handshake within {} s", limit.as_secs_f32()),
            Self::Closed => f.write_str("it closed the connection during the handshake"),
            Self::Other(reason) => write!(f, "the handshake failed: {reason}"),
        }
    }
}

/// Turns a failed handshake into the sentence that helps.
pub(crate) fn reason_of(error: &io::Error, presented: &Presented, now: Timestamp) -> HandshakeReason {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                HandshakeReason::Closed
            }
            _ => HandshakeReason::Other(error.to_string()),
        };
    };
    match (tls, &presented.facts) {
        (rustls::Error::NoCertificatesPresented, _) => HandshakeReason::NoCertificate,
        (rustls::Error::InvalidCertificate(refusal), Some(facts)) => match refusal {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                HandshakeReason::Expired { not_after: facts.not_after, now }
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                HandshakeReason::NotYetValid { not_before: facts.not_before, now }
            }
            CertificateError::UnknownIssuer => HandshakeReason::ForeignAuthority,
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                HandshakeReason::WrongUsage
            }
            CertificateError::NotValidForName => HandshakeReason::WrongName,
            other => HandshakeReason::Other(other.to_string()),
        },
        (rustls::Error::AlertReceived(alert), _) => match alert {
            Alert::UnknownCA => HandshakeReason::ManagerRefused(ManagerRefusal::UnknownAuthority),
            Alert::CertificateExpired => HandshakeReason::ManagerRefused(ManagerRefusal::Clock),
            Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
                HandshakeReason::ManagerRefused(ManagerRefusal::NotAManager)
            }
            other => HandshakeReason::Other(format!("it answered {other:?}")),
        },
        (rustls::Error::NoApplicationProtocol, _) => HandshakeReason::WrongProtocol(Vec::new()),
        (rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. }, _) => {
            HandshakeReason::NotTls
        }
        (rustls::Error::PeerIncompatible(_), _) => HandshakeReason::OldTls,
        (other, _) => HandshakeReason::Other(other.to_string()),
    }
}

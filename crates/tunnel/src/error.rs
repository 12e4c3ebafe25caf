//! Why an edge couldn't reach its manager, in sentences for the person who has to put it right.
//!
//! The edge's log, `enroll` and `doctor` show them word for word.

use crate::pki::{CertificateFacts, PkiError};
use crate::verify::{Presented, Trust};
use model::{Classify, ErrorKind, Timestamp};
use rustls::{AlertDescription as Alert, CertificateError};
use std::io;
use std::time::Duration;

/// Why an edge couldn't reach or join its manager.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The manager's address isn't one.
    #[error("`{address}` is not an address of a manager: write host:port, for example manager.example:7443")]
    BadAddress {
        /// The text.
        address: String,
    },
    /// The proxy's address isn't one.
    #[error("the proxy's address is not one: write http://[user:password@]host:port")]
    BadProxy,
    /// A name couldn't be resolved.
    #[error("the name `{host}` can't be resolved: check the spelling and this host's DNS")]
    Resolve {
        /// The name.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No TCP connection.
    #[error("no connection to {address}: {hint}")]
    Connect {
        /// The manager or the proxy.
        address: String,
        /// What to look at.
        hint: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The proxy refused.
    #[error("the proxy {proxy} won't connect to {address}: it answered `{answer}`{hint}")]
    ProxyRefused {
        /// The proxy, without credentials.
        proxy: String,
        /// Where to.
        address: String,
        /// Its status line.
        answer: String,
        /// What to look at; empty where nothing is known.
        hint: &'static str,
    },
    /// The proxy doesn't speak HTTP.
    #[error("the proxy {proxy} doesn't answer like an HTTP proxy: {reason}")]
    ProxyBroken {
        /// The proxy, without credentials.
        proxy: String,
        /// What it did.
        reason: String,
    },
    /// Too slow.
    #[error("{address} didn't complete the connection within {} s: it is overloaded, or something on the way drops packets", limit.as_secs_f32())]
    HandshakeTimeout {
        /// The manager.
        address: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The other end hung up.
    #[error(
        "{address} closed the connection without a reason: a load balancer without a manager behind it, a firewall, or a manager that is shutting down"
    )]
    ClosedEarly {
        /// The manager.
        address: String,
    },
    /// There is no TLS.
    #[error("{address} doesn't speak TLS: this is not the manager's tunnel port")]
    NotTls {
        /// The address.
        address: String,
    },
    /// There is another service.
    #[error(
        "{address} speaks TLS but not the tunnel's protocol: this is another service, perhaps the console's port or a proxy that ends TLS; the tunnel needs TCP passed through"
    )]
    NotATunnel {
        /// The address.
        address: String,
    },
    /// TLS 1.3 isn't offered.
    #[error("{address} doesn't offer TLS 1.3: something between this host and the manager intercepts TLS")]
    OldTls {
        /// The address.
        address: String,
    },
    /// The authority isn't the one of the token.
    #[error(
        "{address} is not the manager that this join token comes from; nothing was sent to it. Copy the token again, and check that the address is that manager's"
    )]
    PinMismatch {
        /// The address.
        address: String,
    },
    /// The authority isn't this edge's.
    #[error(
        "{address} has a certificate of another authority than the one that this edge was enrolled with: it is another manager, its authority was made anew, or something intercepts TLS; if that manager is meant, enrol this host again with a token of it"
    )]
    ForeignManager {
        /// The address.
        address: String,
    },
    /// Somebody else of this deployment plays the manager.
    #[error(
        "{address} shows a certificate for {found}, which is not the manager of this deployment: the connection was refused"
    )]
    NotTheManager {
        /// The address.
        address: String,
        /// The names in the certificate.
        found: String,
    },
    /// By this host's clock the manager's certificate ran out.
    #[error(
        "the manager's certificate ran out at {}, and this host's clock says {}: if that is wrong, set this host's clock; else restart the manager",
        date(not_after),
        date(now)
    )]
    ManagerExpired {
        /// The end of its life.
        not_after: Timestamp,
        /// By this host's clock.
        now: Timestamp,
    },
    /// By this host's clock the manager's certificate isn't valid yet.
    #[error(
        "the manager's certificate is valid from {}, and this host's clock says {}: this host's clock is late, or the manager's was early",
        date(not_before),
        date(now)
    )]
    ManagerNotYetValid {
        /// The beginning of its life.
        not_before: Timestamp,
        /// By this host's clock.
        now: Timestamp,
    },
    /// The edge's certificate ran out.
    #[error(
        "this edge's certificate ran out at {} and the manager refused it: let an administrator allow it to rejoin (Hosts → this host), or enrol it again",
        date(not_after)
    )]
    OwnExpired {
        /// The end of its life.
        not_after: Timestamp,
    },
    /// The edge's certificate isn't valid yet, by its own clock too.
    #[error(
        "this edge's certificate is valid from {} only, and this host's clock says {}: set this host's clock, or the manager's if it was early when it signed",
        date(not_before),
        date(now)
    )]
    OwnNotYetValid {
        /// The beginning of its life.
        not_before: Timestamp,
        /// By this host's clock.
        now: Timestamp,
    },
    /// The two clocks disagree.
    #[error(
        "the manager says that this edge's certificate has run out or isn't valid yet, but by this host's clock ({}) it is valid from {} to {}: one of the two clocks is wrong",
        date(now),
        date(not_before),
        date(not_after)
    )]
    ClocksDiffer {
        /// The beginning of its life.
        not_before: Timestamp,
        /// The end of its life.
        not_after: Timestamp,
        /// By this host's clock.
        now: Timestamp,
    },
    /// The manager doesn't know the edge's authority.
    #[error(
        "the manager doesn't know the authority that signed this edge's certificate: its authority was made anew, or this edge belongs to another manager; enrol it again"
    )]
    UnknownToManager,
    /// No certificate was shown.
    #[error("the manager wants a certificate and this edge showed none: run `steadyhand-edge enroll` first")]
    CertificateRequired,
    /// The certificate isn't an edge's.
    #[error(
        "the manager refused this edge's certificate: it is not one of an edge of its deployment ({alert}); enrol again"
    )]
    CertificateRefused {
        /// The TLS alert.
        alert: String,
    },
    /// Anything else in TLS.
    #[error("the TLS handshake with {address} failed: {reason}")]
    Tls {
        /// The address.
        address: String,
        /// In rustls' words.
        reason: String,
    },
    /// The token wasn't accepted.
    #[error(
        "the manager didn't accept this join token: it was mistyped, used before, revoked, or is over; make a new one in Hosts → Add host"
    )]
    TokenRefused,
    /// The edge may not rejoin.
    #[error(
        "the manager didn't let this edge rejoin: an administrator has to allow it first (Hosts → this host → Allow to rejoin), and the clocks may differ by 5 minutes at most"
    )]
    RejoinRefused,
    /// The manager answered with another error.
    #[error("the manager couldn't enrol this host: {message}")]
    EnrollFailed {
        /// In the manager's words.
        message: String,
    },
    /// The answer to an enrolment doesn't fit.
    #[error("the manager's answer can't be used: {reason}")]
    BadAnswer {
        /// What is wrong.
        reason: String,
    },
    /// The identity can't be used.
    #[error(transparent)]
    Pki(#[from] PkiError),
}

impl Classify for TunnelError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BadAddress { .. } | Self::BadProxy => ErrorKind::Invalid,
            Self::TokenRefused | Self::RejoinRefused => ErrorKind::Forbidden,
            Self::Pki(error) => error.kind(),
            _ => ErrorKind::Unavailable,
        }
    }
}

fn date(at: &Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// What is known when a handshake fails.
pub(crate) struct Circumstances<'a> {
    pub(crate) address: &'a str,
    pub(crate) trust: &'a Trust,
    pub(crate) own: Option<&'a CertificateFacts>,
    pub(crate) presented: Presented,
    pub(crate) now: Timestamp,
}

/// Turns a failed handshake into the sentence that helps.
pub(crate) fn explain(error: &io::Error, at: &Circumstances<'_>) -> TunnelError {
    let address = at.address.to_owned();
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => TunnelError::ClosedEarly { address },
            _ => TunnelError::Tls { address, reason: error.to_string() },
        };
    };
    match tls {
        rustls::Error::InvalidCertificate(refusal) => explain_refusal(refusal, at),
        rustls::Error::AlertReceived(alert) => explain_alert(*alert, at),
        rustls::Error::NoApplicationProtocol => TunnelError::NotATunnel { address },
        rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. } => {
            TunnelError::NotTls { address }
        }
        rustls::Error::PeerIncompatible(_) => TunnelError::OldTls { address },
        other => TunnelError::Tls { address, reason: other.to_string() },
    }
}

fn explain_refusal(refusal: &CertificateError, at: &Circumstances<'_>) -> TunnelError {
    let address = at.address.to_owned();
    match (refusal, &at.presented.facts) {
        (CertificateError::Expired | CertificateError::ExpiredContext { .. }, Some(facts)) => {
            TunnelError::ManagerExpired { not_after: facts.not_after, now: at.now }
        }
        (CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }, Some(facts)) => {
            TunnelError::ManagerNotYetValid { not_before: facts.not_before, now: at.now }
        }
        (CertificateError::UnknownIssuer, _) => match at.trust {
            Trust::Authority(..) => TunnelError::ForeignManager { address },
            Trust::Pin(_) => TunnelError::PinMismatch { address },
        },
        (
            CertificateError::NotValidForName
            | CertificateError::InvalidPurpose
            | CertificateError::InvalidPurposeContext { .. },
            Some(facts),
        ) => TunnelError::NotTheManager { address, found: facts.names_text() },
        (other, _) => TunnelError::Tls { address, reason: other.to_string() },
    }
}

fn explain_alert(alert: Alert, at: &Circumstances<'_>) -> TunnelError {
    let address = at.address.to_owned();
    let now = at.now;
    match (alert, at.own) {
        (Alert::CertificateExpired, Some(own)) if now > own.not_after => {
            TunnelError::OwnExpired { not_after: own.not_after }
        }
        (Alert::CertificateExpired, Some(own)) if now < own.not_before => {
            TunnelError::OwnNotYetValid { not_before: own.not_before, now }
        }
        (Alert::CertificateExpired, Some(own)) => {
            TunnelError::ClocksDiffer { not_before: own.not_before, not_after: own.not_after, now }
        }
        (Alert::UnknownCA, _) => TunnelError::UnknownToManager,
        (Alert::CertificateRequired, _) => TunnelError::CertificateRequired,
        (
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateUnknown
            | Alert::CertificateRevoked
            | Alert::AccessDenied
            | Alert::CertificateExpired,
            _,
        ) => TunnelError::CertificateRefused { alert: format!("{alert:?}") },
        (Alert::NoApplicationProtocol, _) => TunnelError::NotATunnel { address },
        (Alert::ProtocolVersion, _) => TunnelError::OldTls { address },
        (other, _) => TunnelError::Tls { address, reason: format!("it answered {other:?}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use rustls::pki_types::CertificateDer;

    fn at(secs: i64) -> Timestamp {
        DateTime::from_timestamp(secs, 0).unwrap()
    }

    /// What an edge whose certificate is valid from 100 to 200 says about an alert at `now`.
    fn said(alert: Alert, now: i64) -> String {
        let own = CertificateFacts {
            name: None,
            names: Vec::new(),
            serial: "1".to_owned(),
            not_before: at(100),
            not_after: at(200),
            for_clients_only: true,
            for_servers_only: false,
        };
        let error = io::Error::other(rustls::Error::AlertReceived(alert));
        let trust = Trust::Authority(CertificateDer::from(Vec::new()), "test".parse().unwrap());
        let circumstances = Circumstances {
            address: "m:1",
            trust: &trust,
            own: Some(&own),
            presented: Presented::default(),
            now: at(now),
        };
        explain(&error, &circumstances).to_string()
    }

    #[test]
    fn one_alert_is_told_apart_by_the_edges_own_certificate() {
        assert!(
            said(Alert::CertificateExpired, 300)
                .starts_with("this edge's certificate ran out at 1970-01-01 00:03:20")
        );
        assert!(said(Alert::CertificateExpired, 50).contains("is valid from 1970-01-01 00:01:40 UTC only"));
        assert!(said(Alert::CertificateExpired, 150).ends_with("one of the two clocks is wrong"));
    }

    #[test]
    fn every_alert_that_a_manager_sends_has_its_sentence() {
        for (alert, sentence) in [
            (Alert::CertificateRequired, "run `steadyhand-edge enroll` first"),
            (Alert::UnknownCA, "doesn't know the authority"),
            (Alert::BadCertificate, "it is not one of an edge of its deployment"),
            (Alert::UnsupportedCertificate, "it is not one of an edge of its deployment"),
            (Alert::NoApplicationProtocol, "not the tunnel's protocol"),
            (Alert::ProtocolVersion, "doesn't offer TLS 1.3"),
            (Alert::HandshakeFailure, "it answered HandshakeFailure"),
        ] {
            let said = said(alert, 150);
            assert!(said.contains(sentence), "{alert:?}: {said}");
        }
    }
}

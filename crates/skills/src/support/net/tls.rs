//! TLS that looks at a certificate instead of insisting on it: a bad chain is a fact to report. The handshake's own
//! signature is still checked, so the certificate that is reported is the one whose key answered.

use model::Timestamp;
use model::canonical::sha256_hex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;
use std::sync::Arc;
use std::time::Duration;
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

/// Where distributions keep the authorities that the host trusts.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What TLS came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TlsReport {
    /// Protocol version, for example `TLS 1.3`.
    pub(crate) version: String,
    /// Cipher suite.
    pub(crate) cipher: String,
    /// Whether a careful client would have accepted the certificate, with the authorities that this host trusts.
    pub(crate) verified: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<CertificateProblem>,
    /// Whole days until the first certificate of the chain expires; negative if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) days_left: Option<i64>,
    /// The chain that the server sent, its own certificate first.
    pub(crate) chain: Vec<CertificateSummary>,
}

/// One thing that is wrong with a certificate.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CertificateProblem {
    /// What kind of problem.
    pub(crate) kind: ProblemKind,
    /// The problem in words.
    pub(crate) message: String,
}

/// Kinds of problems with certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Its time is over.
    Expired,
    /// Its time hasn't come.
    NotYetValid,
    /// It is for other names.
    WrongName,
    /// It is its own authority.
    SelfSigned,
    /// This host doesn't trust its authority, or the chain is incomplete.
    UnknownIssuer,
    /// Anything else.
    Other,
}

/// The gist of one certificate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CertificateSummary {
    /// Whom it is for.
    subject: String,
    /// Who signed it.
    issuer: String,
    /// Names and addresses that it is valid for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Start of its validity, RFC 3339.
    not_before: String,
    /// End of its validity, RFC 3339.
    not_after: String,
    /// Serial number, hexadecimal.
    serial: String,
    /// SHA-256 over the certificate, hexadecimal.
    sha256: String,
}

/// A client configuration that accepts any certificate. Only for looking at it: what is sent over such a connection
/// may be read by anybody.
pub(crate) fn looking_config() -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Looking { provider }))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// Says what a careful client would have made of the chain.
pub(crate) fn report(
    host: &dyn Host,
    connection: &rustls::ClientConnection,
    server: &ServerName<'_>,
    now: Timestamp,
) -> TlsReport {
    let chain = connection.peer_certificates().unwrap_or_default();
    let problems = problems(chain, &roots(host), server, now);
    TlsReport {
        version: connection.protocol_version().map_or_else(|| "unknown".to_owned(), version_word),
        cipher: connection
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str().map(str::to_owned))
            .unwrap_or_else(|| "unknown".to_owned()),
        verified: problems.is_empty(),
        problems,
        days_left: chain
            .iter()
            .filter_map(not_after)
            .map(|end| (end - now.timestamp()).div_euclid(86_400))
            .min(),
        chain: chain.iter().take(10).map(CertificateSummary::of).collect(),
    }
}

/// The authorities that the host trusts.
fn roots(host: &dyn Host) -> RootCertStore {
    let mut store = RootCertStore::empty();
    for path in BUNDLES {
        if let Ok(pem) = std::fs::read(host.path(path)) {
            store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
            break;
        }
    }
    store
}

fn problems(
    chain: &[CertificateDer<'_>],
    roots: &RootCertStore,
    server: &ServerName<'_>,
    now: Timestamp,
) -> Vec<CertificateProblem> {
    let Some((own, others)) = chain.split_first() else {
        return vec![problem(ProblemKind::Other, "the server sent no certificate")];
    };
    let parsed = match ParsedCertificate::try_from(own) {
        Ok(parsed) => parsed,
        Err(error) => {
            return vec![problem(ProblemKind::Other, format!("the certificate can't be read: {error}"))];
        }
    };
    let mut found = Vec::new();
    let moment = UnixTime::since_unix_epoch(Duration::from_secs(now.timestamp().try_into().unwrap_or(0)));
    let algorithms = ring::default_provider().signature_verification_algorithms;
    if let Err(error) =
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, others, moment, algorithms.all)
    {
        found.push(chain_problem(&error, own, roots));
    }
    // Only the first problem of a chain is told; an expired certificate may hide behind an unknown issuer.
    let known = |found: &[CertificateProblem], kind| found.iter().any(|problem| problem.kind == kind);
    if not_after(own).is_some_and(|end| end < now.timestamp()) && !known(&found, ProblemKind::Expired) {
        found.push(problem(ProblemKind::Expired, expired_words(own)));
    }
    if let Err(error) = verify_server_name(&parsed, server) {
        let summary = CertificateSummary::of(own);
        let names =
            if summary.names.is_empty() { "no name at all".to_owned() } else { summary.names.join(", ") };
        let message = match error {
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => format!("the certificate is not valid for `{}`, but for {names}", server.to_str()),
            other => format!("the name could not be checked: {other}"),
        };
        found.push(problem(ProblemKind::WrongName, message));
    }
    found
}

fn chain_problem(error: &Error, own: &CertificateDer<'_>, roots: &RootCertStore) -> CertificateProblem {
    let Error::InvalidCertificate(reason) = error else {
        return problem(ProblemKind::Other, error.to_string());
    };
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            problem(ProblemKind::Expired, expired_words(own))
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => problem(
            ProblemKind::NotYetValid,
            format!("the certificate is valid only from {}", CertificateSummary::of(own).not_before),
        ),
        CertificateError::UnknownIssuer if is_self_signed(own) => {
            problem(ProblemKind::SelfSigned, "the certificate is self-signed")
        }
        CertificateError::UnknownIssuer if roots.is_empty() => problem(
            ProblemKind::UnknownIssuer,
            "this host has no list of trusted authorities to check against",
        ),
        CertificateError::UnknownIssuer => problem(
            ProblemKind::UnknownIssuer,
            format!(
                "this host doesn't trust the issuer `{}`, or the server left out an intermediate certificate",
                CertificateSummary::of(own).issuer
            ),
        ),
        // webpki says of a self-signed certificate with CA rights only that it is no end entity.
        other if is_self_signed(own) => {
            problem(ProblemKind::SelfSigned, format!("the certificate is self-signed ({other})"))
        }
        other => problem(ProblemKind::Other, other.to_string()),
    }
}

fn problem(kind: ProblemKind, message: impl Into<String>) -> CertificateProblem {
    CertificateProblem { kind, message: message.into() }
}

fn expired_words(own: &CertificateDer<'_>) -> String {
    format!(
        "a certificate of the chain has expired; the server's own was valid until {}",
        CertificateSummary::of(own).not_after
    )
}

fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, parsed)| parsed.subject() == parsed.issuer())
}

fn not_after(certificate: &CertificateDer<'_>) -> Option<i64> {
    X509Certificate::from_der(certificate).ok().map(|(_, parsed)| parsed.validity().not_after.timestamp())
}

fn version_word(version: rustls::ProtocolVersion) -> String {
    match version {
        rustls::ProtocolVersion::TLSv1_3 => "TLS 1.3".to_owned(),
        rustls::ProtocolVersion::TLSv1_2 => "TLS 1.2".to_owned(),
        other => format!("{other:?}"),
    }
}

impl CertificateSummary {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let sha256 = sha256_hex(certificate);
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
            return Self {
                subject: "(can't be read)".to_owned(),
                issuer: String::new(),
                names: Vec::new(),
                not_before: String::new(),
                not_after: String::new(),
                serial: String::new(),
                sha256,
            };
        };
        let mut names = Vec::new();
        for extension in parsed.extensions() {
            if let ParsedExtension::SubjectAlternativeName(alternative) = extension.parsed_extension() {
                names.extend(alternative.general_names.iter().filter_map(name_word).take(50));
            }
        }
        Self {
            subject: parsed.subject().to_string(),
            issuer: parsed.issuer().to_string(),
            names,
            not_before: rfc3339(parsed.validity().not_before.timestamp()),
            not_after: rfc3339(parsed.validity().not_after.timestamp()),
            serial: parsed.raw_serial_as_string().replace(':', ""),
            sha256,
        }
    }
}

fn name_word(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
            16 => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
            _ => None,
        },
        GeneralName::URI(uri) => Some((*uri).to_owned()),
        _ => None,
    }
}

fn rfc3339(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0)
        .map(|time| time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
        .unwrap_or_default()
}

/// Accepts any certificate, but only with a proof that the server has its key.
#[derive(Debug)]
struct Looking {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Looking {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

//! What a certificate says, read without trusting it.

use super::PkiError;
use crate::spiffe::SpiffeId;
use chrono::DateTime;
use model::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// What a certificate says about itself. Reading it proves nothing: only a verified certificate may be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Its one URI name, if it has exactly one name and that is one of ours.
    pub name: Option<SpiffeId>,
    /// Every name that it has, for messages.
    pub names: Vec<String>,
    /// Serial number, lower-case hex without separators.
    pub serial: String,
    /// Not valid before.
    pub not_before: Timestamp,
    /// Not valid after.
    pub not_after: Timestamp,
    /// It is for clients, and for nothing else.
    pub for_clients_only: bool,
    /// It is for servers, and for nothing else.
    pub for_servers_only: bool,
}

impl CertificateFacts {
    /// Reads a certificate.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are no X.509 certificate.
    pub fn read(der: &[u8]) -> Result<Self, PkiError> {
        let bad = |reason: &str| PkiError::BadCertificate { reason: reason.to_owned() };
        let (rest, certificate) =
            X509Certificate::from_der(der).map_err(|_| bad("it can't be parsed as an X.509 certificate"))?;
        if !rest.is_empty() {
            return Err(bad("bytes follow after its end"));
        }
        let time = |moment: x509_parser::time::ASN1Time| {
            DateTime::from_timestamp(moment.timestamp(), 0).ok_or_else(|| bad("its dates are out of range"))
        };
        let alternative =
            certificate.subject_alternative_name().map_err(|_| bad("its names can't be read"))?;
        let general =
            alternative.map(|extension| extension.value.general_names.as_slice()).unwrap_or_default();
        let name = match general {
            [GeneralName::URI(uri)] => uri.parse().ok(),
            _ => None,
        };
        let names = general
            .iter()
            .map(|name| match name {
                GeneralName::URI(uri) => (*uri).to_owned(),
                GeneralName::DNSName(dns) => format!("DNS name {dns}"),
                other => other.to_string(),
            })
            .collect();
        let usage = certificate.extended_key_usage().map_err(|_| bad("its usages can't be read"))?;
        let only = |client: bool| {
            usage.as_ref().is_some_and(|usage| {
                let usage = usage.value;
                let others = usage.any
                    || usage.code_signing
                    || usage.email_protection
                    || usage.time_stamping
                    || usage.ocsp_signing
                    || !usage.other.is_empty();
                usage.client_auth == client && usage.server_auth != client && !others
            })
        };
        Ok(Self {
            name,
            names,
            serial: hex::encode(certificate.raw_serial()).trim_start_matches("00").to_owned(),
            not_before: time(certificate.validity().not_before)?,
            not_after: time(certificate.validity().not_after)?,
            for_clients_only: only(true),
            for_servers_only: only(false),
        })
    }

    /// The names in one line, for messages.
    pub fn names_text(&self) -> String {
        if self.names.is_empty() { "nobody".to_owned() } else { self.names.join(", ") }
    }
}

/// The public key of a certificate, as `SubjectPublicKeyInfo` in DER.
pub(crate) fn spki_of(der: &[u8]) -> Option<Vec<u8>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(certificate.public_key().raw.to_vec())
}

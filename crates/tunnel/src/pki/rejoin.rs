//! Proof that an edge whose certificate ran out still has its key.

use super::{Authority, CertificateFacts, EdgeIdentity, EdgeKey, PkiError};
use crate::spiffe::SpiffeId;
use crate::verify;
use chrono::{DateTime, SecondsFormat, Utc};
use model::{EdgeId, Timestamp};
use proto::v1::RejoinRequest;
use rcgen::SigningKey as _;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};
use std::time::Duration;

/// How far the edge's clock and the manager's may differ in a proof.
pub const REJOIN_WINDOW: Duration = Duration::from_secs(300);

/// What a proof that held tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejoinProof {
    /// The edge.
    pub edge: EdgeId,
    /// Serial number of the old certificate.
    pub serial: String,
    /// When the old certificate ran out.
    pub not_after: Timestamp,
}

/// Signs a request for a new certificate for `new_key` with the old key.
///
/// # Errors
///
/// Fails if the cryptography refuses.
pub fn sign_rejoin(old: &EdgeIdentity, new_key: &EdgeKey, now: Timestamp) -> Result<RejoinRequest, PkiError> {
    let csr_der = new_key.request()?;
    let at = now.to_rfc3339_opts(SecondsFormat::Secs, true);
    let signature = old.key().pair().sign(&statement(&csr_der, &at))?;
    let old_certificate_der = old.chain().first().map(|leaf| leaf.to_vec()).unwrap_or_default();
    Ok(RejoinRequest { old_certificate_der, csr_der, at, signature })
}

/// Checks the proof in a request: the old certificate is this deployment's own and an edge's (it may have run out),
/// the request is fresh, and signed by the certificate's key. Whether the edge may rejoin is the caller's to decide.
///
/// # Errors
///
/// Fails with one sentence for every reason, so that nobody learns which part was wrong.
pub fn verify_rejoin(
    authority: &Authority,
    request: &RejoinRequest,
    now: Timestamp,
) -> Result<RejoinProof, PkiError> {
    let certificate = CertificateDer::from(request.old_certificate_der.as_slice());
    let facts = CertificateFacts::read(&certificate).map_err(|_| PkiError::BadProof)?;
    let edge = match &facts.name {
        Some(SpiffeId::Edge(deployment, edge)) if deployment == authority.deployment() => *edge,
        _ => return Err(PkiError::BadProof),
    };
    let at: DateTime<Utc> =
        DateTime::parse_from_rfc3339(&request.at).map_err(|_| PkiError::BadProof)?.with_timezone(&Utc);
    let apart = (now - at).abs().to_std().map_err(|_| PkiError::BadProof)?;
    let signed = verify::was_issued_to_client(authority.certificate(), &certificate, &facts)
        && verify::signed_with(&certificate, &statement(&request.csr_der, &request.at), &request.signature);
    if apart > REJOIN_WINDOW || !signed || !facts.for_clients_only {
        return Err(PkiError::BadProof);
    }
    Ok(RejoinProof { edge, serial: facts.serial, not_after: facts.not_after })
}

fn statement(csr_der: &[u8], at: &str) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"steadyhand-rejoin-v1")
        .chain_update(csr_der)
        .chain_update(at)
        .finalize()
        .into()
}

//! The service with which hosts join, and rejoin. Whoever calls it has proved nothing yet.

use crate::fleet::Inner;
use crate::token::is_legal_name;
use model::EdgeId;
use proto::v1::{EnrollRequest, EnrollResponse, RejoinRequest};
use std::sync::Arc;
use storage::Actor;
use storage::edges::EdgeState;
use tonic::{Request, Response, Status};
use tunnel::pki::{IssuedCertificate, PkiError, verify_rejoin};
use tunnel::{PeerAddress, secret_digest_of, status_of};

/// Serves enrolment.
#[derive(Clone, Debug)]
pub(crate) struct Enrollment {
    inner: Arc<Inner>,
}

/// One sentence for everything that has to do with a secret, so that nobody learns which part was wrong.
fn refused() -> Status {
    Status::unauthenticated("the token or proof was not accepted")
}

fn broken(error: &storage::StorageError) -> Status {
    tracing::error!(%error, "an enrolment can't be put on record");
    status_of(error)
}

impl Enrollment {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Signs, keeps and packs a certificate.
    async fn issue(&self, edge: EdgeId, csr: &[u8], why: &'static str) -> Result<EnrollResponse, Status> {
        let parts = &self.inner.parts;
        let issued: IssuedCertificate = parts
            .authority
            .issue_edge(csr, edge, self.inner.config.cert_ttl)
            .map_err(|error: PkiError| status_of(&error))?;
        parts
            .storage
            .edges()
            .add_certificate(edge, issued.serial.clone(), (issued.not_before, issued.not_after), why)
            .await
            .map_err(|error| broken(&error))?;
        Ok(EnrollResponse {
            edge_id: edge.0,
            certificate_chain_der: issued.chain.iter().map(|der| der.to_vec()).collect(),
            ca_der: issued.ca.to_vec(),
            deployment: parts.authority.deployment().to_string(),
        })
    }
}

#[tonic::async_trait]
impl proto::v1::enrollment_server::Enrollment for Enrollment {
    async fn enroll(&self, request: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        let address = peer_of(&request);
        let request = request.into_inner();
        let edges = self.inner.parts.storage.edges();
        let hostname = if is_legal_name(&request.hostname) { request.hostname } else { "host".to_owned() };
        let enrolled = match secret_digest_of(&request.token) {
            Some(digest) => {
                edges.enroll(digest, hostname, address.clone()).await.map_err(|error| broken(&error))?
            }
            None => None,
        };
        let Some(edge) = enrolled else {
            tracing::warn!(address, "an enrolment was refused: its token is unknown, used, revoked or over");
            return Err(refused());
        };
        match self.issue(edge, &request.csr_der, "enrolment").await {
            Ok(response) => {
                tracing::info!(edge.id = %edge, address, "edge enrolled");
                if let Err(error) = self.inner.reload(edge).await {
                    tracing::error!(%error, "a new host can't be read");
                }
                Ok(Response::new(response))
            }
            Err(status) => {
                // The token is used up; the host that it made would never connect.
                if let Err(error) = edges.revoke(edge, true, Actor::System).await {
                    tracing::error!(%error, "a host that could not join can't be removed");
                }
                Err(status)
            }
        }
    }

    async fn rejoin(&self, request: Request<RejoinRequest>) -> Result<Response<EnrollResponse>, Status> {
        let address = peer_of(&request);
        let request = request.into_inner();
        let parts = &self.inner.parts;
        let edges = parts.storage.edges();
        let proof = verify_rejoin(&parts.authority, &request, self.inner.now()).map_err(|_| refused())?;
        let certificate = edges.certificate(&proof.serial).await.map_err(|error| broken(&error))?;
        let void = certificate.is_none_or(|certificate| certificate.revoked_at.is_some());
        let record = edges.find(proof.edge).await.map_err(|error| broken(&error))?;
        let active = record.is_some_and(|record| record.state == EdgeState::Active);
        if void || !active || !edges.use_rejoin(proof.edge).await.map_err(|error| broken(&error))? {
            tracing::warn!(edge.id = %proof.edge, address, "an edge whose certificate ran out wants to rejoin, which nobody has allowed");
            return Err(refused());
        }
        let response = self.issue(proof.edge, &request.csr_der, "rejoin").await?;
        tracing::info!(edge.id = %proof.edge, address, "edge rejoined");
        if let Err(error) = self.inner.reload(proof.edge).await {
            tracing::error!(%error, "a host can't be read again");
        }
        Ok(Response::new(response))
    }
}

fn peer_of<T>(request: &Request<T>) -> String {
    request.extensions().get::<PeerAddress>().map(|peer| peer.0.to_string()).unwrap_or_default()
}

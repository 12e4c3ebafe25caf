//! New certificates over the live connection.

use crate::FleetError;
use crate::fleet::Inner;
use model::{EdgeId, Timestamp};
use proto::v1::{RenewBegin, RenewFinish, RenewRequest, renew_request::Step};
use std::sync::Arc;
use std::time::Duration;
use tunnel::EdgeClient;
use tunnel::pki::CertificateFacts;

/// A wall clock may be set, so it is looked at again at least this often.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// How long one of the edge's two answers may take.
const STEP_LIMIT: Duration = Duration::from_secs(30);

/// Renews at two thirds of the certificate's life; tries again each minute where that fails. Ends after it did.
pub(crate) async fn renew_when_due(
    inner: &Arc<Inner>,
    edge: EdgeId,
    client: &EdgeClient,
    facts: Option<&CertificateFacts>,
) {
    let Some(facts) = facts else { return };
    let due = facts.not_before + (facts.not_after - facts.not_before) * 2 / 3;
    wait_until(inner, due).await;
    while let Err(error) = renew(inner, edge, client, "renewal").await {
        tracing::warn!(%error, edge.id = %edge, not_after = %facts.not_after, "a certificate could not be renewed");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn wait_until(inner: &Inner, due: Timestamp) {
    while let Ok(left) = (due - inner.now()).to_std() {
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LOOK_AGAIN)).await;
    }
}

/// Gives the edge a new certificate for a fresh key. It dials again with it by itself. Answers its serial number.
pub(crate) async fn renew(
    inner: &Inner,
    edge: EdgeId,
    client: &EdgeClient,
    why: &'static str,
) -> Result<String, FleetError> {
    let csr = ask(client, Step::Begin(RenewBegin {})).await?;
    let issued = inner.parts.authority.issue_edge(&csr, edge, inner.config.cert_ttl)?;
    inner
        .parts
        .storage
        .edges()
        .add_certificate(edge, issued.serial.clone(), (issued.not_before, issued.not_after), why)
        .await?;
    let finish = RenewFinish {
        certificate_chain_der: issued.chain.iter().map(|der| der.to_vec()).collect(),
        ca_der: issued.ca.to_vec(),
    };
    ask(client, Step::Finish(finish)).await?;
    tracing::info!(edge.id = %edge, serial = issued.serial, not_after = %issued.not_after, "certificate renewed");
    Ok(issued.serial)
}

async fn ask(client: &EdgeClient, step: Step) -> Result<Vec<u8>, FleetError> {
    let mut client = client.clone();
    let answer = client.renew(RenewRequest { step: Some(step) });
    match tokio::time::timeout(STEP_LIMIT, answer).await {
        Ok(Ok(answer)) => Ok(answer.into_inner().csr_der),
        Ok(Err(status)) => Err(FleetError::Renewal(status.message().to_owned())),
        Err(_) => Err(FleetError::Renewal(format!("no answer within {} s", STEP_LIMIT.as_secs()))),
    }
}

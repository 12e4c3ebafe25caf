//! The edge's end: joining a deployment, and rejoining after the certificate ran out.

use crate::dial::{DialConfig, Handshake};
use crate::error::TunnelError;
use crate::h2::{ConnectionTasks, Requester};
use crate::pki::{EdgeIdentity, EdgeKey, sign_rejoin};
use crate::spiffe::SpiffeId;
use crate::token::JoinToken;
use crate::verify::{Presented, Trust};
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;
use model::Clock;
use proto::v1::enrollment_client::EnrollmentClient;
use proto::v1::{EnrollRequest, EnrollResponse};
use proto::{ALPN_ENROLL, MAX_MESSAGE_BYTES};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tonic::{Code, Request, Status};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Joins the deployment that the token comes from. The key is made here and never leaves this host; the token's secret
/// is sent only after the manager has proved to have the authority that the token pins.
///
/// # Errors
///
/// Fails with a sentence for the operator of the host.
pub async fn enroll(
    config: &DialConfig,
    token: &JoinToken,
    hostname: &str,
    clock: &Arc<dyn Clock>,
) -> Result<EdgeIdentity, TunnelError> {
    let key = EdgeKey::generate()?;
    let request =
        EnrollRequest { token: token.secret_text(), csr_der: key.request()?, hostname: hostname.to_owned() };
    let mut session = Session::open(config, Trust::Pin(token.pin()), clock).await?;
    let answer = timeout(ANSWER_TIMEOUT, session.client.enroll(Request::new(request)));
    let answer =
        within(config, answer).await?.map_err(|status| refused(&status, TunnelError::TokenRefused))?;
    session.check(key, answer)
}

/// Asks for a new certificate after the old one ran out, proving the old key. An administrator must have allowed it.
///
/// # Errors
///
/// Fails with a sentence for the operator of the host.
pub async fn rejoin(
    config: &DialConfig,
    old: &EdgeIdentity,
    clock: &Arc<dyn Clock>,
) -> Result<EdgeIdentity, TunnelError> {
    let key = EdgeKey::generate()?;
    let request = sign_rejoin(old, &key, clock.now())?;
    let trust = Trust::Authority(old.ca().clone(), old.deployment().clone());
    let mut session = Session::open(config, trust, clock).await?;
    let answer = timeout(ANSWER_TIMEOUT, session.client.rejoin(Request::new(request)));
    let answer =
        within(config, answer).await?.map_err(|status| refused(&status, TunnelError::RejoinRefused))?;
    let fresh = session.check(key, answer)?;
    if fresh.edge() != old.edge() {
        return Err(TunnelError::BadAnswer { reason: "it is for another edge".to_owned() });
    }
    Ok(fresh)
}

async fn within(
    config: &DialConfig,
    answer: tokio::time::Timeout<impl Future<Output = Result<tonic::Response<EnrollResponse>, Status>>>,
) -> Result<Result<EnrollResponse, Status>, TunnelError> {
    match answer.await {
        Ok(result) => Ok(result.map(tonic::Response::into_inner)),
        Err(_) => {
            Err(TunnelError::HandshakeTimeout { address: config.address.to_string(), limit: ANSWER_TIMEOUT })
        }
    }
}

fn refused(status: &Status, secret: TunnelError) -> TunnelError {
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => secret,
        _ => TunnelError::EnrollFailed { message: status.message().to_owned() },
    }
}

/// A connection to the manager's enrolment service.
struct Session {
    client: EnrollmentClient<Requester>,
    manager: Presented,
    _end_tasks: DropGuard,
}

impl Session {
    async fn open(config: &DialConfig, trust: Trust, clock: &Arc<dyn Clock>) -> Result<Self, TunnelError> {
        let handshake = Handshake { config, trust, identity: None, alpn: ALPN_ENROLL, clock };
        let (stream, seen) = handshake.run().await?;
        let tasks = ConnectionTasks::default();
        let end_tasks = tasks.guard();
        let (sender, connection) =
            http2::Builder::new(tasks.clone())
                .handshake(TokioIo::new(stream))
                .await
                .map_err(|error| TunnelError::EnrollFailed { message: crate::ended::root_cause(&error) })?;
        hyper::rt::Executor::execute(&tasks, async move {
            // How it ended is told by the answer.
            let _ = connection.await;
        });
        let origin = http::Uri::from_static("http://manager");
        let client = EnrollmentClient::with_origin(Requester::new(sender, &tasks), origin)
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self { client, manager: seen.get(), _end_tasks: end_tasks })
    }

    /// Believes an answer only as far as the handshake proved it.
    fn check(&self, key: EdgeKey, answer: EnrollResponse) -> Result<EdgeIdentity, TunnelError> {
        let bad = |reason: &str| TunnelError::BadAnswer { reason: reason.to_owned() };
        if self.manager.ca.as_deref() != Some(answer.ca_der.as_slice()) {
            return Err(bad("it names another authority than the one that the manager proved to have"));
        }
        let identity = EdgeIdentity::assemble(key, answer.certificate_chain_der, answer.ca_der)?;
        let manager =
            self.manager.facts.as_ref().and_then(|facts| facts.name.as_ref()).map(SpiffeId::deployment);
        if manager != Some(identity.deployment()) || identity.edge().0 != answer.edge_id {
            return Err(bad("the certificate is for another deployment or edge"));
        }
        Ok(identity)
    }
}

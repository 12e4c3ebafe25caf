//! The gRPC service that the manager calls on the connection.

use crate::agent::Agent;
use crate::execute::{events, outcome, read_call_id, read_request, recalled, refused, remaining_events};
use crate::load::Sampler;
use admission::{Recall, RefusalKind};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use proto::v1::edge_server::Edge;
use proto::v1::{self, watch_event};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// How often the host is looked at while the manager watches.
const LOOK: Duration = Duration::from_secs(10);

/// What the manager said about one connection.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Cancelled when the connection should take no more calls and end.
    pub(crate) drain: CancellationToken,
    refused: Mutex<Option<Refused>>,
}

/// The manager doesn't want the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Link {
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn refuse(&self, request: v1::RefuseRequest) {
        let retry_after =
            (request.retry_after_secs > 0).then(|| Duration::from_secs(u64::from(request.retry_after_secs)));
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Refused { reason: request.reason, retry_after });
        self.drain.cancel();
    }
}

/// The service on one connection.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) agent: Arc<Agent>,
    pub(crate) link: Arc<Link>,
}

type Events = BoxStream<'static, Result<v1::ExecuteEvent, Status>>;
type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Edge for Service {
    type WatchStream = BoxStream<'static, Result<v1::WatchEvent, Status>>;
    type ExecuteStream = Events;
    type AttachStream = Events;

    async fn describe(&self, _request: Request<v1::DescribeRequest>) -> Answer<v1::DescribeResponse> {
        Ok(Response::new(self.agent.describe()))
    }

    async fn watch(&self, _request: Request<v1::WatchRequest>) -> Answer<Self::WatchStream> {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let watch = Watch {
            revision: self.agent.revision(),
            agent: Arc::clone(&self.agent),
            link: Arc::clone(&self.link),
            sampler: Sampler::default(),
            ticks,
            changed: None,
        };
        Ok(Response::new(stream::unfold(watch, Watch::next).boxed()))
    }

    async fn execute(&self, request: Request<v1::ExecuteRequest>) -> Answer<Events> {
        let trace = tunnel::trace::extract(request.metadata());
        let request = read_request(request.into_inner())?;
        let (call_id, skill) = (request.call_id, request.skill.clone());
        let trace_id = trace.map(|trace| trace.to_string());
        match self.agent.runner.start(request) {
            Ok(started) => {
                tracing::debug!(call.id = %call_id, skill, trace = trace_id, "call accepted");
                Ok(Response::new(events(started).boxed()))
            }
            // Its outcome belongs to the first delivery: answering here would end the call a second time.
            Err(refusal) if refusal.kind == RefusalKind::Duplicate => {
                Err(Status::already_exists(refusal.reason))
            }
            Err(refusal) => {
                tracing::info!(call.id = %call_id, skill, trace = trace_id, reason = %refusal, "call refused");
                Ok(Response::new(stream::once(async move { Ok(refused(&refusal)) }).boxed()))
            }
        }
    }

    async fn attach(&self, request: Request<v1::AttachRequest>) -> Answer<Events> {
        let v1::AttachRequest { call_id, offset } = request.into_inner();
        match self.agent.runner.admission().recall(read_call_id(&call_id)?) {
            Recall::Ended(ended) if ended.result.is_some() || ended.result_bytes == 0 => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                Ok(Response::new(remaining_events(*ended, offset).boxed()))
            }
            Recall::Ended(ended) => Err(Status::data_loss(format!(
                "call {call_id} is {} and its result of {} bytes was too large to be remembered",
                outcome(&ended).state,
                ended.result_bytes
            ))),
            Recall::Running => Err(Status::failed_precondition(format!(
                "call {call_id} is safe: it belongs to the stream that started it"
            ))),
            Recall::Absent => Err(Status::not_found(format!("call {call_id} is not here"))),
        }
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Answer<v1::CancelResponse> {
        let call_id = read_call_id(&request.get_ref().call_id)?;
        Ok(Response::new(v1::CancelResponse { stopped: self.agent.runner.stop(call_id) }))
    }

    async fn outcome(&self, request: Request<v1::OutcomeRequest>) -> Answer<v1::OutcomeResponse> {
        let call_id = read_call_id(&request.get_ref().call_id)?;
        Ok(Response::new(recalled(self.agent.runner.admission().recall(call_id))))
    }

    async fn acknowledge(&self, request: Request<v1::AcknowledgeRequest>) -> Answer<v1::AcknowledgeResponse> {
        let through = request.get_ref().through;
        self.agent
            .keep(move |durable| durable.acknowledged_through = durable.acknowledged_through.max(through))
            .await?;
        Ok(Response::new(v1::AcknowledgeResponse {}))
    }

    async fn challenge(&self, _request: Request<v1::ChallengeRequest>) -> Answer<v1::ChallengeResponse> {
        Err(Status::unimplemented("this edge checks no signed statements yet, so it gives out no nonces"))
    }

    async fn set_epoch(&self, request: Request<v1::SetEpochRequest>) -> Answer<v1::SetEpochResponse> {
        let epoch = request.get_ref().epoch;
        self.agent.keep(move |durable| durable.epoch = epoch).await?;
        Ok(Response::new(v1::SetEpochResponse {}))
    }

    async fn refuse(&self, request: Request<v1::RefuseRequest>) -> Answer<v1::RefuseResponse> {
        self.link.refuse(request.into_inner());
        Ok(Response::new(v1::RefuseResponse {}))
    }

    async fn freeze(&self, request: Request<v1::FreezeRequest>) -> Answer<v1::FreezeResponse> {
        let frozen = request.get_ref().frozen;
        self.agent.keep(move |durable| durable.frozen = frozen).await?;
        self.agent.runner.admission().freeze(frozen);
        Ok(Response::new(v1::FreezeResponse {}))
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Answer<v1::RenewResponse> {
        use v1::renew_request::Step;
        let csr_der = match request.into_inner().step {
            Some(Step::Begin(_)) => self.agent.identity.begin().map_err(|error| tunnel::status_of(&error))?,
            Some(Step::Finish(finish)) => {
                let agent = Arc::clone(&self.agent);
                let store = move || agent.identity.finish(finish.certificate_chain_der, finish.ca_der);
                blocking(store).await?.map_err(|error| tunnel::status_of(&error))?;
                Vec::new()
            }
            None => return Err(Status::invalid_argument("neither begin nor finish")),
        };
        Ok(Response::new(v1::RenewResponse { csr_der }))
    }
}

/// Runs something that waits for the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Status::internal("a part of the edge broke"))
}

/// One open `Watch`. It ends with its connection, or when that is to drain.
struct Watch {
    agent: Arc<Agent>,
    link: Arc<Link>,
    sampler: Sampler,
    ticks: Interval,
    revision: u64,
    /// Told before the next sample.
    changed: Option<u64>,
}

impl Watch {
    async fn next(mut self) -> Option<(Result<v1::WatchEvent, Status>, Self)> {
        let event = match self.changed.take() {
            Some(revision) => watch_event::Event::Described(v1::DescriptionChanged { revision }),
            None => {
                let drained = self.link.drain.clone();
                tokio::select! {
                    () = drained.cancelled() => return None,
                    _ = self.ticks.tick().fuse() => {}
                }
                let (agent, mut sampler) = (Arc::clone(&self.agent), std::mem::take(&mut self.sampler));
                let look = move || {
                    let sample = sampler.sample(agent.runner.host());
                    (sample, sampler, agent.revision())
                };
                let (sample, sampler, revision) = blocking(look).await.ok()?;
                self.sampler = sampler;
                if revision != self.revision {
                    self.revision = revision;
                    self.changed = Some(revision);
                }
                watch_event::Event::Load(sample)
            }
        };
        Some((Ok(v1::WatchEvent { event: Some(event) }), self))
    }
}

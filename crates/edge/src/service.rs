//! The gRPC service that the manager calls on the connection.

use crate::agent::Agent;
use crate::execute::{
    check_evidence_size, events, outcome, read_call_id, read_request, recalled, refused, remaining_events,
};
use crate::load::Sampler;
use crate::refusals::is_for_the_record;
use crate::report;
use admission::{Evidence, JournalError, Recall, RefusalKind};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use model::CallId;
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
    type LocalCallsStream = BoxStream<'static, Result<v1::LocalCall, Status>>;

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
            waiting: None,
        };
        Ok(Response::new(stream::unfold(watch, Watch::next).boxed()))
    }

    async fn execute(&self, request: Request<v1::ExecuteRequest>) -> Answer<Events> {
        let trace = tunnel::trace::extract(request.metadata());
        let request = request.into_inner();
        if let Err(reason) = check_evidence_size(&request) {
            let v1::ExecuteRequest { call_id, skill, .. } = request;
            self.agent.record_refused(call_id, skill, None, reason.clone()).await;
            return Err(Status::invalid_argument(reason));
        }
        let request = read_request(request)?;
        let (call_id, skill) = (request.call_id, request.skill.clone());
        let trace_id = trace.map(|trace| trace.to_string());
        let seq = request.seq;
        let runner = Arc::clone(&self.agent.runner);
        let brought_evidence = request.evidence != Evidence::None;
        let started =
            if seq > 0 { blocking(move || runner.start(request)).await? } else { runner.start(request) };
        match started {
            Ok(started) => {
                tracing::debug!(call.id = %call_id, skill, trace = trace_id, "call accepted");
                Ok(Response::new(events(started, 0).boxed()))
            }
            // A call of the journal may be sent again: whoever sends it gets its one outcome.
            Err(refusal) if refusal.kind == RefusalKind::Duplicate && seq > 0 => {
                tracing::debug!(call.id = %call_id, skill, trace = trace_id, "call was here before");
                self.take_up(call_id, seq, 0).await
            }
            // The outcome of a safe one belongs to the first delivery: answering here would end the call a second time.
            Err(refusal) if refusal.kind == RefusalKind::Duplicate => {
                Err(Status::already_exists(refusal.reason))
            }
            // Somebody asked for more than the evidence covers: the host's owner is to find that here.
            Err(refusal) if is_for_the_record(brought_evidence, refusal.kind) => {
                let reason = refusal.reason.clone();
                self.agent.record_refused(call_id.to_string(), skill, refusal.class, reason).await;
                Ok(Response::new(stream::once(async move { Ok(refused(&refusal)) }).boxed()))
            }
            Err(refusal) => {
                tracing::info!(call.id = %call_id, skill, trace = trace_id, reason = %refusal, "call refused");
                Ok(Response::new(stream::once(async move { Ok(refused(&refusal)) }).boxed()))
            }
        }
    }

    async fn attach(&self, request: Request<v1::AttachRequest>) -> Answer<Events> {
        let v1::AttachRequest { call_id, offset, seq } = request.into_inner();
        self.take_up(read_call_id(&call_id)?, seq, usize::try_from(offset).unwrap_or(usize::MAX)).await
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Answer<v1::CancelResponse> {
        let v1::CancelRequest { call_id, seq } = request.into_inner();
        let call_id = read_call_id(&call_id)?;
        let runner = Arc::clone(&self.agent.runner);
        let stopped = if seq > 0 {
            blocking(move || runner.cancel(call_id, seq)).await?
        } else {
            runner.cancel(call_id, 0)
        };
        Ok(Response::new(v1::CancelResponse { stopped: stopped.map_err(|error| not_kept(&error))? }))
    }

    async fn outcome(&self, request: Request<v1::OutcomeRequest>) -> Answer<v1::OutcomeResponse> {
        let v1::OutcomeRequest { call_id, seq } = request.into_inner();
        let recall = self.recall(read_call_id(&call_id)?, seq).await?;
        Ok(Response::new(recalled(recall)))
    }

    async fn acknowledge(&self, request: Request<v1::AcknowledgeRequest>) -> Answer<v1::AcknowledgeResponse> {
        let through = request.get_ref().through;
        let runner = Arc::clone(&self.agent.runner);
        blocking(move || runner.admission().acknowledge(through)).await?.map_err(|error| not_kept(&error))?;
        Ok(Response::new(v1::AcknowledgeResponse {}))
    }

    async fn local_calls(&self, _request: Request<v1::LocalCallsRequest>) -> Answer<Self::LocalCallsStream> {
        let agent = Arc::clone(&self.agent);
        let calls = blocking(move || agent.local.ended()).await?;
        Ok(Response::new(stream::iter(calls.into_iter().map(|call| Ok(report::local_call(call)))).boxed()))
    }

    async fn forget_local(
        &self,
        request: Request<v1::ForgetLocalRequest>,
    ) -> Answer<v1::ForgetLocalResponse> {
        let calls =
            request.get_ref().call_ids.iter().map(|id| read_call_id(id)).collect::<Result<Vec<_>, _>>()?;
        let agent = Arc::clone(&self.agent);
        blocking(move || agent.local.forget(&calls)).await?.map_err(|error| {
            tracing::error!(%error, "local calls that the manager has can't be removed");
            Status::unavailable(format!("the edge can't remove them: {error}"))
        })?;
        Ok(Response::new(v1::ForgetLocalResponse {}))
    }

    async fn challenge(&self, _request: Request<v1::ChallengeRequest>) -> Answer<v1::ChallengeResponse> {
        let nonce = self.agent.runner.admission().nonces().issue();
        let nonce = nonce.map_err(|error| Status::resource_exhausted(error.to_string()))?;
        Ok(Response::new(v1::ChallengeResponse { nonce: nonce.to_vec() }))
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
        let admission = self.agent.runner.admission();
        if frozen {
            // At once, and also where a full disk doesn't let it be kept; the manager says it again then.
            admission.freeze(true);
        }
        self.agent.keep(move |durable| durable.frozen = frozen).await?;
        admission.freeze(frozen);
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

impl Service {
    /// The output of a call that was accepted before, from `offset` bytes of its result on.
    async fn take_up(&self, call_id: CallId, seq: u64, offset: usize) -> Answer<Events> {
        if let Some(started) = self.agent.runner.attach(call_id) {
            return Ok(Response::new(events(started, offset).boxed()));
        }
        match self.recall(call_id, seq).await? {
            Recall::Ended(ended) if ended.result.is_some() || ended.result_bytes == 0 => {
                Ok(Response::new(remaining_events(*ended, offset).boxed()))
            }
            Recall::Ended(ended) => Err(Status::data_loss(format!(
                "call {call_id} is {} and its result of {} bytes was too large to be remembered",
                outcome(&ended).state,
                ended.result_bytes
            ))),
            // Between being accepted and being listed.
            Recall::Running if seq > 0 => {
                Err(Status::unavailable(format!("call {call_id} is about to start")))
            }
            Recall::Running => Err(Status::failed_precondition(format!(
                "call {call_id} is safe: it belongs to the stream that started it"
            ))),
            Recall::Absent => Err(Status::not_found(format!("call {call_id} is not here"))),
        }
    }

    async fn recall(&self, call_id: CallId, seq: u64) -> Result<Recall, Status> {
        let runner = Arc::clone(&self.agent.runner);
        let recall = if seq > 0 {
            blocking(move || runner.admission().recall(call_id, seq)).await?
        } else {
            runner.admission().recall(call_id, 0)
        };
        recall.map_err(|error| not_kept(&error))
    }
}

/// What the journal couldn't keep wasn't done, and may be asked for again.
fn not_kept(error: &JournalError) -> Status {
    match error {
        JournalError::Known(_) => Status::failed_precondition(error.to_string()),
        JournalError::Full(_) => Status::resource_exhausted(error.to_string()),
        JournalError::Unusable(_) => Status::unavailable(error.to_string()),
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
    /// Local calls that wait to be asked for; told before the next sample.
    waiting: Option<u32>,
}

impl Watch {
    async fn next(mut self) -> Option<(Result<v1::WatchEvent, Status>, Self)> {
        let event = match (self.changed.take(), self.waiting.take()) {
            (Some(revision), waiting) => {
                self.waiting = waiting;
                watch_event::Event::Described(v1::DescriptionChanged { revision })
            }
            (None, Some(count)) => watch_event::Event::LocalCalls(v1::LocalCallsWaiting { count }),
            (None, None) => {
                let drained = self.link.drain.clone();
                tokio::select! {
                    () = drained.cancelled() => return None,
                    _ = self.ticks.tick().fuse() => {}
                }
                let (agent, mut sampler) = (Arc::clone(&self.agent), std::mem::take(&mut self.sampler));
                let look = move || {
                    let sample = sampler.sample(agent.runner.host());
                    (sample, sampler, agent.revision(), agent.local.waiting())
                };
                let (sample, sampler, revision, waiting) = blocking(look).await.ok()?;
                self.sampler = sampler;
                self.waiting = u32::try_from(waiting).ok().filter(|waiting| *waiting > 0);
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

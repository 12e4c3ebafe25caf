//! An edge that runs test calls.

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use proto::v1::edge_server::{Edge, EdgeServer};
use proto::v1::execute_event::Event;
use proto::v1::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tonic::{Request, Response, Status, Streaming};
use tunnel::EdgeClient;

/// `echo` answers its arguments; `bulk` answers as many bytes as its arguments say; `forever` never ends; `silent`
/// doesn't even begin to answer. `running` counts what hasn't ended or been dropped.
#[derive(Clone, Default)]
pub struct TestEdge {
    pub running: Arc<AtomicUsize>,
    pub started: Arc<AtomicUsize>,
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TestEdge {
    pub fn server(&self) -> EdgeServer<Self> {
        EdgeServer::new(self.clone())
    }

    pub fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    pub fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    fn begin(&self) -> Running {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        Running(self.running.clone())
    }
}

fn event(event: Event) -> Result<ExecuteEvent, Status> {
    Ok(ExecuteEvent { event: Some(event) })
}

fn ended(bytes: usize) -> Result<ExecuteEvent, Status> {
    event(Event::Outcome(CallOutcome {
        state: "succeeded".to_owned(),
        result_bytes: bytes as u64,
        ..CallOutcome::default()
    }))
}

/// The byte at a place of a bulk result.
pub fn byte_at(place: usize) -> u8 {
    (place.wrapping_mul(2_654_435_761) >> 13) as u8
}

fn chunk(start: usize, total: usize) -> Bytes {
    (start..total.min(start + proto::CHUNK_BYTES)).map(byte_at).collect()
}

#[tonic::async_trait]
impl Edge for TestEdge {
    type WatchStream = BoxStream<'static, Result<WatchEvent, Status>>;
    type ExecuteStream = BoxStream<'static, Result<ExecuteEvent, Status>>;
    type AttachStream = BoxStream<'static, Result<ExecuteEvent, Status>>;
    type LocalCallsStream = BoxStream<'static, Result<LocalCall, Status>>;

    async fn execute(
        &self,
        request: Request<ExecuteRequest>,
    ) -> Result<Response<Self::ExecuteStream>, Status> {
        let running = self.begin();
        let trace = tunnel::trace::extract(request.metadata()).map(|parent| parent.to_string());
        let request = request.into_inner();
        let accepted = event(Event::Accepted(Accepted { class: request.class.clone() }));
        let body: Self::ExecuteStream = match request.skill.as_str() {
            "echo" => {
                let bytes = Bytes::from(request.args_json);
                let outcome = ended(bytes.len());
                stream::iter([event(Event::ResultChunk(bytes)), outcome]).boxed()
            }
            "trace" => stream::iter([event(Event::ResultChunk(trace.unwrap_or_default().into()))]).boxed(),
            "bulk" => {
                let total: usize = request.args_json.parse().unwrap();
                stream::iter((0..total).step_by(proto::CHUNK_BYTES))
                    .map(move |start| event(Event::ResultChunk(chunk(start, total))))
                    .chain(stream::iter([ended(total)]))
                    .boxed()
            }
            "forever" => stream::pending().boxed(),
            "silent" => std::future::pending().await,
            other => return Err(Status::not_found(format!("no skill `{other}`"))),
        };
        let body = stream::iter([accepted]).chain(body).map(move |item| {
            let _held = &running;
            item
        });
        Ok(Response::new(body.boxed()))
    }

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(DescribeResponse { hostname: "test".to_owned(), ..DescribeResponse::default() }))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(stream::pending().boxed()))
    }

    async fn attach(&self, _: Request<AttachRequest>) -> Result<Response<Self::AttachStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn cancel(&self, _: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn outcome(&self, _: Request<OutcomeRequest>) -> Result<Response<OutcomeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn acknowledge(
        &self,
        _: Request<AcknowledgeRequest>,
    ) -> Result<Response<AcknowledgeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn local_calls(
        &self,
        _: Request<LocalCallsRequest>,
    ) -> Result<Response<Self::LocalCallsStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn forget_local(
        &self,
        _: Request<ForgetLocalRequest>,
    ) -> Result<Response<ForgetLocalResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn challenge(&self, _: Request<ChallengeRequest>) -> Result<Response<ChallengeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn set_epoch(&self, _: Request<SetEpochRequest>) -> Result<Response<SetEpochResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn refuse(&self, _: Request<RefuseRequest>) -> Result<Response<RefuseResponse>, Status> {
        Ok(Response::new(RefuseResponse {}))
    }

    async fn freeze(&self, _: Request<FreezeRequest>) -> Result<Response<FreezeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn renew(&self, _: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

/// Starts a test call.
pub async fn execute(
    client: &EdgeClient,
    skill: &str,
    args: &str,
) -> Result<Streaming<ExecuteEvent>, Status> {
    let request =
        ExecuteRequest { skill: skill.to_owned(), args_json: args.to_owned(), ..ExecuteRequest::default() };
    client.clone().execute(request).await.map(Response::into_inner)
}

/// Reads a call to its end; gives the result's bytes and the outcome.
pub async fn read_all(mut events: Streaming<ExecuteEvent>) -> Result<(Vec<u8>, Option<CallOutcome>), Status> {
    let (mut bytes, mut outcome) = (Vec::new(), None);
    while let Some(event) = events.message().await? {
        match event.event {
            Some(Event::ResultChunk(chunk)) => bytes.extend_from_slice(&chunk),
            Some(Event::Outcome(end)) => outcome = Some(end),
            _ => {}
        }
    }
    Ok((bytes, outcome))
}

//! Asks the manager what it thinks of this edge, without being the edge: the first thing that a manager does with a
//! connection that it wants is to ask for a description, and this service never gives one.

use futures::stream::{self, Empty};
use model::Clock;
use proto::v1;
use proto::v1::edge_server::{Edge, EdgeServer};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tunnel::EdgeLink;

/// What the manager thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It asked for a description.
    Wanted,
    /// It refused, with this reason.
    Refused(String),
    /// It ended the connection without a word.
    Ended(String),
}

/// Waits for the manager's first call.
pub(super) async fn ask(link: EdgeLink, clock: &Arc<dyn Clock>) -> Answer {
    let (answer, mut answered) = watch::channel(None);
    let service = EdgeServer::new(Probe { answer: Arc::new(answer) });
    let stay = CancellationToken::new();
    tokio::select! {
        biased;
        Ok(found) = answered.wait_for(Option::is_some) => found.clone().unwrap_or(Answer::Wanted),
        ended = tunnel::serve(link, service, clock, &stay) => Answer::Ended(ended.to_string()),
    }
}

#[derive(Clone, Debug)]
struct Probe {
    answer: Arc<watch::Sender<Option<Answer>>>,
}

impl Probe {
    fn answered(&self, answer: Answer) -> Status {
        self.answer.send_replace(Some(answer));
        Status::unavailable("this connection is the host's `doctor`, not its edge")
    }
}

type NoEvents<T> = Empty<Result<T, Status>>;
type Reply<T> = Result<Response<T>, Status>;

fn nothing<T>() -> NoEvents<T> {
    stream::empty()
}

#[tonic::async_trait]
impl Edge for Probe {
    type WatchStream = NoEvents<v1::WatchEvent>;
    type ExecuteStream = NoEvents<v1::ExecuteEvent>;
    type AttachStream = NoEvents<v1::ExecuteEvent>;
    type LocalCallsStream = NoEvents<v1::LocalCall>;

    async fn describe(&self, _request: Request<v1::DescribeRequest>) -> Reply<v1::DescribeResponse> {
        Err(self.answered(Answer::Wanted))
    }

    async fn refuse(&self, request: Request<v1::RefuseRequest>) -> Reply<v1::RefuseResponse> {
        self.answered(Answer::Refused(request.into_inner().reason));
        Ok(Response::new(v1::RefuseResponse {}))
    }

    async fn watch(&self, _request: Request<v1::WatchRequest>) -> Reply<Self::WatchStream> {
        Ok(Response::new(nothing()))
    }

    async fn execute(&self, _request: Request<v1::ExecuteRequest>) -> Reply<Self::ExecuteStream> {
        Ok(Response::new(nothing()))
    }

    async fn attach(&self, _request: Request<v1::AttachRequest>) -> Reply<Self::AttachStream> {
        Ok(Response::new(nothing()))
    }

    async fn cancel(&self, _request: Request<v1::CancelRequest>) -> Reply<v1::CancelResponse> {
        Err(not_here())
    }

    async fn outcome(&self, _request: Request<v1::OutcomeRequest>) -> Reply<v1::OutcomeResponse> {
        Err(not_here())
    }

    async fn acknowledge(&self, _request: Request<v1::AcknowledgeRequest>) -> Reply<v1::AcknowledgeResponse> {
        Err(not_here())
    }

    async fn local_calls(&self, _request: Request<v1::LocalCallsRequest>) -> Reply<Self::LocalCallsStream> {
        Ok(Response::new(nothing()))
    }

    async fn forget_local(
        &self,
        _request: Request<v1::ForgetLocalRequest>,
    ) -> Reply<v1::ForgetLocalResponse> {
        Err(not_here())
    }

    async fn challenge(&self, _request: Request<v1::ChallengeRequest>) -> Reply<v1::ChallengeResponse> {
        Err(not_here())
    }

    async fn set_epoch(&self, _request: Request<v1::SetEpochRequest>) -> Reply<v1::SetEpochResponse> {
        Err(not_here())
    }

    async fn freeze(&self, _request: Request<v1::FreezeRequest>) -> Reply<v1::FreezeResponse> {
        Err(not_here())
    }

    async fn renew(&self, _request: Request<v1::RenewRequest>) -> Reply<v1::RenewResponse> {
        Err(not_here())
    }
}

fn not_here() -> Status {
    Status::unavailable("this connection is the host's `doctor`, not its edge")
}

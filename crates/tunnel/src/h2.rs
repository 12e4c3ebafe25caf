//! HTTP/2 as the tunnel uses it: tonic's generated clients over hyper's own connection, with abandoned calls
//! cancelled at a pace that the other end takes.

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic::body::Body;

/// Abandoned calls that are cancelled together, and the pause before the next ones. A burst of resets looks like an
/// attack to an HTTP/2 server, which then ends the connection.
const CANCEL_BATCH: usize = 32;
const CANCEL_PAUSE: Duration = Duration::from_millis(10);

/// Runs the tasks of one connection; they end with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionTasks {
    end: CancellationToken,
    running: TaskTracker,
}

impl ConnectionTasks {
    /// Ends all tasks, and with them the connection, when the guard is dropped.
    pub(crate) fn guard(&self) -> DropGuard {
        self.end.clone().drop_guard()
    }

    /// Ends when the connection has nothing left to do.
    pub(crate) async fn finished(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

impl<F> hyper::rt::Executor<F> for ConnectionTasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        let end = self.end.clone();
        self.running.spawn(async move {
            end.run_until_cancelled(future).await;
        });
    }
}

type Sender = SendRequest<Body>;

/// Sends requests on one connection. The transport under tonic's generated clients.
#[derive(Clone, Debug)]
pub struct Requester {
    sender: Arc<Mutex<Option<Sender>>>,
    abandoned: mpsc::UnboundedSender<Abandoned>,
}

/// What is left of a call that nobody waits for; dropping it cancels the call.
struct Abandoned(#[expect(dead_code, reason = "held only to be dropped")] Box<dyn Any + Send>);

impl Requester {
    /// Makes the transport, and the task that cancels abandoned calls.
    pub(crate) fn new(sender: Sender, tasks: &ConnectionTasks) -> Self {
        let (abandoned, mut queue) = mpsc::unbounded_channel::<Abandoned>();
        let end = tasks.end.clone();
        let pace = async move {
            let mut batch = Vec::with_capacity(CANCEL_BATCH);
            while queue.recv_many(&mut batch, CANCEL_BATCH).await > 0 {
                let full = batch.len() == CANCEL_BATCH;
                batch.clear();
                if full {
                    tokio::time::sleep(CANCEL_PAUSE).await;
                }
            }
        };
        tokio::spawn(async move { end.run_until_cancelled(pace).await });
        Self { sender: Arc::new(Mutex::new(Some(sender))), abandoned }
    }

    /// Takes no more requests. The connection ends when those under way have ended.
    pub(crate) fn stop(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn gone() -> Status {
    Status::unavailable("the connection to the other end is closed")
}

fn status_of(error: hyper::Error) -> Status {
    let lost = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    let cause = crate::ended::root_cause(&error);
    let status = Status::from_error(Box::new(error));
    match status.code() {
        tonic::Code::Unknown | tonic::Code::Internal if lost => gone(),
        tonic::Code::Unknown => {
            Status::unavailable(format!("the connection to the other end was lost: {cause}"))
        }
        _ => status,
    }
}

impl tower_service::Service<http::Request<Body>> for Requester {
    type Response = http::Response<PacedBody>;
    type Error = Status;
    type Future = PacedResponse;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        // HTTP/2 queues by itself. A closed connection is told by the call, whose status reaches the caller as it is.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> PacedResponse {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let pending: BoxFuture<'static, _> = match sender.filter(|sender| !sender.is_closed()) {
            Some(mut sender) => {
                let response = sender.send_request(request);
                Box::pin(async move { response.await.map_err(status_of) })
            }
            None => Box::pin(async { Err(gone()) }),
        };
        PacedResponse { pending: Some(pending), abandoned: self.abandoned.clone() }
    }
}

/// A response that hasn't begun. Dropped before, its call is cancelled at the connection's pace.
pub struct PacedResponse {
    pending: Option<BoxFuture<'static, Result<http::Response<Incoming>, Status>>>,
    abandoned: mpsc::UnboundedSender<Abandoned>,
}

impl Future for PacedResponse {
    type Output = Result<http::Response<PacedBody>, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(pending) = self.pending.as_mut() else { return Poll::Ready(Err(gone())) };
        let result = std::task::ready!(pending.as_mut().poll(cx));
        self.pending = None;
        let abandoned = self.abandoned.clone();
        Poll::Ready(result.map(|response| response.map(|body| PacedBody { body: Some(body), abandoned })))
    }
}

impl Drop for PacedResponse {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            // Where the connection is gone there is nothing to cancel.
            let _ = self.abandoned.send(Abandoned(Box::new(Mutex::new(pending))));
        }
    }
}

/// A response's body. Dropped before its end, its call is cancelled at the connection's pace.
#[derive(Debug)]
pub struct PacedBody {
    body: Option<Incoming>,
    abandoned: mpsc::UnboundedSender<Abandoned>,
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        match std::task::ready!(Pin::new(body).poll_frame(cx)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Err(error)) => {
                self.body = None;
                Poll::Ready(Some(Err(status_of(error))))
            }
            None => {
                self.body = None;
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            let _ = self.abandoned.send(Abandoned(Box::new(body)));
        }
    }
}

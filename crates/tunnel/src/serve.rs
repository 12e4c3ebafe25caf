//! The edge's end: serving the manager's calls on the connection that the edge dialled.

use crate::dial::EdgeLink;
use crate::ended::{Ended, root_cause, until};
use crate::h2::ConnectionTasks;
use crate::io::{Lent, linger};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use model::Clock;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tower_service::Service;

/// Resets of calls that the edge hasn't looked at yet, above which the connection would be taken for an attack.
const PENDING_RESETS: usize = 4096;
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Serves `service` (a tonic `EdgeServer`, limited to [`proto::MAX_MESSAGE_BYTES`]) until the connection ends, and tells why it did. When `shutdown` is
/// cancelled, no new calls are taken and those under way may finish within the drain limit.
///
/// The futures of safe calls are dropped with the connection or when the manager cancels them. What has to outlive its
/// stream must be spawned elsewhere.
///
/// Cancel safe: dropped, it closes the connection.
pub async fn serve<S>(
    link: EdgeLink,
    service: S,
    clock: &Arc<dyn Clock>,
    shutdown: &CancellationToken,
) -> Ended
where
    S: Service<http::Request<Incoming>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    let EdgeLink { io, activity, not_after, settings } = link;
    let tasks = ConnectionTasks::default();
    let _end_tasks = tasks.guard();
    let (io, back) = Lent::new(io);
    let connection = http2::Builder::new(tasks)
        .timer(TokioTimer::new())
        .keep_alive_interval(settings.ping_interval)
        // Whether the connection is dead is decided by the bytes that arrive, not by one answer that is slow.
        .keep_alive_timeout(settings.quiet_limit)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_concurrent_streams(settings.max_streams)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .initial_stream_window_size(settings.stream_window)
        .initial_connection_window_size(settings.connection_window / 4)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(service));
    let ended = async move {
        let mut connection = pin!(connection);
        let mut draining = false;
        let drained = tokio::time::sleep(settings.drain_limit);
        let mut drained = pin!(drained);
        loop {
            tokio::select! {
                result = connection.as_mut() => return match result {
                    Ok(()) if draining => Ended::Drained,
                    Ok(()) => Ended::ByPeer,
                    Err(error) if error.is_timeout() => Ended::Quiet(settings.quiet_limit),
                    Err(error) => why(&error),
                },
                () = activity.quiet_for(settings.quiet_limit) => return Ended::Quiet(settings.quiet_limit),
                () = until(not_after, clock) => return Ended::CertificateOver(not_after),
                () = shutdown.cancelled(), if !draining => {
                    draining = true;
                    drained.as_mut().reset(tokio::time::Instant::now() + settings.drain_limit);
                    connection.as_mut().graceful_shutdown();
                }
                () = drained.as_mut(), if draining => {
                    return Ended::Closed("its last calls took too long to finish".to_owned());
                }
            }
        }
    }
    .await;
    if ended == Ended::Drained {
        linger(back).await;
    }
    ended
}

/// Whether the other end closed the connection, or it broke.
pub(crate) fn why(error: &(dyn std::error::Error + 'static)) -> Ended {
    let mut cause = Some(error);
    while let Some(current) = cause {
        let closed = |kind| {
            use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
            matches!(kind, UnexpectedEof | ConnectionReset | BrokenPipe | NotConnected)
        };
        if current.downcast_ref::<io::Error>().is_some_and(|io| closed(io.kind())) {
            return Ended::ByPeer;
        }
        cause = current.source();
    }
    Ended::Broken(root_cause(error))
}

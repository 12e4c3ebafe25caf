//! The manager's end: the client of one connected edge.

use crate::ended::{Ended, until};
use crate::h2::{ConnectionTasks, Requester};
use crate::io::Activity;
use crate::listener::EdgeStream;
use crate::serve::why;
use crate::settings::Settings;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use model::{Clock, Timestamp};
use proto::MAX_MESSAGE_BYTES;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Remembered cancelled calls, whose late answers are ignored.
const REMEMBERED_RESETS: usize = 4096;

/// Calls one edge. Cheap to clone; all clones share the connection.
///
/// A call whose future or stream is dropped is cancelled on the edge.
pub type EdgeClient = proto::v1::edge_client::EdgeClient<Requester>;

/// Begins to speak on a connection that an edge opened.
///
/// # Errors
///
/// Fails if the connection breaks at once.
pub async fn open(
    stream: EdgeStream,
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<(EdgeClient, ConnectionHandle), Ended> {
    let EdgeStream { io, activity, not_after, .. } = stream;
    let tasks = ConnectionTasks::default();
    let end_tasks = tasks.guard();
    let (sender, connection) = http2::Builder::new(tasks.clone())
        .timer(TokioTimer::new())
        .initial_stream_window_size(settings.stream_window)
        .initial_connection_window_size(settings.connection_window)
        .max_concurrent_reset_streams(REMEMBERED_RESETS)
        // The edge pings; this end asks only where the edge's pings don't come.
        .keep_alive_interval((settings.ping_interval + settings.quiet_limit) / 2)
        .keep_alive_timeout(settings.quiet_limit)
        .keep_alive_while_idle(true)
        .handshake(TokioIo::new(io))
        .await
        .map_err(|error| why(&error))?;
    let requester = Requester::new(sender, &tasks);
    let (commands, inbox) = mpsc::unbounded_channel();
    let (ended, result) = watch::channel(None);
    let driver = Driver {
        requester: requester.clone(),
        activity: activity.clone(),
        not_after,
        clock: clock.clone(),
        settings: settings.clone(),
        inbox,
        tasks,
        _end_tasks: end_tasks,
    };
    let done = CancellationToken::new();
    let finished = done.clone();
    tokio::spawn(async move {
        let reason = driver.run(connection).await;
        ended.send_replace(Some(reason));
        finished.cancel();
    });
    let client = EdgeClient::with_origin(requester.clone(), http::Uri::from_static("http://edge"))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Ok((client, ConnectionHandle { commands, result, done, activity, requester }))
}

enum Command {
    Close(String),
    Drain,
}

/// One edge's connection: tells when and why it ended, and can end it. Cheap to clone. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct ConnectionHandle {
    commands: mpsc::UnboundedSender<Command>,
    result: watch::Receiver<Option<Ended>>,
    done: CancellationToken,
    activity: Activity,
    requester: Requester,
}

impl ConnectionHandle {
    /// Ends when the connection has ended, and tells why. Cancel safe.
    pub async fn ended(&self) -> Ended {
        let mut result = self.result.clone();
        match result.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(Ended::ByPeer),
            // The driver is gone without a word: the runtime is shutting down.
            Err(_) => Ended::Closed("the manager is stopping".to_owned()),
        }
    }

    /// Cancelled when the connection has ended.
    pub fn done(&self) -> &CancellationToken {
        &self.done
    }

    /// Whether it is up, as far as is known.
    pub fn is_open(&self) -> bool {
        !self.done.is_cancelled()
    }

    /// How long ago the last byte came from the edge.
    pub fn quiet(&self) -> Duration {
        self.activity.quiet()
    }

    /// Ends the connection at once; calls under way fail as unavailable.
    pub fn close(&self, reason: impl Into<String>) {
        let _ = self.commands.send(Command::Close(reason.into()));
    }

    /// Takes no new calls, and ends the connection when those under way have ended, or at the drain limit.
    pub fn drain(&self) {
        self.requester.stop();
        let _ = self.commands.send(Command::Drain);
    }
}

/// Owns a connection until it ends.
struct Driver {
    requester: Requester,
    activity: Activity,
    not_after: Timestamp,
    clock: Arc<dyn Clock>,
    settings: Settings,
    inbox: mpsc::UnboundedReceiver<Command>,
    tasks: ConnectionTasks,
    _end_tasks: DropGuard,
}

impl Driver {
    async fn run<C>(mut self, connection: C) -> Ended
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let limit = self.settings.quiet_limit;
        // Once no more requests can come, hyper's future ends, but the calls under way still run in its tasks.
        let tasks = self.tasks.clone();
        let whole = async {
            let result = connection.await;
            if result.is_ok() {
                tasks.finished().await;
            }
            result
        };
        let mut connection = pin!(whole);
        let mut drained = pin!(tokio::time::sleep(self.settings.drain_limit));
        let mut draining = false;
        let mut held = true;
        let ended = loop {
            tokio::select! {
                result = connection.as_mut() => break match result {
                    // A ping that wasn't answered ends it without an error.
                    _ if self.activity.quiet() >= limit => Ended::Quiet(limit),
                    Ok(()) if draining => Ended::Drained,
                    Ok(()) => Ended::ByPeer,
                    Err(error) => why(&error),
                },
                () = self.activity.quiet_for(limit) => break Ended::Quiet(limit),
                () = until(self.not_after, &self.clock) => break Ended::CertificateOver(self.not_after),
                () = drained.as_mut(), if draining => {
                    break Ended::Closed("its last calls took too long to finish".to_owned());
                }
                command = self.inbox.recv(), if held => match command {
                    Some(Command::Close(reason)) => break Ended::Closed(reason),
                    Some(Command::Drain) if !draining => {
                        draining = true;
                        drained.as_mut().reset(tokio::time::Instant::now() + self.settings.drain_limit);
                    }
                    Some(Command::Drain) => {}
                    // Nobody holds the handle: the connection lives on for whoever holds the client.
                    None => held = false,
                },
            }
        };
        self.requester.stop();
        ended
    }
}

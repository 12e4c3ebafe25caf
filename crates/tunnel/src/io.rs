//! The socket under the tunnel: notes when bytes arrived, and holds little unsent.

use crate::settings::Settings;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// When bytes last arrived on a connection.
#[derive(Clone, Debug)]
pub struct Activity {
    start: Instant,
    last_read_ms: Arc<AtomicU64>,
}

impl Activity {
    fn new() -> Self {
        Self { start: Instant::now(), last_read_ms: Arc::new(AtomicU64::new(0)) }
    }

    fn touch(&self) {
        self.last_read_ms.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// How long ago the last byte arrived.
    pub fn quiet(&self) -> Duration {
        self.start.elapsed().saturating_sub(Duration::from_millis(self.last_read_ms.load(Ordering::Relaxed)))
    }

    /// Ends when no byte arrived for `limit`. Cancel safe.
    pub(crate) async fn quiet_for(&self, limit: Duration) {
        loop {
            let quiet = self.quiet();
            if quiet >= limit {
                return;
            }
            sleep(limit - quiet).await;
        }
    }
}

/// A socket that notes when bytes arrive.
#[derive(Debug)]
pub struct Watched<IO> {
    io: IO,
    activity: Activity,
}

impl<IO> Watched<IO> {
    pub(crate) fn new(io: IO) -> Self {
        Self { io, activity: Activity::new() }
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Watched<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.activity.touch();
        }
        result
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Watched<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// How long the other end may take to close its side after ours.
const LINGER: Duration = Duration::from_secs(2);

/// A stream that comes back when whoever has it is done with it.
#[derive(Debug)]
pub(crate) struct Lent<IO> {
    io: Option<IO>,
    back: Option<oneshot::Sender<IO>>,
}

impl<IO> Lent<IO> {
    pub(crate) fn new(io: IO) -> (Self, oneshot::Receiver<IO>) {
        let (back, returned) = oneshot::channel();
        (Self { io: Some(io), back: Some(back) }, returned)
    }

    fn io(&mut self) -> io::Result<&mut IO> {
        // It is there until this is dropped.
        self.io.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<IO> Drop for Lent<IO> {
    fn drop(&mut self) {
        if let (Some(io), Some(back)) = (self.io.take(), self.back.take()) {
            // Nobody may want it.
            let _ = back.send(io);
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Lent<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(self.io()?).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Lent<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.io()?).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.io()?).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.io()?).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.io()?).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }
}

/// Reads until the other end closes its side, too. A socket that is closed with something unread resets the connection,
/// and what the other end has not read yet is lost to it.
pub(crate) async fn linger<IO: AsyncRead + Unpin>(back: oneshot::Receiver<IO>) {
    let reading = async {
        let Ok(mut io) = back.await else { return };
        let mut rest = [0; 4096];
        while io.read(&mut rest).await.is_ok_and(|read| read > 0) {}
    };
    let _ = tokio::time::timeout(LINGER, reading).await;
}

/// Prepares a socket for the tunnel: small messages leave at once, and little waits unsent in the kernel, so that an
/// answer to a ping isn't stuck behind bulk.
pub(crate) fn prepare(socket: TcpStream, settings: &Settings) -> Watched<TcpStream> {
    let options = socket2::SockRef::from(&socket);
    // Both are improvements, not needs: a socket of an unusual kind still works without.
    let _ = socket.set_nodelay(true);
    let _ = options.set_tcp_notsent_lowat(settings.unsent_bytes);
    Watched::new(socket)
}

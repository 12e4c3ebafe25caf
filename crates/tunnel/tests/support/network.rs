//! A relay that can begin to swallow bytes, and a small HTTP CONNECT proxy.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A way through the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToManager,
    ToEdge,
}

/// Passes bytes on between edges and a manager, until told to swallow them.
pub struct Relay {
    pub address: SocketAddr,
    swallow: [Arc<AtomicBool>; 2],
}

impl Relay {
    pub async fn start(manager: SocketAddr) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let swallow = [Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false))];
        let [to_manager, to_edge] = swallow.clone();
        tokio::spawn(async move {
            while let Ok((edge, _)) = socket.accept().await {
                let manager = TcpStream::connect(manager).await.unwrap();
                let (edge_read, edge_write) = edge.into_split();
                let (manager_read, manager_write) = manager.into_split();
                tokio::spawn(pass(edge_read, manager_write, to_manager.clone()));
                tokio::spawn(pass(manager_read, edge_write, to_edge.clone()));
            }
        });
        Self { address, swallow }
    }

    /// From here on nothing gets through in this direction, not even that a side closed.
    pub fn swallow(&self, direction: Direction) {
        self.swallow[direction as usize].store(true, Ordering::SeqCst);
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, swallow: Arc<AtomicBool>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer).await.unwrap_or(0);
        if swallow.load(Ordering::SeqCst) {
            if count == 0 {
                // The end of the stream is swallowed too: the writing half is kept open.
                return std::future::pending().await;
            }
            continue;
        }
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// An HTTP proxy that knows CONNECT only.
pub struct ConnectProxy {
    pub address: SocketAddr,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    /// `authorization` is the header's value that is wanted, if any.
    pub async fn start(authorization: Option<&'static str>) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = socket.accept().await {
                tokio::spawn(tunnel_one(client, authorization, log.clone()));
            }
        });
        Self { address, requests }
    }
}

async fn tunnel_one(mut client: TcpStream, authorization: Option<&str>, log: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    log.lock().unwrap().push(head.clone());
    if authorization.is_some_and(|wanted| !head.contains(&format!("Proxy-Authorization: {wanted}\r\n"))) {
        let _ = client
            .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            .await;
        return;
    }
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap();
    let Ok(mut target) = TcpStream::connect(target).await else {
        let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
        return;
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut target).await;
}

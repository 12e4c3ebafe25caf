//! A TCP proxy that can hold back what the edge sends, and cut every connection.

use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub struct Proxy {
    address: String,
    state: Arc<State>,
}

struct State {
    target: String,
    held: watch::Sender<bool>,
    cut: watch::Sender<CancellationToken>,
    shut: watch::Sender<bool>,
}

impl Proxy {
    pub async fn start(target: String) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            target,
            held: watch::Sender::new(false),
            cut: watch::Sender::new(CancellationToken::new()),
            shut: watch::Sender::new(false),
        });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((edge, _)) = socket.accept().await {
                let state = shared.clone();
                let cut = state.cut.borrow().clone();
                tokio::spawn(
                    async move { cut.run_until_cancelled(pass(state.clone(), edge, cut.clone())).await },
                );
            }
        });
        Self { address, state }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Holds back what edges send from now on.
    pub fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// Closes every connection, and lets none through until [`Proxy::open`].
    pub fn shut(&self) {
        self.state.shut.send_replace(true);
        self.cut();
    }

    /// Lets connections through again.
    pub fn open(&self) {
        self.state.shut.send_replace(false);
    }

    /// Closes every connection. Those that are made from now on pass freely.
    pub fn cut(&self) {
        let old = self.state.cut.send_replace(CancellationToken::new());
        // In this order: what was held back must never get through.
        old.cancel();
        self.state.held.send_replace(false);
    }
}

async fn pass(state: Arc<State>, edge: TcpStream, cut: CancellationToken) {
    if *state.shut.borrow() {
        return;
    }
    let Ok(manager) = TcpStream::connect(&state.target).await else { return };
    let (mut from_edge, mut to_edge) = edge.into_split();
    let (mut from_manager, mut to_manager) = manager.into_split();
    let down = async { tokio::io::copy(&mut from_manager, &mut to_edge).await.map(drop) };
    let up = async {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let count = from_edge.read(&mut buffer).await?;
            if count == 0 {
                return Ok::<_, std::io::Error>(());
            }
            let mut held = state.held.subscribe();
            let _ = held.wait_for(|held| !held).await;
            // Let go because of the cut, which may not have ended this task yet.
            if cut.is_cancelled() {
                return Ok(());
            }
            to_manager.write_all(&buffer[..count]).await?;
        }
    };
    tokio::select! {
        _ = down => {}
        _ = up => {}
    }
}

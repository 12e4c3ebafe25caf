//! The console's listener, in clear or with TLS.

use crate::config::TlsFiles;
use anyhow::Context as _;
use axum::Router;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a client may take to send its first request, or to finish a TLS handshake.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// The console that serves.
pub(crate) struct Console {
    handle: Handle<SocketAddr>,
    task: JoinHandle<()>,
}

/// Begins to serve on a socket that is bound already. If serving ends by itself, `shutdown` fires.
pub(crate) async fn start(
    socket: TcpListener,
    tls: Option<&TlsFiles>,
    router: Router,
    shutdown: CancellationToken,
) -> anyhow::Result<Console> {
    socket.set_nonblocking(true)?;
    let handle = Handle::new();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum_server::from_tcp(socket)?.handle(handle.clone()).first_request_timeout(FIRST_REQUEST);
    let serve: futures::future::BoxFuture<'static, std::io::Result<()>> = match tls {
        None => Box::pin(server.serve(service)),
        Some(files) => {
            let config = RustlsConfig::from_config(Arc::new(tls_config(files)?));
            let server: Server<SocketAddr, RustlsAcceptor> =
                server.acceptor(RustlsAcceptor::new(config).handshake_timeout(FIRST_REQUEST));
            Box::pin(server.serve(service))
        }
    };
    let task = tokio::spawn(async move {
        if let Err(error) = serve.await {
            tracing::error!(error = %error, "the console's listener ended");
            shutdown.cancel();
        }
    });
    Ok(Console { handle, task })
}

impl Console {
    /// Takes no more connections, and gives those that are open `grace` to end.
    pub(crate) async fn stop(self, grace: Duration) {
        self.handle.graceful_shutdown(Some(grace));
        let _ = self.task.await;
    }
}

fn tls_config(files: &TlsFiles) -> anyhow::Result<ServerConfig> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("the certificate {} can't be read", files.cert.display()))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .with_context(|| format!("the key {} can't be read", files.key.display()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key don't belong together")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

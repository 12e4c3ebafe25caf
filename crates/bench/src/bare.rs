//! The baselines: one `fdatasync`, and one unary call over tonic's own server and channel with mutual TLS.

use crate::sample::Sample;
use anyhow::{Context, Result};
use hyper_util::rt::TokioIo;
use proto::v1::enrollment_client::EnrollmentClient;
use proto::v1::enrollment_server::{Enrollment, EnrollmentServer};
use proto::v1::{EnrollRequest, EnrollResponse, RejoinRequest};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tower::service_fn;

/// Appends 512 bytes and waits until they are on the disk, again and again.
///
/// # Errors
///
/// Fails if the disk does.
pub fn fdatasync(folder: &Path, calls: usize) -> Result<Sample> {
    let mut file = File::create(folder.join("sync"))?;
    let began = Instant::now();
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let one = Instant::now();
        file.write_all(&[7; 512])?;
        file.sync_data()?;
        times.push(one.elapsed());
    }
    Ok(Sample::new(times, began.elapsed()))
}

struct Nothing;

#[tonic::async_trait]
impl Enrollment for Nothing {
    async fn enroll(&self, request: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        Ok(Response::new(EnrollResponse {
            deployment: request.into_inner().hostname,
            ..EnrollResponse::default()
        }))
    }

    async fn rejoin(&self, _request: Request<RejoinRequest>) -> Result<Response<EnrollResponse>, Status> {
        Err(Status::unimplemented("not measured"))
    }
}

/// A tonic server and a channel to it.
pub struct Unary {
    client: EnrollmentClient<Channel>,
}

impl Unary {
    /// Starts the server and connects.
    ///
    /// # Errors
    ///
    /// Fails if certificates can't be made or the connection can't.
    pub async fn start() -> Result<Self> {
        let (server, client) = (identity("localhost")?, identity("client")?);
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots(&client.0)?)).build()?;
        let mut accepting = ServerConfig::builder()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![server.0.clone()], server.1.clone_key())?;
        accepting.alpn_protocols = vec![b"h2".to_vec()];
        let mut connecting = ClientConfig::builder()
            .with_root_certificates(roots(&server.0)?)
            .with_client_auth_cert(vec![client.0], client.1)?;
        connecting.alpn_protocols = vec![b"h2".to_vec()];

        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let stream = TlsAcceptor::from(Arc::new(accepting)).accept(socket).await?;
            let incoming = tokio_stream::iter([Ok::<_, std::io::Error>(Accepted(stream))]);
            Server::builder()
                .add_service(EnrollmentServer::new(Nothing))
                .serve_with_incoming(incoming)
                .await?;
            anyhow::Ok(())
        });
        let connector = TlsConnector::from(Arc::new(connecting));
        let channel = Endpoint::from_static("http://localhost")
            .connect_with_connector(service_fn(move |_| {
                let connector = connector.clone();
                async move {
                    let socket = TcpStream::connect(address).await?;
                    socket.set_nodelay(true)?;
                    let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
                    std::io::Result::Ok(TokioIo::new(connector.connect(name, socket).await?))
                }
            }))
            .await?;
        Ok(Self { client: EnrollmentClient::new(channel) })
    }

    /// Times calls.
    ///
    /// # Errors
    ///
    /// Fails with the first call that does.
    pub async fn measure(&self, calls: usize, at_once: usize) -> Result<Sample> {
        Sample::of(calls, at_once, || {
            let mut client = self.client.clone();
            async move {
                let request = EnrollRequest { hostname: "word".to_owned(), ..EnrollRequest::default() };
                client.enroll(request).await?;
                Ok(())
            }
        })
        .await
    }
}

/// A TLS stream in the form that tonic's server takes.
struct Accepted(tokio_rustls::server::TlsStream<TcpStream>);

impl tonic::transport::server::Connected for Accepted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl tokio::io::AsyncRead for Accepted {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl tokio::io::AsyncWrite for Accepted {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::pin::Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

fn identity(name: &str) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>)> {
    let made = rcgen::generate_simple_self_signed([name.to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    Ok((made.cert.der().clone(), key))
}

fn roots(certificate: &CertificateDer<'static>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).context("the certificate can't be a root")?;
    Ok(roots)
}

use super::*;
use crate::support::fixture::FakeHost;
use crate::support::net::tls::ProblemKind;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use skill::{AddressRules, SkillErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

fn params(url: String) -> Params {
    Params { url, method: Method::Get, timeout_ms: 5000, headers: BTreeMap::new(), follow: 0 }
}

async fn probe(host: FakeHost, params: Params) -> Result<Output, SkillError> {
    Skill::run(&ProbeHttp, &host.context(), params).await
}

/// A server that answers each connection with the next of `answers`, and tells the requests.
async fn server(answers: Vec<Vec<u8>>) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for answer in answers {
            let (stream, _) = listener.accept().await.unwrap();
            let _ = tell.send(answer_one(stream, &answer).await);
        }
    });
    (address, requests)
}

async fn answer_one(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        request.push(byte);
    }
    let _ = stream.write_all(answer).await;
    let _ = stream.shutdown().await;
    String::from_utf8(request).unwrap()
}

/// A TLS server with this chain.
async fn tls_server(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> SocketAddr {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = acceptor.accept(stream).await.unwrap();
            answer_one(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await;
        }
    });
    address
}

fn valid(names: &[&str], from_year: i32, to_year: i32) -> CertificateParams {
    let mut params =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.not_before = rcgen::date_time_ymd(from_year, 1, 1);
    params.not_after = rcgen::date_time_ymd(to_year, 1, 1);
    params
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = valid(&[], 2020, 2040);
    params.distinguished_name.push(rcgen::DnType::CommonName, "Test authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn problems(output: &Output) -> Vec<ProblemKind> {
    output.tls.as_ref().unwrap().problems.iter().map(|problem| problem.kind).collect()
}

#[tokio::test]
async fn a_response_is_reported_with_times_that_add_up() {
    let (address, mut requests) = server(vec![
        b"HTTP/1.1 404 Not Found\r\nX-A: 1\r\nX-A: 2\r\ncontent-length: 5\r\n\r\nhello".to_vec(),
    ])
    .await;
    let output = probe(FakeHost::empty(), params(format!("http://{address}/a?b=c"))).await.unwrap();
    assert_eq!((output.status, output.status_text.as_deref()), (Some(404), Some("Not Found")));
    assert_eq!(output.headers["x-a"], "1, 2");
    assert_eq!(
        (output.body.as_deref(), output.body_bytes, output.content_length),
        (Some("hello"), 5, Some(5))
    );
    let times = &output.timings_ms;
    let sum = times.dns + times.connect + times.first_byte.unwrap() + times.body.unwrap();
    assert!((sum - times.total).abs() < 0.002, "{times:?}");
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {address}\r\n")), "{request}");
}

#[tokio::test]
async fn a_trusted_certificate_verifies() {
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let own = valid(&["localhost"], 2020, 2030).signed_by(&key, &authority).unwrap();
    let address = tls_server(vec![own.der().clone()], &key).await;
    let host = FakeHost::empty().with("/etc/ssl/certs/ca-certificates.crt", authority.pem());
    let output = probe(host, params(format!("https://localhost:{}/", address.port()))).await.unwrap();
    let tls = output.tls.as_ref().unwrap();
    assert!(tls.verified, "{tls:?}");
    assert_eq!((tls.version.as_str(), output.status), ("TLS 1.3", Some(200)));
    assert_eq!(tls.chain.len(), 1);
    assert!(tls.days_left.unwrap() > 1000);
    assert!(output.timings_ms.tls.unwrap() > 0.0);
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_a_fact() {
    let authority = authority();
    let trusting = || FakeHost::empty().with("/etc/ssl/certs/ca-certificates.crt", authority.pem());
    let key = KeyPair::generate().unwrap();
    let at = |address: SocketAddr| params(format!("https://localhost:{}/", address.port()));

    let expired = valid(&["localhost"], 2020, 2025).signed_by(&key, &authority).unwrap();
    let output = probe(trusting(), at(tls_server(vec![expired.der().clone()], &key).await)).await.unwrap();
    assert_eq!(problems(&output), [ProblemKind::Expired]);
    assert!(output.tls.as_ref().unwrap().days_left.unwrap() < 0);
    assert_eq!(output.status, Some(200));

    let early = valid(&["localhost"], 2029, 2030).signed_by(&key, &authority).unwrap();
    let output = probe(trusting(), at(tls_server(vec![early.der().clone()], &key).await)).await.unwrap();
    assert_eq!(problems(&output), [ProblemKind::NotYetValid]);

    let other = valid(&["other.example"], 2020, 2030).signed_by(&key, &authority).unwrap();
    let output = probe(trusting(), at(tls_server(vec![other.der().clone()], &key).await)).await.unwrap();
    assert_eq!(problems(&output), [ProblemKind::WrongName]);
    assert!(output.tls.as_ref().unwrap().problems[0].message.contains("other.example"));

    let own = valid(&["localhost"], 2020, 2030).self_signed(&key).unwrap();
    let output = probe(trusting(), at(tls_server(vec![own.der().clone()], &key).await)).await.unwrap();
    assert_eq!(problems(&output), [ProblemKind::SelfSigned]);

    let signed = valid(&["localhost"], 2020, 2030).signed_by(&key, &authority).unwrap();
    let output =
        probe(FakeHost::empty(), at(tls_server(vec![signed.der().clone()], &key).await)).await.unwrap();
    assert_eq!(problems(&output), [ProblemKind::UnknownIssuer]);
}

#[tokio::test]
async fn a_port_without_tls_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    let output = probe(FakeHost::empty(), params(format!("https://{address}/"))).await.unwrap();
    assert_eq!((output.responded, output.error_kind), (false, Some(FailureKind::Tls)));
    assert!(output.error.as_ref().unwrap().contains("may not speak TLS"), "{output:?}");
}

#[tokio::test]
async fn redirects_are_followed_only_as_far_as_asked() {
    let (target, _target_requests) =
        server(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec(); 2]).await;
    let redirect =
        format!("HTTP/1.1 302 Found\r\nlocation: http://{target}/there\r\ncontent-length: 0\r\n\r\n");
    let (first, _) = server(vec![redirect.into_bytes(); 2]).await;

    let output = probe(FakeHost::empty(), params(format!("http://{first}/"))).await.unwrap();
    assert_eq!((output.status, output.redirects.len()), (Some(302), 0));
    assert_eq!(output.location, Some(format!("http://{target}/there")));

    let output =
        probe(FakeHost::empty(), Params { follow: 1, ..params(format!("http://{first}/")) }).await.unwrap();
    assert_eq!((output.status, output.redirects.len()), (Some(200), 1));
    assert_eq!(output.url, format!("http://{target}/there"));
}

#[tokio::test]
async fn headers_do_not_travel_to_another_origin() {
    let (target, mut requests) = server(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()]).await;
    let redirect = format!("HTTP/1.1 302 Found\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n");
    let (first, mut first_requests) = server(vec![redirect.into_bytes()]).await;
    let headers = BTreeMap::from([("X-Key".to_owned(), "secret".to_owned())]);
    let output =
        probe(FakeHost::empty(), Params { follow: 1, headers, ..params(format!("http://{first}/")) })
            .await
            .unwrap();
    assert!(first_requests.recv().await.unwrap().contains("x-key: secret"));
    assert!(!requests.recv().await.unwrap().contains("x-key"));
    assert_eq!(output.notes.len(), 1);
}

#[tokio::test]
async fn a_redirect_to_a_metadata_service_is_refused() {
    let answer =
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n".to_vec();
    let (address, _requests) = server(vec![answer]).await;
    let error = probe(FakeHost::empty(), Params { follow: 5, ..params(format!("http://{address}/")) })
        .await
        .unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Refused);
}

#[tokio::test]
async fn numbers_in_odd_spellings_are_still_metadata_services() {
    for url in ["http://0xa9fea9fe/", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/", "http://metadata/"]
    {
        let error = probe(FakeHost::empty(), params(url.to_owned())).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused, "{url}");
    }
}

#[tokio::test]
async fn the_products_own_port_is_refused() {
    let host =
        FakeHost::empty().with_addresses(AddressRules { own_ports: vec![7443], ..AddressRules::default() });
    let error = probe(host, params("https://127.0.0.1:7443/".to_owned())).await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Refused);
}

#[tokio::test]
async fn a_long_body_is_cut_and_a_binary_one_left_out() {
    let mut long = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    long.extend(std::iter::repeat_n("ä".as_bytes(), 50_000).flatten());
    let (address, _requests) =
        server(vec![long, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n\xff\x00\x01".to_vec()]).await;
    let output = probe(FakeHost::empty(), params(format!("http://{address}/"))).await.unwrap();
    assert!(output.body_cut && output.body_bytes == MAX_BODY as u64);
    assert!(output.body.unwrap().chars().all(|letter| letter == 'ä'));
    let output = probe(FakeHost::empty(), params(format!("http://{address}/"))).await.unwrap();
    assert!(output.body.is_none() && output.notes.len() == 1);
}

#[tokio::test]
async fn a_server_that_hangs_up_or_talks_nonsense_is_reported() {
    for answer in [&b""[..], b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi"] {
        let (address, _requests) = server(vec![answer.to_vec()]).await;
        let output = probe(FakeHost::empty(), params(format!("http://{address}/"))).await.unwrap();
        assert_eq!(output.error_kind, Some(FailureKind::Protocol), "{output:?}");
    }
}

#[tokio::test]
async fn a_silent_server_runs_into_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let output = probe(FakeHost::empty(), Params { timeout_ms: 100, ..params(url) }).await.unwrap();
    assert_eq!(output.error_kind, Some(FailureKind::Timeout));
    assert!(output.error.unwrap().contains("waiting for the response"));
}

#[tokio::test]
async fn bad_urls_and_headers_are_told() {
    for (url, says) in [
        ("example.com", "https://example.com"),
        ("ftp://example.com/", "http or https"),
        ("http://user:pass@example.com/", "user name"),
        ("http://", "not a URL"),
    ] {
        let error = probe(FakeHost::empty(), params(url.to_owned())).await.unwrap_err();
        assert!(error.kind == SkillErrorKind::Invalid && error.message.contains(says), "{url}: {error}");
    }
    let headers = BTreeMap::from([("Transfer-Encoding".to_owned(), "chunked".to_owned())]);
    let error = probe(FakeHost::empty(), Params { headers, ..params("http://127.0.0.1/".to_owned()) }).await;
    assert_eq!(error.unwrap_err().kind, SkillErrorKind::Invalid);
}

#[test]
fn headers_make_the_call_mutating() {
    use serde_json::json;
    assert_eq!(ProbeHttp::classify(&json!({"url": "http://x"})), Class::Safe);
    assert_eq!(ProbeHttp::classify(&json!({"url": "http://x", "headers": {}})), Class::Safe);
    assert_eq!(ProbeHttp::classify(&json!({"url": "http://x", "headers": {"a": "b"}})), Class::Mutating);
    assert_eq!(ProbeHttp::classify(&json!({"url": "http://x", "headers": null})), Class::Mutating);
}

//! One chat turn is one trace, from the request to the host.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use anyhow::{Context, Result};
use llm::scripted::{Answer, ScriptedServer};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use testkit::{ADMIN_PASSWORD, Product};
use tokio::net::TcpListener;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};

/// Keeps every span that is sent to it.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let spans = request.into_inner().resource_spans.into_iter();
        let spans = spans.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans);
        self.0.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    async fn start() -> Result<(Self, String)> {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let service = TraceServiceServer::new(collector.clone());
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(listener)));
        Ok((collector, address))
    }

    fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The only span of this name below `parent`.
fn child<'a>(spans: &'a [Span], parent: &Span, name: &str) -> Result<&'a Span> {
    let mut found = spans.iter().filter(|span| span.parent_span_id == parent.span_id && span.name == name);
    let first = found.next().with_context(|| {
        let all: Vec<_> = spans.iter().map(|s| (&s.name, hex(&s.span_id), hex(&s.parent_span_id))).collect();
        format!("no `{name}` below `{}`: {all:#?}", parent.name)
    })?;
    assert!(found.next().is_none(), "two `{name}` below `{}`", parent.name);
    assert_eq!(first.trace_id, parent.trace_id);
    Ok(first)
}

const KEY: &str = "sk-canary-1234567890abcdefghij";
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

#[tokio::test]
async fn a_turn_is_one_trace_from_the_request_to_the_host_and_holds_no_secret() -> Result<()> {
    let (collector, endpoint) = Collector::start().await?;
    let server = ScriptedServer::with_answers([
        Answer::Say {
            text: String::new(),
            calls: vec![
                ("probe_tcp".to_owned(), json!({"edge_id": 1, "target": "127.0.0.1:1"})),
                (SECRET.to_owned(), json!({"password": SECRET})),
            ],
        },
        Answer::text("Nobody listens there."),
    ])
    .await?;
    let mut product = Product::builder()
        .configuration(&format!(
            "[telemetry]\notlp_endpoint = \"{endpoint}\"\n\n[models.scripted]\nkind = \"openai_chat\"\nbase_url = \"{}/v1\"\napi_key = \"{KEY}\"\nmodel = \"scripted-1\"",
            server.url()
        ))
        .start()
        .await?;
    let admin = product.admin().await?;
    let mut edge = product.start_edge("alpha").await?;
    edge.kill().await?;
    let config = std::fs::OpenOptions::new().append(true).open(edge.folder().join("edge.toml"));
    writeln!(config?, "\n[log]\nlevel = \"debug\"")?;
    edge.start()?;
    admin.wait_online("alpha").await?;
    let chat = admin.new_chat().await?;
    admin.say(&chat, &format!("does 127.0.0.1:1 answer? my token is {SECRET}")).await?;
    // What is left is sent when it stops.
    product.stop_manager().await?;

    let spans = collector.spans();
    let request = spans.iter().find(|span| span.name == "POST /api/v1/sessions/{id}/turns");
    let request = request.context("the request has no span")?;
    assert!(request.parent_span_id.is_empty());
    let turn = child(&spans, request, "turn")?;
    assert!(request.end_time_unix_nano < turn.end_time_unix_nano, "the request is answered at once");
    let asked: Vec<&Span> = spans
        .iter()
        .filter(|span| span.name == "model request" && span.parent_span_id == turn.span_id)
        .collect();
    assert_eq!(asked.len(), 2);
    let first = asked.iter().min_by_key(|span| span.start_time_unix_nano).unwrap();
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "call").collect();
    assert_eq!(calls.len(), 2);
    for call in &calls {
        assert_eq!(call.parent_span_id, first.span_id, "calls belong to the request that asked for them");
        assert!(call.start_time_unix_nano >= first.end_time_unix_nano, "it had ended before they began");
    }
    let ran = calls.iter().find(|call| spans.iter().any(|span| span.parent_span_id == call.span_id));
    let tunnel = child(&spans, ran.context("no call reached a host")?, "tunnel")?;
    let execution = child(&spans, tunnel, "edge execute")?;
    assert!(execution.start_time_unix_nano >= tunnel.start_time_unix_nano);

    let seen = format!("00-{}-{}-01", hex(&request.trace_id), hex(&tunnel.span_id));
    assert!(edge.log().contains(&seen), "the host was told of another trace than {seen}:\n{}", edge.log());
    let all = format!("{spans:?}");
    for secret in [KEY, SECRET, ADMIN_PASSWORD] {
        assert!(!all.contains(secret), "a span holds `{secret}`");
    }
    Ok(())
}

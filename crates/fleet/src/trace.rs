//! Spans of what happens between the manager and a host.

use gate::AdmittedCall;
use model::{CallId, Timestamp};
use opentelemetry::trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{KeyValue, global};
use proto::v1;
use std::time::{Duration, SystemTime};
use tracing::{Span, field, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tunnel::trace::TraceParent;

/// The span of a call's way to its host and back.
pub(crate) fn tunnel_span(call: &AdmittedCall) -> Span {
    info_span!(
        "tunnel",
        otel.kind = "client",
        rpc.system = "grpc",
        rpc.method = "steadyhand.v1.Edge/Execute",
        call.id = %call.call_id(),
        edge.id = call.edge().map(field::display),
    )
}

/// The context to send along with a call: of the current span, so that what the host does joins its trace. Where
/// nothing traces, the call is the trace: its id is as unique, and both ends know it.
pub(crate) fn trace_parent(call: CallId) -> TraceParent {
    let context = Span::current().context();
    let span = context.span().span_context().clone();
    if span.is_valid() {
        return TraceParent {
            trace_id: span.trace_id().to_bytes(),
            span_id: span.span_id().to_bytes(),
            flags: span.trace_flags().to_u8(),
        };
    }
    TraceParent {
        trace_id: *call.0.as_bytes(),
        span_id: rand::random::<u64>().max(1).to_be_bytes(),
        flags: 1,
    }
}

/// Adds what the host says of its own part as a child of the current span. It ends at `now`: the clocks of two
/// machines aren't compared.
pub(crate) fn note_execution(outcome: &v1::CallOutcome, now: Timestamp) {
    let parent = Span::current().context();
    if !parent.span().span_context().is_valid() {
        return;
    }
    let end = SystemTime::from(now);
    let begin = end.checked_sub(Duration::from_millis(outcome.duration_ms)).unwrap_or(end);
    let tracer = global::tracer("steadyhand");
    let mut span = tracer
        .span_builder("edge execute")
        .with_kind(SpanKind::Server)
        .with_start_time(begin)
        .with_attributes([
            KeyValue::new("call.state", outcome.state.clone()),
            KeyValue::new("result.bytes", i64::try_from(outcome.result_bytes).unwrap_or(i64::MAX)),
        ])
        .start_with_context(&tracer, &parent);
    if !outcome.error_kind.is_empty() {
        // The kind is one of a few words; the error's own text may quote what the host holds.
        span.set_status(Status::error(outcome.error_kind.clone()));
    }
    span.end_with_timestamp(end);
}

//! Logs to standard error, spans to OpenTelemetry.
//!
//! Spans always have W3C ids, so that a trace runs from the browser to the edge; they are exported only where an
//! endpoint is configured.

use crate::config::{LogFormat, TelemetryConfig};
use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

/// Ends the export when the manager stops.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

const BUCKETS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Starts logging and tracing. Needs a running tokio runtime.
pub(crate) fn start(config: &TelemetryConfig) -> anyhow::Result<Telemetry> {
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let mut provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("steadyhand").build());
    if let Some(endpoint) = &config.otlp_endpoint {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint.as_str())
            .build()
            .context("the OTLP exporter can't be made")?;
        provider = provider.with_batch_exporter(exporter);
    }
    let provider = provider.build();
    opentelemetry::global::set_tracer_provider(provider.clone());
    let filter = EnvFilter::try_new(&config.log).context("telemetry.log isn't a filter")?;
    let lines = match config.log_format {
        LogFormat::Text => fmt::layer().with_writer(io::stderr).with_ansi(false).boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(io::stderr).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer("steadyhand"))
                // The exporter's own work must not make spans of itself.
                .with_filter(EnvFilter::new("info,h2=off,hyper=off,tonic=off,tower=off,opentelemetry=off")),
        )
        .try_init()
        .context("logging was started before")?;
    Ok(Telemetry { provider })
}

/// Installs the recorder that `/metrics` reads.
pub(crate) fn metrics() -> anyhow::Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("seconds".to_owned()), BUCKETS)?
        .install_recorder()
        .context("the metrics recorder can't be installed")
}

impl Telemetry {
    /// Sends what is left. Blocks in the exporter, so it runs beside the async threads.
    pub(crate) async fn stop(self) {
        let _ = tokio::task::spawn_blocking(move || self.provider.shutdown()).await;
    }
}

//! `[telemetry]`: logs and traces.

use super::reader::Reader;
use std::str::FromStr;
use url::Url;

/// Logs and traces.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    /// Where spans are sent (OTLP over gRPC), for example `http://localhost:4317`. Default: nowhere.
    pub otlp_endpoint: Option<Url>,
    /// What is logged, as `tracing` filters say it. Default: `info`.
    pub log: String,
    /// How. Default: text.
    pub log_format: LogFormat,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("it is neither text nor json"),
        }
    }
}

impl TelemetryConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let log = reader.text("telemetry.log").unwrap_or_else(|| "info".to_owned());
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&log) {
            reader.problem(
                "telemetry.log",
                &format!("isn't a filter ({error}); for example \"info,fleet=debug\""),
            );
        }
        Self {
            otlp_endpoint: reader.parsed("telemetry.otlp_endpoint", "\"http://localhost:4317\""),
            log,
            log_format: reader.parsed("telemetry.log_format", "\"text\" or \"json\"").unwrap_or_default(),
        }
    }
}

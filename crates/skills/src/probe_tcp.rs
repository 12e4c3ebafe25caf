//! Tells whether a TCP port accepts connections. Connects and closes; sends nothing.

use crate::support::net::connect::{Failure, FailureKind, connect_any, milliseconds};
use crate::support::net::resolve::{self, NoAddress};
use crate::support::net::target::{self, Target};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, timeout};

pub(crate) struct ProbeTcp;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// `host:port`, for example `db.example.com:5432`, `10.0.0.5:22` or `[::1]:22`.
    #[schemars(length(min = 1, max = 270))]
    target: String,
    /// Time for one attempt, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1, max = 30_000))]
    timeout_ms: u32,
    /// How many attempts to make, one after the other.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 10))]
    count: u32,
}

fn default_timeout_ms() -> u32 {
    3000
}

fn default_count() -> u32 {
    1
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The target as it was read.
    target: String,
    /// Whether every attempt connected.
    open: bool,
    /// How many attempts connected.
    succeeded: u32,
    /// How many did not.
    failed: u32,
    /// How long the name took to look up, in milliseconds. Left out for an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    dns_ms: Option<f64>,
    /// Every address that the name has.
    addresses: Vec<String>,
    /// Shortest, mean and longest connect time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ms: Option<Spread>,
    /// Each attempt.
    attempts: Vec<Attempt>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Spread {
    min: f64,
    avg: f64,
    max: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Attempt {
    /// Number of the attempt, from 1.
    attempt: u32,
    /// Whether it connected.
    connected: bool,
    /// The address that was connected to, or the last one that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// How long connecting took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ms: Option<f64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<FailureKind>,
    /// Why it failed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Addresses that were tried in vain before, for a name with several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_before: Vec<Failure>,
}

impl Skill for ProbeTcp {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "probe_tcp",
        name: "TCP port check",
        description: "Check whether a TCP port accepts connections from the host. Reports for each attempt the resolved address, the connect time, or why it failed (refused, timeout, unreachable, dns).",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "localhost:22 open, 127.0.0.1, 0.3 ms",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let target = target::parse(&params.target)?;
        let within = Duration::from_millis(params.timeout_ms.into());
        let begun = Instant::now();
        let looked_up = timeout(within, resolve::addresses(cx.host.as_ref(), &target)).await;
        let dns_ms = target.host.parse::<std::net::IpAddr>().is_err().then(|| milliseconds(begun.elapsed()));
        let found = match looked_up {
            Ok(found) => found?,
            Err(_) => Err(NoAddress::Unanswered {
                name: target.host.clone(),
                reason: format!("no answer within {} ms", params.timeout_ms),
            }),
        };
        let mut attempts = Vec::new();
        for attempt in 1..=params.count {
            attempts.push(match &found {
                Ok(addresses) => attempt_to_connect(attempt, addresses, within).await,
                Err(reason) => Attempt::failed(attempt, Failure::dns(reason), Vec::new()),
            });
            if found.is_err() {
                break;
            }
        }
        Ok(Output::of(&target, dns_ms, found.unwrap_or_default(), attempts))
    }
}

impl Output {
    fn of(target: &Target, dns_ms: Option<f64>, addresses: Vec<SocketAddr>, attempts: Vec<Attempt>) -> Self {
        let times: Vec<f64> = attempts.iter().filter_map(|attempt| attempt.connect_ms).collect();
        let connect_ms = (!times.is_empty()).then(|| Spread {
            min: times.iter().copied().fold(f64::INFINITY, f64::min),
            avg: (times.iter().sum::<f64>() / times.len() as f64 * 1000.0).round() / 1000.0,
            max: times.iter().copied().fold(0.0, f64::max),
        });
        let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
        Self {
            target: format!("{host}:{}", target.port),
            open: times.len() == attempts.len(),
            succeeded: times.len() as u32,
            failed: (attempts.len() - times.len()) as u32,
            dns_ms,
            addresses: addresses.iter().map(|address| address.ip().to_string()).collect(),
            connect_ms,
            attempts,
        }
    }
}

impl Attempt {
    fn failed(attempt: u32, last: Failure, failed_before: Vec<Failure>) -> Self {
        Self {
            attempt,
            connected: false,
            address: last.address,
            connect_ms: None,
            error_kind: Some(last.error_kind),
            error: Some(last.error),
            failed_before,
        }
    }
}

async fn attempt_to_connect(attempt: u32, addresses: &[SocketAddr], within: Duration) -> Attempt {
    match connect_any(addresses, within).await {
        Ok(connected) => Attempt {
            attempt,
            connected: true,
            address: Some(connected.address.to_string()),
            connect_ms: Some(milliseconds(connected.elapsed)),
            error_kind: None,
            error: None,
            failed_before: connected.failed_before,
        },
        Err(mut failures) => {
            let last =
                failures.pop().unwrap_or_else(|| Failure::new(FailureKind::Dns, "the name has no address"));
            Attempt::failed(attempt, last, failures)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::SkillErrorKind;
    use tokio::net::TcpListener;

    async fn probe(host: FakeHost, target: String, count: u32) -> Result<Output, SkillError> {
        Skill::run(&ProbeTcp, &host.context(), Params { target, timeout_ms: 2000, count }).await
    }

    #[tokio::test]
    async fn an_open_port_is_open_each_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let output = probe(FakeHost::empty(), listener.local_addr().unwrap().to_string(), 3).await.unwrap();
        assert!(output.open && output.succeeded == 3 && output.attempts.len() == 3);
        let times = output.connect_ms.unwrap();
        assert!(times.min <= times.avg && times.avg <= times.max && times.min > 0.0);
    }

    #[tokio::test]
    async fn an_ipv6_address_in_brackets_works() {
        let Ok(listener) = TcpListener::bind("[::1]:0").await else { return };
        let port = listener.local_addr().unwrap().port();
        let output = probe(FakeHost::empty(), format!("[::1]:{port}"), 1).await.unwrap();
        assert!(output.open && output.target == format!("[::1]:{port}"));
    }

    #[tokio::test]
    async fn a_closed_port_is_refused() {
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let output = probe(FakeHost::empty(), format!("127.0.0.1:{port}"), 1).await.unwrap();
        assert!(!output.open);
        assert_eq!(output.attempts[0].error_kind, Some(FailureKind::Refused));
    }

    #[tokio::test]
    async fn a_name_that_listens_on_one_of_its_addresses_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = FakeHost::empty().with("/etc/hosts", "127.0.0.2 app\n127.0.0.1 app\n");
        let output = probe(host, format!("app:{port}"), 1).await.unwrap();
        assert!(output.open && output.dns_ms.is_some());
        assert_eq!(output.attempts[0].failed_before[0].error_kind, FailureKind::Refused);
    }

    #[tokio::test]
    async fn a_name_without_address_is_a_fact_not_an_error() {
        let host = FakeHost::empty()
            .with("/etc/resolv.conf", "nameserver 127.0.0.254\noptions timeout:1 attempts:1\n");
        let output = probe(host, "no-such-name.invalid:80".to_owned(), 3).await.unwrap();
        assert_eq!(output.attempts.len(), 1);
        assert_eq!(output.attempts[0].error_kind, Some(FailureKind::Dns));
    }

    #[tokio::test]
    async fn a_metadata_address_is_refused() {
        let error = probe(FakeHost::empty(), "169.254.169.254:80".to_owned(), 1).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused);
    }

    #[tokio::test]
    async fn a_bad_target_is_invalid() {
        let error = probe(FakeHost::empty(), "localhost".to_owned(), 1).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Invalid);
    }
}

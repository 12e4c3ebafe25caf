//! Pings a host: whether it answers ICMP echo requests, how fast, and how many get lost.

use crate::support::errors::invalid;
use crate::support::errors::plain;
use crate::support::net::connect::{Failure, FailureKind, kind_of, milliseconds};
use crate::support::net::ping::{Echo, Pinger};
use crate::support::net::resolve::{self, NoAddress};
use crate::support::net::target::Target;
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Shortest time between two requests.
const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) struct ProbePing;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// A host name or an address, for example `db.example.com`, `10.0.0.1` or `2001:db8::1`.
    #[schemars(length(min = 1, max = 255))]
    host: String,
    /// How many requests to send, one after the other.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 10))]
    count: u16,
    /// How long to wait for each reply, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1, max = 5000))]
    timeout_ms: u32,
}

fn default_count() -> u16 {
    4
}

fn default_timeout_ms() -> u32 {
    1000
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The host as it was asked for.
    host: String,
    /// Whether at least one reply came.
    reachable: bool,
    /// The address that was pinged.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Every address that the name has.
    addresses: Vec<String>,
    /// How long the name took to look up, in milliseconds. Left out for an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    dns_ms: Option<f64>,
    /// Requests that were sent.
    sent: u32,
    /// Replies that came in time.
    received: u32,
    /// Requests without a reply, in percent.
    loss_percent: f64,
    /// Times of the replies in milliseconds. Left out without replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ms: Option<RoundTrips>,
    /// Each request.
    requests: Vec<Request>,
    /// Why nothing could be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<FailureKind>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoundTrips {
    /// Shortest.
    min: f64,
    /// Mean.
    avg: f64,
    /// Longest.
    max: f64,
    /// How far they spread: the standard deviation.
    mdev: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Request {
    /// Number of the request, from 1.
    sequence: u16,
    /// How long the reply took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ms: Option<f64>,
    /// Why there is no reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<FailureKind>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Skill for ProbePing {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "probe_ping",
        name: "Ping",
        description: "Ping a host from the host with ICMP echo requests over IPv4 or IPv6 and report the loss and the shortest, mean and longest round trip with its spread (min, avg, max, mdev).",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "10.0.0.1: 4 of 4 replies, 0 % loss, 0.4/0.5/0.7 ms",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let name = host_of(&params.host)?;
        let within = Duration::from_millis(params.timeout_ms.into());
        let begun = Instant::now();
        // Names get the time that `ping` gives them too, whatever one reply may take.
        let for_name = within.max(Duration::from_secs(5));
        let target = Target { host: name.clone(), port: 0 };
        let looked_up = timeout(for_name, resolve::addresses(cx.host.as_ref(), &target)).await;
        let found = match looked_up {
            Ok(found) => found?,
            Err(_) => Err(NoAddress::Unanswered {
                name: name.clone(),
                reason: format!("no answer within {} ms", for_name.as_millis()),
            }),
        };
        let dns_ms = name.parse::<IpAddr>().is_err().then(|| milliseconds(begun.elapsed()));
        let mut output = Output::nothing_sent(name, dns_ms);
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(reason) => return Ok(output.failed(Failure::dns(&reason))),
        };
        output.addresses = addresses.iter().map(|address| address.ip().to_string()).collect();
        match open_first(&addresses, &cx.call_id.to_string())? {
            Ok((address, pinger)) => {
                output.address = Some(address.to_string());
                output.requests = ping(&pinger, params.count, within).await;
                Ok(output.summed_up())
            }
            Err(failure) => Ok(output.failed(failure)),
        }
    }
}

/// The host without brackets and blanks. What is more than a host is told.
fn host_of(text: &str) -> Result<String, SkillError> {
    let plain = text.trim();
    let plain = plain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(plain);
    if plain.is_empty() {
        return Err(invalid("the host is missing: give a name or an address, for example `10.0.0.1`"));
    }
    if plain.contains("://") {
        return Err(invalid(format!("`{plain}` is a URL; give only its host, or use probe_http")));
    }
    if plain.chars().any(|letter| letter.is_whitespace() || letter.is_control() || "/%[]".contains(letter)) {
        return Err(invalid(format!("`{plain}` is not a host name or an address")));
    }
    if plain.contains(':') && plain.parse::<IpAddr>().is_err() {
        return Err(invalid(format!(
            "`{plain}` is not an address; a ping has no port: give only the host, or use probe_tcp"
        )));
    }
    Ok(plain.to_owned())
}

/// A socket to the first address that a way leads to.
fn open_first(addresses: &[SocketAddr], mark: &str) -> Result<Result<(IpAddr, Pinger), Failure>, SkillError> {
    let mut last = Failure::new(FailureKind::Dns, "the name has no address");
    let mut forbidden = None;
    for address in addresses {
        match Pinger::open(address.ip(), mark) {
            Ok(Ok(pinger)) => return Ok(Ok((address.ip(), pinger))),
            Ok(Err(error)) => {
                last = Failure {
                    address: Some(address.ip().to_string()),
                    error_kind: kind_of(&error),
                    error: plain(&error),
                };
            }
            // Perhaps only one of IPv4 and IPv6 is closed.
            Err(error) => forbidden = Some(error),
        }
    }
    match forbidden {
        Some(error) => Err(error),
        None => Ok(Err(last)),
    }
}

async fn ping(pinger: &Pinger, count: u16, within: Duration) -> Vec<Request> {
    let mut requests = Vec::new();
    for sequence in 1..=count {
        let next = Instant::now() + INTERVAL;
        requests.push(Request::of(sequence, pinger.echo(sequence, within).await, within));
        if sequence < count {
            sleep_until(next).await;
        }
    }
    requests
}

impl Request {
    fn of(sequence: u16, echo: Echo, within: Duration) -> Self {
        let (rtt_ms, error_kind, error) = match echo {
            Echo::Reply(time) => (Some(milliseconds(time)), None, None),
            Echo::Silence => {
                (None, Some(FailureKind::Timeout), Some(format!("no reply within {} ms", within.as_millis())))
            }
            Echo::Failed(error) => (None, Some(kind_of(&error)), Some(plain(&error))),
        };
        Self { sequence, rtt_ms, error_kind, error }
    }
}

impl Output {
    fn nothing_sent(host: String, dns_ms: Option<f64>) -> Self {
        Self {
            host,
            reachable: false,
            address: None,
            addresses: Vec::new(),
            dns_ms,
            sent: 0,
            received: 0,
            loss_percent: 100.0,
            rtt_ms: None,
            requests: Vec::new(),
            error_kind: None,
            error: None,
        }
    }

    fn failed(mut self, failure: Failure) -> Self {
        self.address = failure.address;
        self.error_kind = Some(failure.error_kind);
        self.error = Some(failure.error);
        self
    }

    fn summed_up(mut self) -> Self {
        let times: Vec<f64> = self.requests.iter().filter_map(|request| request.rtt_ms).collect();
        self.sent = self.requests.len() as u32;
        self.received = times.len() as u32;
        self.reachable = !times.is_empty();
        let lost = f64::from(self.sent - self.received);
        self.loss_percent = (lost / f64::from(self.sent.max(1)) * 1000.0).round() / 10.0;
        self.rtt_ms = RoundTrips::of(&times);
        self
    }
}

impl RoundTrips {
    fn of(times: &[f64]) -> Option<Self> {
        let count = times.len() as f64;
        let avg = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|time| (time - avg).powi(2)).sum::<f64>() / count;
        let micros = |value: f64| (value * 1000.0).round() / 1000.0;
        (!times.is_empty()).then(|| Self {
            min: times.iter().copied().fold(f64::INFINITY, f64::min),
            avg: micros(avg),
            max: times.iter().copied().fold(0.0, f64::max),
            mdev: micros(variance.sqrt()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::SkillErrorKind;

    async fn ping(host: FakeHost, name: &str, count: u16, timeout_ms: u32) -> Result<Output, SkillError> {
        let params = Params { host: name.to_owned(), count, timeout_ms };
        Skill::run(&ProbePing, &host.context(), params).await
    }

    /// Where neither kind of socket is open to the tests, the refusal is what there is to see.
    fn or_forbidden(result: Result<Output, SkillError>) -> Option<Output> {
        match result {
            Ok(output) => Some(output),
            Err(error) => {
                assert_eq!(error.kind, SkillErrorKind::PermissionDenied, "{error}");
                assert!(error.message.contains("ping_group_range"), "{error}");
                None
            }
        }
    }

    #[tokio::test]
    async fn the_own_machine_answers_each_time() {
        for address in ["127.0.0.1", "::1"] {
            let result = ping(FakeHost::empty(), address, 2, 2000).await;
            if address == "::1" && result.as_ref().is_ok_and(|output| output.error_kind.is_some()) {
                continue; // no IPv6 here
            }
            let Some(output) = or_forbidden(result) else { continue };
            assert!(output.reachable, "{output:?}");
            assert_eq!((output.sent, output.received, output.loss_percent), (2, 2, 0.0));
            let times = output.rtt_ms.unwrap();
            assert!(times.min > 0.0 && times.min <= times.avg && times.avg <= times.max && times.mdev >= 0.0);
            assert_eq!(output.address.as_deref(), Some(address));
        }
    }

    #[tokio::test]
    async fn an_address_that_nobody_has_loses_everything() {
        // 203.0.113.0/24 is for documentation. Either nothing answers, or no way leads there.
        let Some(output) = or_forbidden(ping(FakeHost::empty(), "203.0.113.77", 1, 50).await) else { return };
        assert!(!output.reachable && output.received == 0 && output.rtt_ms.is_none());
        assert_eq!(output.loss_percent, 100.0);
    }

    #[tokio::test]
    async fn a_name_is_looked_up_and_an_unknown_one_is_a_fact() {
        let host = FakeHost::empty().with("/etc/hosts", "127.0.0.1 app\n");
        if let Some(output) = or_forbidden(ping(host, "app", 1, 2000).await) {
            assert!(output.reachable && output.dns_ms.is_some());
        }
        let host = FakeHost::empty()
            .with("/etc/resolv.conf", "nameserver 127.0.0.254\noptions timeout:1 attempts:1\n");
        let output = ping(host, "no-such-name.invalid", 3, 1000).await.unwrap();
        assert_eq!((output.sent, output.error_kind), (0, Some(FailureKind::Dns)));
    }

    #[tokio::test]
    async fn a_metadata_service_is_never_pinged() {
        for name in ["169.254.169.254", "metadata.google.internal", "sly"] {
            let host = FakeHost::empty().with("/etc/hosts", "169.254.169.254 sly\n");
            assert_eq!(ping(host, name, 1, 100).await.unwrap_err().kind, SkillErrorKind::Refused, "{name}");
        }
    }

    #[tokio::test]
    async fn what_is_more_than_a_host_is_told() {
        for (text, says) in [
            ("https://example.com/", "probe_http"),
            ("example.com:443", "probe_tcp"),
            ("a b", "not a host name"),
            ("-f/etc", "not a host name"),
            ("  ", "missing"),
        ] {
            let error = ping(FakeHost::empty(), text, 1, 100).await.unwrap_err();
            assert_eq!(error.kind, SkillErrorKind::Invalid);
            assert!(error.message.contains(says), "{text}: {error}");
        }
        assert_eq!(host_of(" [::1] ").unwrap(), "::1");
    }

    #[test]
    fn the_spread_is_the_standard_deviation() {
        let times = RoundTrips::of(&[1.0, 3.0]).unwrap();
        assert_eq!(times, RoundTrips { min: 1.0, avg: 2.0, max: 3.0, mdev: 1.0 });
        assert_eq!(RoundTrips::of(&[]), None);
    }
}

//! Looks up a DNS name and tells who answered what, and how fast.

use crate::support::errors::{invalid, refused};
use crate::support::net::dns::{self, Answer, AskError, ResolvConf};
use crate::support::net::{resolve, rules, target};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long one server may take.
const PER_SERVER: Duration = Duration::from_secs(5);

pub(crate) struct ProbeDns;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The name to look up, for example `example.com`. For `PTR`, an IP address works too.
    #[schemars(length(min = 1, max = 255))]
    name: String,
    /// Record type.
    #[serde(rename = "type", default)]
    record_type: Kind,
    /// DNS server to ask: an address or name, with an optional port, for example `1.1.1.1` or `[2606:4700::1111]:53`. Default: the servers in the host's `/etc/resolv.conf`.
    #[schemars(length(min = 1, max = 270))]
    server: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Kind {
    #[default]
    A,
    Aaaa,
    Cname,
    Mx,
    Ns,
    Txt,
    Srv,
    Ptr,
    Soa,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The full name that was asked for, after the search list.
    name: String,
    /// The type that was asked for.
    #[serde(rename = "type")]
    record_type: Kind,
    /// Response code of the answer, for example `NOERROR` or `NXDOMAIN`. None when no server answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_code: Option<String>,
    /// The server that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// How long the answer took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<f64>,
    /// Whether the answer came over TCP, because it was too large for UDP.
    over_tcp: bool,
    /// Whether the server is an authority for the name.
    authoritative: bool,
    /// The records of the answer.
    records: Vec<Found>,
    /// Addresses that the host's own `/etc/hosts` has for the name; programs on the host use these instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts_file: Vec<String>,
    /// Servers that were asked before and why they didn't count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Found {
    /// Name of the record.
    name: String,
    /// Its type.
    #[serde(rename = "type")]
    record_type: String,
    /// How many seconds it may be kept.
    ttl: u32,
    /// Its data as a zone file writes it.
    value: String,
}

impl Skill for ProbeDns {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "probe_dns",
        name: "DNS lookup",
        description: "Look up a DNS name from the host and report records with TTL, the response code, which server answered and how long it took. Uses the host's own resolver settings unless a server is given.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "example.com A 93.184.216.34 (TTL 300) from 10.0.0.2 in 12 ms",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.as_ref();
        let conf = ResolvConf::of(host);
        let servers = match &params.server {
            Some(server) => chosen_server(host, &conf, server).await?,
            None => conf.servers.clone(),
        };
        let names = names_to_ask(&params, &conf)?;
        let mut output = Output::empty(&params, names.first().map(Name::to_ascii).unwrap_or_default());
        if params.record_type.is_address() {
            output.hosts_file =
                resolve::in_hosts_file(host, &params.name).iter().map(IpAddr::to_string).collect();
        }
        for name in &names {
            let Some(answer) = ask_in_turn(&servers, name, params.record_type, &mut output.failures).await
            else {
                break;
            };
            let found = !answer.message.answers.is_empty();
            output.take(name, &answer);
            if found {
                break;
            }
        }
        Ok(output)
    }
}

impl Output {
    fn empty(params: &Params, name: String) -> Self {
        Self {
            name,
            record_type: params.record_type,
            response_code: None,
            server: None,
            time_ms: None,
            over_tcp: false,
            authoritative: false,
            records: Vec::new(),
            hosts_file: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn take(&mut self, name: &Name, answer: &Answer) {
        let metadata = &answer.message.metadata;
        self.name = shown(name);
        self.response_code = Some(code_word(metadata.response_code.into()));
        self.server = Some(answer.server.to_string());
        self.time_ms = Some((answer.elapsed.as_secs_f64() * 1_000_000.0).round() / 1000.0);
        self.over_tcp = answer.over_tcp;
        self.authoritative = metadata.authoritative;
        self.records = answer.message.answers.iter().take(500).map(Found::of).collect();
    }
}

impl Found {
    fn of(record: &Record) -> Self {
        let value = match &record.data {
            RData::TXT(txt) => {
                let parts = txt.txt_data.iter().map(|part| String::from_utf8_lossy(part).into_owned());
                parts.collect::<String>()
            }
            RData::CNAME(name) => shown(&name.0),
            RData::NS(name) => shown(&name.0),
            RData::PTR(name) => shown(&name.0),
            RData::MX(mx) => format!("{} {}", mx.preference, shown(&mx.exchange)),
            RData::SRV(srv) => format!("{} {} {} {}", srv.priority, srv.weight, srv.port, shown(&srv.target)),
            RData::OPT(_) => String::new(),
            other => other.to_string(),
        };
        Self {
            name: shown(&record.name),
            record_type: record.record_type().to_string(),
            ttl: record.ttl,
            value,
        }
    }
}

impl Kind {
    fn is_address(self) -> bool {
        matches!(self, Self::A | Self::Aaaa)
    }

    fn in_dns(self) -> RecordType {
        match self {
            Self::A => RecordType::A,
            Self::Aaaa => RecordType::AAAA,
            Self::Cname => RecordType::CNAME,
            Self::Mx => RecordType::MX,
            Self::Ns => RecordType::NS,
            Self::Txt => RecordType::TXT,
            Self::Srv => RecordType::SRV,
            Self::Ptr => RecordType::PTR,
            Self::Soa => RecordType::SOA,
        }
    }
}

/// The full names to ask for: the reverse name of an address, or the name with the search list.
fn names_to_ask(params: &Params, conf: &ResolvConf) -> Result<Vec<Name>, SkillError> {
    let text = params.name.trim();
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        if params.record_type != Kind::Ptr {
            return Err(invalid(format!("`{text}` is an address; to find its name, use type PTR")));
        }
        return Ok(vec![Name::from(ip)]);
    }
    if text.contains("://") || text.contains(['/', ' ', '@']) {
        return Err(invalid(format!(
            "`{text}` is not a DNS name; give only the name, for example `example.com`"
        )));
    }
    // The search list is for host names; `_sip._tcp.example.com` and zones are meant as they are written.
    let candidates = if params.record_type.is_address() {
        conf.candidates(text)
    } else {
        vec![format!("{}.", text.trim_end_matches('.'))]
    };
    candidates
        .iter()
        .map(|name| {
            Name::from_str_relaxed(name).map_err(|_| invalid(format!("`{text}` is not a legal DNS name")))
        })
        .collect()
}

/// The address of a server that the caller named. The host's own servers are open even where an address rule says
/// otherwise: clouds run them on link-local addresses.
async fn chosen_server(
    host: &dyn Host,
    conf: &ResolvConf,
    server: &str,
) -> Result<Vec<SocketAddr>, SkillError> {
    let target = target::parse_or(server, 53)?;
    if let Ok(ip) = target.host.parse::<IpAddr>()
        && conf.servers.contains(&SocketAddr::new(ip, target.port))
    {
        return Ok(vec![SocketAddr::new(ip, target.port)]);
    }
    rules::check_name(host, &target.host, target.port)?;
    match resolve::addresses(host, &target).await? {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err(refused(format!("the DNS server `{server}` has no address"))),
        Err(reason) => Err(invalid(format!("the DNS server `{server}` can't be used: {reason}"))),
    }
}

/// Asks the servers in turn. A server that fails is noted and the next one is asked; "no such name" is an answer.
async fn ask_in_turn(
    servers: &[SocketAddr],
    name: &Name,
    kind: Kind,
    failures: &mut Vec<String>,
) -> Option<Answer> {
    let mut poor = None;
    for server in servers {
        match dns::ask(*server, name, kind.in_dns(), PER_SERVER).await {
            Ok(answer) => match u16::from(answer.message.metadata.response_code) {
                0 | 3 => return Some(answer),
                code => {
                    failures.push(format!("{server}: {}", code_word(code)));
                    poor.get_or_insert(answer);
                }
            },
            Err(AskError::Timeout) => failures.push(format!("{server}: no answer within {PER_SERVER:?}")),
            Err(error) => failures.push(format!("{server}: {error}")),
        }
    }
    poor
}

/// A name without the dot at its end; the root keeps it.
fn shown(name: &Name) -> String {
    let text = name.to_ascii();
    match text.strip_suffix('.') {
        Some(plain) if !plain.is_empty() => plain.to_owned(),
        _ => text,
    }
}

/// The word that DNS tools show for a response code.
fn code_word(code: u16) -> String {
    match code {
        0 => "NOERROR".to_owned(),
        1 => "FORMERR".to_owned(),
        2 => "SERVFAIL".to_owned(),
        3 => "NXDOMAIN".to_owned(),
        4 => "NOTIMP".to_owned(),
        5 => "REFUSED".to_owned(),
        9 => "NOTAUTH".to_owned(),
        other => format!("RCODE{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use crate::support::net::dns::tests::{reply, server};
    use hickory_proto::op::ResponseCode;
    use hickory_proto::rr::rdata::{MX, PTR, SOA, SRV, TXT};
    use skill::SkillErrorKind;

    fn params(name: &str, record_type: Kind, server: Option<SocketAddr>) -> Params {
        Params { name: name.to_owned(), record_type, server: server.map(|server| server.to_string()) }
    }

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    #[tokio::test]
    async fn each_type_is_shown_as_zone_files_write_it() {
        let server = server(|query| {
            let data = match query.queries[0].query_type() {
                RecordType::A => RData::A("192.0.2.1".parse::<std::net::Ipv4Addr>().unwrap().into()),
                RecordType::MX => RData::MX(MX::new(10, name("mail.example.com."))),
                RecordType::TXT => RData::TXT(TXT::new(vec!["v=spf1 ".to_owned(), "-all".to_owned()])),
                RecordType::SRV => RData::SRV(SRV::new(1, 2, 5060, name("sip.example.com."))),
                RecordType::PTR => RData::PTR(PTR(name("host.example.com."))),
                RecordType::SOA => {
                    RData::SOA(SOA::new(name("ns.example.com."), name("admin.example.com."), 7, 1, 2, 3, 4))
                }
                other => panic!("{other}"),
            };
            reply(query, ResponseCode::NoError, vec![data])
        })
        .await;
        let cx = FakeHost::empty().context();
        for (asked, kind, value) in [
            ("example.com", Kind::A, "192.0.2.1"),
            ("example.com", Kind::Mx, "10 mail.example.com"),
            ("example.com", Kind::Txt, "v=spf1 -all"),
            ("_sip._tcp.example.com", Kind::Srv, "1 2 5060 sip.example.com"),
            ("192.0.2.1", Kind::Ptr, "host.example.com"),
            ("example.com", Kind::Soa, "ns.example.com. admin.example.com. 7 1 2 3 4"),
        ] {
            let output = Skill::run(&ProbeDns, &cx, params(asked, kind, Some(server))).await.unwrap();
            assert_eq!(output.records[0].value, value);
            assert_eq!(output.records[0].ttl, 300);
            assert_eq!(output.response_code.as_deref(), Some("NOERROR"));
            assert_eq!(output.server, Some(server.to_string()));
            if kind == Kind::Ptr {
                assert_eq!(output.name, "1.2.0.192.in-addr.arpa");
            }
        }
    }

    #[tokio::test]
    async fn no_such_name_is_an_answer_not_an_error() {
        let server = server(|query| reply(query, ResponseCode::NXDomain, vec![])).await;
        let cx = FakeHost::empty().with("/etc/hosts", "10.0.0.9 nope.example\n").context();
        let output = Skill::run(&ProbeDns, &cx, params("nope.example", Kind::A, Some(server))).await.unwrap();
        assert_eq!(output.response_code.as_deref(), Some("NXDOMAIN"));
        assert!(output.records.is_empty());
        assert_eq!(output.hosts_file, ["10.0.0.9"]);
    }

    #[tokio::test]
    async fn a_server_that_fails_is_reported() {
        let server = server(|query| reply(query, ResponseCode::ServFail, vec![])).await;
        let cx = FakeHost::empty().context();
        let output = Skill::run(&ProbeDns, &cx, params("example.com", Kind::A, Some(server))).await.unwrap();
        assert_eq!(output.response_code.as_deref(), Some("SERVFAIL"));
        assert_eq!(output.failures, [format!("{server}: SERVFAIL")]);
    }

    #[tokio::test]
    async fn nobody_answering_is_reported_too() {
        let closed = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let cx = FakeHost::empty().context();
        let output = Skill::run(&ProbeDns, &cx, params("example.com", Kind::A, Some(closed))).await.unwrap();
        assert_eq!(output.response_code, None);
        assert_eq!(output.failures.len(), 1);
    }

    #[tokio::test]
    async fn odd_names_and_forbidden_servers_are_told() {
        let cx = FakeHost::empty().context();
        for (asked, server, kind) in [
            ("192.0.2.1", None, SkillErrorKind::Invalid),
            ("https://example.com", None, SkillErrorKind::Invalid),
            ("example.com", Some("100.100.100.200"), SkillErrorKind::Refused),
            ("example.com", Some("a b"), SkillErrorKind::Invalid),
        ] {
            let params =
                Params { name: asked.to_owned(), record_type: Kind::A, server: server.map(str::to_owned) };
            assert_eq!(Skill::run(&ProbeDns, &cx, params).await.unwrap_err().kind, kind, "{asked}");
        }
    }
}

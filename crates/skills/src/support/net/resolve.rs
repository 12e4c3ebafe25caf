//! Finds the addresses of a host name the way the host itself would: literal, hosts file, DNS. Without libc's
//! resolver, which a static binary hasn't.

use super::dns::{self, AskError, ResolvConf};
use super::rules;
use super::target::Target;
use crate::support::errors::refused;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RData, RecordType};
use skill::{Host, SkillError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Why a name has no address. A fact to report, not a failure of the skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAddress {
    #[error("there is no such name as `{0}`")]
    NoSuchName(String),
    #[error("`{0}` exists but has no address")]
    NoRecords(String),
    #[error("`{name}` could not be looked up: {reason}")]
    Unanswered { name: String, reason: String },
    #[error("`{0}` is not a legal host name")]
    Illegal(String),
}

/// Addresses of a target that may be probed.
///
/// # Errors
///
/// The outer error is a refusal: by name, or because *any* of the addresses is forbidden, so that a name can't lead
/// around a rule by having several.
pub(crate) async fn addresses(
    host: &dyn Host,
    target: &Target,
) -> Result<Result<Vec<SocketAddr>, NoAddress>, SkillError> {
    rules::check_name(host, &target.host, target.port)?;
    let found = match lookup(host, &target.host).await {
        Ok(found) => found,
        Err(reason) => return Ok(Err(reason)),
    };
    let found: Vec<SocketAddr> = found.into_iter().map(|ip| SocketAddr::new(ip, target.port)).collect();
    for address in &found {
        rules::check_address(host, *address).map_err(|error| {
            if address.ip().to_string() == target.host {
                error
            } else {
                refused(format!("`{}` leads to a forbidden address: {error}", target.host))
            }
        })?;
    }
    Ok(Ok(found))
}

/// All addresses of a name, IPv6 and IPv4, without doubles.
pub(crate) async fn lookup(host: &dyn Host, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
    if let Ok(ip) = name.parse() {
        return Ok(vec![ip]);
    }
    let from_file = in_hosts_file(host, name);
    if !from_file.is_empty() {
        return Ok(from_file);
    }
    let plain = name.trim_end_matches('.');
    if plain.eq_ignore_ascii_case("localhost") || plain.to_ascii_lowercase().ends_with(".localhost") {
        return Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]);
    }
    let conf = ResolvConf::of(host);
    let mut outcome = NoAddress::NoSuchName(name.to_owned());
    for candidate in conf.candidates(name) {
        match in_dns(&conf, &candidate).await {
            Ok(found) => return Ok(found),
            // A server that doesn't answer won't for the next candidate either.
            Err(unanswered @ NoAddress::Unanswered { .. }) => return Err(unanswered),
            Err(reason @ NoAddress::NoRecords(_)) => outcome = reason,
            Err(NoAddress::NoSuchName(_)) => {}
            Err(illegal @ NoAddress::Illegal(_)) => return Err(illegal),
        }
    }
    Err(outcome)
}

/// The addresses that the hosts file has for a name, in its order.
pub(crate) fn in_hosts_file(host: &dyn Host, name: &str) -> Vec<IpAddr> {
    let text = std::fs::read(host.path("/etc/hosts")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let name = name.trim_end_matches('.');
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        if let Some(Ok(ip)) = words.next().map(str::parse)
            && words.any(|word| word.eq_ignore_ascii_case(name))
            && !found.contains(&ip)
        {
            found.push(ip);
        }
    }
    found
}

async fn in_dns(conf: &ResolvConf, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
    let shown = name.trim_end_matches('.').to_owned();
    let Ok(parsed) = Name::from_str_relaxed(name) else {
        return Err(NoAddress::Illegal(shown));
    };
    let (six, four) = futures::join!(
        first_answer(conf, &parsed, RecordType::AAAA),
        first_answer(conf, &parsed, RecordType::A)
    );
    let mut found = Vec::new();
    let mut worst = None;
    let mut exists = false;
    for answer in [six, four] {
        match answer {
            Ok((code, ips)) => {
                exists |= code == ResponseCode::NoError;
                found.extend(ips);
            }
            Err(reason) => worst = Some(reason),
        }
    }
    match worst {
        _ if !found.is_empty() => Ok(found),
        Some(reason) => Err(NoAddress::Unanswered { name: shown, reason }),
        None if exists => Err(NoAddress::NoRecords(shown)),
        None => Err(NoAddress::NoSuchName(shown)),
    }
}

/// Asks the servers in turn until one answers with a name's addresses or with "no such name".
async fn first_answer(
    conf: &ResolvConf,
    name: &Name,
    record_type: RecordType,
) -> Result<(ResponseCode, Vec<IpAddr>), String> {
    let mut last = String::new();
    for _ in 0..conf.attempts {
        for server in &conf.servers {
            match dns::ask(*server, name, record_type, conf.timeout).await {
                Ok(answer) => {
                    let code = answer.message.metadata.response_code;
                    if matches!(code, ResponseCode::NoError | ResponseCode::NXDomain) {
                        let ips = answer.message.answers.iter().filter_map(|record| match record.data {
                            RData::A(ip) => Some(IpAddr::V4(ip.0)),
                            RData::AAAA(ip) => Some(IpAddr::V6(ip.0)),
                            _ => None,
                        });
                        return Ok((code, ips.collect()));
                    }
                    last = format!("{} answered: {code}", server.ip());
                }
                Err(AskError::Timeout) => {
                    last = format!(
                        "{} didn't answer within {:?}",
                        server.ip(),
                        Duration::from_secs(conf.timeout.as_secs())
                    );
                }
                Err(error) => last = format!("{}: {error}", server.ip()),
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[tokio::test]
    async fn the_hosts_file_comes_before_dns() {
        let host = FakeHost::empty()
            .with("/etc/hosts", "10.1.2.3 db DB.example # comment\nfd00::3 db\n10.1.2.3 db\n");
        assert_eq!(
            lookup(&host, "db").await.unwrap(),
            ["10.1.2.3".parse::<IpAddr>().unwrap(), "fd00::3".parse().unwrap()]
        );
        assert_eq!(lookup(&host, "db.EXAMPLE.").await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn localhost_needs_no_server() {
        let host = FakeHost::empty();
        assert_eq!(lookup(&host, "localhost").await.unwrap().len(), 2);
        assert_eq!(lookup(&host, "::1").await.unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn a_name_that_leads_to_a_metadata_service_is_refused() {
        let host = FakeHost::empty().with("/etc/hosts", "10.0.0.1 sly\n169.254.169.254 sly\n");
        let target = Target { host: "sly".to_owned(), port: 80 };
        let error = addresses(&host, &target).await.unwrap_err();
        assert!(error.to_string().contains("forbidden address"), "{error}");
    }
}

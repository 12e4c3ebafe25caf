//! `[tunnel]`: where edges dial in.

use super::reader::Reader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Where edges dial in.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// Address and port; always mutual TLS. Default: `0.0.0.0:7443`.
    pub listen: SocketAddr,
    /// `HOST:PORT` at which edges reach it, shown in the enrolment command. Default: this machine's name and the
    /// port that it listens on.
    pub public_address: Option<String>,
    /// How long an edge's certificate lives. Edges renew at two thirds of it. Default: 24 h.
    pub cert_ttl: Duration,
}

impl TunnelConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let public_address = reader.text("tunnel.public_address");
        if public_address.as_deref().is_some_and(|address| !is_host_and_port(address)) {
            reader.problem(
                "tunnel.public_address",
                "must be a host and a port, for example \"manager.example:7443\"",
            );
        }
        let cert_ttl = reader.duration("tunnel.cert_ttl").unwrap_or(Duration::from_secs(24 * 3600));
        if cert_ttl < Duration::from_secs(10) {
            reader.problem("tunnel.cert_ttl", "must be at least 10s, or edges would do nothing but renew");
        }
        Self {
            listen: reader
                .parsed("tunnel.listen", "\"0.0.0.0:7443\"")
                .unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 7443)),
            public_address,
            cert_ttl,
        }
    }
}

fn is_host_and_port(address: &str) -> bool {
    address
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok())
}

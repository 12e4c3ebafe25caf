//! Which addresses may be probed. Cloud metadata services hand out credentials to whoever asks from the host, and the
//! product's own ports are not for probing, so both are refused, whatever name leads to them.

use crate::support::errors::refused;
use skill::{Host, Network, SkillError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses of metadata services.
const METADATA: &[&str] = &[
    "169.254.169.0/24",    // AWS, Google, Azure, DigitalOcean, Oracle, OpenStack, Hetzner
    "169.254.170.0/24",    // AWS: credentials of ECS tasks and EKS pods
    "169.254.0.23/32",     // Tencent
    "100.100.100.200/32",  // Alibaba
    "168.63.129.16/32",    // Azure's wire server
    "192.0.0.192/32",      // Oracle, old
    "fd00:ec2::/32",       // AWS
    "fd20:ce::254/128",    // Google
    "fd00:42::42/128",     // Scaleway
    "fe80::a9fe:a9fe/128", // OpenStack
];

/// Names of metadata services, refused before they are looked up.
const METADATA_NAMES: &[&str] = &[
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.azure.internal",
    "metadata.platformequinix.com",
];

/// Checks a host as it was written, before anything is looked up.
pub(crate) fn check_name(host: &dyn Host, name: &str, port: u16) -> Result<(), SkillError> {
    let plain = name.trim_end_matches('.').to_ascii_lowercase();
    if METADATA_NAMES.contains(&plain.as_str()) {
        return Err(refused(format!("`{name}` is a cloud metadata service; those are never probed")));
    }
    let own = &host.address_rules().own_endpoints;
    if own.iter().any(|(own, own_port)| own.eq_ignore_ascii_case(&plain) && *own_port == port) {
        return Err(refused(format!("`{name}:{port}` is Steadyhand's own; it is not probed")));
    }
    Ok(())
}

/// Checks an address that a name led to, just before it is used.
pub(crate) fn check_address(host: &dyn Host, address: SocketAddr) -> Result<(), SkillError> {
    let rules = host.address_rules();
    let port = address.port();
    for ip in meanings(address.ip()) {
        if METADATA.iter().filter_map(|text| text.parse::<Network>().ok()).any(|range| range.contains(ip)) {
            return Err(refused(format!("{ip} is a cloud metadata service; those are never probed")));
        }
        if rules.denied.iter().any(|range| range.contains(ip)) {
            return Err(refused(format!(
                "{ip} is in a range that this host's configuration forbids to probe"
            )));
        }
        if !rules.allowed.is_empty() && !rules.allowed.iter().any(|range| range.contains(ip)) {
            return Err(refused(format!(
                "{ip} is in none of the ranges that this host's configuration allows to probe"
            )));
        }
        let own_elsewhere =
            rules.own_endpoints.iter().any(|(own, own_port)| *own_port == port && own.parse() == Ok(ip));
        if own_elsewhere || (rules.own_ports.contains(&port) && is_local(ip)) {
            return Err(refused(format!("port {port} on {ip} is Steadyhand's own; it is not probed")));
        }
    }
    Ok(())
}

/// The addresses that `ip` may stand for: itself, and the IPv4 address that it carries (mapped, NAT64, 6to4).
fn meanings(ip: IpAddr) -> Vec<IpAddr> {
    let mut all = vec![ip.to_canonical()];
    if let IpAddr::V6(six) = ip {
        let parts = six.segments();
        let low = Ipv4Addr::from((u32::from(parts[6]) << 16) | u32::from(parts[7]));
        let nat64 = parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
        let compatible = parts[..6] == [0; 6] && six != Ipv6Addr::LOCALHOST && six != Ipv6Addr::UNSPECIFIED;
        if nat64 || compatible {
            all.push(IpAddr::V4(low));
        }
        if parts[0] == 0x2002 {
            all.push(IpAddr::V4(Ipv4Addr::from((u32::from(parts[1]) << 16) | u32::from(parts[2]))));
        }
    }
    all
}

/// Whether the address is one of this host's: only then can a socket be bound to it.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::AddressRules;

    fn refuses(host: &FakeHost, address: &str) -> bool {
        check_address(host, address.parse().unwrap()).is_err()
    }

    #[test]
    fn metadata_services_are_refused_in_every_spelling() {
        let host = FakeHost::empty();
        for address in [
            "169.254.169.254:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::a9fe:a9fe]:80",
            "[2002:a9fe:a9fe::1]:80",
            "[fd00:ec2::254]:80",
            "100.100.100.200:80",
            "169.254.170.2:80",
        ] {
            assert!(refuses(&host, address), "{address}");
        }
        assert!(!refuses(&host, "127.0.0.1:80") && !refuses(&host, "[2001:db8::1]:443"));
        assert!(check_name(&host, "Metadata.Google.Internal.", 80).is_err());
        assert!(check_name(&host, "example.com", 80).is_ok());
    }

    #[test]
    fn the_products_own_ports_are_refused_here_but_not_elsewhere() {
        let host = FakeHost::empty().with_addresses(AddressRules {
            own_ports: vec![7443],
            own_endpoints: vec![("manager.example".to_owned(), 7443), ("192.0.2.7".to_owned(), 7443)],
            ..AddressRules::default()
        });
        assert!(
            refuses(&host, "127.0.0.1:7443")
                && refuses(&host, "[::1]:7443")
                && refuses(&host, "0.0.0.0:7443")
        );
        assert!(refuses(&host, "192.0.2.7:7443") && !refuses(&host, "192.0.2.7:443"));
        assert!(!refuses(&host, "192.0.2.9:7443"));
        assert!(check_name(&host, "MANAGER.example", 7443).is_err());
    }

    #[test]
    fn configured_ranges_allow_and_forbid() {
        let host = FakeHost::empty().with_addresses(AddressRules {
            allowed: vec!["10.0.0.0/8".parse().unwrap()],
            denied: vec!["10.9.0.0/16".parse().unwrap()],
            ..AddressRules::default()
        });
        assert!(
            !refuses(&host, "10.1.0.1:1") && refuses(&host, "10.9.0.1:1") && refuses(&host, "192.0.2.1:1")
        );
    }
}

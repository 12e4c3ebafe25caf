//! Reads `host:port`.

use crate::support::errors::invalid;
use skill::SkillError;
use std::net::{IpAddr, Ipv6Addr};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// A name, or an address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Reads `host:port` or `[v6]:port`. The error says what is missing.
pub(crate) fn parse(text: &str) -> Result<Target, SkillError> {
    let (host, port) = split(text, None)?;
    Ok(Target { host, port })
}

/// Reads `host`, `host:port`, a bare IPv6 address or `[v6]:port`.
pub(crate) fn parse_or(text: &str, default_port: u16) -> Result<Target, SkillError> {
    let (host, port) = split(text, Some(default_port))?;
    Ok(Target { host, port })
}

fn split(text: &str, default_port: Option<u16>) -> Result<(String, u16), SkillError> {
    let text = text.trim();
    if text.contains("://") {
        return Err(invalid(format!("`{text}` is a URL; give `host:port`, or use probe_http")));
    }
    if text.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == '/') {
        return Err(invalid(format!("`{text}` is not `host:port`")));
    }
    let without_port = |host: &str| match default_port {
        Some(port) => Ok((host.to_owned(), port)),
        None => Err(invalid(format!("`{text}` has no port; write it as `{}:22`", bracketed(host)))),
    };
    if let Some(rest) = text.strip_prefix('[') {
        let Some((host, after)) = rest.split_once(']') else {
            return Err(invalid(format!("`{text}` has no closing `]`")));
        };
        let address: Ipv6Addr =
            host.parse().map_err(|_| invalid(format!("`{host}` in brackets is not an IPv6 address")))?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((address.to_string(), port_of(port)?)),
            None if after.is_empty() => without_port(host),
            None => Err(invalid(format!("`{text}` is not `[address]:port`"))),
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return match default_port {
            Some(port) => Ok((text.to_owned(), port)),
            None => Err(invalid(format!("an IPv6 address needs brackets before its port: `[{text}]:22`"))),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Err(invalid(format!(
            "`{text}` has too many colons; an IPv6 address goes in brackets: `[::1]:22`"
        ))),
        Some((host, port)) => {
            check_host(host)?;
            Ok((host.to_owned(), port_of(port)?))
        }
        None => {
            check_host(text)?;
            without_port(text)
        }
    }
}

fn port_of(text: &str) -> Result<u16, SkillError> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(invalid(format!("`{text}` is not a port; a port is a number from 1 to 65535"))),
    }
}

fn check_host(host: &str) -> Result<(), SkillError> {
    if host.is_empty() {
        return Err(invalid("the host in front of the port is missing"));
    }
    if host.len() > 253 || host.split('.').any(|label| label.len() > 63) {
        return Err(invalid("the host name is too long: at most 253 bytes, and 63 between two dots"));
    }
    Ok(())
}

fn bracketed(host: &str) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_both_kinds_of_address_are_read() {
        for (text, host, port) in [
            ("localhost:22", "localhost", 22),
            ("10.0.0.1:5432", "10.0.0.1", 5432),
            ("[::1]:22", "::1", 22),
            ("[0:0:0:0:0:0:0:1]:65535", "::1", 65535),
            (" db.example.com:1 ", "db.example.com", 1),
        ] {
            assert_eq!(parse(text).unwrap(), Target { host: host.to_owned(), port }, "{text}");
        }
        assert_eq!(parse_or("::1", 53).unwrap(), Target { host: "::1".to_owned(), port: 53 });
        assert_eq!(parse_or("[::1]", 53).unwrap().port, 53);
        assert_eq!(parse_or("dns.example:5353", 53).unwrap().port, 5353);
    }

    #[test]
    fn a_bad_target_says_what_is_wrong() {
        for (text, says) in [
            ("localhost", "no port"),
            ("localhost:", "not a port"),
            ("localhost:0", "not a port"),
            ("localhost:+22", "not a port"),
            ("localhost:70000", "not a port"),
            (":22", "host in front of the port is missing"),
            ("::1", "needs brackets"),
            ("[::1]", "no port"),
            ("[::1:22", "closing"),
            ("[nope]:22", "not an IPv6 address"),
            ("a:b:22", "too many colons"),
            ("https://x:443", "probe_http"),
            ("a b:22", "not `host:port`"),
            ("", "no port"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says) || text.is_empty(), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_has_a_host_and_a_port(text in ".{0,40}") {
            if let Ok(target) = parse(&text) {
                prop_assert!(!target.host.is_empty() && target.port > 0);
            }
        }
    }
}

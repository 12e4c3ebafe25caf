//! Reaching the manager: straight, or through an HTTP CONNECT proxy.

use crate::error::TunnelError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::io;
use std::str::FromStr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};

const MAX_ANSWER_BYTES: usize = 8 * 1024;

/// `host:port` of a manager; also written with `https://` in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// The name or IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = TunnelError;

    fn from_str(text: &str) -> Result<Self, TunnelError> {
        let bad = || TunnelError::BadAddress { address: text.to_owned() };
        let bare = text.strip_prefix("https://").unwrap_or(text).trim_end_matches('/');
        let (host, port) = bare.rsplit_once(':').ok_or_else(bad)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or_else(bad)?,
            None if host.contains(':') => return Err(bad()),
            None => host,
        };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
        if host.is_empty() || !host.bytes().all(allowed) {
            return Err(bad());
        }
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

/// An HTTP proxy that is asked to CONNECT. `Debug` and `Display` hide the credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    address: Address,
    /// `user:password`, decoded.
    credentials: Option<String>,
}

impl FromStr for Proxy {
    type Err = TunnelError;

    fn from_str(text: &str) -> Result<Self, TunnelError> {
        // The text isn't repeated in the error: it may hold a password.
        let rest = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let (credentials, host) = match rest.rsplit_once('@') {
            Some((credentials, host)) => {
                (Some(percent_decode(credentials).ok_or(TunnelError::BadProxy)?), host)
            }
            None => (None, rest),
        };
        let bad = |byte: u8| byte.is_ascii_control();
        if credentials.as_ref().is_some_and(|text| text.bytes().any(bad)) || host.starts_with("https://") {
            return Err(TunnelError::BadProxy);
        }
        let address = host.parse().map_err(|_| TunnelError::BadProxy)?;
        Ok(Self { address, credentials })
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Proxy({}, credentials {})",
            self.address,
            if self.credentials.is_some() { "hidden" } else { "none" }
        )
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Opens the TCP connection on which TLS can start.
pub(crate) async fn connect(address: &Address, proxy: Option<&Proxy>) -> Result<TcpStream, TunnelError> {
    let Some(proxy) = proxy else { return connect_tcp(address).await };
    let mut socket = connect_tcp(&proxy.address).await?;
    let broken = |reason: String| TunnelError::ProxyBroken { proxy: proxy.to_string(), reason };
    let mut request = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n");
    if let Some(credentials) = &proxy.credentials {
        request.push_str(&format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(credentials)));
    }
    request.push_str("\r\n");
    socket.write_all(request.as_bytes()).await.map_err(|error| broken(error.to_string()))?;
    let answer = read_answer(&mut socket).await.map_err(|error| broken(error.to_string()))?;
    let status = answer.lines().next().unwrap_or_default().trim().to_owned();
    let code = status.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).unwrap_or_default();
    match code {
        "" => Err(broken(format!("it answered `{}`", status.chars().take(80).collect::<String>()))),
        code if code.starts_with('2') => Ok(socket),
        code => Err(TunnelError::ProxyRefused {
            proxy: proxy.to_string(),
            address: address.to_string(),
            answer: status.chars().take(120).collect(),
            hint: match code {
                "407" => "; give the user and password in the proxy's address",
                "403" => "; the proxy has to allow CONNECT to the manager's port",
                "502" | "503" | "504" => "; the proxy can't reach the manager",
                _ => "",
            },
        }),
    }
}

/// Reads up to the empty line and not a byte further: what follows belongs to TLS.
async fn read_answer(socket: &mut TcpStream) -> io::Result<String> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_ANSWER_BYTES {
            return Err(io::Error::other("its answer has no end"));
        }
        answer.push(socket.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

async fn connect_tcp(address: &Address) -> Result<TcpStream, TunnelError> {
    let resolve = |source| TunnelError::Resolve { host: address.host.clone(), source };
    let found: Vec<_> = lookup_host((address.host.as_str(), address.port)).await.map_err(resolve)?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for candidate in found {
        match TcpStream::connect(candidate).await {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    let hint = match last.kind() {
        io::ErrorKind::ConnectionRefused => {
            "nothing listens there; is the manager running, and is this its tunnel port?"
        }
        io::ErrorKind::TimedOut => "no answer; a firewall may drop the packets",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "there is no route to it from this host"
        }
        _ => "check the address and this host's network",
    };
    Err(TunnelError::Connect { address: address.to_string(), hint, source: last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_needs_a_host_and_a_port() {
        for text in
            ["", "host", "host:", ":7443", "host:0", "host:70000", "::1:7443", "ho st:1", "host:1\r\nX: y"]
        {
            assert!(text.parse::<Address>().is_err(), "{text:?} was taken for an address");
        }
        assert_eq!("https://m.example:7443/".parse::<Address>().unwrap().to_string(), "m.example:7443");
        assert_eq!("[::1]:7443".parse::<Address>().unwrap().host(), "::1");
    }

    #[test]
    fn a_proxys_password_is_never_shown() {
        let proxy: Proxy = "http://me:p%40ss%3A@proxy.example:3128".parse().unwrap();
        assert_eq!(proxy.credentials.as_deref(), Some("me:p@ss:"));
        assert!(!format!("{proxy} {proxy:?}").contains("ss"), "{proxy:?}");
        let error = "http://me:secret@proxy".parse::<Proxy>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in ".{0,60}") {
            let _ = text.parse::<Proxy>();
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
            }
        }
    }
}

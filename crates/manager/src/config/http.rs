//! `[http]`: the console and the API.

use super::reader::Reader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

const HOUR: Duration = Duration::from_secs(3600);

/// Where the console and the API listen, and for whom.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Address and port. An address other than loopback needs TLS. Default: `127.0.0.1:7180`.
    pub listen: SocketAddr,
    /// Certificate chain and key, both PEM files.
    pub tls: Option<TlsFiles>,
    /// Where browsers reach the console, if a proxy stands before it: `https://…` makes cookies `Secure`.
    pub public_url: Option<Url>,
    /// More host names under which the console may be asked for.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `x-forwarded-for` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// A sign-in that isn't used for so long ends. Default: 12 h.
    pub idle_timeout: Duration,
    /// A sign-in ends after so long, used or not. Default: 7 d.
    pub absolute_timeout: Duration,
}

/// Files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl HttpConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let cert = reader.text("http.tls_cert").map(PathBuf::from);
        let key = reader.text("http.tls_key").map(PathBuf::from);
        let tls = match (cert, key) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            (Some(_), None) => {
                reader.problem("http.tls_key", "is needed beside `http.tls_cert`");
                None
            }
            (None, Some(_)) => {
                reader.problem("http.tls_cert", "is needed beside `http.tls_key`");
                None
            }
        };
        let listen = reader
            .parsed("http.listen", "\"127.0.0.1:7180\"")
            .unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7180));
        if !listen.ip().is_loopback() && tls.is_none() {
            reader.problem(
                "http.listen",
                &format!(
                    "{} isn't a loopback address, so passwords would travel in clear: set `http.tls_cert` and \
                     `http.tls_key`, or listen on 127.0.0.1 behind a proxy",
                    listen.ip()
                ),
            );
        }
        let config = Self {
            listen,
            tls,
            public_url: reader.parsed("http.public_url", "\"https://console.example\""),
            allowed_hosts: reader.list("http.allowed_hosts"),
            trusted_proxies: reader.parsed_list("http.trusted_proxies"),
            idle_timeout: reader.duration("http.idle_timeout").unwrap_or(12 * HOUR),
            absolute_timeout: reader.duration("http.absolute_timeout").unwrap_or(7 * 24 * HOUR),
        };
        if config.absolute_timeout < config.idle_timeout {
            reader.problem("http.absolute_timeout", "must not be shorter than `http.idle_timeout`");
        }
        config
    }

    /// Whether browsers reach the console over TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// The host names that requests may be for. Empty, which is any, only where TLS already proves the name.
    pub fn host_names(&self) -> Vec<String> {
        let mut names = self.allowed_hosts.clone();
        names.extend(self.public_url.as_ref().and_then(|url| url.host_str().map(str::to_owned)));
        if !self.listen.ip().is_loopback() && names.is_empty() {
            return names;
        }
        names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        if self.listen.ip().is_loopback() {
            names.push(self.listen.ip().to_string());
        }
        names
    }
}

//! Commands that reach out.

use crate::table::{Call, Operands};
use crate::value::Value;
use crate::verdict::Need;
use model::Class;

/// Host and port of `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or a URL.
pub(crate) fn host_and_port(text: &str) -> (Option<String>, Option<u16>) {
    let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    let authority = authority.rsplit('@').next().unwrap_or("");
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').unwrap_or((rest, ""));
        (host, after.strip_prefix(':'))
    } else if authority.matches(':').count() == 1 {
        authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)))
    } else {
        (authority, None)
    };
    let implied = match scheme {
        Some("http" | "ws") => Some(80),
        Some("https" | "wss") => Some(443),
        Some("ftp") => Some(21),
        _ => None,
    };
    let port = port.and_then(|port| port.parse().ok()).or(implied);
    ((!host.is_empty()).then(|| host.to_ascii_lowercase()), port)
}

/// Whether a host is a cloud's metadata service, in any of the ways to write its address.
pub(crate) fn is_metadata(host: &str) -> bool {
    let bare = host.trim_end_matches('.').to_ascii_lowercase();
    if matches!(
        bare.as_str(),
        "metadata"
            | "metadata.google.internal"
            | "instance-data"
            | "metadata.azure.com"
            | "metadata.packet.net"
    ) || bare.ends_with(".metadata.google.internal")
    {
        return true;
    }
    if let Ok(address) = bare.parse::<std::net::Ipv6Addr>() {
        let segments = address.segments();
        return segments.first().is_some_and(|first| (first & 0xffc0) == 0xfe80)
            || segments.starts_with(&[0xfd00, 0x0ec2])
            || address.to_ipv4().is_some_and(|address| is_metadata_address(u32::from(address)));
    }
    // A name that isn't written as plain dotted numbers but is made of them is an address in disguise.
    address(&bare).is_some_and(is_metadata_address)
}

fn is_metadata_address(address: u32) -> bool {
    // 169.254/16, and the addresses of Alibaba's, Oracle's and Azure's services outside of it.
    (address >> 16) == 0xa9fe || matches!(address, 0x6464_64c8 | 0xc000_00c0 | 0xa83f_8110)
}

/// An IPv4 address as the C library reads it: one to four parts, each decimal, octal or hexadecimal.
fn address(text: &str) -> Option<u32> {
    let parts: Vec<u32> = text
        .split('.')
        .map(|part| {
            if let Some(hex) = part.strip_prefix("0x") {
                u32::from_str_radix(if hex.is_empty() { "0" } else { hex }, 16).ok()
            } else if part.len() > 1 && part.starts_with('0') {
                u32::from_str_radix(part, 8).ok()
            } else {
                part.parse().ok()
            }
        })
        .collect::<Option<_>>()?;
    let (last, high) = parts.split_last()?;
    if high.len() > 3 || high.iter().any(|part| *part > 255) {
        return None;
    }
    let width = 32 - 8 * u32::try_from(high.len()).ok()?;
    if width < 32 && *last >= 1 << width {
        return None;
    }
    let top = high.iter().enumerate().fold(0u32, |sum, (index, part)| sum | part << (24 - 8 * index));
    Some(top | last)
}

const CURL: &str = "-s -S -f -I -k -L -v -i -4 -6 -g -N -G -O? -m: -w: -r: -b? -A? -X: --silent --show-error --fail --head --insecure --location --verbose --include --ipv4 --ipv6 --max-time= --connect-timeout= --write-out= --range= --compressed --http1.1 --http2 --no-progress-meter --globoff --retry= --max-redirs= --tlsv1.2 --tlsv1.3 --no-buffer --fail-with-body --request= -o: --output= --version -V -q --disable --no-keepalive --noproxy=";

/// `curl`: reads with GET and HEAD, without own headers, bodies, files or configuration.
pub(crate) fn curl(call: &mut Call<'_, '_>) {
    call.walker.downloads = true;
    let Some(found) = call.read(CURL, call.args, false) else {
        note_urls(call);
        return;
    };
    for (name, value) in &found.options {
        let value = value.as_deref();
        let harmless = match name.as_str() {
            "-X" | "--request" => matches!(value, Some("GET" | "HEAD" | "OPTIONS")),
            "-o" | "--output" => value == Some("/dev/null") || value == Some("-"),
            "-O" | "-b" | "-A" => false,
            // `%output{file}` writes, `@file` reads a format.
            "-w" | "--write-out" => {
                value.is_some_and(|text| !text.contains("output{") && !text.starts_with('@'))
            }
            _ => true,
        };
        if !harmless {
            call.mutating(format!("`curl {name}` isn't known to only read"));
        }
    }
    if call.args.iter().any(|arg| arg.is("--version") || arg.is("-V")) && found.operands.is_empty() {
        return;
    }
    call.need(Need::Network);
    if found.operands.is_empty() {
        call.mutating("`curl` without a URL");
    }
    let follows = found.has("-L") || found.has("--location");
    for arg in found.operands {
        url(call, arg);
        if follows {
            redirected(call, arg);
        }
    }
}

fn url(call: &mut Call<'_, '_>, arg: &Value) {
    let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    // An address that only running tells can carry out what was read before.
    let dynamic = arg.exact.is_none();
    if dynamic {
        call.lift_at(
            Class::Mutating,
            arg,
            "reaches an address that only running tells, which can carry data away",
        );
    } else if text.contains(['{', '[']) && !text.contains("://[") {
        call.lift_at(Class::Mutating, arg, "a pattern of several addresses");
    } else if !matches!(scheme, None | Some("http" | "https")) {
        call.lift_at(Class::Mutating, arg, "another protocol than HTTP");
    }
    let (host, port) = arg.exact.as_deref().map_or((None, None), host_and_port);
    // What names no scheme is asked over HTTP.
    let port = port.or_else(|| (host.is_some() && scheme.is_none()).then_some(80));
    call.note(host, port, arg);
}

/// Where a redirect leads is the server's to say, or, with a careless server, the address's own.
fn redirected(call: &mut Call<'_, '_>, arg: &Value) {
    call.note(None, None, arg);
}

fn note_urls(call: &mut Call<'_, '_>) {
    for arg in call.args {
        if arg.exact.is_none() || arg.text().contains("://") {
            call.reaches(arg);
        }
    }
}

/// `wget`: only to standard output, or only asking.
pub(crate) fn wget(call: &mut Call<'_, '_>) {
    call.walker.downloads = true;
    let list = "-q -O: -S -T: -t: -4 -6 --quiet --output-document= --spider --server-response --timeout= --tries= --no-check-certificate --max-redirect= --version -V --no-config --no-hsts --no-verbose --connect-timeout=";
    let Some(found) = call.read(list, call.args, false) else {
        note_urls(call);
        return;
    };
    if found.has("--version") || found.has("-V") {
        return;
    }
    let output = |(name, value): &(String, Option<String>)| {
        matches!(name.as_str(), "-O" | "--output-document")
            && matches!(value.as_deref(), Some("-" | "/dev/null"))
    };
    let elsewhere = found
        .options
        .iter()
        .any(|option| matches!(option.0.as_str(), "-O" | "--output-document") && !output(option));
    if elsewhere || !(found.has("--spider") || found.options.iter().any(output)) {
        call.mutating("`wget` writes a file unless it is told -O-");
    }
    call.need(Need::Network);
    // It follows redirects unless it is told not to.
    let follows =
        !found.options.iter().any(|(name, value)| name == "--max-redirect" && value.as_deref() == Some("0"));
    for arg in found.operands {
        url(call, arg);
        if follows {
            redirected(call, arg);
        }
    }
}

/// `dig`, `host`, `nslookup`: questions to a name server, which is a host that is reached.
pub(crate) fn dig(call: &mut Call<'_, '_>) {
    call.need(Need::Network);
    let port = port_option(call).or(Some(53));
    let mut before = "";
    for arg in call.args {
        let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
        let plain = arg.exact.as_deref().is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:@+=".contains(&byte))
        });
        if !plain {
            call.lift_at(Class::Mutating, arg, "a question that only running tells can carry data away");
        } else if let Some(server) = text.strip_prefix('@') {
            call.note(Some(server.to_ascii_lowercase()), port, arg);
        } else if text.starts_with('-') {
            if !matches!(
                text,
                "-x" | "-t" | "-4" | "-6" | "-p" | "-a" | "-v" | "-c" | "-W" | "-R" | "-s" | "-T"
            ) && !text.starts_with("-type=")
                && !text.starts_with("-query=")
            {
                call.lift_at(Class::Mutating, arg, format!("`{text}` isn't known to only ask"));
            }
        } else if !text.starts_with('+') && is_name_asked(before, text) {
            call.note(Some(text.to_ascii_lowercase()), None, arg);
        }
        before = arg.text();
    }
    if call.args.is_empty() && call.bare_name() == "nslookup" {
        call.mutating("`nslookup` reads commands");
    }
}

/// The port that `-p` names.
fn port_option(call: &Call<'_, '_>) -> Option<u16> {
    let at = call.args.iter().position(|arg| arg.is("-p"))?;
    call.args.get(at + 1)?.text().parse().ok()
}

/// Whether a word of `dig`, `host` or `nslookup` is a name that is asked for or a server that is asked. The question
/// itself carries data, also without a dot.
fn is_name_asked(before: &str, text: &str) -> bool {
    const TYPES: &[&str] = &[
        "a", "aaaa", "any", "axfr", "caa", "cname", "dnskey", "ds", "hinfo", "https", "mx", "naptr", "ns",
        "nsec", "ptr", "rrsig", "soa", "srv", "svcb", "tlsa", "txt", "in", "ch", "hs",
    ];
    let word = text.to_ascii_lowercase();
    match before {
        "-t" | "-c" => false,
        "-p" | "-W" | "-R" | "-T" => !text.bytes().all(|byte| byte.is_ascii_digit()),
        _ => !TYPES.contains(&word.as_str()),
    }
}

/// `nc`: only to see whether a port is open.
pub(crate) fn netcat(call: &mut Call<'_, '_>) {
    call.walker.downloads = true;
    let list = "-z -v -w: -u -4 -6 -n";
    let Some(found) = call.read(list, call.args, false) else { return };
    if !found.has("-z") {
        call.mutating("`nc` without -z sends and listens");
    }
    call.need(Need::Network);
    if let [host, rest @ ..] = found.operands.as_slice() {
        let port = rest.first().and_then(|port| port.text().parse().ok());
        if host.exact.is_none() {
            call.lift_at(Class::Mutating, host, "reaches an address that only running tells");
        }
        call.note(host.exact.clone(), port, host);
    }
}

/// `ping`, `traceroute`: options that are listed, a bounded number of packets, hosts that are in the text.
pub(crate) fn ping(call: &mut Call<'_, '_>) {
    let list = "-c: -W: -w: -i: -4 -6 -n -q -s: -t: -D -O -I: -M: -A -m: -T -U --tcp";
    let Some(found) = call.read(list, call.args, false) else { return };
    call.need(Need::Network);
    if found.has("-i")
        && found.options.iter().any(|(name, value)| {
            name == "-i" && value.as_deref().is_none_or(|text| text.starts_with("0") || text.starts_with('.'))
        })
    {
        call.mutating("sends faster than one packet a second");
    }
    for arg in &found.operands {
        if arg.exact.is_none() {
            call.lift_at(Class::Mutating, arg, "reaches an address that only running tells");
        }
    }
    call.operands(Operands::Hosts, &found.operands);
}

/// `openssl`: showing certificates and what a server presents.
pub(crate) fn openssl(call: &mut Call<'_, '_>) {
    let args = call.args;
    let Some((verb, rest)) = args.split_first() else {
        call.mutating("`openssl` reads commands");
        return;
    };
    let list = match verb.text() {
        "version" => "-a -v -b -d",
        "x509" => {
            "-in: -inform: -noout -text -subject -issuer -dates -enddate -startdate -serial -fingerprint -sha256 -sha1 -checkend: -ext: -nameopt: -purpose -email -hash -pubkey -modulus"
        }
        "crl" | "req" => "-in: -inform: -noout -text -subject -issuer -verify",
        "verify" => "-CAfile: -CApath: -untrusted: -purpose: -verbose",
        "ciphers" => "-v -V -s -tls1_2 -tls1_3",
        "dgst" => "-sha256 -sha1 -sha512 -md5 -r",
        "s_client" => {
            "-connect: -servername: -showcerts -brief -tls1_2 -tls1_3 -starttls: -verify_return_error -CAfile: -alpn: -verify_hostname: -status -quiet"
        }
        _ => {
            call.mutating(format!("`openssl {}` isn't known to only read", verb.text()));
            return;
        }
    };
    let Some(found) = call.read(list, rest, false) else { return };
    if verb.is("s_client") {
        call.need(Need::Network);
        let place = Value::exact("", call.place.0, call.place.1);
        for (_, value) in found.options.iter().filter(|(name, _)| name == "-connect") {
            let (host, port) = value.as_deref().map_or((None, None), host_and_port);
            if host.is_none() {
                call.mutating("reaches an address that only running tells");
            }
            call.note(host, port, &place);
        }
    }
}

/// `ip`: `show`, `list`, `get`; a bare object shows.
pub(crate) fn ip(call: &mut Call<'_, '_>) {
    const OBJECTS: &[&str] = &[
        "address",
        "addr",
        "a",
        "link",
        "l",
        "route",
        "r",
        "ro",
        "rule",
        "neigh",
        "neighbor",
        "neighbour",
        "n",
        "tunnel",
        "maddress",
        "maddr",
        "netns",
        "vrf",
        "xfrm",
        "macsec",
        "tcp_metrics",
        "mroute",
        "nexthop",
        "ntable",
        "tuntap",
        "addrlabel",
    ];
    let list = "-4 -6 -s -d -o -h -j -p -br -c -brief -json -pretty -details -statistics -stats -oneline -human -color? -family: -f: -a -all -r -resolve -V -t -ts -0";
    let Some(found) = call.read(list, call.args, true) else { return };
    let rest = call.args.get(found.read..).unwrap_or(&[]);
    let Some(object) = rest.first() else { return };
    let verb = rest.get(1).map_or("", Value::text);
    let known = OBJECTS.contains(&object.text());
    let reads = match verb {
        "" => rest.len() == 1,
        "show" | "list" | "ls" | "lst" | "sh" => true,
        "get" => matches!(object.text(), "route" | "r" | "ro"),
        _ => false,
    };
    let certain = rest.iter().all(|arg| !arg.many && (arg.exact.is_some() || !arg.option));
    let target = rest.iter().any(|arg| arg.is("down"));
    if matches!(verb, "flush" | "f" | "fl")
        || (matches!(verb, "del" | "delete" | "d" | "de") && known)
        || (matches!(verb, "set" | "s" | "se") && target)
    {
        call.dangerous("may cut the host off its network");
    } else if !known
        || !reads
        || !certain
        || object.is("xfrm")
        || (object.is("netns") && !matches!(verb, "" | "list" | "ls" | "show"))
    {
        call.mutating("`ip` with something else than showing");
    }
}

/// `ss`: `-K` closes sockets.
pub(crate) const SS: &str = "-n -t -u -l -p -a -e -m -o -i -s -x -w -r -4 -6 -0 -H -O -T -N: -f: -A: -h -V -M -S -d -Z -E --tcp --udp --listening --numeric --processes --all --extended --memory --options --info --summary --unix --raw --resolve --ipv4 --ipv6 --no-header --oneline --family= --query= --help --version";

/// `nft`, `iptables`, `ufw`, `firewall-cmd`: listing reads, all else changes the firewall.
pub(crate) fn firewall(call: &mut Call<'_, '_>) {
    let args: Vec<&str> = call.args.iter().map(Value::text).collect();
    let certain = call.args.iter().all(|arg| arg.exact.is_some());
    let reads = match call.bare_name() {
        "nft" => {
            let bare: Vec<&str> = args
                .iter()
                .copied()
                .skip_while(|arg| {
                    matches!(
                        *arg,
                        "-a" | "-n"
                            | "-nn"
                            | "-s"
                            | "-j"
                            | "-t"
                            | "-y"
                            | "--json"
                            | "--handle"
                            | "--numeric"
                            | "--stateless"
                    )
                })
                .collect();
            matches!(bare.as_slice(), ["list", ..]) && !bare.iter().any(|arg| arg.contains(';'))
        }
        "iptables" | "ip6tables" | "ebtables" | "arptables" => {
            let listing = args.iter().any(|arg| {
                matches!(*arg, "-S" | "--list" | "--list-rules")
                    || arg.starts_with("-L")
                    || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('L'))
            });
            let mut skip = false;
            let known = args.iter().all(|arg| {
                if std::mem::take(&mut skip) {
                    return matches!(*arg, "filter" | "nat" | "mangle" | "raw" | "security");
                }
                skip = matches!(*arg, "-t" | "--table");
                skip || matches!(
                    *arg,
                    "-S" | "--list"
                        | "--list-rules"
                        | "--line-numbers"
                        | "--numeric"
                        | "--verbose"
                        | "-w"
                        | "--wait"
                        | "--exact"
                ) || arg
                    .strip_prefix('-')
                    .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| "Lnvx".contains(c)))
                    || arg.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            });
            listing && known
        }
        "iptables-save" | "ip6tables-save" => args
            .iter()
            .all(|arg| matches!(*arg, "-c" | "--counters" | "-t" | "filter" | "nat" | "mangle" | "raw")),
        "ufw" => matches!(
            args.as_slice(),
            ["status"] | ["status", "verbose" | "numbered"] | ["version"] | ["app", "list"]
        ),
        "firewall-cmd" => {
            !args.is_empty()
                && args.iter().all(|arg| {
                    arg.starts_with("--list-")
                        || arg.starts_with("--get-")
                        || arg.starts_with("--query-")
                        || arg.starts_with("--zone=")
                        || arg.starts_with("--info-")
                        || matches!(*arg, "--state" | "--permanent" | "--version")
                })
        }
        _ => false,
    };
    if !(reads && certain) {
        call.dangerous("changes the firewall, which can cut the host off or open it");
    }
}

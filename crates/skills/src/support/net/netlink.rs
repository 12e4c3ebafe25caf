//! Links, addresses and routes of the network namespace that the calling thread is in, asked of the kernel over
//! netlink (rtnetlink). Only the three dumps that are needed, read as they come.

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Most links that are read.
const MAX_LINKS: usize = 2000;

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// `veth`, `bridge` and the like; nothing for a device.
    pub(crate) kind: Option<String>,
    pub(crate) up: bool,
    pub(crate) state: &'static str,
    pub(crate) mtu: u32,
    pub(crate) hardware_address: Option<String>,
    /// Index of the bridge or bond that it belongs to.
    pub(crate) master: Option<u32>,
    /// Index of its other end or of the device under it.
    pub(crate) peer: Option<u32>,
    /// `peer` is in another namespace.
    pub(crate) peer_elsewhere: bool,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) errors: u64,
    pub(crate) dropped: u64,
}

/// An address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) link: u32,
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
    pub(crate) scope: &'static str,
}

/// A route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    /// `default`, or a range such as `10.0.0.0/8`.
    pub(crate) destination: String,
    pub(crate) kind: &'static str,
    /// Gateways and links, one for each way.
    pub(crate) hops: Vec<(Option<IpAddr>, Option<u32>)>,
    pub(crate) source: Option<IpAddr>,
    pub(crate) metric: Option<u32>,
    pub(crate) table: u32,
    pub(crate) protocol: String,
}

/// What is known of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) links: Vec<Link>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) routes: Vec<Route>,
    /// There are more routes.
    pub(crate) more_routes: bool,
}

/// Reads the namespace of the calling thread.
pub(crate) fn snapshot(routes: Option<usize>) -> Result<Snapshot, Errno> {
    let mut found = Snapshot::default();
    dump(GET_LINK, 16, |kind, body| {
        found.links.extend((kind == NEW_LINK).then(|| Link::parse(body)).flatten());
        found.links.len() < MAX_LINKS
    })?;
    dump(GET_ADDRESS, 8, |kind, body| {
        found.addresses.extend((kind == NEW_ADDRESS).then(|| Address::parse(body)).flatten());
        found.addresses.len() < MAX_LINKS * 4
    })?;
    if let Some(most) = routes {
        dump(GET_ROUTE, 12, |kind, body| {
            found.routes.extend((kind == NEW_ROUTE).then(|| Route::parse(body)).flatten());
            found.routes.len() <= most
        })?;
        found.more_routes = found.routes.len() > most;
        found.routes.truncate(most);
    }
    Ok(found)
}

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Length of the header of each message.
const HEADER: usize = 16;

/// Asks for all of one kind, with an empty question of `length` bytes, and hands out each answer until `each` has
/// enough.
fn dump(kind: u16, length: usize, mut each: impl FnMut(u16, &[u8]) -> bool) -> Result<(), Errno> {
    const REQUEST_DUMP: u16 = 0x301;
    // The protocol of number 0, which rustix writes as none, is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(5)))?;
    let mut question = Vec::new();
    question.extend(((HEADER + length) as u32).to_ne_bytes());
    question.extend(kind.to_ne_bytes());
    question.extend(REQUEST_DUMP.to_ne_bytes());
    question.resize(HEADER + length, 0);
    send(&socket, &question, SendFlags::empty())?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (read, _) = match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        for (kind, body) in messages(&buffer[..read.min(buffer.len())]) {
            match kind {
                DONE => return Ok(()),
                ERROR => match i32::from_ne_bytes(array(body, 0).unwrap_or_default()) {
                    0 => {}
                    code => return Err(Errno::from_raw_os_error(code.saturating_neg())),
                },
                kind if !each(kind, body) => return Ok(()),
                _ => {}
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// The messages of a datagram: kind and body.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(array(rest, 0)?) as usize;
        let body = rest.get(HEADER..length)?;
        let kind = u16::from_ne_bytes(array(rest, 4)?);
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The attributes behind a body's own header of `header` bytes: kind and value.
fn attributes(body: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    /// Bits that say how a value is written.
    const MARKS: u16 = 0xc000;
    let mut rest = body.get(header..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(array(rest, 0)?));
        let value = rest.get(4..length)?;
        let kind = u16::from_ne_bytes(array(rest, 2)?) & !MARKS;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn number(bytes: &[u8]) -> Option<u32> {
    array(bytes, 0).map(u32::from_ne_bytes)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => array::<4>(bytes, 0).map(|bytes| Ipv4Addr::from(bytes).into()),
        16 => array::<16>(bytes, 0).map(|bytes| Ipv6Addr::from(bytes).into()),
        _ => None,
    }
}

impl Link {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut link = Self { index: number(body.get(4..)?)?, state: "unknown", ..Self::default() };
        link.up = number(body.get(8..)?)? & 1 == 1;
        for (kind, value) in attributes(body, 16) {
            match kind {
                1 if value.iter().any(|byte| *byte != 0) => {
                    let bytes: Vec<String> = value.iter().map(|byte| format!("{byte:02x}")).collect();
                    link.hardware_address = Some(bytes.join(":"));
                }
                3 => link.name = text(value),
                4 => link.mtu = number(value).unwrap_or(0),
                5 => link.peer = number(value).filter(|peer| *peer != 0 && *peer != link.index),
                10 => link.master = number(value).filter(|master| *master != 0),
                16 => link.state = operational(value.first().copied().unwrap_or(0)),
                18 => {
                    link.kind =
                        attributes(value, 0).find(|(kind, _)| *kind == 1).map(|(_, value)| text(value))
                }
                23 => {
                    let counter = |place: usize| array(value, place * 8).map_or(0, u64::from_ne_bytes);
                    link.received_bytes = counter(2);
                    link.sent_bytes = counter(3);
                    link.errors = counter(4).saturating_add(counter(5));
                    link.dropped = counter(6).saturating_add(counter(7));
                }
                37 => link.peer_elsewhere = true,
                _ => {}
            }
        }
        Some(link)
    }
}

fn operational(state: u8) -> &'static str {
    match state {
        1 => "not_present",
        2 => "down",
        3 => "lower_layer_down",
        4 => "testing",
        5 => "dormant",
        6 => "up",
        _ => "unknown",
    }
}

impl Address {
    fn parse(body: &[u8]) -> Option<Self> {
        let (prefix, scope) = (*body.get(1)?, *body.get(3)?);
        let (mut address, mut local) = (None, None);
        for (kind, value) in attributes(body, 8) {
            match kind {
                1 => address = ip(value),
                // Of a link from point to point `address` is the other end.
                2 => local = ip(value),
                _ => {}
            }
        }
        let scope = match scope {
            0 => "global",
            200 => "site",
            253 => "link",
            254 => "host",
            _ => "other",
        };
        Some(Self { link: number(body.get(4..)?)?, address: local.or(address)?, prefix, scope })
    }
}

impl Route {
    /// A route that somebody made. The kernel's own about the host's addresses and broadcasts, and cached ones, are none.
    fn parse(body: &[u8]) -> Option<Self> {
        const LOCAL_TABLE: u32 = 255;
        const CLONED: u32 = 0x200;
        let (length, table, protocol, kind) = (*body.get(1)?, *body.get(4)?, *body.get(5)?, *body.get(7)?);
        let flags = number(body.get(8..)?)?;
        let mut route = Self { table: table.into(), kind: route_kind(kind)?, ..Self::default() };
        let (mut destination, mut hop) = (None, (None, None));
        for (kind, value) in attributes(body, 12) {
            match kind {
                1 => destination = ip(value),
                4 => hop.1 = number(value),
                5 => hop.0 = ip(value),
                6 => route.metric = number(value),
                7 => route.source = ip(value),
                9 => route.hops.extend(ways(value)),
                15 => route.table = number(value).unwrap_or(route.table),
                // An IPv6 gateway of an IPv4 route: its family, then the address.
                18 => hop.0 = value.get(2..).and_then(ip),
                _ => {}
            }
        }
        if route.table == LOCAL_TABLE || flags & CLONED != 0 {
            return None;
        }
        if route.hops.is_empty() {
            route.hops.push(hop);
        }
        route.destination = match (destination, length) {
            (None, 0) => "default".to_owned(),
            (Some(address), length) => format!("{address}/{length}"),
            (None, _) => return None,
        };
        route.protocol = match protocol {
            2 => "kernel".to_owned(),
            3 => "boot".to_owned(),
            4 => "static".to_owned(),
            9 => "ra".to_owned(),
            16 => "dhcp".to_owned(),
            186 => "bgp".to_owned(),
            188 => "ospf".to_owned(),
            other => other.to_string(),
        };
        Some(route)
    }
}

fn route_kind(kind: u8) -> Option<&'static str> {
    match kind {
        1 => Some("unicast"),
        6 => Some("blackhole"),
        7 => Some("unreachable"),
        8 => Some("prohibit"),
        9 => Some("throw"),
        _ => None,
    }
}

/// The ways of a route with several.
fn ways(value: &[u8]) -> Vec<(Option<IpAddr>, Option<u32>)> {
    let mut rest = value;
    let mut found = Vec::new();
    while let Some(length) =
        array(rest, 0).map(u16::from_ne_bytes).map(usize::from).filter(|length| *length >= 8)
    {
        let Some(way) = rest.get(..length) else { break };
        let gateway = attributes(way, 8).find_map(|(kind, value)| match kind {
            5 => ip(value),
            18 => value.get(2..).and_then(ip),
            _ => None,
        });
        found.push((gateway, number(&way[4..])));
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    #[test]
    fn this_namespace_has_its_loopback() {
        let found = snapshot(Some(1000)).unwrap();
        let lo = found.links.iter().find(|link| link.name == "lo").unwrap();
        assert!(lo.mtu > 0 && lo.index > 0);
        if lo.up {
            let own =
                found.addresses.iter().find(|address| address.link == lo.index && address.address.is_ipv4());
            assert_eq!(own.unwrap().address, IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
    }

    #[test]
    fn a_route_over_two_ways_keeps_both() {
        let way = |gateway: [u8; 4], link: u32| {
            let mut bytes = vec![16, 0, 0, 0];
            bytes.extend(link.to_ne_bytes());
            bytes.extend(attribute(5, &gateway));
            bytes
        };
        let mut body = vec![2, 8, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0];
        body.extend(attribute(1, &[10, 0, 0, 0]));
        body.extend(attribute(6, &100u32.to_ne_bytes()));
        body.extend(attribute(9, &[way([192, 0, 2, 1], 2), way([192, 0, 2, 2], 3)].concat()));
        let route = Route::parse(&body).unwrap();
        assert_eq!((route.destination.as_str(), route.protocol.as_str()), ("10.0.0.0/8", "static"));
        assert_eq!(route.metric, Some(100));
        assert_eq!(route.hops.len(), 2);
        assert_eq!(route.hops[1], (Some("192.0.2.2".parse().unwrap()), Some(3)));
    }

    #[test]
    fn the_kernels_own_routes_are_left_out() {
        let local = vec![2, 32, 0, 0, 255, 2, 254, 1, 0, 0, 0, 0];
        assert_eq!(Route::parse(&local), None);
        let default = vec![2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        assert_eq!(Route::parse(&default).unwrap().destination, "default");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for (_, body) in messages(&bytes) {
                let _ = (Link::parse(body), Address::parse(body), Route::parse(body));
            }
            let _ = (Link::parse(&bytes), Address::parse(&bytes), Route::parse(&bytes), ways(&bytes));
        }
    }
}

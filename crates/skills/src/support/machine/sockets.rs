//! `/proc/net/{tcp,tcp6,udp,udp6}`, and which process has which socket open.

use super::process;
use skill::Host;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Protocols, with the files of `/proc/net` that list their sockets.
pub(crate) const PROTOCOLS: &[&str] = &["tcp", "tcp6", "udp", "udp6"];

/// One socket at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) protocol: &'static str,
    pub(crate) state: State,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Bytes that wait to be sent. Of a listening socket: how many connections may wait.
    pub(crate) send_queue: u64,
    /// Bytes that wait to be read. Of a listening socket: how many connections wait to be accepted.
    pub(crate) receive_queue: u64,
    pub(crate) user: u32,
    /// Names the socket; 0 once no process has it any more.
    pub(crate) inode: u64,
}

/// States of sockets, as the kernel numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Established,
    SynSent,
    SynReceived,
    FinWait1,
    FinWait2,
    TimeWait,
    /// Of UDP: open for whoever sends.
    Close,
    CloseWait,
    LastAck,
    Listen,
    Closing,
}

impl State {
    fn of(number: u8) -> Option<Self> {
        const ALL: [State; 12] = [
            State::Established,
            State::SynSent,
            State::SynReceived,
            State::FinWait1,
            State::FinWait2,
            State::TimeWait,
            State::Close,
            State::CloseWait,
            State::LastAck,
            State::Listen,
            State::Closing,
            State::SynReceived,
        ];
        ALL.get(usize::from(number.checked_sub(1)?)).copied()
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::SynSent => "syn_sent",
            Self::SynReceived => "syn_received",
            Self::FinWait1 => "fin_wait_1",
            Self::FinWait2 => "fin_wait_2",
            Self::TimeWait => "time_wait",
            Self::Close => "close",
            Self::CloseWait => "close_wait",
            Self::LastAck => "last_ack",
            Self::Listen => "listening",
            Self::Closing => "closing",
        }
    }
}

/// Calls `each` with every socket of one protocol. Tells whether the kernel lists it at all.
pub(crate) fn for_each(host: &dyn Host, protocol: &'static str, mut each: impl FnMut(Socket)) -> bool {
    let Ok(file) = std::fs::File::open(host.path(&format!("/proc/net/{protocol}"))) else { return false };
    for line in BufReader::new(file).lines().skip(1) {
        let Ok(line) = line else { break };
        if let Some(socket) = parse(protocol, &line) {
            each(socket);
        }
    }
    true
}

fn parse(protocol: &'static str, line: &str) -> Option<Socket> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let mut state = State::of(u8::from_str_radix(words.next()?, 16).ok()?)?;
    let (send, receive) = words.next()?.split_once(':')?;
    let queue = |text: &str| u64::from_str_radix(text, 16).ok();
    // UDP has no states: a socket without a peer is open for whoever sends.
    if protocol.starts_with("udp") && state == State::Close {
        state = State::Listen;
    }
    let (send_queue, receive_queue) = (queue(send)?, queue(receive)?);
    // Two words about timers, one about retransmits.
    let user = words.nth(2)?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    Some(Socket { protocol, state, local, remote, send_queue, receive_queue, user, inode })
}

/// An address as the kernel prints it: groups of four bytes in the machine's order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(group(address)?)),
        32 if address.is_ascii() => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&group(&address[index * 8..index * 8 + 8])?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Which processes have which sockets open.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// Process ids by the socket's inode.
    pub(crate) by_inode: HashMap<u64, Vec<u32>>,
    /// Processes whose descriptors the agent may not see.
    pub(crate) hidden: u32,
    /// Network namespaces besides the agent's that some process lives in.
    pub(crate) other_namespaces: usize,
    /// There was no time to look at all processes.
    pub(crate) unfinished: bool,
}

impl Holders {
    /// Looks through the descriptors of all processes for these sockets, for at most `within`.
    pub(crate) fn of(
        host: &dyn Host,
        wanted: &HashSet<u64>,
        within: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Self {
        /// A socket may be shared by all workers of a server; more are not told.
        const MOST_HOLDERS: usize = 16;
        let begun = Instant::now();
        let mut holders = Self::default();
        let own = namespace(host, "self");
        let mut namespaces = HashSet::new();
        for pid in process::pids(host) {
            if stop() || begun.elapsed() > within {
                holders.unfinished = true;
                break;
            }
            namespaces.extend(namespace(host, &pid.to_string()).filter(|other| Some(other) != own.as_ref()));
            let entries = match std::fs::read_dir(host.path(&format!("/proc/{pid}/fd"))) {
                Ok(entries) => entries,
                Err(error) => {
                    holders.hidden += u32::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                    continue;
                }
            };
            for entry in entries.flatten() {
                let Ok(link) = std::fs::read_link(entry.path()) else { continue };
                let Some(inode) = link.to_str().and_then(socket_inode) else { continue };
                if !wanted.contains(&inode) {
                    continue;
                }
                let pids = holders.by_inode.entry(inode).or_default();
                if pids.last() != Some(&pid) && pids.len() < MOST_HOLDERS {
                    pids.push(pid);
                }
            }
        }
        holders.other_namespaces = if own.is_some() { namespaces.len() } else { 0 };
        holders
    }
}

fn namespace(host: &dyn Host, process: &str) -> Option<std::path::PathBuf> {
    std::fs::read_link(host.path(&format!("/proc/{process}/ns/net"))).ok()
}

fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_each_family_is_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0";
        let socket = parse("tcp", line).unwrap();
        assert_eq!((socket.local.to_string().as_str(), socket.state), ("127.0.0.1:8080", State::Listen));
        assert_eq!((socket.user, socket.inode, socket.receive_queue), (1000, 12345, 2));
        let line = "1: 00000000000000000000000001000000:0016 00000000000000000000000002000000:D431 01 00000010:00000000 02:00000000 00000000 0 0 7 1";
        let socket = parse("tcp6", line).unwrap();
        assert_eq!(
            (socket.local.to_string(), socket.remote.to_string()),
            ("[::1]:22".to_owned(), "[::2]:54321".to_owned())
        );
        assert_eq!((socket.state, socket.send_queue), (State::Established, 16));
        let udp = "1: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 9 2 0 0";
        assert_eq!(parse("udp", udp).unwrap().state, State::Listen);
    }

    #[test]
    fn only_links_to_sockets_count() {
        assert_eq!(socket_inode("socket:[42]"), Some(42));
        for link in ["pipe:[42]", "/dev/null", "socket:[x]", "socket:["] {
            assert_eq!(socket_inode(link), None);
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,120}", address_text in "[0-9A-Fa-f:é]{0,40}") {
            let _ = (parse("tcp", &line), address(&address_text), socket_inode(&line));
        }

        #[test]
        fn addresses_come_back(bytes: [u8; 4], port: u16) {
            let text = format!("{:08X}:{port:04X}", u32::from_ne_bytes(bytes));
            prop_assert_eq!(address(&text), Some(SocketAddr::new(Ipv4Addr::from(bytes).into(), port)));
        }
    }
}

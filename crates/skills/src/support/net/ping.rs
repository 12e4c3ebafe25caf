//! ICMP echo: one socket for one address, by the kernel's ping sockets where they are open to the agent, else raw.

use crate::support::errors::{denied, of_io, unsupported};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use skill::SkillError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

/// Bytes behind the ICMP header, as `ping` sends them.
const PAYLOAD: usize = 56;

const ECHO_REQUEST: (u8, u8) = (8, 128);
const ECHO_REPLY: (u8, u8) = (0, 129);

/// A socket that sends echo requests to one address.
#[derive(Debug)]
pub(crate) struct Pinger {
    socket: UdpSocket,
    six: bool,
    identifier: u16,
    payload: [u8; PAYLOAD],
}

/// What came of one request.
#[derive(Debug)]
pub(crate) enum Echo {
    /// The reply, and how long it took.
    Reply(Duration),
    /// No reply in time.
    Silence,
    /// It could not be sent, or the network answered that it can't be delivered.
    Failed(io::Error),
}

impl Pinger {
    /// Opens a socket to `address`. `mark` is put into each request, so that only its own replies count.
    ///
    /// # Errors
    ///
    /// The outer error is about this host: it may not ping. The inner one is about the address: no way leads there.
    pub(crate) fn open(address: IpAddr, mark: &str) -> Result<Result<Self, io::Error>, SkillError> {
        let six = address.is_ipv6();
        let socket = open_socket(six)?;
        if let Err(error) = connect(&socket, &SocketAddr::new(address, 0)) {
            return Ok(Err(error.into()));
        }
        // Sending and receiving are the same calls for every kind of datagram socket.
        let socket =
            UdpSocket::from_std(socket.into()).map_err(|error| of_io("wait for an ICMP socket", &error))?;
        let mut payload = [0x20; PAYLOAD];
        for (place, byte) in payload.iter_mut().zip(mark.bytes()) {
            *place = byte;
        }
        // Ping sockets put an identifier of their own; on raw ones the mark tells our replies from others'.
        Ok(Ok(Self { socket, six, identifier: std::process::id() as u16, payload }))
    }

    /// Sends request `sequence` and waits for its reply.
    pub(crate) async fn echo(&self, sequence: u16, within: Duration) -> Echo {
        let begun = Instant::now();
        let request = request(self.six, self.identifier, sequence, &self.payload);
        if let Err(error) = self.socket.send(&request).await {
            return Echo::Failed(error);
        }
        let mut packet = [0; 2048];
        loop {
            match timeout_at(begun + within, self.socket.recv(&mut packet)).await {
                Ok(Ok(length)) => {
                    let elapsed = begun.elapsed();
                    if is_reply(&packet[..length], self.six, sequence, &self.payload) {
                        return Echo::Reply(elapsed);
                    }
                }
                Ok(Err(error)) => return Echo::Failed(error),
                Err(_) => return Echo::Silence,
            }
        }
    }
}

fn open_socket(six: bool) -> Result<OwnedFd, SkillError> {
    let (family, protocol) =
        if six { (AddressFamily::INET6, ipproto::ICMPV6) } else { (AddressFamily::INET, ipproto::ICMP) };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let mut last = Errno::PERM;
    for kind in [SocketType::DGRAM, SocketType::RAW] {
        match socket_with(family, kind, flags, Some(protocol)) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(match last {
        Errno::PERM | Errno::ACCESS => denied(
            "the agent may not ping: let its group be in the kernel's `net.ipv4.ping_group_range`, or give it CAP_NET_RAW; \
             probe_tcp needs neither",
        ),
        Errno::AFNOSUPPORT => unsupported(format!("this host has no IPv{}", if six { 6 } else { 4 })),
        other => of_io("open an ICMP socket", &other.into()),
    })
}

/// An echo request with its checksum. (The kernel computes ICMPv6's itself.)
fn request(six: bool, identifier: u16, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![if six { ECHO_REQUEST.1 } else { ECHO_REQUEST.0 }, 0, 0, 0];
    packet.extend(identifier.to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.extend(payload);
    let sum = checksum(&packet).to_be_bytes();
    packet[2..4].copy_from_slice(&sum);
    packet
}

/// The internet checksum: the complement of the sum in ones' complement.
fn checksum(packet: &[u8]) -> u16 {
    let mut sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Whether a packet is the reply to our request `sequence`. Raw IPv4 sockets hand out the IP header too.
fn is_reply(packet: &[u8], six: bool, sequence: u16, payload: &[u8]) -> bool {
    let message = match packet.first() {
        Some(first) if !six && first >> 4 == 4 => {
            packet.get(usize::from(first & 0x0f) * 4..).unwrap_or_default()
        }
        _ => packet,
    };
    let wanted = if six { ECHO_REPLY.1 } else { ECHO_REPLY.0 };
    message.len() >= 8
        && message[0] == wanted
        && message[6..8] == sequence.to_be_bytes()
        && message[8..] == *payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_a_checksum_that_sums_up_to_nothing() {
        let packet = request(false, 7, 1, b"odd");
        assert_eq!((packet[0], packet.len()), (8, 11));
        assert_eq!(checksum(&packet), 0);
    }

    #[test]
    fn only_the_reply_to_the_request_counts() {
        let mut reply = request(false, 7, 3, b"mark");
        assert!(!is_reply(&reply, false, 3, b"mark"), "our own request, seen on the loopback");
        reply[0] = 0;
        assert!(is_reply(&reply, false, 3, b"mark"));
        assert!(!is_reply(&reply, false, 4, b"mark") && !is_reply(&reply, false, 3, b"else"));
        let mut with_header = vec![0x46; 24];
        with_header.extend(&reply);
        assert!(is_reply(&with_header, false, 3, b"mark"));
        reply[0] = 129;
        assert!(is_reply(&reply, true, 3, b"mark") && !is_reply(&reply, false, 3, b"mark"));
    }

    proptest! {
        #[test]
        fn no_packet_panics(packet in prop::collection::vec(any::<u8>(), 0..80), six: bool) {
            let _ = is_reply(&packet, six, 1, b"x");
        }
    }
}

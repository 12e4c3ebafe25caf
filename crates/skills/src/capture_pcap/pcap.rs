//! Reads a stream of the pcap format packet by packet, and sums up who talked to whom.
//!
//! Everything in it comes from the network: lengths are checked before they are used, and what is remembered is
//! bounded.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of the header of a file, and of a packet.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Largest packet that the format's writers produce.
const MAX_PACKET: u32 = 262_144;

/// Different conversations that are counted one by one.
const MAX_PAIRS: usize = 20_000;

/// Entries of each list that are told.
const TOP: usize = 10;

/// A stream that is no pcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPcap;

/// Cuts a stream into its header and whole packets.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    pending: Vec<u8>,
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug)]
struct Format {
    little: bool,
    nanos: bool,
    link: u32,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    /// Header and captured bytes, as they are in the file.
    pub(crate) raw: &'a [u8],
    /// The captured bytes.
    pub(crate) data: &'a [u8],
    /// Length on the wire.
    pub(crate) length: u32,
    /// Microseconds since 1970.
    pub(crate) micros: i64,
    link: u32,
}

impl Splitter {
    /// Takes more of the stream, and calls `header` once with the file's header and `packet` for each whole packet,
    /// until that says to stop. Says whether it did.
    ///
    /// # Errors
    ///
    /// Fails if the stream is no pcap.
    pub(crate) fn push<E: From<NoPcap>>(
        &mut self,
        bytes: &[u8],
        mut header: impl FnMut(&[u8]) -> Result<(), E>,
        mut packet: impl FnMut(Packet<'_>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        if self.format.is_none() {
            let Some(start) = self.pending.get(..FILE_HEADER) else { return Ok(true) };
            self.format = Some(Format::of(start).ok_or(NoPcap)?);
            header(start)?;
            at = FILE_HEADER;
        }
        let mut go_on = true;
        while let (true, Some(format)) = (go_on, self.format) {
            let Some(one) = format.packet(&self.pending[at..])? else { break };
            at += one.raw.len();
            go_on = packet(one)?;
        }
        self.pending.drain(..at);
        Ok(go_on)
    }
}

impl Format {
    fn of(header: &[u8]) -> Option<Self> {
        let magic: [u8; 4] = header.get(..4)?.try_into().ok()?;
        let (little, nanos) = match u32::from_le_bytes(magic) {
            0xa1b2_c3d4 => (true, false),
            0xa1b2_3c4d => (true, true),
            0xd4c3_b2a1 => (false, false),
            0x4d3c_b2a1 => (false, true),
            _ => return None,
        };
        let mut format = Self { little, nanos, link: 0 };
        format.link = format.number(header, 20)? & 0x0fff_ffff;
        Some(format)
    }

    fn number(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) })
    }

    /// The packet at the start of the bytes; `None` if it isn't whole yet.
    fn packet(self, bytes: &[u8]) -> Result<Option<Packet<'_>>, NoPcap> {
        let numbers = || {
            Some((
                self.number(bytes, 0)?,
                self.number(bytes, 4)?,
                self.number(bytes, 8)?,
                self.number(bytes, 12)?,
            ))
        };
        let Some((seconds, fraction, captured, length)) = numbers() else { return Ok(None) };
        if captured > MAX_PACKET {
            return Err(NoPcap);
        }
        let whole = PACKET_HEADER + captured as usize;
        let Some(raw) = bytes.get(..whole) else { return Ok(None) };
        let micros = i64::from(if self.nanos { fraction / 1000 } else { fraction });
        let micros = i64::from(seconds) * 1_000_000 + micros;
        Ok(Some(Packet { raw, data: &raw[PACKET_HEADER..], length, micros, link: self.link }))
    }
}

/// Who talked to whom.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    packets: u64,
    bytes: u64,
    first: Option<i64>,
    last: Option<i64>,
    protocols: HashMap<String, Count>,
    pairs: HashMap<(String, String), Count>,
    ports: HashMap<String, Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

/// What a capture holds.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// Packets.
    pub(crate) packets: u64,
    /// Their bytes on the wire.
    pub(crate) bytes: u64,
    /// Seconds from the first to the last one.
    pub(crate) seconds: f64,
    /// Which protocols, the most bytes first.
    pub(crate) protocols: Vec<Share>,
    /// Who sent most to whom.
    pub(crate) talkers: Vec<Talk>,
    /// To which ports most was sent or from which it came, the lower port of each packet.
    pub(crate) ports: Vec<Share>,
}

/// A part of a capture.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    /// What.
    pub(crate) name: String,
    /// Packets.
    pub(crate) packets: u64,
    /// Bytes on the wire.
    pub(crate) bytes: u64,
}

/// What one end sent to another.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Talk {
    /// Who sent.
    pub(crate) source: String,
    /// Who was sent to.
    pub(crate) destination: String,
    /// Packets.
    pub(crate) packets: u64,
    /// Bytes on the wire.
    pub(crate) bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, packet: Packet<'_>) {
        self.packets += 1;
        self.bytes += u64::from(packet.length);
        self.first = Some(self.first.map_or(packet.micros, |first| first.min(packet.micros)));
        self.last = Some(self.last.map_or(packet.micros, |last| last.max(packet.micros)));
        let seen = Seen::of(packet.link, packet.data).unwrap_or_default();
        count(&mut self.protocols, seen.protocol.to_owned(), packet.length);
        if let Some((source, destination)) = seen.ends {
            count(&mut self.pairs, (source.to_string(), destination.to_string()), packet.length);
        }
        if let Some((one, other)) = seen.ports {
            count(&mut self.ports, format!("{} {}", seen.protocol, one.min(other)), packet.length);
        }
    }

    pub(crate) fn summary(self) -> Summary {
        let micros = self.last.unwrap_or(0).saturating_sub(self.first.unwrap_or(0));
        Summary {
            packets: self.packets,
            bytes: self.bytes,
            seconds: (micros as f64 / 1000.0).round() / 1000.0,
            protocols: shares(self.protocols),
            talkers: top(self.pairs)
                .into_iter()
                .map(|((source, destination), count)| Talk {
                    source,
                    destination,
                    packets: count.packets,
                    bytes: count.bytes,
                })
                .collect(),
            ports: shares(self.ports),
        }
    }
}

fn count<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, Count>, key: K, length: u32) {
    if counts.len() >= MAX_PAIRS && !counts.contains_key(&key) {
        return;
    }
    let count = counts.entry(key).or_default();
    count.packets += 1;
    count.bytes += u64::from(length);
}

fn top<K: Ord>(counts: HashMap<K, Count>) -> Vec<(K, Count)> {
    let mut all: Vec<_> = counts.into_iter().collect();
    model::order::sort_by(&mut all, |one, other| {
        other.1.bytes.cmp(&one.1.bytes).then_with(|| one.0.cmp(&other.0))
    });
    all.truncate(TOP);
    all
}

fn shares(counts: HashMap<String, Count>) -> Vec<Share> {
    let share = |(name, count): (String, Count)| Share { name, packets: count.packets, bytes: count.bytes };
    top(counts).into_iter().map(share).collect()
}

/// What is seen of one packet.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    protocol: &'static str,
    ends: Option<(IpAddr, IpAddr)>,
    ports: Option<(u16, u16)>,
}

impl Default for Seen {
    fn default() -> Self {
        Self::plain("other")
    }
}

impl Seen {
    fn plain(protocol: &'static str) -> Self {
        Self { protocol, ends: None, ports: None }
    }

    fn of(link: u32, data: &[u8]) -> Option<Self> {
        let (kind, rest) = match link {
            // Ethernet, with any number of VLAN tags.
            1 => {
                let mut at = 12;
                let mut kind = word(data, at)?;
                while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
                    at += 4;
                    kind = word(data, at)?;
                }
                (kind, data.get(at + 2..)?)
            }
            // Raw IP.
            12 | 14 | 101 => (if data.first()? >> 4 == 6 { 0x86dd } else { 0x0800 }, data),
            // What Linux writes for "any", in two versions.
            113 => (word(data, 14)?, data.get(16..)?),
            276 => (word(data, 0)?, data.get(20..)?),
            _ => return None,
        };
        match kind {
            0x0800 => Self::ipv4(rest),
            0x86dd => Self::ipv6(rest),
            0x0806 => Some(Self::plain("arp")),
            0x88cc => Some(Self::plain("lldp")),
            _ => None,
        }
    }

    fn ipv4(data: &[u8]) -> Option<Self> {
        let length = usize::from(data.first()? & 0xf) * 4;
        let address =
            |at: usize| Some(IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(data.get(at..at + 4)?).ok()?)));
        let ends = (address(12)?, address(16)?);
        // Only the first fragment has ports.
        let first = word(data, 6)? & 0x1fff == 0;
        let inner = data.get(length.max(20)..).filter(|_| first).unwrap_or_default();
        Some(Self::inner(*data.get(9)?, ends, inner))
    }

    fn ipv6(data: &[u8]) -> Option<Self> {
        let address = |at: usize| {
            Some(IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(data.get(at..at + 16)?).ok()?)))
        };
        let ends = (address(8)?, address(24)?);
        let mut kind = *data.get(6)?;
        let mut rest = data.get(40..)?;
        // Headers in between, each of which tells the next. A limit, because the network wrote them.
        for _ in 0..8 {
            let length = match kind {
                0 | 43 | 60 | 135 => usize::from(*rest.get(1).unwrap_or(&0)) * 8 + 8,
                44 => 8,
                _ => break,
            };
            kind = rest.first().copied().unwrap_or(59);
            rest = rest.get(length..).unwrap_or_default();
        }
        Some(Self::inner(kind, ends, rest))
    }

    fn inner(kind: u8, ends: (IpAddr, IpAddr), data: &[u8]) -> Self {
        let protocol = match kind {
            1 => "icmp",
            2 => "igmp",
            6 => "tcp",
            17 => "udp",
            47 => "gre",
            50 => "esp",
            58 => "icmpv6",
            89 => "ospf",
            112 => "vrrp",
            132 => "sctp",
            _ => "other ip",
        };
        let has_ports = matches!(kind, 6 | 17 | 132);
        let ports = has_ports.then(|| Some((word(data, 0)?, word(data, 2)?))).flatten();
        Self { protocol, ends: Some(ends), ports }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(link: u32) -> Vec<u8> {
        let mut bytes = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
        bytes.extend(link.to_le_bytes());
        bytes
    }

    fn packet(seconds: u32, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        [seconds, 500_000, length, length]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .chain(data.iter().copied())
            .collect()
    }

    fn udp(source: [u8; 4], destination: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
        let mut data = vec![0; 12];
        data.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        data.extend(source);
        data.extend(destination);
        data.extend(ports.0.to_be_bytes());
        data.extend(ports.1.to_be_bytes());
        data.extend([0, 8, 0, 0]);
        data
    }

    fn sum(bytes: &[u8], piece: usize) -> Result<Summary, NoPcap> {
        let (mut splitter, mut tally) = (Splitter::default(), Tally::default());
        for piece in bytes.chunks(piece) {
            splitter.push(
                piece,
                |_| Ok(()),
                |packet| {
                    tally.add(packet);
                    Ok::<_, NoPcap>(true)
                },
            )?;
        }
        Ok(tally.summary())
    }

    #[test]
    fn a_capture_is_summed_up_however_it_arrives() {
        let mut file = header(1);
        file.extend(packet(10, &udp([10, 0, 0, 1], [10, 0, 0, 2], (40_000, 53))));
        file.extend(packet(12, &udp([10, 0, 0, 2], [10, 0, 0, 1], (53, 40_000))));
        file.extend(packet(12, &udp([10, 0, 0, 1], [10, 0, 0, 2], (40_001, 53))));
        let mut arp = vec![0; 12];
        arp.extend([8, 6, 0, 1]);
        file.extend(packet(13, &arp));
        for piece in [1, 7, 4096] {
            let summary = sum(&file, piece).unwrap();
            assert_eq!((summary.packets, summary.bytes, summary.seconds), (4, 3 * 42 + 16, 3.0));
            assert_eq!(summary.protocols[0], Share { name: "udp".into(), packets: 3, bytes: 126 });
            assert_eq!(summary.protocols[1].name, "arp");
            assert_eq!(
                summary.talkers[0],
                Talk { source: "10.0.0.1".into(), destination: "10.0.0.2".into(), packets: 2, bytes: 84 }
            );
            assert_eq!(summary.ports, [Share { name: "udp 53".into(), packets: 3, bytes: 126 }]);
        }
    }

    #[test]
    fn tags_ipv6_and_what_any_writes_are_understood() {
        let plain = udp([1, 1, 1, 1], [2, 2, 2, 2], (1, 2));
        let mut tagged = plain[..12].to_vec();
        tagged.extend([0x81, 0, 0, 5]);
        tagged.extend(&plain[12..]);
        let udp = Seen::of(1, &plain).unwrap();
        assert_eq!(Seen::of(1, &tagged).unwrap(), udp);
        assert_eq!(Seen::of(101, &plain[14..]).unwrap(), udp);
        let mut any = vec![8, 0];
        any.extend([0; 18]);
        any.extend(&plain[14..]);
        assert_eq!(Seen::of(276, &any).unwrap(), udp);
        let mut six = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
        six.extend([1; 16]);
        six.extend([2; 16]);
        six.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        six.extend([0, 80, 1, 187]);
        let seen = Seen::of(101, &six).unwrap();
        assert_eq!((seen.protocol, seen.ports), ("tcp", Some((80, 443))));
    }

    #[test]
    fn what_is_no_pcap_and_packets_of_impossible_length_are_refused() {
        assert!(sum(&[7; 24], 24).is_err());
        let mut file = header(1);
        file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0, 0]);
        assert!(sum(&file, 100).is_err());
    }

    proptest! {
        #[test]
        fn no_stream_panics(link in prop_oneof![Just(1u32), Just(101), Just(113), Just(276), any::<u32>()], packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6), piece in 1usize..50) {
            let mut file = header(link);
            packets.iter().for_each(|data| file.extend(packet(1, data)));
            let summary = sum(&file, piece).unwrap();
            prop_assert_eq!(summary.packets, packets.len() as u64);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = sum(&bytes, 13);
            for link in [1, 101, 113, 276] {
                let _ = Seen::of(link, &bytes);
            }
        }
    }
}

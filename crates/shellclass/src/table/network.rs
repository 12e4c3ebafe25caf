//! The network: looking at the host's own side, and asking other hosts.

use super::{Entry, Operands, custom, options};
use crate::rules;
use crate::verdict::Need;

const NETWORK: &[Need] = &[Need::Network];

pub(super) const ENTRIES: &[Entry] = &[
    custom(
        "ip",
        rules::network::ip,
        "shows addresses, links and routes; -batch, exec, monitor to files and all that sets aren't listed",
    ),
    options(
        "ss",
        rules::network::SS,
        Operands::Any,
        "lists sockets; -K closes them, -D and -F use files, so they aren't listed",
    ),
    options(
        "netstat",
        "-a -t -u -n -l -p -r -s -i -e -c -o -4 -6 -W -N -w -x -g --all --tcp --udp --numeric --listening --programs --route --statistics --interfaces --unix --wide",
        Operands::None,
        "lists sockets and routes",
    ),
    options("route", "-n -e -4 -6", Operands::None, "prints routes; operands change them"),
    options("arp", "-a -n -e -v -i:", Operands::AtMost(1), "prints neighbours; -s and -d change them"),
    options("ifconfig", "-a -s -v", Operands::AtMost(1), "prints links; more operands change them"),
    options("iwconfig", "", Operands::AtMost(1), "prints wireless links; more operands change them"),
    options(
        "ethtool",
        "-i -S -k -g -a -c -l -P -T -m -n -x --driver --statistics --show-features --show-ring --show-pause --show-coalesce --show-channels",
        Operands::AtMost(1),
        "prints a link's settings; capital letters and names with values set them",
    ),
    custom("nft", rules::network::firewall, "lists rules; all else changes the firewall"),
    custom("iptables", rules::network::firewall, "lists rules; all else changes the firewall"),
    custom("ip6tables", rules::network::firewall, "lists rules; all else changes the firewall"),
    custom("ebtables", rules::network::firewall, "lists rules; all else changes the firewall"),
    custom("arptables", rules::network::firewall, "lists rules; all else changes the firewall"),
    custom("iptables-save", rules::network::firewall, "prints rules; -f writes and isn't listed"),
    custom("ip6tables-save", rules::network::firewall, "prints rules; -f writes and isn't listed"),
    custom("ufw", rules::network::firewall, "prints the firewall's state"),
    custom("firewall-cmd", rules::network::firewall, "prints the firewall's state"),
    custom("ping", rules::network::ping, "asks a host whether it answers"),
    custom("ping6", rules::network::ping, "asks a host whether it answers"),
    custom("traceroute", rules::network::ping, "finds the way to a host"),
    options("tracepath", "-n -b -m: -p: -4 -6 -l:", Operands::Hosts, "finds the way to a host")
        .needs(NETWORK),
    options(
        "mtr",
        "-r -w -c: -n -b -4 -6 -T -u --report --report-wide --report-cycles= --no-dns --json",
        Operands::Hosts,
        "finds the way to a host; --filename isn't listed",
    )
    .needs(NETWORK),
    custom("dig", rules::network::dig, "asks a name server; -f and -k read files and aren't listed"),
    custom("host", rules::network::dig, "asks a name server"),
    custom("nslookup", rules::network::dig, "asks a name server"),
    custom(
        "curl",
        rules::network::curl,
        "asks a server with GET or HEAD and prints; own headers, bodies, files and configuration aren't listed",
    ),
    custom(
        "wget",
        rules::network::wget,
        "asks a server and prints; it writes a file unless it is told not to",
    ),
    custom("nc", rules::network::netcat, "with -z sees whether a port is open"),
    custom("ncat", rules::network::netcat, "with -z sees whether a port is open"),
    custom("netcat", rules::network::netcat, "with -z sees whether a port is open"),
    custom("openssl", rules::network::openssl, "shows certificates, and what a server presents"),
];

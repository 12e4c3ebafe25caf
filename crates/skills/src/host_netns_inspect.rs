//! Tells which network namespaces the host has, with their links, addresses and routes.

use crate::support::errors::{blocking, denied, failed, not_found, of_io, unsupported};
use crate::support::machine::namespaces::{self, NAMED, Namespace};
use crate::support::machine::process;
use crate::support::net::netlink::{self, Snapshot};
use model::{Class, Scope};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError, SkillErrorKind};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Most namespaces that are looked into.
const MAX_NAMESPACES: usize = 64;

/// Most routes of each namespace.
const MAX_ROUTES: usize = 500;

pub(crate) struct HostNetnsInspect;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// One namespace: a name under `/run/netns`, the pid of a process that lives in it, or `host` for the agent's own. Left out: all.
    #[schemars(length(min = 1, max = 255))]
    namespace: Option<String>,
    /// Whether to list routes.
    #[serde(default = "yes")]
    include_routes: bool,
    /// Whether to list links with their addresses.
    #[serde(default = "yes")]
    include_links: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How many network namespaces were found.
    total: u32,
    /// The namespaces: the agent's own first, then those with names.
    namespaces: Vec<Described>,
    /// Remarks, for example what could not be seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Described {
    /// `host` for the agent's own, its name, or `pid N (name)` of a process in it.
    namespace: String,
    /// Names under `/run/netns`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Its number, as in `net:[4026531840]`.
    inode: u64,
    /// How many processes live in it.
    processes: u32,
    /// Some of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<String>,
    /// Network interfaces with their addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<ShownLink>>,
    /// Routes, without the kernel's own about the host's addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Vec<ShownRoute>>,
    /// Whether there are more routes than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_routes: bool,
    /// Why it could not be looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownLink {
    /// Name.
    name: String,
    /// `veth`, `bridge`, `vlan` and the like; left out for a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Whether it is switched on.
    up: bool,
    /// What the driver says: `up`, `down`, `unknown` and others.
    state: String,
    /// Largest packet in bytes.
    mtu: u32,
    /// Hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware_address: Option<String>,
    /// The bridge or bond that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<String>,
    /// Its other end or the device under it; by number if that is in another namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// Addresses with their prefixes, for example `10.0.0.5/24`.
    addresses: Vec<String>,
    /// Bytes received.
    received_bytes: u64,
    /// Bytes sent.
    sent_bytes: u64,
    /// Packets that were broken, both ways.
    errors: u64,
    /// Packets that were dropped, both ways.
    dropped: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownRoute {
    /// `default`, or a range such as `10.0.0.0/8`.
    destination: String,
    /// The ways there: gateway and link.
    via: Vec<String>,
    /// `unicast`, or `blackhole`, `unreachable`, `prohibit`, `throw`, which lead nowhere.
    kind: String,
    /// Address that packets get.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The lower, the better.
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<u32>,
    /// Number of the routing table; 254 is the main one.
    table: u32,
    /// Who made it: `kernel`, `boot`, `static`, `dhcp`, `ra`, `bgp` and others.
    protocol: String,
}

impl Skill for HostNetnsInspect {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_netns_inspect",
        name: "Network namespaces",
        description: "List the network namespaces of the host (its own, named ones, those of containers) with their network interfaces, addresses and routes. Looking into others than its own needs an agent with CAP_SYS_ADMIN.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "host: eth0 10.0.0.5/24, default via 10.0.0.1; blue: veth1 10.1.0.2/24",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = Arc::clone(&cx.host);
        let cancel = cx.cancel.clone();
        blocking(move || inspect(host.as_ref(), &params, &|| cancel.is_cancelled())).await
    }
}

fn inspect(host: &dyn Host, params: &Params, stop: &dyn Fn() -> bool) -> Result<Output, SkillError> {
    let (all, hidden) = namespaces::all(host);
    if all.is_empty() {
        return Err(unsupported(
            "the kernel doesn't tell network namespaces: /proc is missing or incomplete",
        ));
    }
    let total = all.len() as u32;
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!(
            "{hidden} processes of other users don't show their namespace to the agent, which doesn't run as root"
        ));
    }
    let chosen: Vec<Namespace> = match params.namespace.as_deref() {
        Some(wanted) => vec![choose(host, &all, wanted)?],
        None => {
            if all.len() > MAX_NAMESPACES {
                notes.push(format!(
                    "only {MAX_NAMESPACES} of {total} namespaces are listed; ask for one by its name or a pid"
                ));
            }
            all.into_iter().take(MAX_NAMESPACES).collect()
        }
    };
    let one = params.namespace.is_some();
    let mut described = Vec::new();
    for namespace in chosen {
        if stop() {
            return Err(SkillError::new(SkillErrorKind::Cancelled, "stopped"));
        }
        let mut shown = Described::of(host, &namespace);
        if params.include_links || params.include_routes {
            match look_into(host, &namespace, params.include_routes) {
                Ok(found) => shown.fill(found, params),
                Err(error) if one => return Err(error),
                Err(error) => shown.error = Some(error.message),
            }
        }
        described.push(shown);
    }
    Ok(Output { total, namespaces: described, notes })
}

/// The namespace that is meant.
fn choose(host: &dyn Host, all: &[Namespace], wanted: &str) -> Result<Namespace, SkillError> {
    let found = |is: &dyn Fn(&Namespace) -> bool| all.iter().find(|namespace| is(namespace)).cloned();
    if let Some(named) = found(&|namespace| namespace.names.iter().any(|name| name == wanted)) {
        return Ok(named);
    }
    if matches!(wanted, "host" | "default" | "root") {
        return found(&|namespace| namespace.own)
            .ok_or_else(|| unsupported("the kernel doesn't tell the agent's own namespace"));
    }
    if let Ok(pid) = wanted.parse::<u32>() {
        if !host.path(&format!("/proc/{pid}")).exists() {
            return Err(not_found(format!("there is no process {pid}")));
        }
        let inode = namespaces::of_process(host, wanted).ok_or_else(|| {
            denied(format!("the agent may not see the namespace of process {pid}: it doesn't run as root"))
        })?;
        return found(&|namespace| namespace.inode == inode)
            .ok_or_else(|| not_found(format!("process {pid} has just ended")));
    }
    let names: Vec<&str> =
        all.iter().flat_map(|namespace| &namespace.names).map(String::as_str).take(20).collect();
    let known = if names.is_empty() {
        format!("{NAMED} holds none")
    } else {
        format!("there are {}", names.join(", "))
    };
    Err(not_found(format!("there is no network namespace `{wanted}`; {known}. A pid or `host` works too")))
}

/// Reads a namespace from inside. A thread goes in for that and ends there, so that nothing else of the agent is moved.
fn look_into(host: &dyn Host, namespace: &Namespace, routes: bool) -> Result<Snapshot, SkillError> {
    let routes = routes.then_some(MAX_ROUTES);
    let read = move || {
        netlink::snapshot(routes).map_err(|error| of_io("ask the kernel for the network", &error.into()))
    };
    if namespace.own {
        return read();
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Those of processes are links of the kernel's; named ones are mounts and may not be links.
    let flags = if namespace.place.starts_with("/proc/") { flags - OFlags::NOFOLLOW } else { flags };
    let place =
        open(host.path(&namespace.place), flags, Mode::empty()).map_err(|error| explain(namespace, error))?;
    let place_of_error = namespace.clone();
    let inside = move || {
        move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| explain(&place_of_error, error))?;
        read()
    };
    let thread = std::thread::Builder::new().name("netns".to_owned()).spawn(inside);
    let thread = thread.map_err(|error| of_io("start a thread", &error))?;
    thread.join().map_err(|_| failed("looking into the namespace ended unexpectedly"))?
}

fn explain(namespace: &Namespace, error: Errno) -> SkillError {
    let place = &namespace.place;
    match error {
        Errno::PERM | Errno::ACCESS => denied(format!(
            "the agent may not enter `{place}`: it needs CAP_SYS_ADMIN, which an agent that runs as root has"
        )),
        Errno::NOENT | Errno::SRCH => not_found(format!("`{place}` is gone: its process has ended")),
        Errno::INVAL => failed(format!("`{place}` is no network namespace: it was left behind without one")),
        other => of_io(format!("enter `{place}`"), &other.into()),
    }
}

impl Described {
    fn of(host: &dyn Host, namespace: &Namespace) -> Self {
        let examples: Vec<String> = namespace
            .examples
            .iter()
            .filter_map(|pid| process::one(host, *pid))
            .map(|process| format!("pid {} ({})", process.pid, process.name))
            .collect();
        let called = if namespace.own {
            "host".to_owned()
        } else {
            let first = namespace.names.first().or(examples.first()).cloned();
            first.unwrap_or_else(|| format!("net:[{}]", namespace.inode))
        };
        Self {
            namespace: called,
            names: namespace.names.clone(),
            inode: namespace.inode,
            processes: namespace.processes,
            examples,
            links: None,
            routes: None,
            more_routes: false,
            error: None,
        }
    }

    fn fill(&mut self, found: Snapshot, params: &Params) {
        let names: HashMap<u32, String> =
            found.links.iter().map(|link| (link.index, link.name.clone())).collect();
        let named = |index: u32| names.get(&index).cloned().unwrap_or_else(|| format!("#{index}"));
        if params.include_links {
            self.links = Some(found.links.iter().map(|link| ShownLink::of(link, &found, &named)).collect());
        }
        if params.include_routes {
            self.more_routes = found.more_routes;
            self.routes = Some(found.routes.iter().map(|route| ShownRoute::of(route, &named)).collect());
        }
    }
}

impl ShownLink {
    fn of(link: &netlink::Link, found: &Snapshot, named: &dyn Fn(u32) -> String) -> Self {
        let own = found.addresses.iter().filter(|address| address.link == link.index);
        Self {
            name: link.name.clone(),
            kind: link.kind.clone(),
            up: link.up,
            state: link.state.to_owned(),
            mtu: link.mtu,
            hardware_address: link.hardware_address.clone(),
            master: link.master.map(named),
            peer: link.peer.map(|peer| {
                if link.peer_elsewhere { format!("#{peer} of another namespace") } else { named(peer) }
            }),
            addresses: own.map(|address| format!("{}/{}", address.address, address.prefix)).collect(),
            received_bytes: link.received_bytes,
            sent_bytes: link.sent_bytes,
            errors: link.errors,
            dropped: link.dropped,
        }
    }
}

impl ShownRoute {
    fn of(route: &netlink::Route, named: &dyn Fn(u32) -> String) -> Self {
        let way = |(gateway, link): &(Option<std::net::IpAddr>, Option<u32>)| match (gateway, link) {
            (Some(gateway), Some(link)) => Some(format!("{gateway} dev {}", named(*link))),
            (Some(gateway), None) => Some(gateway.to_string()),
            (None, Some(link)) => Some(format!("dev {}", named(*link))),
            (None, None) => None,
        };
        Self {
            destination: route.destination.clone(),
            via: route.hops.iter().filter_map(way).collect(),
            kind: route.kind.to_owned(),
            source: route.source.map(|source| source.to_string()),
            metric: route.metric,
            table: route.table,
            protocol: route.protocol.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use crate::{RealHost, RealHostConfig};
    use std::os::unix::fs::symlink;

    fn params(namespace: Option<&str>) -> Params {
        Params { namespace: namespace.map(str::to_owned), include_routes: true, include_links: true }
    }

    fn fixture() -> FakeHost {
        let stat = |pid: u32| format!("{pid} (app{pid}) S 1 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 5 1 1 0");
        let host = FakeHost::empty().with("/run/netns/blue", "not a namespace");
        for (process, inode) in [("self", 1), ("10", 1), ("20", 77), ("30", 77)] {
            host.write(&format!("/proc/{process}/stat"), stat(process.parse().unwrap_or(10)));
            std::fs::create_dir_all(host.path(&format!("/proc/{process}/ns"))).unwrap();
            symlink(format!("net:[{inode}]"), host.path(&format!("/proc/{process}/ns/net"))).unwrap();
        }
        host
    }

    #[tokio::test]
    async fn named_ones_and_those_of_processes_are_found_once_each() {
        let output = Skill::run(&HostNetnsInspect, &fixture().context(), params(None)).await.unwrap();
        let shown: Vec<_> =
            output.namespaces.iter().map(|one| (one.namespace.as_str(), one.processes)).collect();
        assert_eq!(shown, [("host", 1), ("blue", 0), ("pid 20 (app20)", 2)]);
        assert!(
            output.namespaces[0]
                .links
                .as_ref()
                .is_some_and(|links| links.iter().any(|link| link.name == "lo"))
        );
        assert!(output.namespaces[1].error.is_some() && output.namespaces[2].error.is_some());
    }

    #[tokio::test]
    async fn one_can_be_asked_for_and_what_is_none_is_told() {
        let cx = fixture().context();
        let host = Skill::run(&HostNetnsInspect, &cx, params(Some("host"))).await.unwrap();
        assert_eq!((host.total, host.namespaces.len()), (3, 1));
        let own = Skill::run(&HostNetnsInspect, &cx, params(Some("10"))).await.unwrap();
        assert_eq!(own.namespaces[0].namespace, "host");
        for name in ["green", "99"] {
            let error = Skill::run(&HostNetnsInspect, &cx, params(Some(name))).await.unwrap_err();
            assert_eq!(error.kind, SkillErrorKind::NotFound);
            assert!(name == "99" || error.message.contains("blue"), "{error}");
        }
        // A file without a namespace: permission decides whether the kernel even looks at it.
        let error = Skill::run(&HostNetnsInspect, &cx, params(Some("blue"))).await.unwrap_err();
        assert!(matches!(error.kind, SkillErrorKind::Failed | SkillErrorKind::PermissionDenied), "{error}");
    }

    #[tokio::test]
    async fn the_real_host_shows_its_own() {
        let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
        let cx = SkillContext::new(Arc::new(host));
        let output = Skill::run(&HostNetnsInspect, &cx, params(Some("host"))).await.unwrap();
        let own = &output.namespaces[0];
        let expected = std::fs::read_link("/proc/self/ns/net").unwrap();
        assert_eq!(format!("net:[{}]", own.inode), expected.display().to_string());
        assert!(own.routes.is_some() && own.error.is_none());
    }

    #[tokio::test]
    async fn a_host_without_proc_is_unsupported() {
        let error =
            Skill::run(&HostNetnsInspect, &FakeHost::empty().context(), params(None)).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
    }
}

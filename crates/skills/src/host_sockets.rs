//! Lists the host's TCP and UDP sockets with the processes that hold them.

use crate::support::errors::{blocking, unsupported};
use crate::support::files::facts::Names;
use crate::support::machine::process;
use crate::support::machine::sockets::{self, Holders, PROTOCOLS, Socket, State};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Most sockets that are listed.
const MAX_LISTED: usize = 1000;

/// Most sockets that are kept while looking for their processes.
const MAX_KEPT: usize = 20_000;

/// How long is looked for the processes of sockets.
const LOOK_FOR: Duration = Duration::from_secs(10);

pub(crate) struct HostSockets;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Which sockets: `listening` (UDP sockets without a peer too), `established`, `open` (both), `other` (opening or closing connections) or `all`.
    #[serde(default)]
    state: Wanted,
    /// Only sockets with this port: their own, or the peer's of an established connection.
    #[schemars(range(min = 1, max = 65_535))]
    port: Option<u16>,
    /// Only sockets of this process: a pid, or text that its name or command line contains (case ignored).
    #[schemars(length(min = 1, max = 256))]
    process: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Listening,
    Established,
    #[default]
    Open,
    Other,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How many sockets the host has, by protocol and state.
    counts: BTreeMap<String, u32>,
    /// How many fit the filters.
    matched: u32,
    /// The sockets: those that listen first, by port.
    sockets: Vec<Listed>,
    /// Whether more fit than are listed.
    truncated: bool,
    /// Remarks, for example what could not be seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// `tcp`, `tcp6`, `udp` or `udp6`. A `6` one that listens on `[::]` mostly takes IPv4 too.
    protocol: String,
    /// What it is doing.
    state: String,
    /// Its own address and port. `0.0.0.0` and `[::]` are all addresses of the host.
    local: String,
    /// The peer's address and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    /// Bytes that wait to be read; of a listening socket, connections that wait to be accepted.
    receive_queue: u64,
    /// Bytes that wait to be sent.
    send_queue: u64,
    /// The user that opened it.
    user: String,
    /// The processes that hold it. Empty where none could be seen.
    processes: Vec<Holder>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Holder {
    /// Process id.
    pid: u32,
    /// Short name.
    name: String,
    /// Command with its arguments.
    command: String,
    /// The systemd unit that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

impl Skill for HostSockets {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_sockets",
        name: "Sockets",
        description: "List the TCP and UDP sockets of the host that listen or are connected, with the processes that hold them: which process listens on a port, who is connected to whom. Can be filtered by state, port and process.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "network",
        result_preview: "tcp 0.0.0.0:8080 listening: java (pid 812); 41 established",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = Arc::clone(&cx.host);
        let cancel = cx.cancel.clone();
        blocking(move || list(host.as_ref(), &params, &|| cancel.is_cancelled())).await
    }
}

fn list(host: &dyn Host, params: &Params, stop: &dyn Fn() -> bool) -> Result<Output, SkillError> {
    let mut counts = BTreeMap::new();
    let mut kept = Vec::new();
    let mut fitting = 0u32;
    let mut notes = Vec::new();
    let mut lists = 0;
    for protocol in PROTOCOLS {
        let listed = sockets::for_each(host, protocol, |socket| {
            *counts.entry(format!("{protocol} {}", socket.state.word())).or_insert(0) += 1;
            if params.fits(&socket) {
                fitting += 1;
                if kept.len() < MAX_KEPT {
                    kept.push(socket);
                }
            }
        });
        lists += u32::from(listed);
    }
    if lists == 0 {
        return Err(unsupported("the kernel doesn't list sockets: /proc/net is missing"));
    }
    // Those that listen first: of many connections only some may have room.
    model::order::sort_by_key(&mut kept, |socket| {
        (socket.state != State::Listen, socket.local.port(), socket.protocol, socket.remote)
    });
    let wanted_process = params.process.as_deref();
    if wanted_process.is_none() {
        kept.truncate(MAX_LISTED);
    } else if fitting as usize > kept.len() {
        notes.push(format!("only {MAX_KEPT} of {fitting} sockets were looked at; give a port or a state"));
    }
    let inodes: HashSet<u64> = kept.iter().map(|socket| socket.inode).filter(|inode| *inode != 0).collect();
    let holders =
        if inodes.is_empty() { Holders::default() } else { Holders::of(host, &inodes, LOOK_FOR, stop) };
    let mut described: HashMap<u32, Option<Holder>> = HashMap::new();
    let users = Names::users(host);
    let mut without = 0;
    let mut found = Vec::new();
    let mut matched = 0;
    for socket in kept {
        let pids = holders.by_inode.get(&socket.inode).map(Vec::as_slice).unwrap_or_default();
        let processes: Vec<Holder> = pids
            .iter()
            .filter_map(|pid| described.entry(*pid).or_insert_with(|| Holder::of(host, *pid)).clone())
            .collect();
        if wanted_process.is_some_and(|wanted| !processes.iter().any(|holder| holder.is(wanted))) {
            continue;
        }
        matched += 1;
        without += u32::from(processes.is_empty() && socket.inode != 0);
        if found.len() < MAX_LISTED {
            found.push(Listed::of(&socket, processes, &users));
        }
    }
    if wanted_process.is_none() {
        matched = fitting;
    }
    notes.extend(holders.remarks(without, wanted_process.is_some()));
    Ok(Output { counts, matched, truncated: found.len() < matched as usize, sockets: found, notes })
}

impl Params {
    fn fits(&self, socket: &Socket) -> bool {
        let connected = socket.state == State::Established;
        let listens = socket.state == State::Listen;
        let state = match self.state {
            Wanted::Listening => listens,
            Wanted::Established => connected,
            Wanted::Open => listens || connected,
            Wanted::Other => !listens && !connected,
            Wanted::All => true,
        };
        state
            && self
                .port
                .is_none_or(|port| socket.local.port() == port || (!listens && socket.remote.port() == port))
    }
}

impl Holders {
    /// What the list doesn't show.
    fn remarks(&self, without: u32, by_process: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.hidden > 0 && (without > 0 || by_process) {
            notes.push(format!(
                "{} processes of other users don't show their sockets to the agent, which doesn't run as root",
                self.hidden
            ));
        } else if without > 0 && !self.unfinished {
            notes.push(format!(
                "{without} sockets have no process that can be seen: the kernel's own, of a process that just ended, or of another pid namespace"
            ));
        }
        if self.unfinished {
            notes.push(
                "there was no time to look at all processes: some sockets are shown without theirs"
                    .to_owned(),
            );
        }
        if self.other_namespaces > 0 {
            notes.push(format!(
                "{} other network namespaces (containers) have sockets of their own, which are not listed; host_netns_inspect shows the namespaces",
                self.other_namespaces
            ));
        }
        notes
    }
}

impl Holder {
    fn of(host: &dyn Host, pid: u32) -> Option<Self> {
        let process = process::one(host, pid)?;
        let command = process::command(host, &process);
        let unit = process::cgroup(host, pid).as_deref().and_then(process::unit_of);
        Some(Self { pid, name: process.name, command, unit })
    }

    fn is(&self, wanted: &str) -> bool {
        if let Ok(pid) = wanted.parse::<u32>() {
            return self.pid == pid;
        }
        let wanted = wanted.to_lowercase();
        self.name.to_lowercase().contains(&wanted) || self.command.to_lowercase().contains(&wanted)
    }
}

impl Listed {
    fn of(socket: &Socket, processes: Vec<Holder>, users: &Names) -> Self {
        let listens = socket.state == State::Listen;
        Self {
            protocol: socket.protocol.to_owned(),
            state: socket.state.word().to_owned(),
            local: socket.local.to_string(),
            remote: (!listens).then(|| socket.remote.to_string()),
            receive_queue: socket.receive_queue,
            send_queue: socket.send_queue,
            user: users.of(socket.user),
            processes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use crate::{RealHost, RealHostConfig};
    use skill::SkillErrorKind;
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(local: &str, remote: &str, state: &str, inode: u64) -> String {
        format!("0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 33 0 {inode} 1\n")
    }

    fn fixture() -> FakeHost {
        let tcp = [
            HEAD.to_owned(),
            line("0100007F:1F90", "00000000:0000", "0A", 1),
            line("0100007F:1F90", "0200007F:C001", "01", 2),
            line("0100007F:C002", "0300007F:01BB", "01", 3),
            line("0100007F:C003", "0300007F:01BB", "06", 0),
            "broken\n".to_owned(),
        ]
        .concat();
        let udp = [HEAD.to_owned(), line("00000000:0035", "00000000:0000", "07", 4)].concat();
        let stat =
            |pid: u32, name: &str| format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 5 1 1 0");
        let host = FakeHost::empty()
            .with("/proc/net/tcp", tcp)
            .with("/proc/net/udp", udp)
            .with("/etc/passwd", "www-data:x:33:33::/:/bin/sh\n")
            .with("/proc/10/stat", stat(10, "java"))
            .with("/proc/10/cmdline", b"/usr/bin/java\0-jar\0app.jar\0")
            .with("/proc/10/fd/x", "")
            .with("/proc/20/stat", stat(20, "dnsmasq"))
            .with("/proc/20/fd/x", "");
        for (place, inode) in [("/proc/10/fd/3", 1), ("/proc/10/fd/4", 2), ("/proc/20/fd/5", 4)] {
            symlink(format!("socket:[{inode}]"), host.path(place)).unwrap();
        }
        host
    }

    async fn run(host: FakeHost, params: Params) -> Output {
        Skill::run(&HostSockets, &host.context(), params).await.unwrap()
    }

    fn params() -> Params {
        Params { state: Wanted::Open, port: None, process: None }
    }

    #[tokio::test]
    async fn sockets_are_listed_with_their_processes() {
        let output = run(fixture(), params()).await;
        assert_eq!((output.matched, output.sockets.len(), output.truncated), (4, 4, false));
        let java = output.sockets.iter().find(|socket| socket.local == "127.0.0.1:8080").unwrap();
        assert_eq!(
            (java.state.as_str(), java.user.as_str(), java.remote.as_ref()),
            ("listening", "www-data", None)
        );
        assert_eq!(
            (java.processes[0].pid, java.processes[0].command.as_str()),
            (10, "/usr/bin/java -jar app.jar")
        );
        assert_eq!(output.counts["tcp time_wait"], 1);
        assert!(output.notes[0].contains("1 sockets have no process"), "{:?}", output.notes);
    }

    #[tokio::test]
    async fn filters_narrow_by_state_port_and_process() {
        let listening = run(fixture(), Params { state: Wanted::Listening, ..params() }).await;
        assert_eq!(listening.matched, 2);
        let port = run(fixture(), Params { port: Some(443), ..params() }).await;
        assert_eq!(port.sockets[0].remote.as_deref(), Some("127.0.0.3:443"));
        let closing = run(fixture(), Params { state: Wanted::Other, ..params() }).await;
        assert_eq!(closing.sockets[0].state, "time_wait");
        for process in ["JAVA", "app.jar", "10"] {
            let output = run(fixture(), Params { process: Some(process.to_owned()), ..params() }).await;
            assert_eq!(output.matched, 2, "{process}");
        }
    }

    #[tokio::test]
    async fn many_connections_are_cut_but_counted() {
        let mut tcp = HEAD.to_owned();
        for number in 0..5000 {
            tcp.push_str(&line("0100007F:1F90", &format!("0200007F:{:04X}", number + 1), "01", 0));
        }
        tcp.push_str(&line("0100007F:1F90", "00000000:0000", "0A", 1));
        let output = run(FakeHost::empty().with("/proc/net/tcp", tcp), params()).await;
        assert_eq!((output.matched, output.sockets.len(), output.truncated), (5001, MAX_LISTED, true));
        assert_eq!(output.sockets[0].state, "listening");
    }

    #[tokio::test]
    async fn a_host_without_the_lists_is_unsupported() {
        let error = Skill::run(&HostSockets, &FakeHost::empty().context(), params()).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
    }

    #[tokio::test]
    async fn a_real_listener_is_found_with_this_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
        let cx = SkillContext::new(Arc::new(host));
        let output = Skill::run(
            &HostSockets,
            &cx,
            Params { state: Wanted::Listening, port: Some(port), process: None },
        )
        .await
        .unwrap();
        assert_eq!(output.sockets[0].local, format!("127.0.0.1:{port}"));
        assert_eq!(output.sockets[0].processes[0].pid, std::process::id());
    }
}

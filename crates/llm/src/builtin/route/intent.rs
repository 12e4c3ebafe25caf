//! Weighs what a clause may ask for. Each reading gets points for the words and names that speak for it.

use super::concept::Concept::{self, *};
use super::facts::{Facts, PlaceKind, Role};
use super::orders::Commands;
use super::token::Token;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Intent {
    ProbeTcp,
    ProbeDns,
    ProbeHttp,
    TailFile,
    ReadFile,
    Journal,
    Load,
    Processes,
    Service,
    Edges,
    Restart,
    Kill,
    Reboot,
    ReadResult,
    Ping,
    DiskUse,
    Sockets,
    Namespaces,
    Shutdown,
    Unsupported,
}

/// Fewer points than this are no reading at all.
pub(super) const LEAST: i32 = 4;
/// So many points make a clause stand on its own.
pub(super) const STANDS_ALONE: i32 = 5;

const RESOURCES: &[Concept] = &[Cpu, Mem, Swap, Disk, Net, Temp, Io];
const SEVERITIES: &[Concept] = &[Error, Warn, Crit, Emerg, Alert, Notice, Info, Debug];

/// The readings of a clause, the strongest first. Equal ones keep the order of [`Intent`].
pub(super) fn rank(tokens: &[Token], facts: &Facts) -> Vec<(Intent, i32)> {
    let commands = Commands::read(tokens, facts);
    let mut ranked: Vec<(Intent, i32)> = [
        (Intent::ProbeTcp, tcp(facts)),
        (Intent::ProbeDns, dns(facts)),
        (Intent::ProbeHttp, http(facts)),
        (Intent::TailFile, files(facts).0),
        (Intent::ReadFile, files(facts).1),
        (Intent::Journal, journal(facts)),
        (Intent::Load, load(facts, &commands)),
        (Intent::Processes, processes(facts)),
        (Intent::Service, service(facts, &commands)),
        (Intent::Edges, edges(facts)),
        (Intent::Restart, commands.restart),
        (Intent::Kill, commands.kill),
        (Intent::Reboot, commands.reboot),
        (Intent::ReadResult, read_result(facts)),
        (Intent::Ping, if facts.has(Ping) { 8 } else { 0 }),
        (Intent::DiskUse, disk_use(facts)),
        (Intent::Sockets, sockets(facts)),
        (Intent::Namespaces, if facts.has(Netns) { 16 } else { 0 }),
        (Intent::Shutdown, commands.shutdown),
        (Intent::Unsupported, commands.unsupported),
    ]
    .into_iter()
    .filter(|(_, points)| *points >= LEAST)
    .collect();
    ranked.sort_by_key(|(intent, points)| (-points, *intent));
    ranked
}

fn points(cases: &[(bool, i32)]) -> i32 {
    cases.iter().filter(|(holds, _)| *holds).map(|(_, points)| points).sum()
}

fn tcp(facts: &Facts) -> i32 {
    let Facts { numbers, .. } = facts;
    let web = facts.any(&[Web, Curl, Cert]);
    let somewhere = !facts.places.is_empty();
    let asks = facts.any(&[Open, Reach, Check, Answer, Running, Online, Fail]);
    points(&[
        (!facts.host_ports.is_empty() && facts.urls.is_empty(), if web { 4 } else { 8 }),
        (!numbers.ports.is_empty(), 6),
        (!numbers.ports.is_empty() && asks, 3),
        (
            facts.has(Tcp)
                && (somewhere
                    || !numbers.bare.is_empty()
                    || !numbers.ports.is_empty()
                    || !facts.host_ports.is_empty()
                    || !facts.named_ports.is_empty()),
            7,
        ),
        (!facts.named_ports.is_empty() && facts.has(Port), 8),
        (
            !facts.named_ports.is_empty()
                && facts.any(&[Reach, Open])
                && somewhere
                && facts.services.is_empty(),
            6,
        ),
        (
            !facts.named_ports.is_empty()
                && facts.any(&[Reach, Open])
                && somewhere
                && !facts.services.is_empty(),
            10,
        ),
        (!facts.named_ports.is_empty() && facts.has(Open) && !somewhere, 11),
        (
            !facts.named_ports.is_empty()
                && (facts.services.as_slice() == ["ssh"] || facts.services.is_empty())
                && somewhere
                && facts.places.iter().any(|place| place.role == Role::To),
            9,
        ),
        (
            numbers.ports.is_empty()
                && facts.host_ports.is_empty()
                && !numbers.bare.is_empty()
                && facts.any(&[Open, Reach, Tcp, Offline, Online]),
            8,
        ),
        (
            facts.has(Port)
                && numbers.ports.is_empty()
                && numbers.bare.is_empty()
                && facts.named_ports.is_empty()
                && facts.host_ports.is_empty()
                && (asks || somewhere),
            6,
        ),
        (
            facts.has(Reach)
                && somewhere
                && !facts.outside()
                && numbers.ports.is_empty()
                && facts.host_ports.is_empty(),
            6,
        ),
        (facts.has(Reach) && facts.places.len() >= 2 && !facts.outside(), 4),
        (
            facts.any(&[Reach, Answer])
                && !facts.places.is_empty()
                && facts.places.iter().all(|place| place.kind == PlaceKind::Ip),
            8,
        ),
        (
            facts.any(&[Check, Running])
                && facts.places.len() == 1
                && facts.places[0].kind == PlaceKind::Ip
                && facts.words <= 5,
            6,
        ),
        (
            numbers.bare.len() == 1
                && somewhere
                && facts.words <= 5
                && numbers.ports.is_empty()
                && facts.any(&[Check, Open, Reach, Tcp, Running]),
            5,
        ),
    ])
}

fn dns(facts: &Facts) -> i32 {
    let named = facts.outside()
        || facts.places.iter().any(|place| place.kind != PlaceKind::Ip)
        || !facts.unknown.is_empty() && facts.has(Dns)
        || !facts.urls.is_empty();
    points(&[
        (facts.has(Dns), 7),
        (facts.has(Dns) && named, 2),
        (facts.has(Resolve) && (named || !facts.places.is_empty()), if facts.outside() { 8 } else { 7 }),
        (facts.has(Resolve) && !named && !facts.unknown.is_empty(), 5),
        (!facts.record_types.is_empty() && (named || facts.any(&[Record, Dns, Resolve])), 9),
        (facts.has(Server53) && facts.outside(), 8),
        (facts.has(Record) && facts.outside(), 5),
        (facts.has(Mail) && facts.outside(), 9),
        (facts.has(Resolve) && facts.words <= 2, 5),
        (facts.any(&[Port, Tcp]) && !facts.has(Record), -6),
    ])
}

fn http(facts: &Facts) -> i32 {
    let domain = facts.places.iter().any(|place| place.kind == PlaceKind::Domain);
    let place = !facts.places.is_empty() || !facts.host_ports.is_empty() || !facts.urls.is_empty();
    let asks = facts
        .any(&[Running, Reach, Check, Answer, Fail, Slow, Status, Open, Show, Online, Offline, Why, Free]);
    let dns_words = facts.any(&[Dns, Resolve, Record, Server53]) || !facts.record_types.is_empty();
    let ported = facts.any(&[Port, Tcp]) || !facts.numbers.ports.is_empty();
    points(&[
        (!facts.urls.is_empty(), 10),
        (facts.has(Web) && place, 7),
        (facts.has(Web) && facts.has(Running) | facts.has(Check) && place, 2),
        (facts.has(Cert) && place, 10),
        (facts.has(Cert) && !place, 5),
        (facts.has(Curl) && place, 8),
        (facts.has(Answer) && domain, 3),
        (domain && asks && !dns_words, if ported { 0 } else { 7 }),
        (domain && facts.words <= 2 && !dns_words, 4),
        (facts.has(HeadMethod) && place, 5),
        (facts.has(Redirect) && place, 3),
        (
            facts.has(Web)
                && !place
                && facts.services.is_empty()
                && !facts.any(&[Log, Error, Load, Cpu, Mem, Disk, Process, Port]),
            4,
        ),
        (ported && facts.urls.is_empty(), -4),
        (
            facts.any(&[Load, Cpu, Mem, Disk, Log, Journal, Process])
                && facts.urls.is_empty()
                && !facts.any(&[Web, Cert, Curl]),
            -6,
        ),
    ])
}

/// Points of `tail_file` and of `read_file`.
fn files(facts: &Facts) -> (i32, i32) {
    let path = facts.paths.first().map(String::as_str).or(facts.known_file);
    let Some(path) = path else { return (0, 0) };
    if facts.has(Disk) && facts.any(&[Free, Load, Show, How, Check]) && !path.contains(".") {
        return (0, 0);
    }
    let directory = matches!(
        path,
        "/" | "/home" | "/var" | "/tmp" | "/boot" | "/usr" | "/opt" | "/srv" | "/data" | "/mnt"
    );
    if directory {
        return (0, if facts.any(&[Read]) { 5 } else { 0 });
    }
    let is_log = path.contains("/log/")
        || path.contains("/logs/")
        || path.ends_with(".log")
        || path.contains(".log.")
        || path.ends_with(".out")
        || path.ends_with(".err")
        || path.ends_with("syslog");
    let named = if facts.paths.is_empty() { 8 } else { 9 };
    let tail = named
        + points(&[
            (is_log, 3),
            (facts.has(Tail), 5),
            (facts.any(&[LastN, Recent]) || facts.numbers.lines.is_some(), 3),
            (facts.has(Grep) && facts.grep.is_some(), 5),
            (!facts.numbers.spans.is_empty() || facts.any(&[Since, Yesterday, Today]), 2),
            (facts.has(Log) && is_log, 2),
            (facts.concepts.any(SEVERITIES), 3),
        ]);
    let read = named
        + points(&[
            (facts.has(Read), 4),
            (!is_log, 2),
            (facts.any(&[File, Config]), 1),
            (facts.numbers.bytes.is_some() || facts.numbers.offset.is_some(), 7),
        ]);
    (tail, read)
}

fn journal(facts: &Facts) -> i32 {
    let severe = facts.concepts.any(SEVERITIES);
    let timed = !facts.numbers.spans.is_empty()
        || facts.any(&[Since, Yesterday, Today, Boot, Recent])
        || !facts.moments.is_empty();
    let file = !facts.paths.is_empty() || facts.known_file.is_some();
    let web = facts.any(&[Web, Curl]) && (!facts.urls.is_empty() || facts.outside());
    points(&[
        (facts.has(Journal), 9),
        (facts.has(Log), 6),
        (
            facts.has(Kernel),
            if facts.any(&[Show, Log, Check, What]) || severe || facts.words <= 3 { 8 } else { 3 },
        ),
        (facts.has(Oom), 9),
        (facts.has(Login), 10),
        (severe, 5),
        (severe && facts.has(Log), 2),
        (severe && facts.any(&[LastN, Recent]), 2),
        (!facts.services.is_empty() && (facts.has(Log) || severe), 3),
        (!facts.services.is_empty() && severe, 3),
        (timed && (facts.has(Log) || severe), 2),
        (timed && facts.has(Why) && facts.services.is_empty(), 5),
        (timed && facts.has(Fail) && facts.services.is_empty() && !facts.has(Service), 2),
        (
            timed
                && !facts.services.is_empty()
                && facts.any(&[Show, What])
                && !facts.any(&[Restarted, Running, Status]),
            5,
        ),
        (facts.has(Boot) && facts.any(&[Show, Log, What, Why]), 3),
        (facts.has(Boot) && facts.words <= 3 && !facts.any(&[Uptime, Restarted]), 5),
        (facts.grep.is_some() && facts.any(&[Log, Journal]), 2),
        (facts.numbers.lines.is_some() && facts.any(&[Log, Journal]), 2),
        (file, -8),
        (web, -6),
        (facts.has(Process) && !facts.any(&[Log, Journal]), -3),
        (facts.has(Service) && facts.has(Fail) && !facts.any(&[Log, Journal]), -3),
    ])
}

fn load(facts: &Facts, commands: &Commands) -> i32 {
    let resource = facts.concepts.any(RESOURCES);
    let plain = facts.services.is_empty() && facts.programs.is_empty();
    let hosted = facts.any(&[Host, Here])
        || facts.places.iter().any(|place| matches!(place.kind, PlaceKind::Host | PlaceKind::Local))
        || facts.all_hosts;
    let asked = facts.any(&[How, Status, Slow, Check, Load, Why]);
    let elsewhere = !facts.urls.is_empty()
        || !facts.paths.is_empty() && !facts.any(&[Disk, Free])
        || facts.outside() && !facts.any(&[Load, Cpu, Mem, Disk]);
    points(&[
        (facts.has(Load), 6),
        (resource, if facts.has(Load) { 3 } else { 5 }),
        (facts.any(&[Cpu, Mem]) && facts.any(&[Disk, Net, Swap]), 2),
        (facts.has(Free) && facts.any(&[Mem, Disk, Swap, Cpu]), 3),
        (
            facts.has(Free)
                && facts.paths.iter().any(|path| !path.contains('.'))
                && !facts.any(&[Read, Tail, Log]),
            8,
        ),
        (facts.has(Slow) && plain && !facts.any(&[Web, Net]), 6),
        (facts.has(Uptime) && plain, 10),
        (commands.last_reboot, 9),
        (plain && hosted && asked, 6),
        (plain && facts.has(Status) && facts.any(&[Host, Here]), 2),
        (resource && facts.has(How) && facts.has(Eat) && plain, 6),
        (facts.has(High) && facts.any(&[Load]), 2),
        (!plain && !facts.has(Uptime), -5),
        (elsewhere, -6),
        (
            facts.any(&[Log, Journal, Service, Process, Oom])
                || !facts.numbers.ports.is_empty()
                || !facts.host_ports.is_empty(),
            -5,
        ),
        (facts.any(&[Online, Offline, LastSeen]) && !resource && !facts.has(Load), -5),
        (facts.has(Hosts) && !facts.any(&[Load, Slow, Uptime]) && !resource && !facts.all_hosts, -4),
    ])
}

fn processes(facts: &Facts) -> i32 {
    let counted = facts.any(&[Cpu, Mem, Io, Fds, Net])
        || facts.has(Swap) && facts.any(&[Who, Most, Process, What, Which]);
    let named = !facts.services.is_empty() || !facts.programs.is_empty();
    let pointed = facts.any(&[Who, What, Which, Most, Process, Why, PerProcess]) || named;
    let how_much = facts.has(How) && !facts.any(&[Who, Most, Process, Which]) && !named;
    points(&[
        (facts.has(Process), 8),
        (facts.has(Process) && facts.any(&[Show, Running, Most, Which, What, Check]), 1),
        (facts.has(PerProcess), 12),
        (facts.has(Who) && facts.has(Disk) && !facts.has(Free), 10),
        (facts.has(Eat) && counted && !how_much, if pointed { 10 } else { 7 }),
        (facts.has(Eat) && facts.has(Load) && facts.any(&[Who, What, Which, Most]), 6),
        (facts.has(Eat) && facts.any(&[Who, What, Which]) && !counted && facts.has(Free), 3),
        (facts.has(Most) && counted, 9),
        (facts.has(Most) && facts.has(Load) && counted, 3),
        (facts.has(Most) && facts.has(Load) && !counted && !facts.any(&[Hosts]), 4),
        (facts.has(Who) && counted, 5),
        (facts.numbers.count.is_some() && (counted || facts.has(Eat)), 4),
        (facts.has(Fds), 7),
        (facts.has(Io) && !facts.any(&[How]), 5),
        (facts.user.is_some() && (facts.any(&[User, Process, Running, Eat, Show, What]) || counted), 6),
        (!facts.programs.is_empty(), 3),
        (!facts.programs.is_empty() && facts.words <= 2, 3),
        (!facts.programs.is_empty() && facts.any(&[Running, Check, Show, Process, Status, Why, Slow]), 6),
        (named && counted && facts.any(&[Eat, Load, How, Show, Most, Check]), 9),
        (!facts.services.is_empty() && counted && !facts.any(&[Log, Journal, Free]), 5),
        (facts.any(&[Why, What]) && facts.any(&[High]) && facts.any(&[Cpu, Mem, Io]), 14),
        (
            facts.has(Running)
                && facts.has(What)
                && !facts.any(&[Service, Web, Port])
                && facts.services.is_empty()
                && facts.numbers.ports.is_empty()
                && !facts.places.iter().any(|place| place.kind == PlaceKind::Domain),
            5,
        ),
        (facts.has(Most) && facts.words <= 3 && !facts.any(&[Hosts]), 6),
        (facts.has(Hosts) && facts.any(&[Which]) && !facts.has(Process), -6),
        (facts.has(Restarted) && named, -4),
        (facts.any(&[Log, Journal, Kernel, Oom]), -4),
        (facts.has(Service) && !facts.has(Process), -3),
    ])
}

fn service(facts: &Facts, commands: &Commands) -> i32 {
    let named = !facts.services.is_empty();
    let unknown = facts.unknown.iter().any(|unknown| unknown.after.any(&[Service, Status, Of, Restart]));
    let asks =
        facts.any(&[Status, Running, Fail, Why, Check, Service, Restarted, When, Show, Answer, Slow, How]);
    points(&[
        (named, 5),
        (named && asks, 4),
        (named && facts.words <= 2, 2),
        (named && facts.any(&[Fail, Restarted]), 2),
        (facts.has(Service), 6),
        (facts.has(Service) && facts.any(&[Running, Fail, Show, Status, Check, Which, Restarted]), 3),
        (
            !named
                && facts.has(Fail)
                && facts.places.iter().all(|place| place.kind == PlaceKind::Host)
                && !facts.any(&[Web, Log, Host, Hosts, Dns])
                && facts.unknown.is_empty()
                && facts.programs.is_empty(),
            if facts.any(&[Which, What, Show, Why, Check]) { 6 } else { 5 },
        ),
        (
            !named
                && !facts.unknown.is_empty()
                && facts.any(&[Running, Fail, Service, Status, Restarted])
                && facts.urls.is_empty(),
            5,
        ),
        (!named && !facts.unknown.is_empty() && facts.has(Why) && facts.any(&[Fail, Slow, Restarted]), 3),
        (!named && unknown && facts.any(&[Status, Service, Running]), 3),
        (commands.asks_whether_to_restart && named, 3),
        (
            !named
                && facts.has(Its)
                && facts.places.is_empty()
                && facts.any(&[Status, Running, Fail, Check])
                && !facts.any(&[Host, Here, Log, Journal, Load]),
            6,
        ),
        (
            !named
                && facts.has(Database)
                && facts.any(&[Running, Status, Fail, Why, Check, Slow, Answer, Restarted, Service]),
            6,
        ),
        (!facts.numbers.ports.is_empty() || !facts.host_ports.is_empty(), -5),
        (facts.any(&[Process]) && !facts.has(Service), -4),
        (facts.any(&[Hosts, Fleet]) && !named && !facts.has(Service), -4),
        (facts.any(&[Cpu, Mem, Disk, Io, Fds]) && !facts.any(&[Fail, Why]), -3),
        (facts.has(Port), -5),
        (!facts.urls.is_empty() || !facts.paths.is_empty(), -4),
    ])
}

fn edges(facts: &Facts) -> i32 {
    let host_place = facts.places.iter().any(|place| place.kind == PlaceKind::Host);
    let many = facts.any(&[Hosts, Fleet]);
    let state = facts.any(&[Online, Offline, LastSeen]);
    let probed = !facts.numbers.ports.is_empty()
        || !facts.host_ports.is_empty()
        || !facts.urls.is_empty()
        || facts.outside()
        || facts.any(&[Port, Web, Tcp, Dns])
        || !facts.numbers.bare.is_empty();
    let measured = facts
        .any(&[Load, Cpu, Mem, Disk, Swap, Io, Slow, Uptime, Process, Service, Log, Journal, Temp, Net])
        || !facts.services.is_empty()
        || facts.concepts.any(SEVERITIES);
    points(&[
        (many, 4),
        (many && facts.any(&[HowMany, Which, Show, What, Who, Running, Fail, Status, How, Check, Label]), 5),
        (state && !probed, 6),
        (state && !probed && (many || host_place || facts.any(&[Host, Edge])), 4),
        (facts.has(LastSeen), 5),
        (facts.any(&[Host, Edge]) && facts.any(&[HowMany, Which]), 7),
        (
            facts.any(&[Host, Edge])
                && facts.has(Show)
                && !host_place
                && facts.words <= 4
                && !facts.has(Status),
            5,
        ),
        (
            host_place
                && facts.any(&[Running, Answer, Fail])
                && !facts.any(&[Why, What, Which, Status])
                && facts.programs.is_empty(),
            8,
        ),
        (host_place && facts.has(Reach) && facts.places.len() == 1, 7),
        (facts.has(Label) && (many || !facts.pairs.is_empty()), 5),
        (!facts.pairs.is_empty() && many, 3),
        (facts.os.is_some() && (many || facts.has(Host)), 4),
        (measured, -8),
        (probed, -7),
    ])
}

/// Points of `host_files`.
fn disk_use(facts: &Facts) -> i32 {
    let path = !facts.paths.is_empty();
    let folder = facts.paths.iter().any(|path| !path.rsplit('/').next().unwrap_or_default().contains('.'));
    let wondered = facts.any(&[Eat, Who, What, Which, Most]);
    points(&[
        (path && facts.has(Space), 18),
        (folder && facts.has(Disk) && wondered && !facts.has(Free), 18),
        (folder && facts.has(Disk) && !facts.any(&[Free, Load, Status, How, Check]), 14),
        (folder && facts.has(Large), 18),
        (!path && facts.has(Large) && facts.any(&[File, Log]) && !facts.any(&[Mem, Cpu, Eat]), 14),
        (!path && facts.has(Space) && !facts.any(&[Log, File, Web, How]), 14),
        (path && facts.has(Listing), 18),
        (path && facts.has(Stat), 18),
        (facts.any(&[Process, PerProcess, Io, Mem, Cpu, Fds, Journal]) || !facts.urls.is_empty(), -12),
    ])
}

/// Points of `host_sockets`.
fn sockets(facts: &Facts) -> i32 {
    let numbers = &facts.numbers;
    let ported = !numbers.ports.is_empty()
        || facts.any(&[Port, Listen]) && !numbers.bare.is_empty()
        || facts.has(Port) && !facts.named_ports.is_empty();
    let near = facts.places.iter().all(|place| matches!(place.kind, PlaceKind::Host | PlaceKind::Local));
    let who = facts.any(&[Who, Which, Process]) || facts.has(What) && facts.has(Listen);
    let listed = facts.any(&[Show, What, Which, Who, HowMany, Process]) || facts.words <= 2;
    points(&[
        (ported && near && who && facts.host_ports.is_empty() && !facts.any(&[Reach, Answer, Web]), 20),
        (!ported && near && facts.has(Listen) && listed && facts.named_ports.is_empty(), 16),
        (!ported && near && facts.has(Listen) && facts.any(&[Show, Which]), 4),
        (!facts.urls.is_empty() || facts.any(&[Log, Journal, Tail]), -12),
    ])
}

fn read_result(facts: &Facts) -> i32 {
    points(&[
        (
            facts.has(More)
                && facts.words <= 5
                && facts.paths.is_empty()
                && facts.services.is_empty()
                && !facts.any(&[Log, Journal, File]),
            5,
        ),
        (facts.has(Result) && facts.any(&[More, Show, Read]), 6),
        (facts.uuid.is_some(), 7),
    ])
}

//! The network namespaces of the host: those with a name under `/run/netns`, and those that some process lives in.

use super::process;
use skill::Host;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// Where `ip netns` keeps named namespaces.
pub(crate) const NAMED: &str = "/run/netns";

/// One network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Tells it from all others.
    pub(crate) inode: u64,
    pub(crate) names: Vec<String>,
    /// Absolute path of a file that stands for it.
    pub(crate) place: String,
    /// How many processes live in it.
    pub(crate) processes: u32,
    /// The ids of the first of them.
    pub(crate) examples: Vec<u32>,
    /// The agent itself lives in it.
    pub(crate) own: bool,
}

/// All of them, the agent's own first, then those with names; and how many processes don't show theirs.
pub(crate) fn all(host: &dyn Host) -> (Vec<Namespace>, u32) {
    let mut found: BTreeMap<u64, Namespace> = BTreeMap::new();
    if let Some(inode) = of_process(host, "self") {
        let own =
            Namespace { inode, place: "/proc/self/ns/net".to_owned(), own: true, ..Namespace::default() };
        found.insert(inode, own);
    }
    for entry in std::fs::read_dir(host.path(NAMED)).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Ok(meta) = entry.metadata() else { continue };
        let place = format!("{NAMED}/{name}");
        let namespace = found.entry(meta.ino()).or_insert_with(|| Namespace {
            inode: meta.ino(),
            place,
            ..Namespace::default()
        });
        namespace.names.push(name);
    }
    let mut hidden = 0;
    for pid in process::pids(host) {
        let Some(inode) = of_process(host, &pid.to_string()) else {
            hidden += u32::from(host.path(&format!("/proc/{pid}")).exists());
            continue;
        };
        let namespace = found.entry(inode).or_insert_with(|| Namespace {
            inode,
            place: format!("/proc/{pid}/ns/net"),
            ..Namespace::default()
        });
        namespace.processes += 1;
        if namespace.examples.len() < 5 {
            namespace.examples.push(pid);
        }
    }
    let mut all: Vec<Namespace> = found.into_values().collect();
    all.iter_mut().for_each(|namespace| model::order::sort(&mut namespace.names));
    model::order::sort_by_key(&mut all, |namespace| {
        (!namespace.own, namespace.names.is_empty(), namespace.names.clone(), namespace.inode)
    });
    (all, hidden)
}

/// The namespace of a process.
pub(crate) fn of_process(host: &dyn Host, process: &str) -> Option<u64> {
    let link = std::fs::read_link(host.path(&format!("/proc/{process}/ns/net"))).ok()?;
    link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

//! The built-in groups of tools that a policy can name.

use model::Scope;

/// The built-in groups.
pub const GROUPS: &[&str] = &[
    "sessions",
    "automation",
    "ui",
    "hardware",
    "fleet",
    "host",
    "files",
    "network",
    "knowledge",
    "messaging",
    "admin",
];

/// Groups by key, beside those that follow from the scope.
const BY_KEY: &[(&str, &[&str])] = &[
    ("capture_pcap", &["network"]),
    ("git_operations", &["files"]),
    ("host_files", &["files"]),
    ("host_netns_inspect", &["network"]),
    ("host_sockets", &["network"]),
    ("probe_dns", &["network"]),
    ("probe_http", &["network"]),
    ("probe_ping", &["network"]),
    ("probe_tcp", &["network"]),
    ("read_file", &["files"]),
    ("read_result", &["sessions"]),
    ("reboot_host", &["hardware"]),
    ("remove_path", &["files"]),
    ("tail_file", &["files"]),
    ("write_file", &["files"]),
];

/// The groups of a tool. Whatever runs on a host is in `host`; a manager tool that reaches hosts is in `fleet`, and
/// as the batch form of a host skill in that skill's groups too.
pub fn groups_of(scope: Scope, key: &str) -> Vec<&'static str> {
    let mut groups = Vec::new();
    match scope {
        Scope::Host => groups.push("host"),
        Scope::Manager if key.starts_with("host_") => groups.extend(["fleet", "host"]),
        Scope::Manager if key.contains("edge") || key.starts_with("fleet_") => groups.push("fleet"),
        Scope::Manager => {}
    }
    if let Some((_, more)) = BY_KEY.iter().find(|(name, _)| *name == key) {
        groups.extend(more.iter());
    }
    groups
}

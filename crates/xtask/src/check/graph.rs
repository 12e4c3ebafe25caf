//! Compares the crates' real dependencies with the picture in `docs/ARCHITECTURE.md`.

use super::{Metadata, Package};
use std::collections::{BTreeMap, BTreeSet};

/// For each crate, the crates that it may name. Arrows point down; nothing points back up.
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("skill", &["model"]),
    ("proto", &["model"]),
    ("tunnel", &["proto", "model"]),
    ("sandbox", &["skill", "model"]),
    ("shellclass", &["model"]),
    ("signing", &["skill", "model"]),
    ("admission", &["signing", "shellclass", "skill", "model"]),
    ("skills", &["admission", "shellclass", "sandbox", "skill", "model"]),
    ("packs", &["admission", "sandbox", "skill", "model"]),
    (
        "edge",
        &[
            "skills",
            "packs",
            "admission",
            "signing",
            "shellclass",
            "sandbox",
            "tunnel",
            "proto",
            "skill",
            "model",
        ],
    ),
    ("storage", &["model"]),
    ("gate", &["storage", "shellclass", "signing", "skill", "model"]),
    ("fleet", &["gate", "storage", "tunnel", "proto", "skill", "model"]),
    ("llm", &["skills", "skill", "model"]),
    ("tools", &["gate", "storage", "skill", "model"]),
    ("executor", &["tools", "fleet", "skills", "packs", "gate", "storage", "skill", "model"]),
    ("agent", &["llm", "executor", "gate", "storage", "skill", "model"]),
    ("api", &["agent", "llm", "executor", "tools", "fleet", "gate", "storage", "signing", "skill", "model"]),
    (
        "manager",
        &[
            "api", "agent", "llm", "executor", "tools", "fleet", "gate", "storage", "tunnel", "skills",
            "packs", "sandbox", "signing", "skill", "model",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that only tests and measurements use; nothing else may name them outside of its own tests.
const DEVELOPMENT_ONLY: &[&str] = &["testkit", "bench", "fuzz", "xtask"];

/// What an edge must never be able to reach.
const NEVER_ON_THE_EDGE: &[&str] =
    &["storage", "gate", "fleet", "llm", "tools", "executor", "agent", "api", "sqlx", "axum"];

/// Tells every arrow that isn't in the picture.
pub fn check(metadata: &Metadata) -> Vec<String> {
    let own: BTreeMap<&str, &Package> = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_none())
        .map(|package| (package.name.as_str(), package))
        .collect();
    let mut failures = Vec::new();
    for (name, package) in &own {
        if DEVELOPMENT_ONLY.contains(name) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            failures.push(format!("the crate `{name}` is not in the picture: add it to xtask's check/graph.rs and docs/ARCHITECTURE.md"));
            continue;
        };
        for dependency in own_arrows(package) {
            if !allowed.contains(&dependency) {
                failures.push(format!(
                    "`{name}` may not depend on `{dependency}`: the arrow is not in docs/ARCHITECTURE.md"
                ));
            }
        }
    }
    let reach = reachable("edge", metadata);
    for forbidden in NEVER_ON_THE_EDGE {
        if reach.contains(forbidden) {
            failures.push(format!("the edge can reach `{forbidden}`, which belongs to the manager's side"));
        }
    }
    failures
}

/// The workspace's own crates that a package names, outside of its tests.
fn own_arrows(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some() && dependency.kind.as_deref() != Some("dev"))
        .map(|dependency| dependency.name.as_str())
}

/// Everything that a crate pulls in by normal dependencies. Optional ones count, which errs to the strict side for
/// our own crates; for others only the direct dependencies of our crates are followed.
fn reachable<'a>(start: &'a str, metadata: &'a Metadata) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut queue = vec![start];
    while let Some(name) = queue.pop() {
        if !seen.insert(name) {
            continue;
        }
        let Some(package) =
            metadata.packages.iter().find(|package| package.name == name && package.source.is_none())
        else {
            continue;
        };
        queue.extend(
            package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind.is_none())
                .map(|dependency| dependency.name.as_str()),
        );
    }
    seen
}

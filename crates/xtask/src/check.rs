//! Checks of what no compiler checks.

mod deny;
mod graph;
mod tree;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// Runs every check and tells all failures together.
pub fn run(root: &Path) -> Result<()> {
    let metadata = Metadata::load(root)?;
    let mut failures = Vec::new();
    failures.extend(graph::check(&metadata));
    failures.extend(deny::check(&metadata, root)?);
    failures.extend(tree::check(root)?);
    if let Err(error) = crate::generate::check(root) {
        failures.push(format!("{error:#}"));
    }
    if failures.is_empty() {
        return Ok(());
    }
    for failure in &failures {
        eprintln!("✗ {failure}");
    }
    bail!("{} check(s) failed", failures.len());
}

/// What `cargo metadata` tells, as far as the checks read it.
#[derive(Deserialize)]
pub struct Metadata {
    /// Every package of the lock file that is used.
    pub packages: Vec<Package>,
}

/// One package.
#[derive(Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SPDX expression.
    pub license: Option<String>,
    /// `None` for the workspace's own.
    pub source: Option<String>,
    /// What it asks for.
    pub dependencies: Vec<Dependency>,
}

/// One dependency of a package.
#[derive(Deserialize)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// `None` for normal ones, else `dev` or `build`.
    pub kind: Option<String>,
    /// Set for the workspace's own.
    pub path: Option<String>,
}

impl Metadata {
    fn load(root: &Path) -> Result<Self> {
        let output = Command::new("cargo")
            .args(["metadata", "--format-version=1", "--locked"])
            .current_dir(root)
            .output()
            .context("cargo could not be started")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).context("cargo metadata printed something else")
    }
}

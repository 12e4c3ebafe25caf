//! Licences, bans and sources, from the same `deny.toml` that `cargo deny` reads.

use super::Metadata;
use anyhow::{Context, Result};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, Licensee};
use std::path::Path;

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Tells every package that breaks a rule.
pub fn check(metadata: &Metadata, root: &Path) -> Result<Vec<String>> {
    let rules: Rules =
        toml::from_str(&std::fs::read_to_string(root.join("deny.toml"))?).context("deny.toml")?;
    let allowed: Vec<Licensee> = rules
        .licenses
        .allow
        .iter()
        .map(|licence| {
            Licensee::parse(licence)
                .with_context(|| format!("deny.toml allows `{licence}`, which is no licence"))
        })
        .collect::<Result<_>>()?;
    let mut failures = Vec::new();
    for package in &metadata.packages {
        let label = format!("{} {}", package.name, package.version);
        if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == package.name) {
            failures.push(format!("{label} is banned: {}", ban.reason));
        }
        let Some(source) = &package.source else { continue };
        if !rules.sources.allow_registry.iter().any(|registry| source == &format!("registry+{registry}")) {
            failures.push(format!("{label} comes from {source}, which deny.toml does not allow"));
        }
        let satisfied = package.license.as_deref().is_some_and(|licence| satisfies(licence, &allowed));
        if !satisfied {
            failures.push(format!(
                "{label} has the licence {:?}, which deny.toml does not allow",
                package.license
            ));
        }
    }
    Ok(failures)
}

/// Whether an SPDX expression can be met with the allowed licences.
fn satisfies(expression: &str, allowed: &[Licensee]) -> bool {
    Expression::parse_mode(expression, spdx::ParseMode::LAX).is_ok_and(|parsed| {
        parsed.evaluate(|request: &LicenseReq| allowed.iter().any(|licensee| licensee.satisfies(request)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_licences_needs_one_allowed_and_a_conjunction_all() {
        let allowed = [Licensee::parse("MIT").unwrap(), Licensee::parse("Apache-2.0").unwrap()];
        assert!(satisfies("MIT OR GPL-3.0", &allowed));
        assert!(satisfies("MIT/Apache-2.0", &allowed));
        assert!(!satisfies("MIT AND GPL-3.0", &allowed));
        assert!(!satisfies("AGPL-3.0", &allowed));
    }
}

//! What there is to say about a pack where it lies, for whoever writes one.

use crate::load::{LoadRules, lint};
use model::Scope;
use std::path::Path;

/// What was found about one pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Whether it can run here.
    pub is_good: bool,
    /// A line for each finding.
    pub text: String,
}

/// Looks at a pack where it lies; `is_builtin` tells the keys that packs can't have.
pub fn examine(pack: &Path, rules: &LoadRules, is_builtin: &dyn Fn(Scope, &str) -> bool) -> Findings {
    let (manifest, digest) = match lint(pack, rules) {
        Ok(found) => found,
        Err(error) => {
            let lines = error.problems.iter().map(|problem| format!("{problem}\n"));
            return Findings { is_good: false, text: lines.collect() };
        }
    };
    let mut text = format!("{} {}: good\ndigest {digest}\n", manifest.name, manifest.version);
    for skill in &manifest.skills {
        let class = skill.class.unwrap_or(rules.default_class);
        text.push_str(&format!("skill {}: {class}, scope {}\n", skill.key, skill.scope));
        if skill.class.is_none() {
            text.push_str(&format!("warning: {} has no class, so it is {class}\n", skill.key));
        }
        if is_builtin(skill.scope, &skill.key) {
            text.push_str(&format!("warning: {} is a builtin, so the pack will be skipped\n", skill.key));
        }
    }
    for words in manifest.reach() {
        text.push_str(&format!("reaches {words}\n"));
    }
    Findings { is_good: true, text }
}

//! Which hosts a person may see and use.

use crate::EdgeId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// Most hosts and most selectors that one person's reach names.
pub const MAX_REACH_ENTRIES: usize = 1_000;

/// Labels that a host must have, all of them: `env=staging` or `env=staging,role=web`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelSelector(BTreeMap<String, String>);

/// A text that selects no labels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` selects no labels: expected `key=value`, or several with commas between, such as `env=staging,role=web`"
)]
pub struct SelectorProblem(String);

impl LabelSelector {
    /// Whether a host with these labels has all of its own.
    pub fn fits(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorProblem;

    fn from_str(text: &str) -> Result<Self, SelectorProblem> {
        let wrong = || SelectorProblem(text.chars().take(80).collect());
        let mut labels = BTreeMap::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let (key, value) = (key.trim(), value.trim());
            let is_word = |word: &str| {
                (1..=64).contains(&word.chars().count())
                    && !word
                        .chars()
                        .any(|letter| letter.is_control() || letter.is_whitespace() || letter == '=')
            };
            // One key twice asks for what no host has.
            if !is_word(key) || !is_word(value) || labels.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(wrong());
            }
        }
        Ok(Self(labels))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// Which hosts a person may see and use: those that are named, and those that a selector fits. Nothing named is no
/// restriction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reach {
    /// Hosts by their ids.
    pub edges: BTreeSet<EdgeId>,
    /// Hosts by their labels in the inventory.
    pub labels: BTreeSet<LabelSelector>,
}

impl Reach {
    /// Whether it takes in all hosts.
    pub fn is_everywhere(&self) -> bool {
        self.edges.is_empty() && self.labels.is_empty()
    }

    /// Whether it takes in a host, whose labels in the inventory are these.
    pub fn includes(&self, edge: EdgeId, labels: &BTreeMap<String, String>) -> bool {
        self.is_everywhere() || self.edges.contains(&edge) || self.labels.iter().any(|it| it.fits(labels))
    }
}

impl fmt::Display for Reach {
    /// For a sentence, for example `edges 1 and 4, and those with env=staging`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_everywhere() {
            return f.write_str("all hosts");
        }
        let ids: Vec<String> = self.edges.iter().map(ToString::to_string).collect();
        let labels: Vec<String> = self.labels.iter().map(ToString::to_string).collect();
        match (ids.is_empty(), labels.is_empty()) {
            (false, true) => write!(f, "hosts {}", ids.join(", ")),
            (true, _) => write!(f, "hosts with {}", labels.join(" or ")),
            (false, false) => write!(f, "hosts {} and those with {}", ids.join(", "), labels.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn nothing_named_takes_in_every_host() {
        assert!(Reach::default().includes(EdgeId(7), &BTreeMap::new()));
    }

    #[test]
    fn a_host_is_within_by_its_id_or_by_all_labels_of_one_selector() {
        let reach = Reach {
            edges: [EdgeId(1)].into(),
            labels: ["env=staging".parse().unwrap(), "env=prod, role=web".parse().unwrap()].into(),
        };
        for (edge, own, within) in [
            (1, labels(&[]), true),
            (2, labels(&[]), false),
            (2, labels(&[("env", "staging"), ("role", "db")]), true),
            (2, labels(&[("env", "prod")]), false),
            (2, labels(&[("env", "prod"), ("role", "web")]), true),
            (2, labels(&[("env", "staging2")]), false),
        ] {
            assert_eq!(reach.includes(EdgeId(edge), &own), within, "{edge} {own:?}");
        }
        assert_eq!(reach.to_string(), "hosts 1 and those with env=prod,role=web or env=staging");
        let text = serde_json::to_string(&reach).unwrap();
        assert_eq!(serde_json::from_str::<Reach>(&text).unwrap(), reach);
    }

    #[test]
    fn a_selector_that_is_none_is_an_error_that_shows_what_would_be_right() {
        for wrong in ["", "env", "=x", "env=", "env=a,env=b", "a=b,", "a=b c", "a==b"] {
            let problem = wrong.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(problem.contains("`key=value`"), "{wrong}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn what_reads_as_a_selector_is_written_the_same(text in ".{0,60}") {
            if let Ok(selector) = text.parse::<LabelSelector>() {
                prop_assert_eq!(selector.to_string().parse::<LabelSelector>(), Ok(selector));
            }
        }
    }
}

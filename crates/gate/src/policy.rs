//! `[security.tool_policy]`: what the configuration says about tools.

use crate::groups::{GROUPS, groups_of};
use crate::rule::{PolicyPlace, PolicyRule};
use model::Scope;
use serde::Deserialize;
use skill::{Definition, Source};
use std::collections::{BTreeMap, BTreeSet};

/// What the configuration says about a tool. Ordered from lax to strict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// Its class alone decides.
    #[default]
    Allow,
    /// A person has to agree, whatever its class.
    Supervised,
    /// Nobody may call it.
    Deny,
}

impl Policy {
    /// The word used in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Supervised => "supervised",
            Self::Deny => "deny",
        }
    }
}

/// The section as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawToolPolicy {
    /// For tools that nothing else names: `allow`, `deny` or `supervised`. Default: `allow`.
    pub default: Option<String>,
    /// By group. A tool may be in several; the strictest counts.
    pub groups: BTreeMap<String, String>,
    /// By tool; a skill of a pack as `PACK/KEY`. Counts before groups and default.
    pub tools: BTreeMap<String, String>,
}

/// Something that is wrong with the section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("security.tool_policy.{at}: {problem}")]
pub struct PolicyProblem {
    /// The key within the section.
    pub at: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// The section as it is obeyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    default: Policy,
    groups: BTreeMap<String, Policy>,
    tools: BTreeMap<String, Policy>,
}

impl ToolPolicy {
    /// Reads the section. `known_tools` are the keys of what is compiled in; names with `__` belong to tool servers and
    /// names with `/` to packs, which are known only later, and may come and go.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong: values that are none of the three, unknown groups and tools.
    pub fn parse<'k>(
        raw: &RawToolPolicy,
        known_tools: impl IntoIterator<Item = &'k str>,
    ) -> Result<Self, Vec<PolicyProblem>> {
        let known_tools: BTreeSet<&str> = known_tools.into_iter().collect();
        let mut problems = Vec::new();
        let mut policy = Self::default();
        if let Some(word) = &raw.default {
            match read_word(word) {
                Ok(value) => policy.default = value,
                Err(problem) => problems.push(PolicyProblem { at: "default".to_owned(), problem }),
            }
        }
        for (name, word) in &raw.groups {
            let at = format!("groups.{name}");
            if !GROUPS.contains(&name.as_str()) {
                let problem = unknown("group", name, GROUPS.iter().copied());
                problems.push(PolicyProblem { at: at.clone(), problem });
            }
            match read_word(word) {
                Ok(value) => drop(policy.groups.insert(name.clone(), value)),
                Err(problem) => problems.push(PolicyProblem { at, problem }),
            }
        }
        for (name, word) in &raw.tools {
            let at = format!("tools.{name}");
            if let Some(problem) = check_tool(name, &known_tools) {
                problems.push(PolicyProblem { at: at.clone(), problem });
            }
            match read_word(word) {
                Ok(value) => drop(policy.tools.insert(name.clone(), value)),
                Err(problem) => problems.push(PolicyProblem { at, problem }),
            }
        }
        if problems.is_empty() { Ok(policy) } else { Err(problems) }
    }

    /// What holds for a tool: its own word, else the strictest of its groups, else the default.
    pub fn of(&self, scope: Scope, key: &str, source: &Source) -> Policy {
        self.rule_of(scope, key, source).policy
    }

    /// What holds for a tool, and which word says so.
    pub fn rule_of(&self, scope: Scope, key: &str, source: &Source) -> PolicyRule {
        let name = match source {
            Source::Builtin => key.to_owned(),
            Source::Pack(pack) => format!("{pack}/{key}"),
        };
        if let Some(policy) = self.tools.get(&name) {
            return PolicyRule { policy: *policy, place: PolicyPlace::Tool(name) };
        }
        let groups = groups_of(scope, key).into_iter();
        let named = groups.filter_map(|group| self.groups.get(group).map(|policy| (*policy, group)));
        match named.max() {
            Some((policy, group)) => PolicyRule { policy, place: PolicyPlace::Group(group.to_owned()) },
            None => PolicyRule { policy: self.default, place: PolicyPlace::Default },
        }
    }
}

/// What is wrong with the name of a tool.
fn check_tool(name: &str, known: &BTreeSet<&str>) -> Option<String> {
    let Some((pack, key)) = name.split_once('/') else {
        let is_known = name.contains("__") || known.contains(name);
        return (!is_known).then(|| {
            let problem = unknown("tool", name, known.iter().copied());
            format!("{problem}; a skill of a pack is named with its pack, for example \"net-tools/nft_list\"")
        });
    };
    if known.contains(key) {
        return Some(format!("`{key}` is no skill of a pack; write `{key}`"));
    }
    let is_pack = pack.starts_with(|first: char| first.is_ascii_lowercase())
        && pack.len() <= 64
        && pack.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let is_legal = is_pack && Definition::is_legal_key(key);
    (!is_legal).then(|| {
        format!(
            "`{name}` can't be a pack's skill; write its pack and its key, for example \"net-tools/nft_list\""
        )
    })
}

fn read_word(word: &str) -> Result<Policy, String> {
    match word {
        "allow" => Ok(Policy::Allow),
        "supervised" => Ok(Policy::Supervised),
        "deny" => Ok(Policy::Deny),
        other => {
            let meant = nearest(other, ["allow", "deny", "supervised"]);
            let hint = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
            Err(format!("`{other}` is not allow, deny or supervised{hint}"))
        }
    }
}

fn unknown<'k>(what: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    match nearest(name, known) {
        Some(meant) => format!("there is no {what} `{name}`; did you mean `{meant}`?"),
        None => format!("there is no {what} `{name}`"),
    }
}

/// The known word that `word` is most likely a slip of.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    const ALIKE: f64 = 0.75;
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["host_load", "probe_tcp", "read_file", "tail_file"];

    fn raw(default: Option<&str>, groups: &[(&str, &str)], tools: &[(&str, &str)]) -> RawToolPolicy {
        let own =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        RawToolPolicy { default: default.map(str::to_owned), groups: own(groups), tools: own(tools) }
    }

    #[test]
    fn a_tool_counts_before_its_groups_and_those_before_the_default() {
        let raw = raw(Some("deny"), &[("host", "supervised"), ("files", "allow")], &[("tail_file", "allow")]);
        let policy = ToolPolicy::parse(&raw, KNOWN.iter().copied()).unwrap();
        assert_eq!(policy.of(Scope::Host, "tail_file", &Source::Builtin), Policy::Allow);
        let read_file = policy.of(Scope::Host, "read_file", &Source::Builtin);
        assert_eq!(read_file, Policy::Supervised, "the strictest group counts");
        assert_eq!(
            policy.of(Scope::Manager, "host_load", &Source::Builtin),
            Policy::Supervised,
            "a batch is in its skill's groups"
        );
        assert_eq!(policy.of(Scope::Manager, "read_result", &Source::Builtin), Policy::Deny);
    }

    #[test]
    fn the_word_that_counts_is_told_as_it_is_written() {
        let raw = raw(Some("deny"), &[("host", "allow"), ("files", "supervised")], &[("tail_file", "allow")]);
        let policy = ToolPolicy::parse(&raw, KNOWN.iter().copied()).unwrap();
        for (key, told) in [
            ("tail_file", "security.tool_policy.tools.tail_file = allow"),
            ("read_file", "security.tool_policy.groups.files = supervised"),
            ("probe_tcp", "security.tool_policy.groups.host = allow"),
        ] {
            assert_eq!(policy.rule_of(Scope::Host, key, &Source::Builtin).to_string(), told);
        }
        assert_eq!(
            policy.rule_of(Scope::Manager, "read_result", &Source::Builtin).to_string(),
            "security.tool_policy.default = deny"
        );
    }

    #[test]
    fn silence_allows_what_the_class_allows() {
        assert_eq!(ToolPolicy::default().of(Scope::Host, "host_load", &Source::Builtin), Policy::Allow);
    }

    #[test]
    fn every_mistake_is_told_with_what_was_meant() {
        let raw = raw(Some("alow"), &[("netwrok", "deny")], &[("host_laod", "deny"), ("tail_file", "maybe")]);
        let problems = ToolPolicy::parse(&raw, KNOWN.iter().copied()).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        security.tool_policy.default: `alow` is not allow, deny or supervised; did you mean `allow`?
        security.tool_policy.groups.netwrok: there is no group `netwrok`; did you mean `network`?
        security.tool_policy.tools.host_laod: there is no tool `host_laod`; did you mean `host_load`?; a skill of a pack is named with its pack, for example "net-tools/nft_list"
        security.tool_policy.tools.tail_file: `maybe` is not allow, deny or supervised
        "#);
    }

    #[test]
    fn a_skill_of_a_pack_is_named_with_its_pack_whether_that_is_there_or_not() {
        let raw = raw(Some("deny"), &[("host", "supervised")], &[("net-tools/nft_list", "allow")]);
        let policy = ToolPolicy::parse(&raw, KNOWN.iter().copied()).unwrap();
        let of = |pack: &str, key: &str| policy.of(Scope::Host, key, &Source::Pack(pack.to_owned()));
        assert_eq!(of("net-tools", "nft_list"), Policy::Allow);
        assert_eq!(of("other", "nft_list"), Policy::Supervised, "another pack's skill is another one");
        assert_eq!(of("net-tools", "ip_list"), Policy::Supervised);
        assert_eq!(policy.of(Scope::Host, "nft_list", &Source::Builtin), Policy::Supervised);
    }

    #[test]
    fn what_can_be_no_skill_of_a_pack_is_told_with_what_would_be_right() {
        for (name, part) in [
            ("nft_list", "there is no tool `nft_list`; a skill of a pack is named with its pack"),
            ("net-tools/host_load", "`host_load` is no skill of a pack; write `host_load`"),
            ("Net Tools/nft_list", "can't be a pack's skill"),
            ("net-tools/nft-list", "can't be a pack's skill"),
            ("net-tools/", "can't be a pack's skill"),
            ("/nft_list", "can't be a pack's skill"),
            ("a/b/c", "can't be a pack's skill"),
        ] {
            let problems =
                ToolPolicy::parse(&raw(None, &[], &[(name, "deny")]), KNOWN.iter().copied()).unwrap_err();
            assert!(problems[0].problem.contains(part), "{name}: {}", problems[0]);
        }
    }

    #[test]
    fn a_tool_of_a_tool_server_may_be_named_before_it_is_known() {
        assert!(
            ToolPolicy::parse(&raw(None, &[], &[("github__create_issue", "deny")]), KNOWN.iter().copied())
                .is_ok()
        );
    }
}

//! `[security]`: policy, limits of calls, where probes may go, and redaction.

use super::reader::Reader;
use gate::{CallLimits, ProbeRules, RawToolPolicy, ToolPolicy};

/// Policy, limits of calls, where probes may go, and redaction.
#[derive(Clone, Debug, Default)]
pub struct SecurityConfig {
    /// What the configuration says about tools: tool before group before default.
    pub tool_policy: ToolPolicy,
    /// Regular expressions of secrets, on top of the built-in ones.
    pub redaction_patterns: Vec<String>,
    /// How many calls may be made, in an hour and at once, by one user and of one tool; 0 is no limit. Defaults: 5,000
    /// and 20,000 in an hour, 64 and 256 at once. Calls of the last hour count after a restart, too.
    pub limits: CallLimits,
    /// Hosts to which probes may go even if neither the operator nor the inventory named them: names, addresses, or
    /// `*.example.com` for all names below. Default: none.
    pub probes_allow: Vec<String>,
}

impl SecurityConfig {
    pub(super) fn read(reader: &mut Reader<'_>, known_tools: &[String]) -> Self {
        let mut raw = RawToolPolicy {
            default: reader.text("security.tool_policy.default"),
            ..RawToolPolicy::default()
        };
        for name in reader.names("security.tool_policy.groups") {
            if let Some(word) = reader.text(&format!("security.tool_policy.groups.{name}")) {
                raw.groups.insert(name, word);
            }
        }
        for name in reader.names("security.tool_policy.tools") {
            if let Some(word) = reader.text(&format!("security.tool_policy.tools.{name}")) {
                raw.tools.insert(name, word);
            }
        }
        let tool_policy =
            ToolPolicy::parse(&raw, known_tools.iter().map(String::as_str)).unwrap_or_else(|problems| {
                for problem in problems {
                    reader.problem(&format!("security.tool_policy.{}", problem.at), &problem.problem);
                }
                ToolPolicy::default()
            });
        let probes_allow = reader.list("security.probes.allow");
        for entry in &probes_allow {
            if let Err(problem) = ProbeRules::check_allowed(entry) {
                reader.problem("security.probes.allow", &format!("`{entry}` {problem}"));
            }
        }
        Self {
            tool_policy,
            redaction_patterns: reader.list("security.redaction.patterns"),
            limits: limits(reader),
            probes_allow,
        }
    }
}

/// More than anybody means; a larger number is a slip.
const MOST_CALLS: i64 = 10_000_000;

fn limits(reader: &mut Reader<'_>) -> CallLimits {
    let mut limits = CallLimits::default();
    for (key, limit) in [
        ("security.limits.calls_per_hour_by_user", &mut limits.per_person_hour),
        ("security.limits.calls_per_hour_by_tool", &mut limits.per_tool_hour),
        ("security.limits.calls_at_once_by_user", &mut limits.per_person_at_once),
        ("security.limits.calls_at_once_by_tool", &mut limits.per_tool_at_once),
    ] {
        if let Some(number) = reader.integer(key, 0, MOST_CALLS) {
            *limit = u32::try_from(number).unwrap_or(*limit);
        }
    }
    limits
}

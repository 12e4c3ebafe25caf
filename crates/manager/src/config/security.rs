//! `[security]`: policy, limits of calls, where probes may go, and redaction.

use super::notify::NotifyConfig;
use super::reader::Reader;
use gate::{ApprovalRules, CallLimits, ProbeRules, RawToolPolicy, ToolPolicy};
use std::time::Duration;

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
    /// How people approve calls that change something. `decide_by_seconds` (120) is how long they may take, and what
    /// comes after it counts as a denial; `decide_by_dangerous_seconds` (1,800) is the same for dangerous calls;
    /// `valid_for_seconds` (600) is how long after the decision a call may still start; all from 1 to 86,400.
    /// `self_approval` (true) lets operators approve their own calls, never through an API token.
    /// `grants_after_untrusted` (false) lets standing approvals hold in a turn that has taken in text from outside.
    pub approval: ApprovalRules,
    /// Who outside is told, once, when a call waits for a person: `notify_url` gets a POST that is signed with the secret
    /// in `notify_secret_file`; `push_url` (an ntfy server and a topic, with `push_token_file` if it asks for one) reaches
    /// phones; `mail_server` (with `mail_user` and `mail_password_file`) sends mail from `mail_from` to `mail_to`. Each
    /// links to the card. Default: nobody.
    pub notify: NotifyConfig,
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
            approval: approval(reader),
            notify: NotifyConfig::read(reader),
            probes_allow,
        }
    }
}

/// The longest time that people may take, in seconds: a day.
const MOST_SECONDS: i64 = 86_400;

fn approval(reader: &mut Reader<'_>) -> ApprovalRules {
    let mut rules = ApprovalRules::default();
    for (key, time) in [
        ("security.approval.decide_by_seconds", &mut rules.decide_by),
        ("security.approval.decide_by_dangerous_seconds", &mut rules.decide_by_dangerous),
        ("security.approval.valid_for_seconds", &mut rules.valid_for),
    ] {
        if let Some(seconds) = reader.integer(key, 1, MOST_SECONDS) {
            *time = Duration::from_secs(seconds.unsigned_abs());
        }
    }
    for (key, flag) in [
        ("security.approval.self_approval", &mut rules.self_approval),
        ("security.approval.grants_after_untrusted", &mut rules.grants_after_untrusted),
    ] {
        if let Some(value) = reader.flag(key) {
            *flag = value;
        }
    }
    rules
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

//! `[security]`: policy and redaction.

use super::reader::Reader;
use gate::{RawToolPolicy, ToolPolicy};

/// Policy and redaction.
#[derive(Clone, Debug, Default)]
pub struct SecurityConfig {
    /// What the configuration says about tools: tool before group before default.
    pub tool_policy: ToolPolicy,
    /// Regular expressions of secrets, on top of the built-in ones.
    pub redaction_patterns: Vec<String>,
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
        Self { tool_policy, redaction_patterns: reader.list("security.redaction.patterns") }
    }
}

//! Regular expressions that callers give, kept small.

use crate::support::errors::invalid;
use regex::{Regex, RegexBuilder};
use skill::SkillError;

/// Compiles a pattern. Its size is limited; matching takes linear time whatever it is.
pub(crate) fn compile(pattern: &str) -> Result<Regex, SkillError> {
    const MAX_COMPILED: usize = 1 << 20;
    RegexBuilder::new(pattern).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build().map_err(
        |error| match error {
            regex::Error::CompiledTooBig(_) => invalid("the regular expression is too large"),
            other => {
                let reason = other.to_string();
                let last =
                    reason.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned();
                invalid(format!("`{pattern}` is not a regular expression: {last}"))
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_or_huge_pattern_is_told() {
        assert!(compile("a(b").unwrap_err().message.contains("unclosed group"));
        assert!(compile(r"\w{1000}{1000}").unwrap_err().message.contains("too large"));
        assert!(compile("(?i)error|fail").unwrap().is_match("FAILED"));
    }
}

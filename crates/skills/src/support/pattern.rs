//! Patterns that callers give: regular expressions, kept small, and globs for paths.

use crate::support::errors::invalid;
use regex::{Regex, RegexBuilder};
use skill::SkillError;
use std::path::Path;

/// A pattern for paths: `*` and `?` stand for what is within one name, `**` for anything.
#[derive(Debug)]
pub(crate) struct Glob {
    regex: Regex,
    /// It is about whole paths, not about names.
    whole: bool,
}

impl Glob {
    /// Reads a pattern. With a slash it is about absolute paths, else about names.
    pub(crate) fn new(pattern: &str) -> Result<Self, SkillError> {
        let plain = pattern.trim_end_matches('/');
        let whole = plain.contains('/');
        if plain.is_empty() || (whole && !plain.starts_with(['/', '*'])) {
            return Err(invalid(format!(
                "`{pattern}` is neither a name (`*.cache`) nor an absolute path (`/var/lib/docker`)"
            )));
        }
        let mut expression = "^".to_owned();
        let mut letters = plain.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '*' if letters.next_if_eq(&'*').is_some() => expression.push_str(".*"),
                '*' => expression.push_str("[^/]*"),
                '?' => expression.push_str("[^/]"),
                other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
        }
        expression.push('$');
        Ok(Self { regex: compile(&format!("(?s){expression}"))?, whole })
    }

    /// Whether a path is meant.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        let text = if self.whole { Some(path.as_os_str()) } else { path.file_name() };
        text.is_some_and(|text| self.regex.is_match(&text.to_string_lossy()))
    }
}

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
    fn globs_are_about_names_or_about_whole_paths() {
        for (pattern, path, expected) in [
            ("*.log", "/var/log/a.log", true),
            ("*.log", "/var/log/a.log.1", false),
            ("a?c", "/x/abc", true),
            ("/var/lib/docker/", "/var/lib/docker", true),
            ("/var/*/docker", "/var/lib/docker", true),
            ("/var/*/c", "/var/a/b/c", false),
            ("**/cache", "/a/b/cache", true),
            ("a.c", "/x/abc", false),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(Path::new(path)), expected, "{pattern} {path}");
        }
        assert!(Glob::new("/").is_err() && Glob::new("var/log").is_err());
    }

    #[test]
    fn a_bad_or_huge_pattern_is_told() {
        assert!(compile("a(b").unwrap_err().message.contains("unclosed group"));
        assert!(compile(r"\w{1000}{1000}").unwrap_err().message.contains("too large"));
        assert!(compile("(?i)error|fail").unwrap().is_match("FAILED"));
    }
}

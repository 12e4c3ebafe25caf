//! What secrets look like.

use regex::Regex;
use std::sync::LazyLock;

/// How a match is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It is a secret: the last group that took part, or all of it.
    Always,
    /// Group 1 is a name; the value is a secret if the name says so.
    Assignment,
    /// The group is the password of a URL, unless it is a port and a path.
    UrlPassword,
}

/// One thing that secrets look like.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) kind: &'static str,
    pub(super) regex: Regex,
    pub(super) rule: Rule,
}

impl Pattern {
    pub(super) fn configured(pattern: &str) -> Result<Self, regex::Error> {
        Ok(Self { kind: "custom", regex: Regex::new(pattern)?, rule: Rule::Always })
    }
}

/// Compiles a pattern that is part of the program.
#[expect(clippy::expect_used, reason = "literals of this crate; a test compiles every one")]
pub(super) fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a built-in pattern compiles")
}

pub(super) static KEY_BEGIN: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"));
pub(super) static KEY_END: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"));
static KEY_MATERIAL: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^[\sA-Za-z0-9+/=\\]*[A-Za-z0-9+/=]{8,}[\sA-Za-z0-9+/=\\]*$"));

/// Whether a text inside of a private key's block is a line of it, rather than a time or a name beside it.
pub(super) fn is_key_material(text: &str) -> bool {
    KEY_MATERIAL.is_match(text)
}

/// A value behind a name: in escaped quotes, in quotes, or up to white space, a quote, `&` or `;`.
const VALUE: &str = r#"(?:\\+"(.*?)\\+"|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"'&;]+))"#;

pub(super) const SENSITIVE_WORD: &str =
    "passw(?:or)?d|passphrase|passcode|pwd|pass|secrets?|token|credentials?|key|authorization|cookie";

/// Of two that begin at one place and are equally long, the earlier names the kind.
pub(super) static BUILTIN: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let always = |kind, pattern: &str| Pattern { kind, regex: compiled(pattern), rule: Rule::Always };
    let assignment = |kind, pattern: &str| Pattern { kind, regex: compiled(pattern), rule: Rule::Assignment };
    vec![
        // A block that is cut off reaches to the end of the text; one whose beginning is cut off is its last lines.
        always(
            "private-key",
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        ),
        always(
            "private-key",
            r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\n|\\r)+)+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        ),
        always("jwt", r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_.-]*"),
        always("aws-key-id", r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b"),
        always("gcp-key", r"\bAIza[0-9A-Za-z_-]{35}"),
        always("gcp-token", r"\bya29\.[0-9A-Za-z_-]{20,}"),
        always("gcp-secret", r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
        always("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
        always("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,}"),
        always("slack-token", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
        always("slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})"),
        always("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
        always("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}"),
        always("stripe-key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
        always("npm-token", r"\bnpm_[A-Za-z0-9]{36}"),
        always("huggingface-token", r"\bhf_[A-Za-z0-9]{30,}"),
        always("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        always("steadyhand-token", r"\bsh[a-z]_[A-Za-z0-9_.-]{24,}"),
        always("bearer", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})"),
        always(
            "authorization",
            r#"(?i)\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:basic|bearer|digest|negotiate|token)\s+)?([^\s"',\\]+)"#,
        ),
        always("cookie", r#"(?im)\b(?:set-)?cookie\s*:\s*([^\r\n"]+)"#),
        Pattern {
            kind: "url-password",
            regex: compiled(r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s@"'<>]+)@"#),
            rule: Rule::UrlPassword,
        },
        assignment(
            "password",
            &format!(r#"(?i)([a-z0-9_.\-]*(?:{SENSITIVE_WORD})[0-9]*)\\*["']?\s*(?:=>|:=|[=:])\s*{VALUE}"#),
        ),
        // Options of commands, as they stand in process lists.
        assignment(
            "password",
            &format!(r#"(?i)(?:^|[\s"'])--?([a-z0-9_\-]*(?:{SENSITIVE_WORD})[0-9]*)\s+{VALUE}"#),
        ),
        always("password", r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\n|;]*?\s-p([^\s]+)"),
        always("password", r"\bsshpass\s+-p\s*([^\s]+)"),
        always(
            "password",
            r#"\bcurl\b[^\n|;]*?\s(?:-u|--user|-U|--proxy-user)[ =]?["']?[^\s:"']+:([^\s"']+)"#,
        ),
    ]
});

//! `[security]`: policy, limits of calls, where probes may go, and redaction.

use super::notify::NotifyConfig;
use super::reader::Reader;
use gate::{ApprovalRules, CallLimits, ProbeRules, RawToolPolicy, SigningPins, ToolPolicy};
use signing::{RelyingParty, RootKey, SopKey};
use std::time::Duration;
use url::Url;

/// Policy, limits of calls, where probes may go, and redaction.
#[derive(Clone, Debug, Default)]
pub struct SecurityConfig {
    /// What the configuration says about tools: tool before group before default.
    pub tool_policy: ToolPolicy,
    /// Regular expressions of secrets, on top of the built-in ones.
    pub redaction_patterns: Vec<String>,
    /// How many calls may be made, in an hour and at once, by one user, of one tool and on one host (`…_by_user`,
    /// `…_by_tool`, `…_by_edge`); 0 is no limit. Defaults: 5,000, 20,000 and 10,000 in an hour, 64, 256 and 32 at once.
    /// Calls of the last hour count after a restart, too.
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
    /// Which signed documents are trusted here: `security.sop.trusted_keys` (public keys in PEM, or absolute paths of files
    /// with one) sign procedures; `security.approvers.root_key` (base64) signs the list of approvers;
    /// `security.approvers.origin` and `rp_id` name the console that passkeys belong to. What counts on a host is in the
    /// host's own file. Default: nothing, and nobody can make dangerous calls.
    pub signing: SigningPins,
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
            signing: signing(reader),
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

/// Bytes of a file with a public key, at most.
const MAX_KEY_BYTES: u64 = 64 * 1024;

fn signing(reader: &mut Reader<'_>) -> SigningPins {
    const KEYS: &str = "security.sop.trusted_keys";
    const ROOT: &str = "security.approvers.root_key";
    let mut pins = SigningPins::default();
    for entry in reader.list(KEYS) {
        match key_text(&entry).and_then(|text| SopKey::from_pem(&text).map_err(|error| error.to_string())) {
            Ok(key) => pins.sop_keys.push(key),
            Err(problem) => reader.problem(KEYS, &problem),
        }
    }
    if let Some(text) = reader.text(ROOT) {
        match RootKey::from_base64(&text) {
            Ok(key) => pins.approver_root = Some(key),
            Err(error) => reader.problem(ROOT, &error.to_string()),
        }
    }
    pins.relying_party = relying_party(reader);
    pins
}

/// The text of a key that is given itself, or by the file that holds it.
fn key_text(entry: &str) -> Result<String, String> {
    use std::io::Read as _;
    if entry.contains("-----BEGIN") {
        return Ok(entry.to_owned());
    }
    if !entry.starts_with('/') {
        return Err(format!(
            "`{entry}`: expected a public key in PEM, or the absolute path of a file with one"
        ));
    }
    let mut text = String::new();
    let read = std::fs::File::open(entry).and_then(|file| file.take(MAX_KEY_BYTES).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| format!("{entry} can't be read: {error}"))
}

fn relying_party(reader: &mut Reader<'_>) -> Option<RelyingParty> {
    const ORIGIN: &str = "security.approvers.origin";
    const RP_ID: &str = "security.approvers.rp_id";
    let (origin, id) = match (reader.text(ORIGIN), reader.text(RP_ID)) {
        (None, None) => return None,
        (Some(origin), Some(id)) => (origin, id),
        (Some(_), None) => {
            reader.problem(RP_ID, "must be there too: passkeys belong to an origin and an rpId");
            return None;
        }
        (None, Some(_)) => {
            reader.problem(ORIGIN, "must be there too: passkeys belong to an origin and an rpId");
            return None;
        }
    };
    let url = Url::parse(&origin).ok().filter(|url| url.origin().ascii_serialization() == origin);
    let Some(host) = url.as_ref().and_then(Url::host_str) else {
        reader.problem(
            ORIGIN,
            "must be an origin as browsers write it, such as \"https://steadyhand.example\"",
        );
        return None;
    };
    if id != host && !host.ends_with(&format!(".{id}")) {
        reader.problem(RP_ID, &format!("must be `{host}` or a domain above it"));
        return None;
    }
    Some(RelyingParty { origin, id })
}

/// More than anybody means; a larger number is a slip.
const MOST_CALLS: i64 = 10_000_000;

fn limits(reader: &mut Reader<'_>) -> CallLimits {
    let mut limits = CallLimits::default();
    for (key, limit) in [
        ("security.limits.calls_per_hour_by_user", &mut limits.per_person_hour),
        ("security.limits.calls_per_hour_by_tool", &mut limits.per_tool_hour),
        ("security.limits.calls_per_hour_by_edge", &mut limits.per_edge_hour),
        ("security.limits.calls_at_once_by_user", &mut limits.per_person_at_once),
        ("security.limits.calls_at_once_by_tool", &mut limits.per_tool_at_once),
        ("security.limits.calls_at_once_by_edge", &mut limits.per_edge_at_once),
    ] {
        if let Some(number) = reader.integer(key, 0, MOST_CALLS) {
            *limit = u32::try_from(number).unwrap_or(*limit);
        }
    }
    limits
}

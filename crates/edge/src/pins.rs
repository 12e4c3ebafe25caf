//! What the host's owner pins in the host's own file: whose procedures and whose signatures count here.

use serde::Deserialize;
use signing::{Pins, RelyingParty, RootKey, SopKey};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Keys for procedures, at most.
const MAX_SOP_KEYS: usize = 16;

/// Bytes of a key's file, at most.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// Labels, at most.
const MAX_LABELS: usize = 32;

/// Whose procedures count here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SopSection {
    /// Public keys that sign procedures, each as PEM text (`-----BEGIN PUBLIC KEY-----…`) or as the absolute path of a file
    /// with it. Default: none, so that dangerous calls are off.
    pub trusted_keys: Vec<String>,
}

/// Whose signatures count here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApproversSection {
    /// The key that signs the list of approvers, as `steadyhand approvers root-keygen` prints it (base64). Default: none, so
    /// that no signature counts and dangerous calls are off.
    pub root_key: Option<String>,
    /// The console that passkeys must be used on, for example `https://steadyhand.example`. Goes with `rp_id`. Default:
    /// none, so that passkeys don't count here; key files do.
    pub origin: Option<String>,
    /// The name that passkeys belong to, for example `steadyhand.example`: the host name of `origin`, or a domain above it.
    pub rp_id: Option<String>,
    /// How many of a call's signatures must come from a key file, outside of any browser: 0 to 2. Default: 0.
    pub min_independent_signatures: usize,
}

impl SopSection {
    /// The files that keys are in, also by the names that they have behind links.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let named = self.trusted_keys.iter().filter(|key| !is_pem(key)).map(PathBuf::from);
        named.flat_map(|path| [path.canonicalize().ok(), Some(path)]).flatten().collect()
    }
}

fn is_pem(key: &str) -> bool {
    key.contains("-----BEGIN")
}

/// Reads what is pinned.
///
/// # Errors
///
/// Tells everything that is wrong with it.
pub(crate) fn read(sop: &SopSection, approvers: &ApproversSection) -> Result<Pins, Vec<String>> {
    let mut problems = Vec::new();
    let mut pins =
        Pins { min_independent_signatures: approvers.min_independent_signatures, ..Pins::default() };
    if sop.trusted_keys.len() > MAX_SOP_KEYS {
        problems.push(format!("security.sop.trusted_keys: at most {MAX_SOP_KEYS} keys"));
    }
    for (index, key) in sop.trusted_keys.iter().take(MAX_SOP_KEYS).enumerate() {
        match sop_key(key) {
            Ok(key) => pins.sop_keys.push(key),
            Err(problem) => problems.push(format!("security.sop.trusted_keys[{index}]: {problem}")),
        }
    }
    match approvers.root_key.as_deref().map(root_key).transpose() {
        Ok(key) => pins.approver_root = key,
        Err(problem) => problems.push(format!("security.approvers.root_key: {problem}")),
    }
    match (&approvers.origin, &approvers.rp_id) {
        (Some(origin), Some(rp_id)) => match check_party(origin, rp_id) {
            Ok(()) => pins.relying_party = Some(RelyingParty { origin: origin.clone(), id: rp_id.clone() }),
            Err(problem) => problems.push(format!("security.approvers.{problem}")),
        },
        (None, None) => {}
        (Some(_), None) => problems.push(
            "security.approvers.rp_id is missing: passkeys need both `origin` and `rp_id`, which is the origin's host name"
                .to_owned(),
        ),
        (None, Some(_)) => problems.push(
            "security.approvers.origin is missing: passkeys need both `origin`, for example `https://steadyhand.example`, and \
             `rp_id`"
                .to_owned(),
        ),
    }
    if approvers.min_independent_signatures > 2 {
        problems.push("security.approvers.min_independent_signatures: expected 0, 1 or 2".to_owned());
    }
    if problems.is_empty() { Ok(pins) } else { Err(problems) }
}

fn sop_key(text: &str) -> Result<SopKey, String> {
    if is_pem(text) {
        return SopKey::from_pem(text).map_err(|error| error.to_string());
    }
    if !text.starts_with('/') {
        return Err(
            "expected the PEM text of a public key (`-----BEGIN PUBLIC KEY-----…`), or the absolute path of a file with it"
                .to_owned(),
        );
    }
    let pem = read_key(Path::new(text)).map_err(|error| format!("{text}: {error}"))?;
    SopKey::from_pem(&pem).map_err(|error| format!("{text}: {error}"))
}

fn read_key(path: &Path) -> io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    if File::open(path)?.take(MAX_KEY_BYTES).read_to_string(&mut text)? as u64 == MAX_KEY_BYTES {
        return Err(io::Error::other("it is too long for a key"));
    }
    Ok(text)
}

fn root_key(text: &str) -> Result<RootKey, String> {
    if text.contains("PRIVATE KEY") {
        return Err("this is a private key; pin the public one, which `steadyhand approvers root-keygen` printed, and keep \
                    this one off every manager and host"
            .to_owned());
    }
    RootKey::from_base64(text).map_err(|error| error.to_string())
}

/// Whether a browser could make a signature on `origin` with a passkey of `rp_id` (W3C Web Authentication, §5.1.3).
fn check_party(origin: &str, rp_id: &str) -> Result<(), String> {
    let bad_origin = || {
        "origin: expected `https://` and a host name in lower case, with a port if it isn't 443 and nothing behind it, for \
         example `https://steadyhand.example` (`http://` only for localhost)"
            .to_owned()
    };
    let (scheme, place) = origin.split_once("://").ok_or_else(bad_origin)?;
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    };
    let is_local = host == "localhost" || host.ends_with(".localhost");
    let default_port = match scheme {
        "https" => "443",
        "http" if is_local => "80",
        _ => return Err(bad_origin()),
    };
    let is_port = |port: &str| {
        // A browser leaves the scheme's own port out, and writes numbers without zeros in front.
        port != default_port
            && port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port)
    };
    if !is_host(host) || !port.is_none_or(is_port) {
        return Err(bad_origin());
    }
    if !is_host(rp_id) || (host != rp_id && !host.ends_with(&format!(".{rp_id}"))) {
        return Err(format!(
            "rp_id: expected `{host}`, which is the host name of `origin`, or a domain above it"
        ));
    }
    Ok(())
}

fn is_host(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 253 && name.split('.').all(|part| !part.is_empty() && part.bytes().all(legal))
}

/// What is wrong with the host's labels.
pub(crate) fn label_problems(labels: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    if labels.len() > MAX_LABELS {
        problems.push(format!("labels: at most {MAX_LABELS}"));
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/".contains(&byte);
    for (key, value) in labels {
        if !(1..=64).contains(&key.len()) || !key.bytes().all(legal) {
            problems.push(format!(
                "labels: `{}`: expected 1 to 64 of letters, digits and `.-_/`",
                key.escape_debug()
            ));
        }
        if value.chars().count() > 128 || value.chars().any(char::is_control) {
            problems
                .push(format!("labels.{}: expected at most 128 printable characters", key.escape_debug()));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::{DataDir, EdgeConfig, Options};

    const SOP_KEY: &str = include_str!("../../signing/fixtures/sop.pub.pem");
    const SHORT_KEY: &str = include_str!("../../signing/fixtures/short.pub.pem");
    const ROOT: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn problem(text: &str) -> String {
        EdgeConfig::parse(text).expect_err(text)
    }

    #[test]
    fn keys_are_pinned_as_text_or_as_files() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("operations.pub.pem"), folder.path().join("link"));
        std::fs::write(&file, SOP_KEY).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let text = format!(
            "[security.sop]\ntrusted_keys = [{SOP_KEY:?}, {link:?}]\n[security.approvers]\nroot_key = \"{ROOT}\"\n\
             origin = \"https://console.example:8443\"\nrp_id = \"example\"\nmin_independent_signatures = 1\n[labels]\nrole = \"web\""
        );
        let config = EdgeConfig::parse(&text).unwrap();
        let pins = config.pins().unwrap();
        assert_eq!(pins.sop_keys.len(), 2);
        assert_eq!(pins.sop_keys[0], pins.sop_keys[1]);
        assert_eq!(pins.approver_root.unwrap().to_base64(), ROOT);
        assert_eq!(pins.relying_party.unwrap().id, "example");
        assert_eq!((pins.min_independent_signatures, config.labels["role"].as_str()), (1, "web"));
        assert_eq!(config.security.sop.files(), [file, link]);
    }

    #[test]
    fn files_with_pinned_keys_are_closed_to_skills_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("operations.pub.pem"), folder.path().join("link"));
        std::fs::write(&file, SOP_KEY).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let config = EdgeConfig::parse(&format!("[security.sop]\ntrusted_keys = [{link:?}]")).unwrap();
        let options =
            Options::new(config, folder.path().join("edge.toml"), DataDir::new(folder.path().join("data")));
        let host = options.host();
        for path in [&file, &link] {
            assert!(host.file_rules().denied.contains(path), "{}", path.display());
            assert!(host.change_rules().protected.contains(path), "{}", path.display());
        }
    }

    #[test]
    fn what_is_wrong_with_a_pin_is_told_with_what_would_be_right() {
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().join("operations.key.pem");
        std::fs::write(&private, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap();
        let keys = |key: &str| format!("[security.sop]\ntrusted_keys = [{key:?}]");
        let approvers = |rest: &str| format!("[security.approvers]\n{rest}");
        for (text, words) in [
            (keys("operations.pub.pem"), "absolute path"),
            (keys("/nowhere/operations.pub.pem"), "/nowhere/operations.pub.pem: No such file"),
            (keys(folder.path().to_str().unwrap()), "it is not a file"),
            (keys("/dev/zero"), "it is not a file"),
            (keys(private.to_str().unwrap()), "this is a private key; pin the public one"),
            (keys(SHORT_KEY), "3072 to 8192 bits"),
            (keys("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"), "trusted_keys[0]"),
            (
                approvers("root_key = \"-----BEGIN PRIVATE KEY-----\""),
                "this is a private key; pin the public one",
            ),
            (approvers("root_key = \"AAAA\""), "32 bytes as base64"),
            (approvers("origin = \"https://console.example\""), "rp_id is missing"),
            (approvers("rp_id = \"console.example\""), "origin is missing"),
            (approvers("min_independent_signatures = 3"), "expected 0, 1 or 2"),
            ("[labels]\n\"a b\" = \"x\"".to_owned(), "labels: `a b`"),
            ("[labels]\na = \"x\\ny\"".to_owned(), "labels.a: expected at most"),
        ] {
            let problem = problem(&text);
            assert!(problem.contains(words), "{text}: {problem}");
            assert!(!problem.contains("AAAA"), "{problem}");
        }
    }

    #[test]
    fn an_origin_is_what_a_browser_would_say() {
        let party = |origin: &str, rp_id: &str| {
            EdgeConfig::parse(&format!("[security.approvers]\norigin = {origin:?}\nrp_id = {rp_id:?}"))
        };
        for (origin, rp_id) in [
            ("https://steadyhand.example", "steadyhand.example"),
            ("https://a.steadyhand.example:8443", "steadyhand.example"),
            ("http://localhost:7180", "localhost"),
        ] {
            party(origin, rp_id).unwrap();
        }
        for (origin, rp_id, words) in [
            ("http://steadyhand.example", "steadyhand.example", "origin: expected"),
            ("https://steadyhand.example/", "steadyhand.example", "origin: expected"),
            ("https://Steadyhand.example", "steadyhand.example", "origin: expected"),
            ("https://steadyhand.example:443", "steadyhand.example", "origin: expected"),
            ("steadyhand.example", "steadyhand.example", "origin: expected"),
            ("https://steadyhand.example", "hand.example", "rp_id: expected"),
            ("https://steadyhand.example", "https://steadyhand.example", "rp_id: expected"),
        ] {
            let problem = party(origin, rp_id).unwrap_err();
            assert!(problem.contains(words), "{origin} {rp_id}: {problem}");
        }
    }
}

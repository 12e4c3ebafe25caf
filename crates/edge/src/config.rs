//! The configuration file. The comments here are its manual.

use crate::EdgeError;
use crate::own::OwnPlaces;
use crate::pins::{ApproversSection, SopSection, label_problems};
use admission::ApprovalProof;
use model::Class;
use packs::LoadRules;
use sandbox::{Backend, Resources, SandboxConfig};
use serde::Deserialize;
use signing::Pins;
use skill::{AddressRules, ChangeRules, FileRules, Network};
use skills::Registry;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tunnel::{Address, DialConfig, Proxy};

/// What the host's owner decides about its edge. Nothing of it ever comes from the manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeConfig {
    /// How the manager is reached.
    #[serde(default)]
    pub tunnel: TunnelConfig,
    /// How much the edge takes on.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Which files skills may read.
    #[serde(default)]
    pub files: FilesConfig,
    /// Which addresses skills may probe.
    #[serde(default)]
    pub probes: ProbesConfig,
    /// What the host asks of the manager, and how child processes are held.
    #[serde(default)]
    pub security: SecurityConfig,
    /// Which packs are loaded, and what they may.
    #[serde(default)]
    pub packs: PacksConfig,
    /// What skills may change.
    #[serde(default)]
    pub changes: ChangesConfig,
    /// Which skills the edge has.
    #[serde(default)]
    pub skills: SkillsConfig,
    /// What is logged.
    #[serde(default)]
    pub log: LogConfig,
    /// The host's own labels, for example `role = "web"`: what a procedure's `labels` are held against here, whatever labels
    /// the manager gives the host. Default: none.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// How the manager is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TunnelConfig {
    /// The manager's tunnel address, for example `manager.example:7443`. `enroll` writes it.
    pub manager: String,
    /// An HTTP proxy that is asked to CONNECT, for example `http://user:password@proxy.example:3128`. Default: none.
    pub proxy: Option<String>,
    /// Longest wait before the first reconnect, jitter included. Default: `1s`.
    #[serde(with = "duration")]
    pub reconnect_min: Duration,
    /// Longest wait before any reconnect, jitter included. Default: `1m`.
    #[serde(with = "duration")]
    pub reconnect_max: Duration,
}

impl Default for TunnelConfig {
    fn default() -> Self {
        Self {
            manager: String::new(),
            proxy: None,
            reconnect_min: tunnel::RECONNECT_MIN,
            reconnect_max: tunnel::RECONNECT_MAX,
        }
    }
}

/// How much the edge takes on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Calls at once; more are refused as busy. Default: 32.
    pub max_running: usize,
    /// Longest time that one call may take, whatever the manager asks for. Default: `1h`.
    #[serde(with = "duration")]
    pub max_timeout: Duration,
    /// Bytes of results that are remembered for a manager that lost its connection. Default: 2 MiB.
    pub remembered_bytes: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let limits = admission::Limits::default();
        Self {
            max_running: limits.max_running,
            max_timeout: limits.max_timeout,
            remembered_bytes: limits.max_result_bytes,
        }
    }
}

/// Which files skills may read, beyond the built-in list of secrets, which always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesConfig {
    /// Only files below these folders may be read. Default: everywhere.
    pub roots: Vec<PathBuf>,
    /// Nothing at or below these may be read. The edge's own directory always belongs to them.
    pub denied: Vec<PathBuf>,
}

/// Which addresses skills may probe, beyond the metadata services, which are always refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbesConfig {
    /// Only these ranges may be probed, for example `10.0.0.0/8`. Default: all.
    pub allowed: Vec<String>,
    /// These ranges may not be probed. Wins over `allowed`.
    pub denied: Vec<String>,
}

/// What the host asks of the manager, and how child processes are held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecurityConfig {
    /// What proves that a person approved a call that changes something: `manager` takes the manager's word; `signed` asks
    /// for the signature of a person whose key the host knows; `mixed` asks for it for every `write_file` and for commands of
    /// `bash` that could do anything (an interpreter, a word that only running tells), and takes the manager's word for the
    /// rest. Dangerous calls always need a signed procedure and two people's signatures. Default: `mixed` where
    /// `approvers.root_key` is set, else `manager`.
    pub approval_proof: Option<ApprovalProof>,
    /// Whose procedures count here.
    pub sop: SopSection,
    /// Whose signatures count here.
    pub approvers: ApproversSection,
    /// By what.
    pub sandbox: SandboxSection,
    /// What they may use.
    pub resources: ResourcesSection,
}

/// What holds child processes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSection {
    /// `false` is the same as `backend = "none"`. Default: `true`.
    pub enabled: bool,
    /// `auto`, `landlock`, `firejail`, `bubblewrap`, `docker` or `none`. `auto` takes the first that works, in this
    /// order, and warns at `none`. Default: `auto`.
    pub backend: Backend,
    /// More arguments for firejail. Default: none.
    pub firejail_args: Vec<String>,
    /// Groups that safe commands have, where they are there, so that logs can be read. Default: `adm` and
    /// `systemd-journal`.
    pub safe_groups: Vec<String>,
}

impl Default for SandboxSection {
    fn default() -> Self {
        let config = SandboxConfig::default();
        Self {
            enabled: true,
            backend: config.backend,
            firejail_args: config.firejail_args,
            safe_groups: config.safe_groups,
        }
    }
}

/// The most that one child process may use, with all that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResourcesSection {
    /// MiB of memory. Default: 512.
    pub max_memory_mb: u32,
    /// Percent of one CPU. Default: 80.
    pub max_cpu_percent: u32,
    /// Open files of each process. Default: 256.
    pub max_open_files: u32,
    /// Processes and threads. Default: 128.
    pub max_pids: u32,
}

impl Default for ResourcesSection {
    fn default() -> Self {
        let resources = Resources::default();
        Self {
            max_memory_mb: resources.max_memory_mb,
            max_cpu_percent: resources.max_cpu_percent,
            max_open_files: resources.max_open_files,
            max_pids: resources.max_pids,
        }
    }
}

impl SecurityConfig {
    /// What proves an approval here.
    pub fn proof(&self) -> ApprovalProof {
        self.approval_proof.unwrap_or(match self.approvers.root_key {
            Some(_) => ApprovalProof::Mixed,
            None => ApprovalProof::Manager,
        })
    }

    /// What the sandbox is to do; `own` can't be written by children, `own_secrets` can't be read either.
    pub(crate) fn children(&self, own: Vec<PathBuf>, own_secrets: Vec<PathBuf>) -> SandboxConfig {
        let (sandbox, resources) = (&self.sandbox, &self.resources);
        SandboxConfig {
            backend: if sandbox.enabled { sandbox.backend } else { Backend::None },
            firejail_args: sandbox.firejail_args.clone(),
            safe_groups: sandbox.safe_groups.clone(),
            resources: Resources {
                max_memory_mb: resources.max_memory_mb,
                max_cpu_percent: resources.max_cpu_percent,
                max_open_files: resources.max_open_files,
                max_pids: resources.max_pids,
                ..Resources::default()
            },
            own,
            own_secrets,
            ..SandboxConfig::default()
        }
    }
}

/// Which packs are loaded, and what they may.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PacksConfig {
    /// Each directory in these is a pack. Default: `/usr/lib/steadyhand/packs` and `/etc/steadyhand/packs`.
    pub dirs: Vec<PathBuf>,
    /// The class of a skill whose manifest names none. Default: `dangerous`.
    pub default_class: Class,
    /// Whether packs may use the network. Default: true; each one says in its manifest whether it wants to.
    pub network: bool,
    /// Packs may write only below these. Default: wherever their manifests say.
    pub write_roots: Vec<PathBuf>,
}

impl Default for PacksConfig {
    fn default() -> Self {
        Self {
            dirs: vec!["/usr/lib/steadyhand/packs".into(), "/etc/steadyhand/packs".into()],
            default_class: Class::Dangerous,
            network: true,
            write_roots: Vec::new(),
        }
    }
}

impl PacksConfig {
    /// The rules by which packs are loaded; their copies are kept in `keep`.
    pub(crate) fn rules(&self, keep: PathBuf) -> LoadRules {
        // A manifest names the variables that it wants; a value that is no text can be none of them.
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        LoadRules {
            default_class: self.default_class,
            network: self.network,
            write_roots: self.write_roots.clone(),
            environment: packs::Environment(std::env::vars_os().filter_map(text).collect()),
            ..LoadRules::new(self.dirs.clone(), keep)
        }
    }
}

/// What skills may change, once a call has been approved. The edge's own files, its own unit and the units that carry
/// the whole system (D-Bus, the journal, everything that ends or suspends it) are always refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangesConfig {
    /// Files may be written, removed and changed by git only below these folders, for example `/etc/nginx`. Default:
    /// none.
    pub write_roots: Vec<PathBuf>,
    /// Units that may be restarted, reloaded, started and stopped, by whole name; `*` stands for any text. Default:
    /// `["*.service"]`.
    pub units: Vec<String>,
}

impl Default for ChangesConfig {
    fn default() -> Self {
        Self { write_roots: Vec::new(), units: vec!["*.service".to_owned()] }
    }
}

/// Which skills the edge has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SkillsConfig {
    /// `all`, or `default`: only `bash`, `read_file` and `write_file`. Default: `all`.
    pub tools: ToolSet,
}

/// A set of built-in skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// Every skill.
    #[default]
    All,
    /// Those of a restricted agent.
    Default,
}

impl ToolSet {
    /// The skills.
    pub fn registry(self) -> Registry {
        match self {
            Self::All => skills::all_tools(),
            Self::Default => skills::default_tools(),
        }
    }
}

/// What is logged, to standard error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// A filter such as `info` or `info,tunnel=debug`. Default: `info`.
    pub level: String,
    /// `text` or `json`. Default: `text`.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl EdgeConfig {
    /// Reads and checks the file.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, EdgeError> {
        let text =
            fs::read_to_string(path).map_err(|source| EdgeError::File { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|problem| EdgeError::Config { path: path.to_owned(), problem })
    }

    /// Reads the file if there is one, else takes the defaults.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with it.
    pub fn load_or_default(path: &Path) -> Result<Self, EdgeError> {
        match Self::load(path) {
            Err(EdgeError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            other => other,
        }
    }

    /// Reads and checks a text.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| with_nearest_key(&error.to_string()))?;
        let problems = config.problems();
        if problems.is_empty() { Ok(config) } else { Err(problems.join("; ")) }
    }

    /// Everything that is wrong with the values, as far as can be told without trying them. The keys that they name are
    /// read.
    fn problems(&self) -> Vec<String> {
        let mut problems = label_problems(&self.labels);
        problems.extend(self.pins().err().unwrap_or_default());
        if !self.tunnel.manager.is_empty()
            && let Err(error) = self.tunnel.manager.parse::<Address>()
        {
            problems.push(format!("tunnel.manager: {error}"));
        }
        if let Some(Err(error)) = self.tunnel.proxy.as_ref().map(|proxy| proxy.parse::<Proxy>()) {
            problems.push(format!("tunnel.proxy: {error}"));
        }
        if self.tunnel.reconnect_min > self.tunnel.reconnect_max {
            problems.push("tunnel.reconnect_min is longer than tunnel.reconnect_max".to_owned());
        }
        if self.limits.max_running == 0 {
            problems.push("limits.max_running must be at least 1".to_owned());
        }
        let resources = &self.security.resources;
        for (key, value) in [
            ("max_memory_mb", resources.max_memory_mb),
            ("max_cpu_percent", resources.max_cpu_percent),
            ("max_open_files", resources.max_open_files),
            ("max_pids", resources.max_pids),
        ] {
            if value == 0 {
                problems.push(format!("security.resources.{key} must be at least 1"));
            }
        }
        for (key, ranges) in [("allowed", &self.probes.allowed), ("denied", &self.probes.denied)] {
            for range in ranges {
                if let Err(error) = range.parse::<Network>() {
                    problems.push(format!("probes.{key}: {error}"));
                }
            }
        }
        for (key, folders) in [
            ("files.roots", &self.files.roots),
            ("files.denied", &self.files.denied),
            ("packs.dirs", &self.packs.dirs),
            ("packs.write_roots", &self.packs.write_roots),
            ("changes.write_roots", &self.changes.write_roots),
        ] {
            problems.extend(
                folders
                    .iter()
                    .filter(|folder| !folder.is_absolute())
                    .map(|folder| format!("{key}: {} must begin with /", folder.display())),
            );
        }
        for unit in &self.changes.units {
            let is_whole = unit.contains('*') || unit.contains('.');
            if !is_whole || unit.contains(|letter: char| letter.is_whitespace() || letter == '/') {
                problems.push(format!(
                    "changes.units: `{unit}` is no name of a unit; write `nginx.service` or `app-*.service`"
                ));
            }
        }
        problems
    }

    /// How to dial.
    ///
    /// # Errors
    ///
    /// Fails if no manager is configured, or its address or the proxy's isn't one.
    pub fn dial(&self) -> Result<DialConfig, tunnel::TunnelError> {
        let mut dial = DialConfig::new(self.tunnel.manager.parse()?);
        dial.proxy = self.tunnel.proxy.as_deref().map(str::parse).transpose()?;
        Ok(dial)
    }

    /// What the host's owner pinned, with the keys that are in files.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with it.
    pub fn pins(&self) -> Result<Pins, Vec<String>> {
        crate::pins::read(&self.security.sop, &self.security.approvers)
    }

    /// The rules for files; `own` are the edge's own files and folders.
    pub(crate) fn file_rules(&self, own: impl IntoIterator<Item = PathBuf>) -> FileRules {
        let denied = self.files.denied.iter().cloned().chain(own).collect();
        FileRules { roots: self.files.roots.clone(), denied }
    }

    /// The rules for changes; `own` is what belongs to the edge.
    pub(crate) fn change_rules(&self, own: OwnPlaces) -> ChangeRules {
        ChangeRules {
            write_roots: self.changes.write_roots.clone(),
            protected: own.protected.into_iter().chain(self.packs.dirs.iter().cloned()).collect(),
            units: self.changes.units.clone(),
            own_unit: own.unit,
            keep: Some(own.keep),
        }
    }

    /// The rules for addresses.
    pub(crate) fn address_rules(&self) -> AddressRules {
        let ranges = |texts: &[String]| texts.iter().filter_map(|text| text.parse().ok()).collect();
        let manager = self.tunnel.manager.parse::<Address>().ok();
        AddressRules {
            allowed: ranges(&self.probes.allowed),
            denied: ranges(&self.probes.denied),
            own_ports: Vec::new(),
            own_endpoints: manager
                .iter()
                .map(|address| (address.host().to_owned(), address.port()))
                .collect(),
        }
    }
}

/// Adds the nearest known key to serde's complaint about an unknown one.
fn with_nearest_key(message: &str) -> String {
    let message = message.trim_end();
    let Some((_, rest)) = message.split_once("unknown field `") else { return message.to_owned() };
    let mut words = rest.split('`');
    let unknown = words.next().unwrap_or_default();
    // Every second piece after it is a word between backticks.
    let nearest = words
        .skip(1)
        .step_by(2)
        .max_by(|a, b| strsim::jaro_winkler(unknown, a).total_cmp(&strsim::jaro_winkler(unknown, b)));
    match nearest {
        Some(nearest) => format!("{message}\nthe nearest known key is `{nearest}`"),
        None => message.to_owned(),
    }
}

/// Durations such as `1s` or `10m`.
mod duration {
    use serde::{Deserialize, Deserializer, de};
    use std::time::Duration;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        let problem = EdgeConfig::parse("[tunnel]\nmanger = \"m:1\"\n").unwrap_err();
        assert!(
            problem.contains("line 2") && problem.ends_with("the nearest known key is `manager`"),
            "{problem}"
        );
    }

    #[test]
    fn all_wrong_values_are_told_together() {
        let text = "[tunnel]\nmanager = \"m\"\n[limits]\nmax_running = 0\n[probes]\nallowed = [\"x\"]\n[files]\nroots = [\"var\"]\n[changes]\nwrite_roots = [\"srv\"]\nunits = [\"nginx\"]";
        let problem = EdgeConfig::parse(text).unwrap_err();
        for part in [
            "tunnel.manager",
            "max_running",
            "probes.allowed",
            "files.roots",
            "changes.write_roots",
            "changes.units",
        ] {
            assert!(problem.contains(part), "{part} is missing in: {problem}");
        }
    }

    #[test]
    fn what_proves_an_approval_follows_from_the_pinned_root_where_nobody_says_it() {
        let root = "[security.approvers]\nroot_key = \"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"\n";
        for (text, proof) in [
            (String::new(), ApprovalProof::Manager),
            (root.to_owned(), ApprovalProof::Mixed),
            (format!("[security]\napproval_proof = \"signed\"\n{root}"), ApprovalProof::Signed),
            (format!("[security]\napproval_proof = \"manager\"\n{root}"), ApprovalProof::Manager),
        ] {
            assert_eq!(EdgeConfig::parse(&text).unwrap().security.proof(), proof, "{text}");
        }
        let unknown = EdgeConfig::parse("[security]\napproval_proof = \"sighned\"").unwrap_err();
        assert!(unknown.contains("`manager`, `signed`, `mixed`"), "{unknown}");
    }

    #[test]
    fn a_restricted_edge_has_three_skills() {
        let config = EdgeConfig::parse("[skills]\ntools = \"default\"\n").unwrap();
        assert_eq!(config.skills.tools.registry().iter().count(), 3);
        assert!(EdgeConfig::default().skills.tools.registry().iter().count() > 3);
    }
}

//! Standard operating procedures: what a dangerous call must be covered by.
//!
//! A procedure is a TOML file with a detached signature over its bytes as they are: RSA-PSS with SHA-256 and a salt of 32
//! bytes, which `openssl dgst -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32` makes and checks too.

use crate::{DocumentError, SopKey};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skill::Validator;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a procedure, at most.
pub(crate) const MAX_SOP_BYTES: usize = 64 * 1024;

/// Steps of a procedure, at most.
const MAX_STEPS: usize = 64;

/// How long a procedure may be valid, in days.
const MAX_VALID_DAYS: i64 = 732;

/// A procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sop {
    /// Its name for machines: 1–64 of `[a-z0-9-]`.
    pub id: String,
    /// Rises with every change, from 1.
    pub version: u64,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// From when it may be used.
    pub valid_from: Timestamp,
    /// Until when it may be used; at most 732 days later.
    pub valid_until: Timestamp,
    /// What it allows, 1–64 steps.
    pub steps: Vec<Step>,
}

/// One thing that a procedure allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its name within the procedure: 1–64 of `[a-z0-9_-]`.
    pub name: String,
    /// Key of the skill.
    pub skill: String,
    /// JSON Schema that the arguments must satisfy, beside the skill's own.
    pub parameters: Value,
    /// Where it may run.
    pub targets: Targets,
    /// How often it may run in all, on one host, 1–10,000.
    pub maximum_runs: u32,
}

/// Where a step may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// On every host.
    AnyHost,
    /// On hosts that have all of these labels.
    Labels(BTreeMap<String, String>),
}

impl Targets {
    /// Whether a host with these labels is one of them.
    pub fn contain(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::AnyHost => true,
            Self::Labels(wanted) => wanted.iter().all(|(key, value)| labels.get(key) == Some(value)),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSop {
    id: String,
    version: u64,
    title: String,
    #[serde(default)]
    description: String,
    valid_from: RawTime,
    valid_until: RawTime,
    steps: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    name: String,
    skill: String,
    parameters: Value,
    #[serde(default)]
    any_host: bool,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    maximum_runs: u32,
}

/// A TOML date-time, or the same as text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum RawTime {
    Toml(toml::value::Datetime),
    Text(String),
}

impl RawTime {
    /// The moment.
    ///
    /// # Errors
    ///
    /// Fails if it has no zone.
    pub(crate) fn read(&self, at: &str) -> Result<Timestamp, DocumentError> {
        let text = match self {
            Self::Toml(time) => time.to_string(),
            Self::Text(text) => text.clone(),
        };
        chrono::DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()).map_err(|_| {
            malformed(format!("{at}: expected a time with its zone, such as 2027-01-31T00:00:00Z"))
        })
    }
}

impl Sop {
    /// Reads a procedure.
    ///
    /// # Errors
    ///
    /// Says what is wrong, where, and what would be right.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        if text.len() > MAX_SOP_BYTES {
            return Err(malformed(format!("a procedure has at most {MAX_SOP_BYTES} bytes")));
        }
        let raw: RawSop =
            toml::from_str(text).map_err(|error| malformed(error.to_string().trim_end().to_owned()))?;
        if !is_name(&raw.id, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Err(malformed("id: expected 1 to 64 of a-z, 0-9 and `-`".to_owned()));
        }
        if raw.version == 0 || raw.version > i64::MAX as u64 {
            return Err(malformed("version: expected a number from 1".to_owned()));
        }
        if raw.title.trim().is_empty() || raw.title.chars().count() > 200 {
            return Err(malformed("title: expected 1 to 200 characters".to_owned()));
        }
        let valid_from = raw.valid_from.read("valid_from")?;
        let valid_until = raw.valid_until.read("valid_until")?;
        if valid_until <= valid_from {
            return Err(malformed("valid_until: it must be after valid_from".to_owned()));
        }
        if (valid_until - valid_from).num_days() > MAX_VALID_DAYS {
            return Err(malformed(format!(
                "valid_until: a procedure is valid for at most {MAX_VALID_DAYS} days, then somebody has to look at it again"
            )));
        }
        if raw.steps.is_empty() || raw.steps.len() > MAX_STEPS {
            return Err(malformed(format!("steps: expected 1 to {MAX_STEPS} of them")));
        }
        let mut names = BTreeSet::new();
        let mut steps = Vec::with_capacity(raw.steps.len());
        for (index, step) in raw.steps.into_iter().enumerate() {
            let step = step.read(index)?;
            if !names.insert(step.name.clone()) {
                return Err(malformed(format!("steps[{index}].name: `{}` is there twice", step.name)));
            }
            steps.push(step);
        }
        let RawSop { id, version, title, description, .. } = raw;
        Ok(Self { id, version, title, description, valid_from, valid_until, steps })
    }

    /// Reads a procedure that one of these keys signed; tells which.
    ///
    /// # Errors
    ///
    /// Fails if none did, before anything in it is looked at, or if it can't be read.
    pub fn verify<'k>(
        document: &[u8],
        signature: &[u8],
        keys: &'k [SopKey],
    ) -> Result<(Self, &'k SopKey), DocumentError> {
        const WHAT: &str = "the procedure";
        if keys.is_empty() {
            return Err(DocumentError::NothingPinned { what: WHAT });
        }
        if document.len() > MAX_SOP_BYTES {
            return Err(malformed(format!("a procedure has at most {MAX_SOP_BYTES} bytes")));
        }
        let Some(key) = keys.iter().find(|key| key.verifies(document, signature)) else {
            let pinned: Vec<&str> = keys.iter().map(SopKey::fingerprint).collect();
            return Err(DocumentError::Unsigned { what: WHAT, pinned: pinned.join(", ") });
        };
        let text =
            std::str::from_utf8(document).map_err(|_| malformed("the procedure is not UTF-8".to_owned()))?;
        Ok((Self::parse(text)?, key))
    }

    /// A step by its name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Its id and version, for people.
    pub fn label(&self) -> String {
        format!("{} version {}", self.id, self.version)
    }

    /// Why it can't be used at `now`; `None` if it can.
    pub fn not_valid(&self, now: Timestamp) -> Option<String> {
        if now < self.valid_from {
            return Some(format!("it is valid only from {}", self.valid_from.to_rfc3339()));
        }
        (now >= self.valid_until).then(|| format!("it was valid until {}", self.valid_until.to_rfc3339()))
    }

    /// What somebody who signs it should look at twice.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for step in &self.steps {
            let name = &step.name;
            if step.targets == Targets::AnyHost {
                warnings.push(format!("step `{name}` may run on every host"));
            }
            let closed = step.parameters.get("additionalProperties") == Some(&Value::Bool(false));
            if !closed {
                warnings.push(format!("step `{name}` leaves parameters free that its schema doesn't name; `additionalProperties = false` closes it"));
            }
            let required: BTreeSet<&str> = step
                .parameters
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let named = step.parameters.get("properties").and_then(Value::as_object);
            for (parameter, _) in named.into_iter().flatten() {
                if !required.contains(parameter.as_str()) {
                    warnings.push(format!("step `{name}` constrains `{parameter}` only where it is given: left out, the skill's default holds"));
                }
            }
        }
        warnings
    }
}

impl RawStep {
    fn read(self, index: usize) -> Result<Step, DocumentError> {
        let at = |field: &str, problem: String| malformed(format!("steps[{index}].{field}: {problem}"));
        let Self { name, skill, parameters, any_host, labels, maximum_runs } = self;
        if !is_name(&name, |byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
        }) {
            return Err(at("name", "expected 1 to 64 of a-z, 0-9, `-` and `_`".to_owned()));
        }
        if !is_name(&skill, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            return Err(at("skill", "expected the key of a skill".to_owned()));
        }
        if !parameters.is_object() {
            return Err(at(
                "parameters",
                "expected a table that is a JSON Schema of the arguments".to_owned(),
            ));
        }
        Validator::new(&parameters).map_err(|error| at("parameters", error.to_string()))?;
        if !(1..=10_000).contains(&maximum_runs) {
            return Err(at("maximum_runs", "expected 1 to 10000".to_owned()));
        }
        let targets = match (any_host, labels.is_empty()) {
            (true, true) => Targets::AnyHost,
            (false, false) => Targets::Labels(labels),
            (true, false) => {
                return Err(at("any_host", "give either labels or `any_host = true`, not both".to_owned()));
            }
            (false, true) => {
                return Err(at(
                    "labels",
                    "say where it may run: labels that the host must have, or `any_host = true`".to_owned(),
                ));
            }
        };
        Ok(Step { name, skill, parameters, targets, maximum_runs })
    }
}

impl Step {
    /// Why it doesn't cover a call; `None` if it does.
    pub fn not_covering(
        &self,
        tool: &str,
        args: &Value,
        labels: &BTreeMap<String, String>,
    ) -> Option<String> {
        if self.skill != tool {
            return Some(format!("its step `{}` is for `{}`", self.name, self.skill));
        }
        if !self.targets.contain(labels) {
            return Some(format!(
                "its step `{}` is for hosts with the labels {}",
                self.name,
                self.targets_in_words()
            ));
        }
        let validator = match Validator::new(&self.parameters) {
            Ok(validator) => validator,
            Err(error) => return Some(error.to_string()),
        };
        validator
            .check(args)
            .err()
            .map(|problems| format!("the arguments are outside of its step `{}`: {problems}", self.name))
    }

    fn targets_in_words(&self) -> String {
        match &self.targets {
            Targets::AnyHost => "(any)".to_owned(),
            Targets::Labels(labels) => {
                labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// For diffs and cards.
    pub fn to_json(&self) -> Value {
        json!({"name": self.name, "skill": self.skill, "parameters": self.parameters, "targets": self.targets,
               "maximum_runs": self.maximum_runs})
    }
}

fn is_name(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

pub(crate) fn malformed(problem: String) -> DocumentError {
    DocumentError::Malformed(problem)
}
